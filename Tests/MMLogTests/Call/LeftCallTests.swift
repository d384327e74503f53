import Glibc
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@testable import MMLog

#if DEBUG
  @Suite("Log calls whose thread ends within them")
  struct LeftCallTests {
    @Test("threads that come later log with the blocks that are left")
    func blocks() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let log = test.log
        let ending = SharedCount()
        TestPoint.handler = { point in
          if point == .recordBuilt, ending.value == Int(CurrentProcess.threadID()) {
            pthread_exit(nil)
          }
        }
        // More threads than a block has writers.
        for _ in 0..<6 {
          try Thread(name: "ending") {
            ending.value = Int(CurrentProcess.threadID())
            log.info("left \(1)")
          }.join()
        }
        ending.value = 0
        try Thread(name: "later") { for number in 0..<10 { log.info("\(number)") } }.join()
        let losses = test.store.losses
        try test.store.close()
        let messages = Contents(test.folder.path).messages
        require(losses.isEmpty, "\(losses)")
        require(messages.suffix(10) == (0..<10).map { "\($0)" }, "\(messages)")
      }
    }

    @Test("a thread that ends while it waits in a full ring keeps nothing from the others")
    func whileWaiting() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.makeTiny() }
        let (log, filler) = (test.log, String(repeating: "f", count: 1000))
        guard let ring = test.store.core.open?.session.ring else { return require(false) }
        let (disk, target) = (ForkSafeMutex(), SharedCount())
        disk.lock()
        ForcedFault.block(.pwrite, on: disk, under: test.folder.path)
        while ring.pool.freeCount > 0 { log.info("\(filler)") }
        let places = Self.freePlaces(ring.pool)
        Self.endThreadsBySignal()
        let thread = try Thread(name: "ending") {
          SignalLogger.mask(SIG_UNBLOCK)
          target.value = Int(pthread_self())
          log.info("never written")
        }
        while !ring.eventCounts.hasOverdue { Sleep.nanoseconds(1_000_000) }
        pthread_kill(pthread_t(target.value), SIGUSR1)
        thread.join()
        disk.unlock()
        ForcedFault.clear(under: test.folder.path)
        let minute = Deadline(after: 60_000_000_000)
        while ring.eventCounts.hasOverdue, !minute.isOver { Sleep.nanoseconds(1_000_000) }
        require(!ring.eventCounts.hasOverdue)
        require(Self.freePlaces(ring.pool) == places)
        try Thread(name: "later") { for number in 0..<200 { log.info("\(number) \(filler)") } }
          .join()
        let losses = test.store.losses
        let contents = try test.closeAndRead()
        require(losses.isEmpty && contents.isClean, "\(losses)")
        require(contents.messages.suffix(200) == (0..<200).map { "\($0) \(filler)" }[...])
      }
    }

    @Test("a thread that ends while it writes into the shared segment leaves it to the others")
    func inTheSharedSegment() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.makeTiny() }
        let log = test.log
        guard let pool = test.store.core.open?.session.ring.pool else { return require(false) }
        // As if as many threads as may have a segment of their own had one.
        while pool.addHolder(isShared: false) {}
        let ending = SharedCount()
        TestPoint.handler = { point in
          if point == .overflowLocked, ending.value == Int(CurrentProcess.threadID()) {
            pthread_exit(nil)
          }
        }
        try Thread(name: "ending") {
          ending.value = Int(CurrentProcess.threadID())
          log.info("left \(1)")
        }.join()
        ending.value = 0
        try Thread(name: "later") { for number in 0..<10 { log.info("\(number)") } }.join()
        let losses = test.store.losses
        require(losses.isEmpty, "\(losses)")
        // Closing frees the shared segment's writer under its lock.
        endWhenHanging()
        let contents = try test.closeAndRead()
        require(contents.isClean && contents.messages == (0..<10).map { "\($0)" })
      }
    }

    @Test("a thread that ends while it takes its block to another store keeps nothing from others")
    func onTheWayToAnotherStore() async {
      await #expect(processExitsWith: .success) {
        let (first, second) = (try TestStore(), try TestStore())
        let (log, otherLog) = (first.log, second.log)
        let ending = SharedCount()
        TestPoint.handler = { point in
          if point == .blockTaken, ending.value == Int(CurrentProcess.threadID()) {
            pthread_exit(nil)
          }
        }
        try Thread(name: "ending") {
          log.info("of the first store")
          try? first.store.blockingClose()
          ending.value = Int(CurrentProcess.threadID())
          otherLog.info("never written")
        }.join()
        ending.value = 0
        // Ends a walk over blocks that lead back to each other.
        endWhenHanging()
        for number in 0..<3 {
          try Thread(name: "later") { otherLog.info("\(number)") }.join()
        }
        let contents = try second.closeAndRead()
        require(contents.isClean && contents.messages == (0..<3).map { "\($0)" })
      }
    }

    /// How many more threads may have a segment of their own.
    private static func freePlaces(_ pool: SegmentPool) -> Int {
      var count = 0
      while pool.addHolder(isShared: false) { count += 1 }
      for _ in 0..<count { pool.removeHolder() }
      return count
    }

    private static func endThreadsBySignal() {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in pthread_exit(nil) }
      sigaction(SIGUSR1, &action, nil)
    }
  }
#endif
