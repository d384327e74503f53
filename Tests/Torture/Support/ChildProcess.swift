import Glibc
import MMLogSystem

/// Another program, or this one again.
final class ChildProcess {
  private let id: pid_t
  private var status: CInt?

  /// Starts it.
  ///
  /// - Parameters:
  ///   - path: Where the program is; a name is looked up in PATH.
  ///   - output: The file that gets what it prints and its complaints; nil: where this process prints.
  init(_ path: String, _ arguments: [String], output: String?) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let output {
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    let strings = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    var id: pid_t = 0
    let code = posix_spawnp(&id, path, &actions, nil, strings, environ)
    guard code == 0 else { throw Failure("\(path): \(String(cString: strerror(code)))") }
    self.id = id
  }

  deinit {
    if isRunning {
      kill()
      _ = wait()
    }
  }

  /// This program's own file.
  static let ownPath = "/proc/self/exe"

  func kill() { if status == nil { _ = Glibc.kill(id, SIGKILL) } }

  var isRunning: Bool {
    var status: CInt = 0
    if self.status == nil, waitpid(id, &status, WNOHANG) == id { self.status = status }
    return self.status == nil
  }

  /// Waits for its end, and kills it if it takes too long: nil if it exited with status 0, else how it ended.
  func wait(seconds: UInt64 = 600) -> String? {
    let start = Clock.monotonic()
    while isRunning {
      if (Clock.monotonic() - start) / 1_000_000_000 >= seconds {
        kill()
        while isRunning { usleep(1000) }
        return "hung, and was killed after \(seconds) seconds"
      }
      usleep(1000)
    }
    let status = status ?? 0
    if status == 0 { return nil }
    return status & 0x7F == 0
      ? "exited with status \(status >> 8 & 0xFF)" : "was killed by signal \(status & 0x7F)"
  }

  /// Runs a program to its end.
  static func run(_ path: String, _ arguments: [String], output: String) throws {
    let child = try ChildProcess(path, arguments, output: output)
    guard let ending = child.wait() else { return }
    let said = (try? Folder.read(output)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    throw Failure("\(path) \(arguments.joined(separator: " ")) \(ending): \(said)")
  }
}
