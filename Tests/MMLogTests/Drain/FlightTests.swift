import Foundation
import Glibc
import MMLog
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// Records below the archives' level. They stay in the ring, and are captured when something
/// happens.
@Suite("Flight recorder")
struct FlightTests {
  private static let timeout: Int64 = 300_000_000_000

  private func recorder(
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> TestStore {
    try TestStore {
      $0.archiveLevel = .info
      change(&$0)
    }
  }

  /// The numbers that all messages but the last begin with.
  private static func numbers(_ contents: Contents) -> [Int] {
    contents.messages.dropLast().map { Int($0.prefix { $0 != " " }) ?? -1 }
  }

  private func archivedBytes(_ folder: TemporaryDirectory) throws -> Int {
    try folder.names(ending: ".mmlog").reduce(0) { try $0 + folder.bytes($1).count }
  }

  /// Logs numbers, each at `debug` and then at `info`. Returns the messages that are expected.
  private func log(_ numbers: Range<Int>, to log: Logger) -> (all: [String], archived: [String]) {
    for number in numbers {
      log.debug("debug \(number)")
      log.info("info \(number)")
    }
    return (
      numbers.flatMap { ["debug \($0)", "info \($0)"] }, numbers.map { "info \($0)" }
    )
  }

  @Test("nothing of a flight record reaches an archive by itself")
  func notArchived() throws {
    // The archives have a frame for each pass.
    let (with, without) = (
      try recorder { $0.drainInterval = .seconds(3600) },
      try recorder { $0.drainInterval = .seconds(3600) }
    )
    for number in 0..<300 {
      for step in 0..<10 { with.log.debug("debug \(number) \(step)") }
      with.log.info("info \(number)")
      without.log.info("info \(number)")
    }
    // One record more, since the other store has more call sites.
    without.log.debug("debug \(0) \(0)")
    for test in [with, without] { try test.store.flush(.archive) }
    let contents = try [with, without].map { try $0.closeAndRead() }
    #expect(contents[0].messages == (0..<300).map { "info \($0)" })
    #expect(contents[0].messages == contents[1].messages && contents.allSatisfy(\.isClean))
    let bytes = try [with, without].map { try archivedBytes($0.folder) }
    // Ticks differ, and so a little do the columns with them; three thousand records would be more.
    #expect(abs(bytes[0] - bytes[1]) < 1500, "\(bytes)")
  }

  @Test("a record of the capturing level has what led to it archived, in its place, once")
  func captureByRecord() throws {
    let test = try recorder()
    let expected = log(0..<50, to: test.log)
    let before = Contents(test.folder.path)
    #expect(before.messages == expected.all && before.isClean)
    #expect(before.records.filter(\.isFlight).map(\.level) == Array(repeating: .debug, count: 50))
    test.log.error("bad")
    try test.store.flush(.archive)
    test.log.error("bad again")
    try test.store.flush(.archive)
    let live = Contents(test.folder.path)
    #expect(live.messages == expected.all + ["bad", "bad again"] && live.isClean)
    let counts = test.store.flightCounts
    #expect(counts.captured == 50 && counts.forgotten == 0)
    test.log.debug("of no interest")
    let contents = try test.closeAndRead()
    #expect(contents.messages == expected.all + ["bad", "bad again"] && contents.isClean)
    #expect(contents.records.allSatisfy { $0.isFlight == ($0.level == .debug) })
    #expect(contents.endings.allSatisfy { $0.how == .closed })
  }

  @Test("a capture that the program asks for says why, and an event reports it")
  func captureByProgram() async throws {
    let test = try recorder { $0.captureLevel = nil }
    var events = test.store.events.makeAsyncIterator()
    for number in 0..<10 { test.log.trace("t \(number)") }
    test.log.critical("captures nothing")
    try test.store.blockingCapture(reason: "a test")
    try test.store.blockingCapture(reason: "again")
    var reported: [Int] = []
    while reported.count < 2, let event = await events.next() {
      if case .captured(let count, .program) = event { reported.append(count) }
    }
    #expect(reported == [10, 0])
    let contents = try test.closeAndRead()
    let reasons = ["captured: a test", "captured: again"]
    #expect(contents.messages == (0..<10).map { "t \($0)" } + ["captures nothing"] + reasons)
    #expect(contents.records.last?.label == "mmlog")
  }

  @Test("a capture goes no further back than it is instructed to")
  func span() throws {
    let test = try recorder { $0.captureTime = .milliseconds(1) }
    test.log.debug("old")
    Sleep.nanoseconds(50_000_000)
    test.log.error("bad")
    try test.store.flush(.archive)
    let counts = test.store.flightCounts
    #expect(counts.captured == 0 && counts.forgotten == 1)
    // Nor does a recovery after that.
    let dead = try test.copy()
    #expect(Contents(dead.path).messages == ["bad"])
    #expect(try test.closeAndRead().messages == ["bad"])
  }

  @Test("what was captured is not archived again by a recovery, if a limit has deleted its archive")
  func captureDeleted() throws {
    let test = try recorder()
    _ = log(0..<20, to: test.log)
    test.log.error("bad")
    _ = try test.store.rotate(within: .seconds(300))
    let old = try test.folder.names(ending: ".mmlog")
    let rest = log(20..<30, to: test.log)
    try test.store.flush(.archive)
    let dead = try test.copy()
    for name in old { try FileManager.default.removeItem(atPath: dead(name)) }
    try test.store.close()
    #expect(!old.isEmpty && Contents(dead.path).messages == rest.all)
    let recovered = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    #expect(recovered.map(\.flightRecordCount) == [10])
    let after = Contents(dead.path)
    #expect(after.messages == rest.all && after.isClean)
  }

  @Test(
    "flight records wait for nobody and are no losses: the newest take the oldest ones' place",
    arguments: [LogStore.FullRingPolicy.wait(upTo: .seconds(60)), .overwriteOldest])
  func recycling(_ policy: LogStore.FullRingPolicy) throws {
    let test = try recorder {
      $0.makeTiny()
      $0.fullRing = policy
      $0.captureTime = .seconds(86400)
    }
    let count = 20_000
    for number in 0..<count { test.log.debug("debug \(number)") }
    test.log.info("end")
    try test.store.flush(.archive)
    let contents = Contents(test.folder.path)
    #expect(contents.isClean && test.store.losses.isEmpty)
    let kept = contents.records.filter(\.isFlight).compactMap { Int($0.message.dropFirst(6)) }
    // At least half of the ring, 256 KiB; a record takes 40 bytes.
    #expect(kept.count > 2000)
    #expect(kept.last == count - 1 && zip(kept, kept.dropFirst()).allSatisfy(<))
    // With the policy `overwriteOldest`, a thread does not wait for the drainer to be done with the
    // oldest segment, but takes the next one.
    if policy != .overwriteOldest { #expect(kept.first == count - kept.count) }
    let counts = test.store.flightCounts
    #expect(counts.captured == 0 && counts.forgotten + kept.count == count)
    #expect(try test.closeAndRead().messages == ["end"])
  }

  @Test("what is in a dead process's ring is shown, recovered once, and marked")
  func recovery() throws {
    let test = try recorder { $0.makeTiny() }
    let first = log(0..<20, to: test.log)
    test.log.error("bad")
    try test.store.flush(.archive)
    let second = log(20..<2000, to: test.log)
    try test.store.flush(.archive)
    let third = log(2000..<2020, to: test.log)
    let dead = try test.copy()
    try test.store.close()
    let before = Contents(dead.path)
    let archived = first.all + ["bad"] + second.archived + third.archived
    #expect(before.isClean)
    #expect(
      before.messages.filter { !$0.hasPrefix("debug") }
        == archived.filter { !$0.hasPrefix("debug") })
    let flight = before.records.filter(\.isFlight).map(\.message)
    #expect(Array(flight.prefix(20)) == (0..<20).map { "debug \($0)" })
    // The rest is a suffix: the oldest were evicted first.
    let rest = flight.dropFirst(20)
    #expect(rest.count > 20 && Array(rest) == ((2020 - rest.count)..<2020).map { "debug \($0)" })
    let recovered = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    #expect(recovered.map(\.flightRecordCount) == [rest.count])
    let after = Contents(dead.path)
    #expect(after.messages == before.messages && after.isClean)
    #expect(after.records.map(\.isFlight) == before.records.map(\.isFlight))
    #expect(try dead.names(ending: ".ring").isEmpty)
  }

  @Test("a filter leaves flight records away, or all others")
  func filter() throws {
    let test = try recorder()
    _ = log(0..<3, to: test.log)
    test.log.error("bad")
    try test.store.flush(.archive)
    _ = log(3..<6, to: test.log)
    for choice in [LogReader.Filter.FlightChoice.only, .none] {
      var filter = LogReader.Filter()
      filter.flight = choice
      let found = LogReader(paths: [test.folder.path], filter: filter).compactMap { item in
        if case .record(let record) = item { record.isFlight } else { nil }
      }
      #expect(found == Array(repeating: choice == .only, count: choice == .only ? 6 : 7))
    }
    try test.store.close()
  }

  @Test("who follows a store is given each record once, captured or not")
  func following() throws {
    let test = try recorder()
    let follower = LogFollower(paths: [test.folder.path])
    let first = log(0..<20, to: test.log)
    #expect(follower.newMessages() == first.all)
    test.log.error("bad")
    try test.store.flush(.archive)
    let second = log(20..<40, to: test.log)
    #expect(follower.newMessages() == ["bad"] + second.all)
    try test.store.capture(reason: "a test")
    #expect(follower.newMessages() == ["captured: a test"])
    try test.store.close()
    #expect(follower.newMessages() == [])
  }

  @Test("somebody outside, and a signal handler, can have a capture made")
  func otherCaptures() async {
    await #expect(processExitsWith: .success) {
      let test = try TestStore { $0.archiveLevel = .info }
      var events = test.store.events.makeAsyncIterator()
      test.log.debug("one")
      let ring = try LiveRing.all(in: test.folder.path) { require(false, "\($0)") }[0]
      try ring.waitForAnswer(to: ring.ask(for: .capture), within: 300_000_000_000)
      require(try ring.capturedCount() == 1)
      test.log.debug("two")
      signal(SIGUSR1) { _ in LogStore.captureAll() }
      // Sends the signal to the process: the thread that runs this may have all signals blocked.
      kill(getpid(), SIGUSR1)
      var reported: [String] = []
      while reported.count < 2, let event = await events.next() {
        if case .captured(let count, let reason) = event { reported.append("\(count) \(reason)") }
      }
      require(reported == ["1 request", "1 signal"], "\(reported)")
      require(try test.closeAndRead().messages == ["one", "two"])
    }
  }

  @Test("a record in fragments is captured whole, or not at all")
  func fragments() throws {
    let test = try recorder {
      $0.makeTiny()
      $0.captureTime = .seconds(86400)
    }
    let text = String(repeating: "0123456789", count: 2000)
    for number in 0..<40 { test.log.debug("\(number) \(text, privacy: .public)") }
    test.log.error("bad")
    try test.store.flush(.archive)
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let numbers = Self.numbers(contents)
    #expect(numbers.count > 2 && numbers == Array((40 - numbers.count)..<40), "\(numbers)")
    #expect(contents.messages.dropLast().allSatisfy { $0.hasSuffix(text) })
  }

  #if DEBUG
    @Test("a flight record that is lost in its segment leaves nothing there")
    func lostInItsSegment() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.archiveLevel = .info }
        let log = test.log.with(["of the logger": 1])
        test.log.debug("before")
        ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
        // Two contexts are put together in memory, and there is no memory.
        withLogFields(["of the task": 2]) { log.debug("lost \(-1) \(-2) \(-3)") }
        ForcedFault.clear(under: "")
        // This record is shorter than the lost one.
        test.log.debug("after")
        let losses = test.store.losses
        require(losses[.tooLarge, .debug] == 1 && losses.total == 1, "\(losses)")
        let contents = Contents(test.folder.path)
        require(contents.messages == ["before", "after"], "\(contents.messages)")
        require(contents.isWhole, "\(contents.corruption)")
      }
    }

    @Test(
      "of a record in fragments the first is evicted first, though the drainer stands still in between"
    )
    func oldestFirst() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore {
          $0.makeTiny()
          $0.archiveLevel = .info
          $0.captureTime = .seconds(86400)
          $0.drainInterval = .seconds(3600)
        }
        let (begun, logged, isDraining) = (SharedCount(), SharedCount(), SharedCount())
        let text = String(repeating: "0123456789", count: 450)
        func log(_ numbers: Range<Int>) {
          for number in numbers {
            begun.value += 1
            test.log.debug("\(number) \(text, privacy: .public)")
            logged.value += 1
          }
        }
        TestPoint.handler = { point in
          guard point == .segmentRetained, isDraining.value == 0, begun.value >= 50 else { return }
          isDraining.value = 1
          // Waits until the thread that logs has taken every place that there is, this one too, and
          // has to wait for more.
          for _ in 0..<1000 where logged.value < 56 { usleep(100) }
        }
        // Fills nearly all of the ring, and then the rest of it while the drainer stands still,
        // with one segment retained.
        log(0..<50)
        let flush = try Thread(name: "flush") { try? test.store.flush(.archive) }
        while isDraining.value == 0 { sched_yield() }
        log(50..<56)
        flush.join()
        test.log.error("bad")
        try test.store.flush(.archive)
        let contents = try test.closeAndRead()
        require(contents.isClean, "\(contents.unfinished)")
        let numbers = Self.numbers(contents)
        let newest = (logged.value - numbers.count)..<logged.value
        require(numbers == Array(newest), "\(numbers), not \(newest)")
      }
    }

    /// Logs numbered flight records in a process that is killed while its drainer stands still.
    private struct Overrun {
      private let store: LogStore
      let log: Logger
      let text = String(repeating: "0123456789", count: 90)
      private let logged = SharedCount()
      private let isStanding = SharedCount()

      init(_ path: String, ringSize: Int) throws {
        var configuration = LogStore.Configuration()
        configuration.makeTiny()
        configuration.ringSize = ringSize
        (configuration.archiveLevel, configuration.drainInterval) = (.info, .seconds(3600))
        configuration.captureTime = .seconds(86400)
        configuration.fullRing = .wait(upTo: .seconds(60))
        store = try LogStore(directory: path, name: "test", configuration: configuration)
        log = store.logger(label: "test")
        log.level = .trace
      }

      func debug() {
        log.debug("\(logged.value) \(text, privacy: .public)")
        logged.value += 1
      }

      /// Makes the drainer stand still at a step, until the calling thread finds no place any more.
      func stopDrainer(at step: TestPoint) {
        let (thread, id) = (pthread_self(), CurrentProcess.threadID())
        TestPoint.handler = { [logged, isStanding] point in
          guard point == step, pthread_equal(thread, pthread_self()) == 0 else { return }
          isStanding.value = 1
          var (last, waits) = (-1, 0)
          while waits < 500 {
            usleep(1000)
            if logged.value != last { (last, waits) = (logged.value, 0) }
            // On a busy machine, it may also be ready to run and have no processor.
            if Self.isAsleep(id) { waits += 1 }
          }
          kill(getpid(), SIGKILL)
        }
      }

      /// Whether a thread of this process waits for something.
      private static func isAsleep(_ thread: pid_t) -> Bool {
        let text = (try? kernelText("/proc/self/task/\(thread)/stat")) ?? ""
        return text.split(separator: ")").last?.hasPrefix(" S") == true
      }

      /// Waits until the drainer stands still, and logs until the process is killed.
      func run() throws {
        let flush = try Thread(name: "flush") { [store] in try? store.flush(.archive) }
        while isStanding.value == 0 { sched_yield() }
        while true { debug() }
        flush.join()
      }

      /// The numbers of the flight records that are there afterwards.
      static func numbers(_ path: String) -> [Int] {
        Contents(path).records.filter { $0.level == .debug }
          .map { Int($0.message.prefix { $0 != " " }) ?? -1 }
      }
    }

    @Test("what only flight records are in is not evicted before older ones of its thread are")
    func oldestOfThreadFirst() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
        // So large that nothing is drained before the flush.
        let overrun = try Overrun(path, ringSize: 8 << 20)
        // Between two frames.
        overrun.stopDrainer(at: .drainerFreed)
        // More records than a frame has, and then only flight records.
        for _ in 0..<350 {
          overrun.debug()
          overrun.log.info("\(overrun.text, privacy: .public)")
        }
        for _ in 0..<50 { overrun.debug() }
        try overrun.run()
      }
      let numbers = Overrun.numbers(folder.path)
      let (first, last) = (try #require(numbers.first), try #require(numbers.last))
      // Some records were evicted: only the oldest.
      #expect(first > 0 && last > 1000 && numbers == Array(first...last))
    }

    @Test("a segment that is being evicted when the process dies is not there without younger ones")
    func evictedHalfway() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
        let overrun = try Overrun(path, ringSize: 256 << 10)
        overrun.stopDrainer(at: .segmentEvicting)
        // Fills nearly all of the ring. The drainer then evicts a part of it.
        for _ in 0..<230 { overrun.debug() }
        try overrun.run()
      }
      let numbers = Overrun.numbers(folder.path)
      let (first, last) = (try #require(numbers.first), try #require(numbers.last))
      // How many are evicted depends on when the drainer comes.
      #expect(first > 0 && numbers == Array(first...last), "\(numbers)")
    }
  #endif

  @Test("a level that captures nothing is refused")
  func configuration() throws {
    let error = logError {
      _ = try recorder {
        $0.archiveLevel = .error
        $0.captureLevel = .info
      }
    }
    #expect(error?.code == .invalidConfiguration && error?.message.contains("captureLevel") == true)
  }
}
