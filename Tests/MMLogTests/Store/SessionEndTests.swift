import Glibc
import MMLog
import MMLogAnalysis
import MMLogReader
import TestSupport
import Testing

/// How a session ended, as its ring, its archives and their reader say.
@Suite(.serialized, .disabled(if: hasThreadSanitizer, "no signal is handled under it"))
struct SessionEndTests {
  /// Ways in which a process ends without closing its store.
  enum Way: String, Codable, CaseIterable {
    case exit, crashAtExit, recordedCrashAtExit, endAtOnce
    case term, termWithFlag, int, hup, ownHandler, ignored
    case kill, abort, recordedAbort

    /// The ending that has to be reported.
    var how: SessionEnd.How {
      switch self {
      case .exit, .ownHandler, .ignored: .exited
      case .term, .termWithFlag, .int, .hup: .terminated
      case .crashAtExit, .endAtOnce, .kill, .abort: .killed
      case .recordedCrashAtExit, .recordedAbort: .crashed
      }
    }

    /// The signal that has to be named.
    var signal: CInt {
      switch self {
      case .term, .termWithFlag: SIGTERM
      case .int: SIGINT
      case .hup: SIGHUP
      case .recordedCrashAtExit: SIGSEGV
      case .recordedAbort: SIGABRT
      default: 0
      }
    }

    /// What the system says of the process.
    var exit: ExitTest.Condition {
      switch self {
      case .exit, .endAtOnce, .ownHandler, .ignored: .exitCode(3)
      case .crashAtExit, .recordedCrashAtExit: .signal(SIGSEGV)
      case .kill: .signal(SIGKILL)
      case .abort, .recordedAbort: .signal(SIGABRT)
      case .term, .termWithFlag, .int, .hup: .signal(signal)
      }
    }

    /// Called before the store is opened.
    func prepare() {
      unblockSignals()
      // Whatever the parent of the test process has set.
      for number in [SIGTERM, SIGINT, SIGHUP] { Glibc.signal(number, SIG_DFL) }
      if self == .ignored { Glibc.signal(SIGTERM, SIG_IGN) }
      if self == .termWithFlag {
        // The flag means nothing if there is no function.
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        require(sigaction(SIGTERM, &action, nil) == 0)
      }
      if self == .crashAtExit || self == .recordedCrashAtExit {
        atexit { UnsafeMutablePointer<UInt64>(bitPattern: 16)?.pointee = 1 }
      }
    }

    func happen() {
      switch self {
      case .exit, .crashAtExit, .recordedCrashAtExit: Glibc.exit(3)
      case .endAtOnce: _exit(3)
      case .term, .termWithFlag, .int, .hup: raise(signal)
      case .ignored:
        raise(SIGTERM)
        Glibc.exit(3)
      case .ownHandler:
        Glibc.signal(SIGTERM) { _ in Glibc.exit(3) }
        raise(SIGTERM)
      case .kill: raise(SIGKILL)
      case .abort, .recordedAbort: Glibc.abort()
      }
    }
  }

  private let folder = TemporaryDirectory()

  fileprivate static func open(
    _ path: String, _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    change(&configuration)
    return try LogStore(directory: path, name: "end", configuration: configuration)
  }

  private func run(_ way: Way) async {
    await #expect(processExitsWith: way.exit) {
      [path = folder.path as String, way = way as Way] in
      way.prepare()
      let store = try SessionEndTests.open(path) {
        $0.recordsCrashes = way == .recordedAbort || way == .recordedCrashAtExit
      }
      store.logger(label: "l").info("before")
      way.happen()
    }
  }

  private func ends() -> [SessionEnd] {
    Contents(folder.path).endings.compactMap { if case .ended(let end) = $0 { end } else { nil } }
  }

  @Test(
    "each way to end is distinguished, in the ring and after its recovery", arguments: Way.allCases)
  func ways(way: Way) async throws {
    await run(way)
    let end = try #require(ends().first)
    let isSent = [SIGTERM, SIGINT, SIGHUP, SIGABRT].contains(way.signal)
    #expect(end.how == way.how && end.signal == way.signal && end.recovered == nil)
    #expect((end.sender > 0) == isSent && end.time > 0)
    let isFound = LogFiles([.path(folder.path)]).lastCrashedSession() != nil
    #expect(isFound == way.how.isCrash)

    let next = try Self.open(folder.path)
    let recovered = try #require(next.recoveredSessions.first)
    let archive = try next.archives().first
    try next.blockingClose()
    let after = try #require(ends().first)
    #expect(recovered.end == after && recovered.recordCount == 1)
    #expect(archive?.contents?.ending == end.how && archive?.contents?.endTime == end.time)
    #expect(after.recovered != nil && after.summary == end.summary && after.time == end.time)
  }

  @Test("of three stops by SIGTERM none is a crash, and the one before keeps its protection")
  func deploys() async throws {
    await run(.kill)
    for _ in 0..<3 { await run(.term) }
    let store = try Self.open(folder.path) {
      $0.retention.count = 1
      $0.retention.crashes = 1
    }
    try store.blockingApplyRetention()
    try store.blockingClose()
    let files = LogFiles([.path(folder.path)])
    let crashed = try #require(files.lastCrashedSession())
    #expect(files.overview().filter(\.ending.isCrash).map(\.session.id) == [crashed.id])
    #expect(files.overview().contains { $0.ending.how == .terminated })
  }

  @Test("all open stores are notified of a signal, and without the setting none is handled")
  func stores() async throws {
    await #expect(processExitsWith: .signal(SIGTERM)) { [path = folder.path as String] in
      Way.term.prepare()
      let stores = try (0..<20).map { _ in try SessionEndTests.open(path) }
      for store in stores { store.logger(label: "l").info("before") }
      try stores[7].close()
      raise(SIGTERM)
    }
    let hows = ends().map(\.how)
    #expect(
      hows.filter { $0 == .terminated }.count == 19 && hows.filter { $0 == .closed }.count == 1)

    let other = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGTERM)) { [path = other.path as String] in
      Way.term.prepare()
      _ = try SessionEndTests.open(path) { $0.recordsTermination = false }
      raise(SIGTERM)
    }
    #expect(Contents(other.path).endings.map(\.how) == [.killed])
  }

  @Test(
    "a fork's child has an end of its own, and leaves its parent's alone",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func child() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      Way.term.prepare()
      let store = try SessionEndTests.open(path)
      let log = store.logger(label: "l")
      log.info("parent")
      // A child that logs, and one that does not.
      for (logs, number) in [(true, SIGTERM), (false, SIGHUP)] {
        let child = forkProcess()
        if child == 0 {
          if logs { log.info("child") }
          raise(number)
        }
        var status: CInt = 0
        waitpid(child, &status, 0)
        require(status & 0x7F == number)
      }
      let endings = Contents(path).endings
      require(endings.map(\.how) == [nil, .terminated], "\(endings)")
      try store.close()
    }
    #expect(ends().map(\.how) == [.closed, .terminated])
  }
}
