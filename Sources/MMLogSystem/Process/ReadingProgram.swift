import Glibc

/// A program that reads what this one writes: `sh -c COMMAND` behind a pipe.
package struct ReadingProgram: ~Copyable {
  private let id: pid_t
  /// Where to write.
  package let input: CInt

  /// Starts it: pipe(2), posix_spawn(3). It has the signals' default actions, and standard output
  /// and standard error of this process.
  ///
  /// - Returns: nil if that fails.
  package static func start(_ command: String) -> ReadingProgram? {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let id = spawn(command, input: ends[0])
    _ = close(ends[0])
    guard let id else {
      _ = close(ends[1])
      return nil
    }
    return ReadingProgram(id: id, input: ends[1])
  }

  private static func spawn(_ command: String, input: CInt) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let words = ["sh", "-c", command]
    var arguments = words.map { (word: String) -> UnsafeMutablePointer<CChar>? in strdup(word) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var id: pid_t = 0
    let error = posix_spawn(&id, "/bin/sh", &actions, &attributes, &arguments, environ)
    return error == 0 ? id : nil
  }

  /// Waits until it has ended: waitpid(2). Whoever writes has closed what it writes to before.
  package consuming func wait() {
    var status: CInt = 0
    while waitpid(id, &status, 0) == -1, errno == EINTR {}
  }
}
