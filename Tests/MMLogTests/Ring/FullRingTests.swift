#if DEBUG
  import CMMLogWriter
  import Foundation
  import Glibc
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import Synchronization
  import TestSupport
  import Testing

  @testable import MMLog

  /// What a full ring does while the archive cannot be written.
  @Suite("A full ring")
  struct FullRingTests {
    /// About a kibibyte, so that a ring of 256 KiB is full after some two hundred records.
    private let filler = String(repeating: "f", count: 1000)

    private func block(_ test: TestStore) {
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
    }

    private func unblock(_ test: TestStore) { ForcedFault.clear(under: test.folder.path) }

    private func numbers(_ contents: Contents) -> [Int] {
      contents.messages.compactMap { Int($0.prefix { $0 != " " }) }
    }

    @Test("those who wait lose nothing if the disk comes back in time")
    func waitsInTime() async throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .wait(upTo: .seconds(86_400))
      }
      let events = test.store.events
      block(test)
      let (log, filler) = (test.log, filler)
      let progress = Atomic<Int>(0)
      let thread = try Thread(name: "full") {
        for index in 0..<2000 {
          log.info("\(index) \(filler)")
          progress.store(index, ordering: .relaxed)
        }
      }
      var kinds: [String] = []
      for await event in events {
        switch event {
        case .failed(let error):
          #expect(error.code == .outOfSpace && error.path.hasPrefix(test.folder.path))
          kinds.append("failed")
          #expect(progress.load(ordering: .relaxed) < 300)
          unblock(test)
        case .resumed: kinds.append("resumed")
        case .ringFilling(let part): #expect(part >= 0.75)
        default: kinds.append("\(event)")
        }
        if kinds.last == "resumed" { break }
      }
      thread.join()
      #expect(kinds == ["failed", "resumed"])
      #expect(test.store.losses.isEmpty)
      let contents = try test.closeAndRead()
      #expect(contents.isClean)
      #expect(numbers(contents) == Array(0..<2000))
    }

    @Test(
      "what is dropped is exactly what is counted, and the oldest is what is kept",
      arguments: [
        LogStore.FullRingPolicy.dropNewest, .wait(upTo: .milliseconds(1)), .wait(upTo: .zero),
      ])
    func dropsNewest(policy: LogStore.FullRingPolicy) throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = policy
      }
      block(test)
      for index in 0..<600 {
        test.log.log(level: index % 2 == 0 ? .info : .error, "\(index) \(filler)")
      }
      unblock(test)
      try test.store.flush(.archive)
      for index in 600..<650 { test.log.info("\(index) \(filler)") }
      let losses = test.store.losses
      let contents = try test.closeAndRead()
      let kept = numbers(contents)
      #expect(contents.corruption.isEmpty && contents.unfinished.isEmpty)
      #expect(kept == kept.sorted() && Set(kept).count == kept.count)
      #expect(kept.starts(with: 0..<150))
      #expect(kept.suffix(50) == Array(600..<650)[...])
      let missing = Set(0..<650).subtracting(kept)
      #expect(losses[.ringFull, .info] == UInt64(missing.filter { $0 % 2 == 0 }.count))
      #expect(losses[.ringFull, .error] == UInt64(missing.filter { $0 % 2 == 1 }.count))
      #expect(losses.total(.ringFull) > 300)
      #expect(contents.losses == [losses])
      #expect(test.store.losses == losses, "also after the close")
    }

    @Test("one call waits in vain for a full disk, and those after it do not until it has room")
    func waitsInVainOnce() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .wait(upTo: .milliseconds(20))
      }
      var lost: UInt64 = 0
      for canSync in [true, false, true] {
        block(test)
        test.log.info("waits in the ring")
        #expect(logError { try test.store.flush(.archive) }?.code == .outOfSpace)
        // Counts waits from here on, since a flush waits, too.
        let atFirst = try waits()
        while test.store.losses.total(.ringFull) == lost { test.log.info("\(filler)") }
        let inVain = try waits()
        #expect(inVain > atFirst)
        for _ in 0..<500 { test.log.info("\(filler)") }
        #expect(try waits() - inVain < 50)
        lost += 501
        #expect(test.store.losses.total(.ringFull) == lost)
        unblock(test)
        // A pass that can write but not sync fails, and makes room all the same.
        if !canSync {
          ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: test.folder.path)
        }
        #expect((logError { try test.store.flush(.disk) } == nil) == canSync)
      }
      let losses = test.store.losses
      #expect(try test.closeAndRead().losses == [losses])
    }

    @Test("a call that has waited for the shared segment does not wait anew for a free one")
    func waitsOnceInAll() async {
      await #expect(processExitsWith: .success) {
        let limit = Duration.seconds(3600)
        let test = try TestStore {
          $0.makeTiny()
          $0.fullRing = .wait(upTo: limit)
        }
        let log = test.log
        guard let session = test.store.core.open?.session else { return require(false) }
        let overflow = session.overflow
        // As if as many threads as may have a segment of their own had one.
        while session.ring.pool.addHolder(isShared: false) {}
        let (first, isOver, left) = (SharedCount(), SharedCount(), SharedCount())
        let bound = LockedValue<Deadline?>(nil)
        TestPoint.handler = { point in
          guard point == .overflowLocked else { return }
          if first.value == 0 {
            first.value = 1
            while isOver.value == 0 { Sleep.nanoseconds(1_000_000) }
          } else if let bound = bound.withLock({ $0 }), let block = overflow.block {
            let atMost = bound.left
            let end = mmlog_writer_at(block, 0).pointee.wait_end
            left.value = Int(Deadline(at: end).left - atMost)
          }
        }
        let threads = try (0..<2).map { number in
          let thread = try Thread(name: "shares") { log.info("\(number)") }
          while first.value == 0 { Sleep.nanoseconds(1_000_000) }
          return thread
        }
        while !overflow.unlocked.hasOverdue { Sleep.nanoseconds(1_000_000) }
        // The second call has begun to wait before.
        bound.withLock { $0 = Deadline(after: limit.nanoseconds) }
        isOver.value = 1
        for thread in threads { thread.join() }
        require(left.value < 0, "\(left.value) ns")
        let contents = try test.closeAndRead()
        require(contents.isClean && contents.messages == ["0", "1"])
      }
    }

    /// How often the calling thread has waited so far.
    private func waits() throws -> Int {
      let text = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
      let line = try #require(
        text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") })
      return try #require(line.split(separator: "\t").last.flatMap { Int($0) })
    }

    @Test("a ring is filling when records wait, and not because many threads hold segments")
    func filling() async throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .dropNewest
        $0.drainInterval = .seconds(3600)
      }
      var events = test.store.events.makeAsyncIterator()
      func next(_ isIt: (LogStore.Event) -> Bool) async -> LogStore.Event? {
        while let event = await events.next() { if isIt(event) { return event } }
        return nil
      }
      func isFilling(_ event: LogStore.Event) -> Bool {
        if case .ringFilling = event { true } else { false }
      }
      // As many threads as may have a segment of their own: 45 of 59 segments.
      let (count, log) = (45, test.log)
      let (holding, ending) = (Barrier(count + 1), Barrier(count + 1))
      let threads = try (0..<count).map { number in
        try Thread(name: "idle") {
          log.info("\(number)")
          holding.wait()
          ending.wait()
        }
      }
      holding.wait()
      #expect(test.store.statistics.usedSegments >= count)
      try test.store.blockingRotate()
      let first = await next {
        if case .rotated = $0 { true } else { isFilling($0) }
      }
      #expect(first.map(isFilling) == false)
      #expect(test.store.statistics.waitingShare < 0.75)

      block(test)
      let full = try Thread(name: "full") { [filler] in
        while test.store.losses.isEmpty { log.info("\(filler)") }
      }
      full.join()
      #expect(test.store.statistics.waitingShare >= 0.75)
      let second = await next(isFilling)
      if case .ringFilling(let part) = second {
        #expect(part >= 0.75)
      } else {
        Issue.record("\(second as Any)")
      }
      unblock(test)
      ending.wait()
      for thread in threads { thread.join() }
      try test.store.blockingClose()
    }

    @Test("a record that is cut, and then finds no place, is lost, and does not count as cut")
    func cutAndDropped() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore {
          $0.makeTiny()
          $0.fullRing = .dropNewest
        }
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
        while test.store.losses.isEmpty { test.log.info("\(String(repeating: "f", count: 1000))") }
        // Records are built in private memory now, and there is no more of it for this one.
        for call in [SystemCall.mmap, .mremap] {
          ForcedFault.force(call, errno: ENOMEM, times: .max, under: "")
        }
        test.log.error("\(String(repeating: "t", count: 100_000))")
        ForcedFault.clear(under: "")
        let losses = test.store.losses
        require(losses[.ringFull, .error] == 1 && losses.total(.cut) == 0, "\(losses)")
        ForcedFault.clear(under: test.folder.path)
        let contents = try test.closeAndRead()
        require(contents.isWhole && contents.records.allSatisfy { $0.level == .info })
        require(contents.losses == [losses], "\(contents.losses)")
      }
    }

    @Test("the end of a span whose beginning was dropped is recorded, and says what began")
    func droppedBeginning() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .dropNewest
      }
      block(test)
      var span: Logger.Span
      repeat { span = test.log.begin("job \(1)") } while test.store.losses.isEmpty
      unblock(test)
      try test.store.flush(.archive)
      #expect(span.isRecorded)
      span.end("done")
      let contents = try test.closeAndRead()
      let (beginning, end) = try (
        #require(contents.records.first), #require(contents.records.last)
      )
      #expect(end.message == "done" && end.span?.number != nil)
      #expect(contents.records.count { $0.span?.number == end.span?.number } == 1)
      #expect(end.span?.name == "job {}" && beginning.span?.name == "job {}")
    }

    @Test("a flight recorder keeps the newest, and counts what it gave up", arguments: [1000, 200])
    func overwrites(size: Int) throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .overwriteOldest
      }
      let filler = String(repeating: "f", count: size)
      block(test)
      let total = 3000
      for index in 0..<total { test.log.info("\(index) \(filler)") }
      unblock(test)
      let losses = test.store.losses
      let contents = try test.closeAndRead()
      let kept = numbers(contents)
      #expect(contents.corruption.isEmpty && contents.unfinished.isEmpty)
      #expect(kept == kept.sorted() && Set(kept).count == kept.count)
      #expect(losses.total(.overwritten) == UInt64(total - kept.count))
      #expect(losses.total(.ringFull) == 0)
      // At least half of the ring holds the newest records.
      #expect(kept.suffix(60_000 / size) == Array((total - 60_000 / size)..<total)[...])
      #expect(contents.losses == [losses])
    }

    @Test(
      "a flight recorder that writes while it is overwritten counts exactly, also from threads and in fragments"
    )
    func overwritesWhileWriting() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .overwriteOldest
      }
      let log = test.log
      let parts = (0..<8).map { String(repeating: "p", count: $0 * $0 * 300) }
      try onThreads(4) { thread in
        for index in 0..<1500 { log.info("\(thread * 10_000 + index) \(parts[index % 8])") }
      }
      let contents = try test.closeAndRead()
      let losses = test.store.losses
      #expect(contents.corruption.isEmpty && contents.unreadable.isEmpty)
      let kept = numbers(contents)
      #expect(Set(kept).count == kept.count)
      let lost = losses.total(.overwritten) + losses.total(.ringFull)
      #expect(lost == UInt64(6000 - kept.count), "\(losses)")
      for (_, messages) in contents.messagesByThread {
        let order = messages.compactMap { Int($0.prefix { $0 != " " }) }
        #expect(order == order.sorted())
      }
    }

    @Test("the waits for all segments of a record end together")
    func waitsOfOneRecord() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore {
          $0.makeTiny()
          $0.fullRing = .wait(upTo: .seconds(3600))
        }
        guard let session = test.store.core.open?.session else { return require(false) }
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
        // As if the first wait had taken all of the time.
        TestPoint.handler = { point in
          if point == .fragmentWritten, let block = ThreadRegistry.find(session.identity) {
            mmlog_writer_at(block, 0).pointee.wait_end = 1
          }
        }
        endWhenHanging()
        let isKept = test.log.append(level: .info, "\([UInt8](repeating: 1, count: 1 << 20))")
        require(!isKept && test.store.losses.total(.ringFull) == 1, "\(test.store.losses)")
        _exit(0)
      }
    }

    @Test("a record that overwrites its own beginning is counted, not shown")
    func overwritesItself() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .overwriteOldest
      }
      block(test)
      test.log.notice("\(String(repeating: "x", count: 1 << 20))")
      for index in 0..<10 { test.log.info("\(index)") }
      unblock(test)
      let contents = try test.closeAndRead()
      #expect(numbers(contents) == Array(0..<10))
      #expect(test.store.losses[.overwritten, .notice] == 1)
      #expect(contents.corruption.isEmpty)
    }

    @Test("a log call leaves errno as it was, also one that waits in vain")
    func errorNumber() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .wait(upTo: .milliseconds(1))
      }
      block(test)
      var changed = 0
      for index in 0..<300 {
        errno = 1234
        test.log.info("\(index) \(filler)")
        if errno != 1234 { changed += 1 }
      }
      #expect(changed == 0)
      #expect(test.store.losses.total(.ringFull) > 0)
      unblock(test)
      try test.store.close()
    }

    @Test(
      "a lost record of several segments is counted, also if the thread that found it comes no further"
    )
    func countedByTheDead() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
        let stopped = SharedCount()
        TestPoint.handler = { point in
          guard point == .discardFragmentCounted, stopped.value == 0 else { return }
          stopped.value = 1
          while true { pause() }
        }
        var configuration = LogStore.Configuration()
        configuration.makeTiny()
        configuration.fullRing = .overwriteOldest
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: path)
        let store = try LogStore(directory: path, name: "test", configuration: configuration)
        let log = store.logger(label: "test")
        let thread = try Thread(name: "stops") {
          log.critical("\(String(repeating: "x", count: 10_000))")
          while true { log.info("\(String(repeating: "y", count: 1000))") }
        }
        while stopped.value == 0 { usleep(1000) }
        // More than the ring holds, so that the rest of the large record is overwritten.
        for _ in 0..<1000 { log.info("\(String(repeating: "z", count: 1000))") }
        kill(getpid(), SIGKILL)
        thread.join()
      }
      let contents = Contents(folder.path)
      #expect(!contents.records.contains { $0.level == .critical })
      // The record may be counted twice, since the thread that stopped did not see that another had
      // counted it, but at least once.
      let counted = try #require(contents.losses.first)[.overwritten, .critical]
      #expect((1...2).contains(counted))
    }

    @Test(
      "an archive that cannot be closed has nothing twice",
      arguments: [SystemCall.pwrite, .fdatasync, .openat])
    func closingFails(call: SystemCall) throws {
      for onCall in 1...12 {
        let test = try TestStore {
          $0.makeTiny()
          $0.rotation.size = 8 << 10
          $0.compressionLevel = 0
        }
        ForcedFault.force(call, errno: EIO, onCall: onCall, times: 3, under: test.folder.path)
        for index in 0..<1000 {
          test.log.info("\(index) \(filler)")
          if index % 97 == 0 { _ = logError { try test.store.flush(.disk) } }
        }
        unblock(test)
        try test.store.flush(.disk)
        let contents = try test.closeAndRead()
        #expect(contents.isClean, "call \(onCall)")
        #expect(numbers(contents) == Array(0..<1000), "call \(onCall)")
      }
    }

    @Test("a failing disk is not tried again for every record that finds no room")
    func backOff() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .dropNewest
      }
      // Forty failures take half a minute if the drainer tries at longer and longer intervals, and
      // a moment if it does not.
      ForcedFault.force(.pwrite, errno: ENOSPC, times: 40, under: test.folder.path)
      for index in 0..<20_000 { test.log.info("\(index) \(filler)") }
      #expect(logError { try test.store.flush(.archive) }?.code == .outOfSpace)
      unblock(test)
      let losses = test.store.losses
      #expect(losses.total(.ringFull) > 10_000)
      #expect(UInt64(try test.closeAndRead().records.count) + losses.total(.ringFull) == 20_000)
    }

    @Test("events report drops and of each archive that is closed")
    func events() async throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .dropNewest
        $0.rotation.size = 4 << 10
        $0.compressionLevel = 0
      }
      let stream = test.store.events
      block(test)
      for index in 0..<400 { test.log.info("\(index) \(filler)") }
      unblock(test)
      try test.store.blockingFlush(.archive)
      try test.store.blockingClose()
      var archives: [String] = []
      var dropped: LossLedger?
      for await event in stream {
        switch event {
        case .rotated(let path): archives.append(path)
        case .dropped(let losses): dropped = losses
        default: break
        }
      }
      let files = try test.folder.names(ending: ".mmlog").map { test.folder($0) }
      #expect(archives.sorted() == files && files.count >= 2)
      #expect(dropped == test.store.losses && dropped?.isEmpty == false)
    }
  }
#endif
