import Glibc

/// A program that was started with a pipe to its standard input, or from its standard output.
///
/// It has the signals' default actions.
package struct PipedProgram: ~Copyable {
  private let id: pid_t
  /// This process's end of the pipe: to write to, or to read from.
  package let pipe: CInt

  /// Starts `sh -c COMMAND`, which reads what is written to ``pipe``, and has standard output and
  /// standard error of this process: pipe(2), posix_spawnp(3).
  ///
  /// - Returns: nil if that fails.
  package static func reading(_ command: String) -> PipedProgram? {
    start("/bin/sh", ["sh", "-c", command], isReading: true)
  }

  /// Runs a program, which is searched for in `PATH`: pipe(2), posix_spawnp(3), waitpid(2). It
  /// reads nothing, and what it says on standard error is dropped.
  ///
  /// - Parameters:
  ///   - arguments: its name, and what follows that; no shell sees them.
  ///   - maximum: of what it prints beyond so many bytes, nothing is kept.
  /// - Returns: what it printed; nil if it could not be started, or failed.
  package static func output(of arguments: [String], maximum: Int = 1 << 20) -> String? {
    guard let program = start(arguments.first ?? "", arguments, isReading: false) else {
      return nil
    }
    let text = read(program.pipe, maximum)
    _ = close(program.pipe)
    return program.wait() == 0 ? String(decoding: text, as: UTF8.self) : nil
  }

  /// Waits until it has ended: waitpid(2). Whoever writes has closed what it writes to before.
  ///
  /// - Returns: Its status, as waitpid(2) has it.
  @discardableResult
  package consuming func wait() -> CInt {
    var status: CInt = 0
    while waitpid(id, &status, 0) == -1, errno == EINTR {}
    return status
  }

  private static func start(
    _ path: String, _ words: [String], isReading: Bool
  ) -> PipedProgram? {
    var ends: [CInt] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (own, other) = isReading ? (ends[1], ends[0]) : (ends[0], ends[1])
    let id = spawn(path, words, other, isReading: isReading)
    _ = close(other)
    guard let id else {
      _ = close(own)
      return nil
    }
    return PipedProgram(id: id, pipe: own)
  }

  private static func spawn(
    _ path: String, _ words: [String], _ end: CInt, isReading: Bool
  ) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    if isReading {
      posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var arguments = words.map { (word: String) -> UnsafeMutablePointer<CChar>? in strdup(word) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, path, &actions, &attributes, &arguments, environ)
    return error == 0 ? id : nil
  }

  private static func read(_ descriptor: CInt, _ maximum: Int) -> [UInt8] {
    var text: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return text }
      text += part.prefix(min(count, maximum - text.count))
    }
  }
}
