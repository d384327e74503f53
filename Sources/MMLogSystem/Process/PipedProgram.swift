import Glibc

/// A program that was started with a pipe to its standard input, or from its standard output.
package struct PipedProgram: ~Copyable {
  /// The number of its process.
  package let id: CInt
  /// This process's end of the pipe: to write to, or to read from.
  package let pipe: CInt

  /// Starts `sh -c COMMAND`, which reads what is written to ``pipe``, and has the standard output
  /// and the standard error of this process: pipe2(2), posix_spawnp(3).
  ///
  /// - Returns: nil if that fails.
  package static func reading(_ command: String) -> PipedProgram? {
    start("/bin/sh", ["sh", "-c", command], isReading: true)
  }

  /// Runs a program, which is searched for in `PATH`: pipe2(2), posix_spawnp(3), waitpid(2). The
  /// program reads nothing, and its standard error is dropped.
  ///
  /// - Parameter arguments: the program's name, and its arguments; no shell sees them.
  /// - Returns: the first MiB of what it printed; nil if it could not be started, or failed.
  package static func output(of arguments: [String]) -> String? {
    guard let program = start(arguments.first ?? "", arguments, isReading: false) else {
      return nil
    }
    let text = read(program.pipe)
    _ = close(program.pipe)
    return program.wait() == 0 ? String(decoding: text, as: UTF8.self) : nil
  }

  /// Waits until the program has ended: waitpid(2). A caller that writes to ``pipe`` closes it
  /// first.
  ///
  /// - Returns: The program's status, as waitpid(2) has it; -1 if nobody knows it, because this
  ///   process ignores SIGCHLD.
  @discardableResult
  package consuming func wait() -> CInt { (try? Spawn.status(of: id, waits: true)) ?? -1 }

  private static func start(
    _ path: String, _ words: [String], isReading: Bool
  ) -> PipedProgram? {
    guard var pipe = try? Pipe() else { return nil }
    let id =
      isReading
      ? try? Spawn.start(
        path, words, input: .descriptor(pipe.reading), output: .inherited, errors: .inherited)
      : try? Spawn.start(
        path, words, input: .nothing, output: .descriptor(pipe.writing), errors: .nothing)
    guard let id else { return nil }
    return PipedProgram(id: id, pipe: isReading ? pipe.takeWriting() : pipe.takeReading())
  }

  private static func read(_ descriptor: CInt) -> [UInt8] {
    var text: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return text }
      text += part.prefix(min(count, 1 << 20 - text.count))
    }
  }
}
