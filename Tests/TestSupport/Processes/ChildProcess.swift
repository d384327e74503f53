package import Glibc
import MMLogSystem

/// How a process ended.
package enum Ending: Equatable, CustomStringConvertible {
  case exited(CInt)
  case killed(CInt)
  /// The process was killed because it took too long.
  case hung

  /// The process exited with status 0.
  package static let success = Ending.exited(0)

  init(status: CInt) {
    self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
  }

  package var description: String {
    switch self {
    case .exited(let status): "exited with status \(status)"
    case .killed(let signal): "was killed by signal \(signal)"
    case .hung: "hung, and was killed"
    }
  }
}

/// Another program, or this program again. The process does not outlive this object.
package final class ChildProcess {
  package let id: pid_t
  private let errors: String?
  private var ending: Ending?
  /// One end of a connection. The process and its children have the other end.
  private let family: CInt?

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - path: Where the program is; a name is looked up in PATH.
  ///   - input: What it reads: a file, or a pipe with a name.
  ///   - output: The file that gets what it prints; nil: where this process prints.
  ///   - errors: The file that gets its complaints; nil: where it prints.
  ///   - hasFamily: Whether it may have children of its own, which ``killFamily()`` and
  ///     ``waitForFamily(seconds:)`` are about.
  package init(
    _ path: String, _ arguments: [String], input: String = "/dev/null",
    output: String? = "/dev/null", errors: String? = nil, hasFamily: Bool = false
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    if let output { posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600) }
    if let errors {
      posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
    } else if output != nil {
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    let connection = hasFamily ? try Self.makeConnection() : nil
    if let connection { posix_spawn_file_actions_adddup2(&actions, connection.its, 3) }
    defer { if let connection { close(connection.its) } }
    let strings = ([path] + arguments).map { strdup($0) } + [nil]
    let environment = Self.environment.map { strdup($0) } + [nil]
    defer { for string in strings + environment { free(string) } }
    var attributes = Self.attributes(isLeader: hasFamily)
    var id: pid_t = 0
    let code = posix_spawnp(&id, path, &actions, &attributes, strings, environment)
    guard code == 0 else {
      if let connection { close(connection.mine) }
      throw Failure("\(path): \(String(cString: strerror(code)))")
    }
    (self.id, self.errors, family) = (id, errors ?? output, connection?.mine)
  }

  deinit {
    killFamily()
    if isRunning {
      kill()
      wait()
    }
    if let family { close(family) }
  }

  /// This program's own file.
  package static let ownPath = "/proc/self/exe"

  /// The path of a program that was built with this one.
  package static func path(of program: String) -> String { "\(folder)/\(program)" }

  /// Runs a program, and waits for its end.
  package static func run(_ path: String, _ arguments: [String], output: String) throws {
    let child = try ChildProcess(path, arguments, output: output)
    let ending = child.wait()
    if ending == .success { return }
    throw Failure("\(path) \(arguments.joined(separator: " ")) \(ending): \(child.complaints)")
  }

  package func signal(_ signal: CInt) { if ending == nil { _ = Glibc.kill(id, signal) } }

  package func kill() { signal(SIGKILL) }

  /// Sends a signal to one of the process's threads.
  package func signal(_ signal: CInt, thread: pid_t) {
    if ending == nil { _ = Self.tgkill(id, thread, signal) }
  }

  /// tgkill(2), which the module of the C library leaves out.
  private static let tgkill = unsafeBitCast(
    dlsym(nil, "tgkill"), to: (@convention(c) (pid_t, pid_t, CInt) -> CInt).self)

  /// The ids of the process's threads.
  package var threads: [pid_t] {
    ((try? Folder.names("/proc/\(id)/task")) ?? []).compactMap { pid_t($0) }
  }

  package var isRunning: Bool {
    var status: CInt = 0
    if ending == nil, waitpid(id, &status, WNOHANG) == id { ending = Ending(status: status) }
    return ending == nil
  }

  /// Waits for the end of the process, and kills it if that takes too long.
  @discardableResult
  package func wait(seconds: UInt64 = 600) -> Ending {
    let start = Clock.monotonic()
    while isRunning {
      if (Clock.monotonic() - start) / 1_000_000_000 >= seconds {
        kill()
        while isRunning { usleep(1000) }
        ending = .hung
      }
      usleep(300)
    }
    return ending ?? .hung
  }

  /// Waits until a condition holds. Throws if the process ends before, or after five minutes.
  package func wait(until isSo: () throws -> Bool) throws {
    let start = Clock.monotonic()
    while try !isSo() {
      if !isRunning {
        if try isSo() { return }
        throw Failure("the process \(wait()) before it was ready: \(complaints)")
      }
      if Clock.monotonic() - start > 300_000_000_000 {
        throw Failure("the process does not become ready: \(complaints)")
      }
      usleep(200)
    }
  }

  /// All that the process has printed on standard error.
  package var complaints: String { errors.map(Folder.text) ?? "" }

  // MARK: - Its children

  /// Kills the process and all its children.
  package func killFamily() {
    // No other group gets the number as long as a process of this group lives.
    if hasFamilyLeft { _ = Glibc.kill(-id, SIGKILL) }
  }

  /// Waits until all children of the process have ended, too. If they take too long, kills them and
  /// returns false.
  package func waitForFamily(seconds: UInt64) -> Bool {
    let start = Clock.monotonic()
    while hasFamilyLeft {
      if (Clock.monotonic() - start) / 1_000_000_000 >= seconds {
        killFamily()
        return false
      }
      usleep(300)
    }
    return true
  }

  /// Whether any process still has the other end of the connection.
  private var hasFamilyLeft: Bool {
    guard let family else { return false }
    var request = pollfd(fd: family, events: 0, revents: 0)
    return poll(&request, 1, 0) == 0
  }

  private static func makeConnection() throws -> (mine: CInt, its: CInt) {
    var ends: [CInt] = [0, 0]
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw Failure("socketpair: errno \(errno)")
    }
    // The number has to differ from the child's: dup2 to the same number would leave the descriptor
    // to be closed.
    let its = fcntl(ends[1], F_DUPFD_CLOEXEC, 4)
    close(ends[1])
    guard its >= 0 else {
      close(ends[0])
      throw Failure("fcntl F_DUPFD_CLOEXEC: errno \(errno)")
    }
    return (ends[0], its)
  }

  // MARK: - Starting

  /// Attributes of a process in which no signal is blocked or ignored, whatever this process's
  /// threads do.
  private static func attributes(isLeader: Bool) -> posix_spawnattr_t {
    var (attributes, none, all) = (posix_spawnattr_t(), sigset_t(), sigset_t())
    posix_spawnattr_init(&attributes)
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    if isLeader { flags |= CInt(POSIX_SPAWN_SETPGROUP) }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    return attributes
  }

  private static let folder: String = {
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 4096)
    defer { buffer.deallocate() }
    let count = readlink(ownPath, buffer, 4096)
    let bytes = UnsafeRawBufferPointer(start: buffer, count: max(0, count))
    let path = String(decoding: bytes, as: UTF8.self)
    return path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
  }()

  /// This process's environment, without backtraces: a killed child's would take seconds for
  /// nothing.
  private static let environment: [String] = {
    var strings = ["SWIFT_BACKTRACE=enable=no"]
    var next = environ as UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    while let string = next?.pointee {
      let text = String(cString: string)
      if !text.hasPrefix("SWIFT_BACKTRACE=") { strings.append(text) }
      next = next?.successor()
    }
    return strings
  }()
}
