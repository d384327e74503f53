import Foundation
import Glibc
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization
import TestSupport
import Testing

@testable import MMLog

// Functions that C calls have no context; each test's process has these for itself.
private let opened = LockedValue<LogStore?>(nil)
private let entered = Atomic<Int>(0)
private let raisesAgain = Atomic<Bool>(false)

/// What is known of a process that a fatal signal has ended.
@Suite(.serialized) struct CrashRecorderTests {
  /// Ways to die, each in a function of a name that can be searched for.
  enum Death: String, Codable, CaseIterable {
    case noMemory, trap, abort, bus, sent, stackOverflow

    func happen() {
      switch self {
      case .noMemory: dieOfNoMemory()
      case .trap: dieOfTrap()
      case .abort: dieOfAbort()
      case .bus: dieOfBus()
      case .sent:
        raise(SIGSEGV)
        usleep(1)
      case .stackOverflow: _ = dieOfStackOverflow(1)
      }
    }

    var signal: Int32 {
      switch self {
      case .noMemory, .sent, .stackOverflow: SIGSEGV
      #if arch(x86_64)
        case .trap: SIGILL
      #else
        case .trap: SIGTRAP
      #endif
      case .abort: SIGABRT
      case .bus: SIGBUS
      }
    }
  }

  private static func open(
    _ path: String, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    configuration.recordsCrashes = true
    change(&configuration)
    return try LogStore(directory: path, name: "crash", configuration: configuration)
  }

  private static func expect(_ death: Death, in path: String) async {
    await #expect(processExitsWith: .signal(death.signal)) {
      [path = path as String, death = death as Death] in
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      death.happen()
    }
  }

  @Test(
    "a fatal signal is reported with its thread, its cause and its functions",
    arguments: Death.allCases
  )
  func report(death: Death) async throws {
    let folder = TemporaryDirectory()
    await Self.expect(death, in: folder.path)

    let contents = Contents(folder.path)
    #expect(contents.messages == ["before"])
    let crash = try #require(contents.crashes.first)
    #expect(crash.signal == death.signal)
    #expect(
      crash.threadID > 0 && crash.time > 0 && crash.registers.count == crash.registerNames.count)
    #expect(crash.frames.count > 2 && crash.frames.allSatisfy { crash.module(of: $0 - 1) != nil })
    let text = crash.details.joined(separator: "\n")
    #expect(text.contains("Death.happen") || death == .stackOverflow, "\(crash.summary)\n\(text)")
    switch death {
    case .noMemory: #expect(crash.address == 16 && crash.summary.contains("at 0x10"))
    case .trap: #expect(text.contains("dieOfTrap"))
    case .abort, .sent: #expect(crash.sender > 0 && crash.reason.contains("sent by process"))
    case .bus: #expect(crash.code == 2 && text.contains("dieOfBus"))
    case .stackOverflow: #expect(crash.hasMoreFrames && text.contains("dieOfStackOverflow"))
    }
  }

  /// Ways to die with a message.
  enum Failure: String, Codable, CaseIterable {
    case fatalError, index, assertion, exception, silence

    func happen() {
      switch self {
      case .fatalError: Swift.fatalError("no venue\nof that name")
      case .index: dieOfTrap()
      case .assertion:
        typealias Text = UnsafePointer<CChar>
        typealias Fail = @convention(c) (Text, Text, CUnsignedInt, Text) -> Void
        let symbol = dlsym(nil, "__assert_fail")
        unsafeBitCast(symbol, to: Fail.self)("count == 3", "book.c", 42, "match")
      case .exception:
        typealias Throw = @convention(c) (UnsafePointer<CChar>) -> Void
        let symbol = dlsym(nil, "_ZSt21__throw_runtime_errorPKc")
        unsafeBitCast(symbol, to: Throw.self)("no venue")
      case .silence: raise(SIGILL)
      }
    }

    var signal: Int32 { self == .assertion || self == .exception ? SIGABRT : Death.trap.signal }

    var end: String {
      switch self {
      case .fatalError: "Fatal error: no venue\nof that name"
      case .index: "Fatal error: Index out of range"
      case .assertion: "book.c:42: match: Assertion `count == 3' failed."
      case .exception: "C++ exception std::runtime_error"
      case .silence: ""
      }
    }
  }

  #if DEBUG && arch(x86_64)
    @Test("what the runtime said is in the report", arguments: Failure.allCases)
    func whatTheRuntimeSaid(failure: Failure) async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(failure.signal)) {
        [path = folder.path as String, failure = failure as Failure] in
        _ = try CrashRecorderTests.open(path)
        failure.happen()
      }
      let crash = try #require(Contents(folder.path).crashes.first)
      #expect(crash.message.hasSuffix(failure.end), "\(crash.message)")
      #expect(crash.message.isEmpty == failure.end.isEmpty)
      let said = failure.end.isEmpty ? [] : ["said: \(crash.message)"]
      #expect(crash.details.filter { $0.hasPrefix("said: ") } == said)
    }
  #endif

  @Test("recovery takes it into the archive, where it stays")
  func recovery() async throws {
    let folder = TemporaryDirectory()
    await Self.expect(.noMemory, in: folder.path)
    let before = Contents(folder.path).crashes

    for _ in 0..<2 { try LogStore(directory: folder.path, name: "crash").blockingClose() }

    #expect(before.count == 1 && Contents(folder.path).crashes == before)
  }

  @Test("a thread that logs has a stack for it, and gives it back")
  func otherThread() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
      let store = try CrashRecorderTests.open(path)
      let log = store.logger(label: "l")
      for _ in 0..<3 { try MMLogSystem.Thread(name: "") { log.info("before") }.join() }
      try MMLogSystem.Thread(name: "worker") {
        log.info("before")
        _ = dieOfStackOverflow(1)
      }.join()
    }
    #expect(Contents(folder.path).messages.count == 4)
    let crash = try #require(Contents(folder.path).crashes.first)
    #expect(crash.threadName == "worker" && crash.hasMoreFrames)
  }

  @Test("the handler that was there before has its turn")
  func chain() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .exitCode(7)) { [path = folder.path as String] in
      signal(SIGILL) { _ in _exit(7) }
      signal(SIGTRAP) { _ in _exit(7) }
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      dieOfTrap()
    }
    #expect(Contents(folder.path).crashes.first?.signal == Death.trap.signal)
  }

  @Test("a crash of the handler before is not reported in place of the first one")
  func crashInHandler() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
      signal(SIGABRT) { _ in dieOfNoMemory() }
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      abort()
    }
    #expect(Contents(folder.path).crashes.map(\.signal) == [SIGABRT])
  }

  @Test("a handler before that crashes of the signal that it handles is not called again")
  func crashOfTheSameSignalInHandler() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
      // signal(2) would block the signal in mmlog's handler, too.
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in
        if entered.add(1, ordering: .relaxed).newValue > 1 { _exit(9) }
        dieOfNoMemory()
      }
      require(sigaction(SIGSEGV, &action, nil) == 0)
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      dieOfNoMemory()
    }
    #expect(Contents(folder.path).crashes.map(\.signal) == [SIGSEGV])
  }

  /// Each is for once, so that the same signal has its usual end the next time.
  @Test(
    "a handler before that is for once is called once, whether it raises the signal or returns",
    arguments: [SIGABRT, SIGSEGV, SIGBUS], [true, false])
  func handlerForOnce(signal: Int32, raises: Bool) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(signal)) {
      [path = folder.path as String, signal = signal as Int32, raises = raises as Bool] in
      unblockSignals()
      raisesAgain.store(raises, ordering: .relaxed)
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { signal in
        if entered.add(1, ordering: .relaxed).newValue > 1 { _exit(9) }
        if raisesAgain.load(ordering: .relaxed) { Glibc.raise(signal) }
      }
      action.sa_flags = SA_NODEFER | CInt(bitPattern: 0x8000_0000)  // SA_RESETHAND
      require(sigaction(signal, &action, nil) == 0)
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      switch signal {
      case SIGABRT: abort()
      case SIGSEGV: dieOfNoMemory()
      default:
        let file = Glibc.open("\(path)/mapped", O_RDWR | O_CREAT, 0o600)
        let page = mmap(nil, Host.pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        page?.storeBytes(of: 1, as: UInt8.self)
      }
    }
    #expect(Contents(folder.path).crashes.map(\.signal) == [signal])
  }

  @Test("an action before that is no function is not called, whatever its flags say")
  func actionWithoutFunction() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      unblockSignals()
      var ignoring = sigaction()
      ignoring.__sigaction_handler.sa_handler = SIG_IGN
      ignoring.sa_flags = SA_SIGINFO
      require(sigaction(SIGABRT, &ignoring, nil) == 0)
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      raise(SIGABRT)
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.messages.count == 2 && contents.crashes.isEmpty)
    #expect(contents.endings.map(\.how) == [.closed])
  }

  @Test("threads that crash at once end as one would")
  func manyThreads() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      for _ in 0..<8 { _ = try MMLogSystem.Thread(name: "") { dieOfNoMemory() } }
      while true { pause() }
    }
    #expect(Contents(folder.path).crashes.map(\.signal) == [SIGSEGV])
  }

  @Test("a thread that crashes while another survives a signal has its own report")
  func crashBesideSurvival() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
      signal(SIGABRT) { _ in
        while entered.load(ordering: .acquiring) == 0 { usleep(1000) }
        // Gives the other thread time to wait. If it does not wait yet, that does no harm.
        usleep(50_000)
      }
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      _ = try MMLogSystem.Thread(name: "survivor") { raise(SIGABRT) }
      while Contents(path).crashes.isEmpty { usleep(10_000) }
      _ = try MMLogSystem.Thread(name: "worker") {
        entered.store(1, ordering: .releasing)
        dieOfNoMemory()
      }
      while true { pause() }
    }
    #expect(Contents(folder.path).crashes.map(\.threadName) == ["worker"])
  }

  /// What closes the store while a fatal signal is being handled.
  enum Closer: String, Codable, CaseIterable {
    case handler, exitHandler, otherThread

    func prepare() {
      switch self {
      case .handler:
        signal(SIGABRT) { _ in
          closeStore()
          _exit(7)
        }
      case .exitHandler:
        atexit { closeStore() }
        signal(SIGABRT) { _ in exit(7) }
      case .otherThread:
        signal(SIGABRT) { _ in
          while true { pause() }
        }
      }
    }
  }

  @Test(
    "a store that is closed while a fatal signal is handled keeps the report, and has crashed",
    arguments: Closer.allCases)
  func closedMeanwhile(closer: Closer) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .exitCode(7)) {
      [path = folder.path as String, closer = closer as Closer] in
      unblockSignals()
      closer.prepare()
      let store = try CrashRecorderTests.open(path)
      opened.withLock { $0 = store }
      store.logger(label: "l").info("before")
      if closer == .otherThread {
        _ = try MMLogSystem.Thread(name: "worker") { raise(SIGABRT) }
        while Contents(path).crashes.isEmpty { usleep(10_000) }
        closeStore()
        _exit(7)
      }
      raise(SIGABRT)
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean && contents.messages == ["before"])
    #expect(contents.crashes.map(\.signal) == [SIGABRT])
    #expect(contents.crashes.allSatisfy { $0.frames.count > 2 })
    #expect(contents.endings.map(\.how) == [.crashed])
    #expect(try folder.names(ending: ".ring").isEmpty)

    let next = try LogStore(directory: folder.path, name: "crash")
    #expect(next.recoveredSessions.isEmpty)
    try next.blockingClose()
    #expect(Contents(folder.path).crashes == contents.crashes)
  }

  #if DEBUG
    @Test(
      "a crash of the thread that closes a store counts, also behind the mark of its end",
      arguments: [.closeMarked, .closeArchived, .closeFinished] as [TestPoint])
    func crashInClosing(point: TestPoint) async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGSEGV)) {
        [path = folder.path as String, point = point.rawValue as UInt8] in
        let store = try CrashRecorderTests.open(path)
        store.logger(label: "l").info("before")
        TestPoint.handler = { if $0.rawValue == point { dieOfNoMemory() } }
        try store.close()
      }
      try expectCrash(SIGSEGV, inRingOf: folder)
    }

    @Test("a crash that comes when the end of the session is written leaves the ring")
    func crashBesideClosing() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .exitCode(7)) { [path = folder.path as String] in
        signal(SIGABRT) { _ in
          while true { pause() }
        }
        let store = try CrashRecorderTests.open(path)
        store.logger(label: "l").info("before")
        TestPoint.handler = { point in
          guard point == .closeFinished else { return }
          _ = try? MMLogSystem.Thread(name: "worker") { raise(SIGABRT) }
          while Contents(path).crashes.isEmpty { usleep(10_000) }
        }
        try store.close()
        _exit(7)
      }
      try expectCrash(SIGABRT, inRingOf: folder)
    }

    /// Expects that a session has crashed, before its ring is recovered and after that.
    private func expectCrash(_ signal: CInt, inRingOf folder: TemporaryDirectory) throws {
      let before = Contents(folder.path)
      #expect(before.isClean && before.messages == ["before"])
      #expect(before.crashes.map(\.signal) == [signal])
      #expect(before.endings.map(\.how) == [.crashed])

      let next = try LogStore(directory: folder.path, name: "crash")
      #expect(next.recoveredSessions.map(\.end.how) == [.crashed])
      try next.blockingClose()
      for _ in 0..<2 {
        let after = Contents(folder.path)
        #expect(after.isClean && after.messages == ["before"] && after.crashes == before.crashes)
        #expect(after.endings.map(\.how) == [.crashed])
        try LogStore(directory: folder.path, name: "crash").blockingClose()
      }
    }
  #endif

  #if arch(x86_64)
    @Test("the walk of a stack passes code that is in no program or library")
    func madeCode() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
        let store = try CrashRecorderTests.open(path)
        store.logger(label: "l").info("before")
        dieBehindMadeCode()
      }
      let crash = try #require(Contents(folder.path).crashes.first)
      let text = crash.details.joined(separator: "\n")
      #expect(crash.isGuessed && crash.frames.contains { crash.module(of: $0) == nil }, "\(text)")
      #expect(text.contains("dieBehindMadeCode"), "\(text)")
    }
  #endif

  @Test("a child that is not made by fork(3) leaves its parent's report alone")
  func otherChild() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("parent")
      let symbol = try #require(dlsym(nil, "_Fork"))
      let child = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
      if child == 0 { dieOfNoMemory() }
      require(child > 0 && waitFor(child) == SIGSEGV)
      require(Contents(path).crashes.isEmpty)
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.crashes.isEmpty && contents.endings.map(\.how) == [.closed])
  }

  @Test("a process that exits right after it has survived a signal has exited, and counts a record")
  func survivedAndExited() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .exitCode(3)) { [path = folder.path as String] in
      unblockSignals()
      signal(SIGABRT) { _ in }
      let store = try CrashRecorderTests.open(path)
      opened.withLock { $0 = store }
      store.logger(label: "l").info("before")
      raise(SIGABRT)
      exit(3)
    }
    let contents = Contents(folder.path)
    #expect(contents.messages == ["before"] && contents.crashes.isEmpty)
    #expect(contents.endings.map(\.how) == [.exited])
    #expect(contents.losses.map { $0[.ringFull, .critical] } == [1])
  }

  /// Ways to survive a fatal signal.
  enum Survival: String, Codable, CaseIterable {
    case handlerReturns, threadEnds, ignored

    func prepare() {
      switch self {
      case .handlerReturns: signal(SIGABRT) { _ in }
      case .threadEnds: signal(SIGABRT) { _ in pthread_exit(nil) }
      case .ignored: signal(SIGABRT, SIG_IGN)
      }
    }
  }

  @Test(
    "a signal that was survived becomes a record, and a later crash has its own report",
    arguments: Survival.allCases)
  func survived(survival: Survival) async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      [path = folder.path as String, survival = survival as Survival] in
      survival.prepare()
      let store = try CrashRecorderTests.open(path)
      let log = store.logger(label: "l")
      // Twice: after the first time, the place is free again, and the handler is still there.
      for round in 1...2 {
        _ = try MMLogSystem.Thread(name: "worker") {
          log.info("before")
          raise(SIGABRT)
        }
        while Contents(path).records.count < 2 * round { usleep(10_000) }
        require(Contents(path).crashes.isEmpty)
      }
      dieOfNoMemory()
    }
    let contents = Contents(folder.path)
    #expect(contents.crashes.map(\.signal) == [SIGSEGV])
    #expect(contents.endings.map(\.how) == [.crashed])
    let records = contents.records.filter { $0.label == "mmlog" && $0.level == .critical }
    #expect(records.count == 2)
    for record in records {
      #expect(record.message.hasPrefix("survived SIGABRT (sent by process "))
      #expect(record.message.contains(" (worker): /") && record.message.contains("+0x"))
    }
  }

  #if DEBUG
    /// Opens a store whose ring is full, and whose disk is too.
    private static func openFull(_ path: String) throws -> LogStore {
      // The store's handler calls this one afterwards.
      signal(SIGABRT) { _ in }
      let store = try open(path) {
        $0.makeTiny()
        $0.fullRing = .dropNewest
      }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: path)
      let log = store.logger(label: "l")
      let filler = String(repeating: "f", count: 1000)
      while store.losses.isEmpty { log.info("\(filler)") }
      return store
    }

    /// Survives a signal, and waits until the signal is no longer recorded as a crash.
    private static func survive(_ path: String) throws {
      try MMLogSystem.Thread(name: "worker") { raise(SIGABRT) }.join()
      require(eventually { Contents(path).crashes.isEmpty })
    }

    @Test("a signal that was survived while the ring is full is no cause of death, and is counted")
    func survivedInFullRing() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
        let store = try CrashRecorderTests.openFull(path)
        for _ in 1...2 { try CrashRecorderTests.survive(path) }
        require(Contents(path).losses.allSatisfy { $0[.ringFull, .critical] == 0 })
        withExtendedLifetime(store) { _ = kill(getpid(), SIGKILL) }
      }
      for _ in 0..<2 {
        let contents = Contents(folder.path)
        #expect(contents.crashes.isEmpty && contents.endings.map(\.how) == [.killed])
        #expect(contents.losses.map { $0[.ringFull, .critical] } == [2])
        #expect(!contents.records.contains { $0.level == .critical })
        try LogStore(directory: folder.path, name: "crash").blockingClose()
      }
    }

    @Test("a signal that was survived while the ring is full becomes a record when there is room")
    func survivedUntilRoom() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
        let store = try CrashRecorderTests.openFull(path)
        for _ in 1...2 { try CrashRecorderTests.survive(path) }
        ForcedFault.clear(under: path)
        try store.flush(.archive)
        require(eventually { Contents(path).records.count { $0.level == .critical } == 2 })
        dieOfNoMemory()
      }
      let contents = Contents(folder.path)
      #expect(contents.crashes.map(\.signal) == [SIGSEGV])
      #expect(contents.losses.map { $0[.ringFull, .critical] } == [0])
      let records = contents.records.filter { $0.level == .critical }
      #expect(records.count == 2 && records.allSatisfy { $0.message.contains("+0x") })
    }
  #endif

  @Test("a report stays as long as its handler runs, however long that is")
  func longHandler() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      signal(SIGABRT) { _ in
        while true { pause() }
      }
      let store = try CrashRecorderTests.open(path)
      let log = store.logger(label: "l")
      log.info("before")
      _ = try MMLogSystem.Thread(name: "worker") { raise(SIGABRT) }
      while Contents(path).crashes.isEmpty { usleep(10_000) }
      // Waits as a backtracer does, for three scans of the drainer.
      sleep(4)
      kill(getpid(), SIGKILL)
    }
    let contents = Contents(folder.path)
    #expect(contents.messages == ["before"] && contents.crashes.map(\.signal) == [SIGABRT])
    #expect(contents.endings.map(\.how) == [.crashed])
  }

  @Test("closing a store takes a signal that was survived along")
  func survivedAndClosed() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      unblockSignals()
      signal(SIGABRT) { _ in }
      let store = try CrashRecorderTests.open(path)
      store.logger(label: "l").info("before")
      raise(SIGABRT)
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.messages.count == 2 && contents.crashes.isEmpty)
    #expect(contents.endings.map(\.how) == [.closed])
  }

  @Test(
    "a child of a fork has its own report, and its parent none",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func child() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try CrashRecorderTests.open(path)
      let log = store.logger(label: "l")
      log.info("parent")
      let child = forkProcess()
      if child == 0 {
        log.info("child")
        dieOfNoMemory()
      }
      var status: CInt = 0
      waitpid(child, &status, 0)
      require(status & 0x7F == SIGSEGV)
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.messages.sorted() == ["child", "parent"] && contents.crashes.count == 1)
  }

  @Test("a fault in the ring that is contained is none")
  func contained() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try CrashRecorderTests.open(path)
      let log = store.logger(label: "l")
      log.info("before")
      let ring = try #require(
        FileManager.default.contentsOfDirectory(atPath: path).first { $0.hasSuffix(".ring") })
      require(truncate("\(path)/\(ring)", 8192) == 0)
      for _ in 0..<100_000 { log.info("on") }
      try store.close()
    }
    #expect(Contents(folder.path).crashes.isEmpty)
  }

  @Test("without it, no handler but that of SIGBUS is set")
  func off() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "crash")
      store.logger(label: "l").info("before")
      for number in [SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS] {
        var action = sigaction()
        require(sigaction(number, nil, &action) == 0)
        require(unsafeBitCast(action.__sigaction_handler, to: UInt.self) == 0)
      }
      try store.close()
    }
  }
}

// Not inlined, so that they are in the backtrace. Each has code behind the call that ends the
// process, so that the call is no tail call.

@inline(never) private func dieOfNoMemory() {
  UnsafeMutablePointer<UInt64>(bitPattern: 16)?.pointee = 1
  usleep(1)
}

#if arch(x86_64)
  /// Crashes three calls deep, behind a function that is made here: it sets up a frame, and calls
  /// its argument.
  @inline(never) private func dieBehindMadeCode() {
    typealias Made = @convention(c) (@convention(c) () -> Void) -> Void
    let frame: [UInt8] = [0x55, 0x48, 0x89, 0xE5]
    let code = Array(repeating: 0x90, count: 8) + frame + [0xFF, 0xD7, 0x5D, 0xC3]
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    memory?.copyMemory(from: code, byteCount: code.count)
    require(mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0)
    unsafeBitCast(memory, to: Made.self)({ dieDeep(2) })
    usleep(1)
  }

  @inline(never) private func dieDeep(_ depth: Int) {
    if depth == 0 { dieOfNoMemory() } else { dieDeep(depth - 1) }
    usleep(1)
  }
#endif

private func closeStore() {
  require(logError { try opened.withLock { $0 }?.close() } == nil)
}

@inline(never) private func dieOfTrap() {
  let numbers = Array(0..<CommandLine.arguments.count)
  print(numbers[numbers.count])
}

@inline(never) private func dieOfAbort() {
  abort()
}

@inline(never) private func dieOfBus() {
  let file = tmpfile()
  let memory = mmap(nil, 4096, PROT_READ, MAP_SHARED, fileno(file), 0)
  print(memory?.load(as: UInt64.self) ?? 0)
}

@inline(never) private func dieOfStackOverflow(_ depth: Int) -> Int {
  // More than that would come from malloc(3), which has no frame pointers: if the stack ended
  // there, the crash would have no further frames.
  withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { bytes in
    bytes[depth & 1023] = 1
    return dieOfStackOverflow(depth + 1) + Int(bytes[0])
  }
}
