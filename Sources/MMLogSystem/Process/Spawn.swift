import CMMLogCore
import Glibc

/// Starts programs, and waits for them: what ``FedProgram`` and ``PipedProgram`` have in common.
enum Spawn {
  /// What a program gets as one of its standard streams.
  enum Stream {
    /// The stream of this process.
    case inherited
    /// `/dev/null`.
    case nothing
    case descriptor(CInt)
  }

  /// Starts a program, with the default actions of signals, and with no signal blocked:
  /// posix_spawnp(3).
  ///
  /// - Parameters:
  ///   - path: The program; searched for in `PATH` if it has no slash.
  ///   - words: The program's name, and its arguments.
  ///   - environment: Variables beside those of this process.
  ///   - isLeader: Whether the program gets a process group of its own.
  static func start(
    _ path: String, _ words: [String], environment: [(name: String, value: String)] = [],
    input: Stream, output: Stream, errors: Stream, isLeader: Bool = false
  ) throws(SystemError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    for (stream, number) in [
      (input, STDIN_FILENO), (output, STDOUT_FILENO), (errors, STDERR_FILENO),
    ] {
      switch stream {
      case .inherited: break
      case .nothing: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      case .descriptor(let end): posix_spawn_file_actions_adddup2(&actions, end, number)
      }
    }
    var signals = sigset_t()
    sigemptyset(&signals)
    // Threads of this package block all signals.
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    let group = isLeader ? POSIX_SPAWN_SETPGROUP : 0
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group))
    var arguments = copies(of: words) + [nil]
    var variables = copies(of: environment.map { "\($0)=\($1)" })
    variables += inherited(without: environment.map(\.name)) + [nil]
    defer { for text in arguments + variables { free(text) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, path, &actions, &attributes, &arguments, &variables)
    guard error == 0 else { throw SystemError(call: .spawn, errno: error, path: path) }
    return id
  }

  /// How a program has ended, as waitpid(2) says it; nil if it has not.
  ///
  /// - Parameter waits: Whether to wait until it has ended.
  /// - Throws: ECHILD if it has ended and nobody knows how, because this process ignores SIGCHLD.
  static func status(of id: pid_t, waits: Bool) throws(SystemError) -> CInt? {
    var status: CInt = 0
    let found = try retrying(.waitpid, "") { waitpid(id, &status, waits ? 0 : WNOHANG) }
    return found == id ? status : nil
  }

  /// Copies of this process's variables, byte by byte: they need not be UTF-8.
  private static func inherited(without names: [String]) -> [UnsafeMutablePointer<CChar>?] {
    let starts = names.map { "\($0)=" }
    var all: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let variable = next.pointee {
      if !starts.contains(where: { strncmp(variable, $0, $0.utf8.count) == 0 }) {
        all.append(strdup(variable))
      }
      next = next.advanced(by: 1)
    }
    return all
  }

  private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    texts.map { (text: String) -> UnsafeMutablePointer<CChar>? in strdup(text) }
  }
}

/// A pipe whose ends are not inherited by programs that other threads start.
struct Pipe: ~Copyable {
  private(set) var reading: CInt
  private(set) var writing: CInt

  /// Makes one: pipe2(2).
  init() throws(SystemError) {
    var ends: [CInt] = [-1, -1]
    _ = try retrying(.pipe, "") { mmlog_pipe(&ends) }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    for end in [reading, writing] where end >= 0 { _ = close(end) }
  }

  mutating func closeReading() { if reading >= 0 { _ = close(takeReading()) } }

  mutating func closeWriting() { if writing >= 0 { _ = close(takeWriting()) } }

  /// Gives an end away, for somebody else to close.
  mutating func takeReading() -> CInt {
    defer { reading = -1 }
    return reading
  }

  /// Gives an end away, for somebody else to close.
  mutating func takeWriting() -> CInt {
    defer { writing = -1 }
    return writing
  }
}
