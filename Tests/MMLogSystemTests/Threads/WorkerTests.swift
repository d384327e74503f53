import MMLogSystem
import Testing

@Suite("a worker")
struct WorkerTests {
  @Test("who forks can wait for a pass, and have none begin")
  func passLock() throws {
    let worker = Worker("test")
    let passes = LockedValue(0)
    let seen = LockedValue<[Bool]>([])
    let fork = EventCount()
    try worker.start { [lock = worker.passLock] _ in
      seen.withLock { $0.append(lock.tryLock()) }
      passes.withLock { $0 += 1 }
      fork.advance()
      return .max
    }
    while passes.withLock({ $0 }) == 0 { fork.wait(since: fork.current, atMost: 1_000_000) }

    worker.passLock.lock()
    let before = passes.withLock { $0 }
    worker.wake()
    fork.wait(since: fork.current, atMost: 50_000_000)
    #expect(passes.withLock { $0 } == before, "a pass began")
    worker.passLock.unlock()
    worker.stop()

    #expect(passes.withLock { $0 } > before, "no pass began afterwards")
    #expect(seen.withLock { $0 }.allSatisfy { !$0 }, "a pass ran without the lock")
  }
}
