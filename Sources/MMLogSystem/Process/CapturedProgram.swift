import Glibc

/// A program that is run for what it prints.
package enum CapturedProgram {
  /// Runs a program, which is searched for in `PATH`: pipe(2), posix_spawnp(3), waitpid(2). It reads
  /// nothing, and what it says on standard error is dropped.
  ///
  /// - Parameters:
  ///   - arguments: its name, and what follows that; no shell sees them.
  ///   - maximum: of what it prints beyond so many bytes, nothing is kept.
  /// - Returns: what it printed; nil if it could not be started, or failed.
  package static func output(of arguments: [String], maximum: Int = 1 << 20) -> String? {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let id = spawn(arguments, output: ends[1])
    _ = close(ends[1])
    let text = id == nil ? [] : read(ends[0], maximum)
    _ = close(ends[0])
    guard let id else { return nil }
    var status: CInt = 0
    while waitpid(id, &status, 0) == -1, errno == EINTR {}
    return status == 0 ? String(decoding: text, as: UTF8.self) : nil
  }

  private static func spawn(_ arguments: [String], output: CInt) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var words = arguments.map { (word: String) -> UnsafeMutablePointer<CChar>? in strdup(word) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var id: pid_t = 0
    guard let name = words.first ?? nil,
      posix_spawnp(&id, name, &actions, nil, &words, environ) == 0
    else { return nil }
    return id
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
