import Glibc
import MMLogSystem

/// Runs a command as a process: help, errors, output, exit status.
package enum Program {
  /// Reads the command line, does what it asks for, and ends the process.
  ///
  /// What `body` printed is written before an error is reported. An error of its own that is a
  /// ``UsageError`` ends with status 2, any other with status 1, each with one line on standard
  /// error. From here on SIGPIPE is ignored, SIGCHLD is not, and the first three descriptors are in
  /// use.
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - body: the work, unless a command of the program has it; runs on the calling thread.
  package static func run(
    _ command: Command, arguments: [String] = Array(CommandLine.arguments.dropFirst()),
    _ body: (Arguments, StandardOutput) throws -> Status = { _, _ in .success }
  ) -> Never {
    signal(SIGPIPE, SIG_IGN)
    // Whoever ignores it leaves that to the programs that it starts, and then those that this one
    // starts have no status.
    signal(SIGCHLD, SIG_DFL)
    occupyStandardDescriptors()
    listCandidates(command, arguments)
    let (command, arguments) = command.resolve(arguments)
    let status =
      if let own = command.body { attempt(command, arguments, own) } else {
        attempt(command, arguments, body)
      }
    exit(status.rawValue)
  }

  /// What a script of completions asks for, which no help mentions: `--candidates KIND WORD…`. It
  /// says nothing of what it cannot find out: somebody is typing.
  private static func listCandidates(_ command: Command, _ arguments: [String]) {
    guard let candidates = command.candidates, arguments.first == "--candidates",
      arguments.count > 1
    else { return }
    // What stands in a log must not become a part of the line that a shell runs.
    let names = candidates(arguments[1], Array(arguments.dropFirst(2))).filter { name in
      name.utf8.allSatisfy { byte in
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
          || "0123456789._:/@%+,-".utf8.contains(byte)
      }
    }
    let output = try? StandardOutput()
    for name in names where !name.isEmpty { try? output?.append(name + "\n") }
    try? output?.flush()
    exit(0)
  }

  private static func attempt(
    _ command: Command, _ arguments: [String],
    _ body: (Arguments, StandardOutput) throws -> Status
  ) -> Status {
    do {
      let output = try StandardOutput()
      return try flushing(output) { try answer(command, arguments, output, body) }
    } catch let error as UsageError {
      command.report("\(error)")
      StandardError.write("Usage: \(command.synopsis)\n")
      return .usage
    } catch {
      command.report("\(error)")
      return .failure
    }
  }

  private static func answer(
    _ command: Command, _ arguments: [String], _ output: StandardOutput,
    _ body: (Arguments, StandardOutput) throws -> Status
  ) throws -> Status {
    switch try command.parse(arguments) {
    case .help: try output.append(command.help)
    case .version: try output.append("\(command.name) \(mmlogVersion)\n")
    case .manualPage: try output.append(command.manualPage)
    case .completions(let shell): try output.append(command.completions(for: shell))
    case .run(let arguments): return try body(arguments, output)
    }
    return .success
  }

  /// Writes what was printed also where `body` fails; its error counts for more than the write's.
  private static func flushing(
    _ output: StandardOutput, _ body: () throws -> Status
  ) throws -> Status {
    let result = Result(catching: body)
    let flushed = Result { try output.flush() }
    let status = try result.get()
    try flushed.get()
    return status
  }

  /// Where a caller has closed one of the first three descriptors (`>&-`), the next file that is
  /// opened would get its number, and a message would be written into a log. What is put there
  /// cannot be used the way the program would, so that a result that nobody gets is still an error.
  private static func occupyStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

extension Command {
  /// Says something on standard error, on one line: `name: sentence`. Control characters in it (of
  /// a file's name, say) are escaped. Any thread.
  package func report(_ sentence: String) {
    StandardError.write("\(program): \(escapingControls(sentence))\n")
  }
}

/// Standard error, where each text is written at once.
package enum StandardError {
  /// Writes a text. There is nobody to inform if that fails. Any thread.
  package static func write(_ text: String) {
    // Not a duplicate: a process without a descriptor left has something to say.
    let file = File(adopting: STDERR_FILENO, path: "standard error")
    text.utf8.span.bytes.withUnsafeBytes { try? file.writeFully($0) }
    _ = file.release()
  }
}

/// `\u{1b}` for each character that could move a terminal's cursor or fake a line.
private func escapingControls(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    result +=
      isUnsafeToShow(scalar.value)
      ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
  }
  return result
}
