import CCalls
import CMMLogC
import Glibc
import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Synchronization
import Testing

/// Runs the handler once with a store that is of no further interest: what debug builds look up at
/// run time they look up under a lock, when a line runs for the first time, and that is not to be
/// in the middle of a signal.
private func rehearse(_ signal: CInt, text: UnsafePointer<CChar>? = nil) throws {
  let rehearsal = try CStore { $0.serves_signal_handlers = true }
  ccalls_handle(signal, rehearsal.log)
  ccalls_set_text(text)
  ccalls_log_many(rehearsal.log, 2)
  ccalls_raise(signal)
  _ = try rehearsal.closeAndRead()
}

/// The numbers of the signals whose handler wrote, in the order of the records.
private func numbers(_ records: [LogReader.Record]) -> [UInt64] {
  records.map(\.message).filter { $0.hasPrefix("signal ") }
    .compactMap { $0.split(separator: " ").dropFirst(2).first.flatMap { UInt64($0) } }
}

@Suite("Writing in signal handlers")
struct SignalWriteTests {
  @Test(
    "a handler that interrupts log statements at any instruction loses nothing, and tears nothing")
  func interrupting() async {
    await #expect(processExitsWith: .success) {
      try rehearse(SIGALRM)
      let test = try CStore {
        ($0.segment_size, $0.ring_size) = (4 << 10, 32 << 20)
        $0.serves_signal_handlers = true
      }
      ccalls_handle(SIGALRM, test.log)
      let before = ccalls_handled()
      ccalls_set_timer(50)
      var rounds = 0
      // Until there were signals enough, but no more than the ring has room for.
      while rounds < 20 || (ccalls_handled() - before < 500 && rounds < 100) {
        let handled = ccalls_handled()
        ccalls_log_many(test.log, 2000)
        rounds += 1
        while ccalls_handled() == handled { sched_yield() }
      }
      ccalls_set_timer(0)
      let count = ccalls_handled() - before
      require(count >= 20, "only \(count) signals")
      require(ccalls_written() == ccalls_handled(), "\(ccalls_written()) of \(ccalls_handled())")
      let contents = try test.closeAndRead()
      require(contents.problems.isEmpty && contents.lost == 0, "\(contents.problems)")
      require(numbers(contents.records) == (0..<count).map { before + 1 + $0 }, "signals")
      let own = contents.messages.filter { !$0.hasPrefix("signal ") }
      require(own.count == rounds * 2000, "\(own.count) of \(rounds * 2000)")
      for (index, message) in own.enumerated() {
        require(message.hasPrefix("\(index % 2000) of "), message)
      }
    }
  }

  #if DEBUG
    @Test("in a full ring there is room for some, and what finds none is counted")
    func fullRing() async {
      await #expect(processExitsWith: .success) {
        try rehearse(SIGUSR1)
        let test = try CStore {
          $0.makeTiny()
          ($0.serves_signal_handlers, $0.full_ring) = (true, MMLOG_FULL_DROP)
        }
        ccalls_handle(SIGUSR1, test.log)
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
        while mmlog_lost_records(test.store) == 0 { ccalls_log_many(test.log, 100) }
        let (lost, before) = (mmlog_lost_records(test.store), ccalls_written())
        for _ in 0..<5 { ccalls_raise(SIGUSR1) }
        require(ccalls_written() == before + 5, "\(ccalls_written() - before) of the first five")
        for _ in 0..<100 { ccalls_raise(SIGUSR1) }
        let written = ccalls_written() - before
        require(written < 105, "a ring that is never full")
        require(mmlog_lost_records(test.store) == lost + 105 - written, "losses")
        ForcedFault.clear(under: test.folder.path)
        let contents = try test.closeAndRead()
        require(contents.problems.isEmpty, "\(contents.problems)")
        require(numbers(contents.records).count == Int(written), "\(contents.records.count)")
      }
    }
  #endif

  #if DEBUG
    @Test("a handler that counts what it did not write has a ring to count in until it is done")
    func countingWhileClosing() async {
      await #expect(processExitsWith: .success) {
        let test = try CStore {
          $0.makeTiny()
          ($0.serves_signal_handlers, $0.full_ring) = (true, MMLOG_FULL_DROP)
        }
        let isCounting = Atomic<Bool>(false)
        let isClosed = Atomic<Bool>(false)
        TestPoint.handler = { point in
          guard point == .signalLossCounting else { return }
          isCounting.store(true, ordering: .releasing)
          while !isClosed.load(ordering: .acquiring) { sched_yield() }
        }
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
        while mmlog_lost_records(test.store) == 0 { ccalls_log_many(test.log, 100) }
        nonisolated(unsafe) let log = test.log
        let thread = try Thread(name: "handler") { while ccalls_signal_lane(log, 0, 0) {} }
        while !isCounting.load(ordering: .acquiring) { sched_yield() }
        ForcedFault.clear(under: test.folder.path)
        var failure = mmlog_failure()
        require(mmlog_close(test.store, &failure) == 0)
        // At once: nothing else is to be where the ring was.
        isClosed.store(true, ordering: .releasing)
        thread.join()
        let contents = CContents(test.folder.path)
        require(contents.problems.isEmpty, "\(contents.problems)")
        require(!ccalls_signal_lane(test.log, 0, 0), "a closed store")
      }
    }
  #endif

  @Test("many handlers at once write all that they say, on threads that have never logged")
  func manyThreads() async {
    await #expect(processExitsWith: .success) {
      try rehearse(SIGUSR1)
      let test = try CStore { $0.serves_signal_handlers = true }
      ccalls_handle(SIGUSR1, test.log)
      let (handled, written) = (ccalls_handled(), ccalls_written())
      let threadIDs = LockedValue<Set<UInt32>>([])
      let threads = try (0..<8).map { index in
        try Thread(name: "never \(index)") {
          threadIDs.withLock { _ = $0.insert(UInt32(CurrentProcess.threadID())) }
          for _ in 0..<500 { ccalls_raise(SIGUSR1) }
        }
      }
      for thread in threads { thread.join() }
      require(ccalls_handled() - handled == 4000)
      let kept = ccalls_written() - written
      require(mmlog_lost_records(test.store) == 4000 - kept, "of \(kept)")
      let contents = try test.closeAndRead()
      require(contents.problems.isEmpty, "\(contents.problems)")
      let seen = numbers(contents.records)
      require(seen.count == Int(kept) && Set(seen).count == seen.count, "\(seen.count) of \(kept)")
      // Whoever finds all places taken by threads that are not running just then gives up.
      require(kept > 0)
      require(
        threadIDs.withLock { $0.isSuperset(of: contents.records.map(\.thread.id)) }, "threads")
    }
  }

  @Test("a store that is closed under handlers keeps all that they say, and the process lives")
  func closing() async {
    await #expect(processExitsWith: .success) {
      try rehearse(SIGALRM)
      for _ in 0..<30 {
        let test = try CStore {
          $0.makeTiny()
          $0.serves_signal_handlers = true
        }
        ccalls_handle(SIGALRM, test.log)
        let isOver = Atomic<Bool>(false)
        let (handled, written) = (ccalls_handled(), ccalls_written())
        let thread = try Thread(name: "signals") {
          ccalls_set_timer(20)
          while !isOver.load(ordering: .acquiring) { sched_yield() }
          ccalls_set_timer(0)
        }
        while ccalls_handled() - handled < 20 { sched_yield() }
        let contents = try test.closeAndRead()
        isOver.store(true, ordering: .releasing)
        thread.join()
        require(contents.problems.isEmpty, "\(contents.problems)")
        let kept = ccalls_written() - written
        require(
          numbers(contents.records).count == Int(kept), "\(contents.records.count) of \(kept)")
      }
    }
  }

  @Test("what a handler has written survives the death of the process in the next moment")
  func death() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      try rehearse(SIGUSR1)
      let store = try openStore(path) { $0.serves_signal_handlers = true }
      ccalls_handle(SIGUSR1, mmlog_get_logger(store, "dying"))
      ccalls_die_after(ccalls_written() + 3)
      while true { ccalls_raise(SIGUSR1) }
    }
    let contents = CContents(folder.path)
    #expect(contents.problems == [])
    // The first was the rehearsal's.
    #expect(numbers(contents.records) == [2, 3, 4])
    #expect(contents.records.allSatisfy { $0.label == "dying" && $0.level == .warning })
    #expect(contents.records.allSatisfy { $0.function == "handle" && $0.file.hasSuffix("calls.c") })
  }

  @Test("text of more than a kibibyte is cut, and marked")
  func longText() async {
    await #expect(processExitsWith: .success) {
      let text = UnsafeMutablePointer<CChar>.allocate(capacity: 3001)
      text.initialize(repeating: 120, count: 3000)
      text[3000] = 0
      try rehearse(SIGUSR1, text: text)
      let test = try CStore { $0.serves_signal_handlers = true }
      ccalls_handle(SIGUSR1, test.log)
      ccalls_raise(SIGUSR1)
      let contents = try test.closeAndRead()
      require(contents.messages.count == 1 && contents.records[0].isCut)
      let written = contents.messages[0].filter { $0 == "x" }.count
      require(written == 1024, "\(written)")
    }
  }

  @Test("without the option, and after the store's end, nothing is recorded, and it is counted")
  func refused() async {
    await #expect(processExitsWith: .success) {
      try rehearse(SIGUSR1)
      let test = try CStore()
      ccalls_handle(SIGUSR1, test.log)
      let written = ccalls_written()
      ccalls_raise(SIGUSR1)
      require(ccalls_written() == written && mmlog_lost_records(test.store) == 1)
      _ = try test.closeAndRead()
      ccalls_raise(SIGUSR1)
      require(ccalls_written() == written)
    }
  }

  @Test(
    "a fork's child writes into its own ring, from its first record on",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func fork() async {
    await #expect(processExitsWith: .success) {
      try rehearse(SIGUSR1)
      let test = try CStore { $0.serves_signal_handlers = true }
      ccalls_handle(SIGUSR1, test.log)
      ccalls_raise(SIGUSR1)
      let written = ccalls_written()
      let child = ccalls_fork()
      if child == 0 {
        ccalls_raise(SIGUSR1)
        require(ccalls_written() == written, "without a ring")
        ccalls_log_many(test.log, 1)
        ccalls_raise(SIGUSR1)
        require(ccalls_written() == written + 1, "with a ring")
        kill(getpid(), SIGKILL)
      }
      var status: CInt = 0
      waitpid(child, &status, 0)
      require(status == SIGKILL, "\(status)")
      let contents = try test.closeAndRead()
      require(contents.problems.isEmpty, "\(contents.problems)")
      require(numbers(contents.records).sorted() == [2, 4], "\(contents.messages)")
    }
  }

  @Test("in Swift, a text with a number, or without")
  func swift() throws {
    let folder = TemporaryDirectory()
    var configuration = LogStore.Configuration()
    configuration.servesSignalHandlers = true
    let store = try LogStore(directory: folder.path, name: "swift", configuration: configuration)
    let log = store.logger(label: "handlers")
    #expect(log.recordInSignalHandler(.critical, "ended by signal", number: 15))
    #expect(log.recordInSignalHandler(.info, "without"))
    #expect(!log.recordInSignalHandler(.debug, "below the level"))
    #expect(store.losses.isEmpty)
    try store.close()
    #expect(!log.recordInSignalHandler(.critical, "too late"))
    let contents = CContents(folder.path)
    #expect(contents.problems == [])
    #expect(contents.messages == ["ended by signal 15", "without"])
    #expect(contents.records.allSatisfy { $0.file.hasSuffix("SignalWriteTests.swift") })
  }
}
