import Glibc

/// How a process ended.
enum Ending: Equatable {
  case exited(CInt)
  case killed(CInt)

  init(status: CInt) {
    self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
  }
}

/// A program that stands beside the tests, running with files for its input and output.
final class ChildProcess {
  let id: pid_t
  private let errors: String
  private var ending: Ending?

  /// Starts it.
  ///
  /// - Parameters:
  ///   - input: What it reads: a file, or a pipe with a name.
  ///   - output: Where it prints to; nowhere if nil.
  ///   - errors: Where its complaints go.
  init(
    _ program: String, _ arguments: [String], input: String = "/dev/null", output: String? = nil,
    errors: String
  ) throws {
    let path = "\(Self.folder)/\(program)"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", flags, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
    let strings = ([path] + arguments).map { strdup($0) } + [nil]
    // A killed child's backtrace is of no interest, and takes seconds.
    let environment = Self.environment.map { strdup($0) } + [nil]
    defer { for string in strings + environment { free(string) } }
    var attributes = Self.attributes
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, strings, environment)
    guard code == 0 else { throw Failure("\(path): \(String(cString: strerror(code)))") }
    (self.id, self.errors) = (id, errors)
  }

  deinit {
    if ending == nil {
      signal(SIGKILL)
      wait()
    }
  }

  func signal(_ signal: CInt) { kill(id, signal) }

  /// Waits for its end.
  @discardableResult
  func wait() -> Ending {
    if let ending { return ending }
    var status: CInt = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    let result = Ending(status: status)
    ending = result
    return result
  }

  /// Waits until something is so, as which the process has to be alive, or to have ended.
  func wait(until isSo: () throws -> Bool) throws {
    while try !isSo() {
      var status: CInt = 0
      if ending == nil, waitpid(id, &status, WNOHANG) == id { ending = Ending(status: status) }
      if let ending {
        if try isSo() { return }
        throw Failure("the process has ended (\(ending)) before it was ready: \(complaints)")
      }
      usleep(200)
    }
  }

  /// What it has printed on standard error.
  var complaints: String { (try? text(errors)) ?? "" }

  /// No signal blocked or ignored, whatever the tests' threads do.
  private static var attributes: posix_spawnattr_t {
    var (attributes, none, all) = (posix_spawnattr_t(), sigset_t(), sigset_t())
    posix_spawnattr_init(&attributes)
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    return attributes
  }

  /// Where the tests are, and what they test.
  private static let folder: String = {
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 4096)
    defer { buffer.deallocate() }
    let count = readlink("/proc/self/exe", buffer, 4096)
    let bytes = UnsafeRawBufferPointer(start: buffer, count: max(0, count))
    let path = String(decoding: bytes, as: UTF8.self)
    return path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
  }()

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

/// Something that a test needs did not work.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
