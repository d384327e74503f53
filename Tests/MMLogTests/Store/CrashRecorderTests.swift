import Foundation
import Glibc
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@testable import MMLog

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

  /// Ways to die with words.
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
      // Twice: the place is free again after the first, and the handler there.
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
      // The store's handler goes on to it.
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

    /// Survives a signal, and waits until that is no cause of death any more; some seconds at most.
    private static func survive(_ path: String) throws {
      try MMLogSystem.Thread(name: "worker") { raise(SIGABRT) }.join()
      for _ in 0..<100 where !Contents(path).crashes.isEmpty { usleep(100_000) }
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
        let isMissing = { Contents(path).records.count { $0.level == .critical } < 2 }
        for _ in 0..<100 where isMissing() { usleep(100_000) }
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
      // As a backtracer does. Three scans of the drainer.
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

// Not inlined, so that they are in the backtrace; each goes on behind what ends it, so that it is
// no tail call.

@inline(never) private func dieOfNoMemory() {
  UnsafeMutablePointer<UInt64>(bitPattern: 16)?.pointee = 1
  usleep(1)
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
  // More than that comes from malloc(3), which has no frame pointers: where the stack ended in it,
  // the crash had no further frames.
  withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { bytes in
    bytes[depth & 1023] = 1
    return dieOfStackOverflow(depth + 1) + Int(bytes[0])
  }
}
