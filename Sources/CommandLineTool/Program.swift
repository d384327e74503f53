import Glibc
import MMLogSystem

/// Runs a command as a process: help, errors, output, exit status.
package enum Program {
  /// Reads the command line, does what the command line asks for, and ends the process.
  ///
  /// What `body` printed is written before an error is reported. If `body` throws a ``UsageError``,
  /// the process ends with status 2; after any other error, with status 1. Each error is one line
  /// on standard error. This method makes the process ignore SIGPIPE and not SIGCHLD, and opens
  /// those of the first three descriptors that are closed.
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - body: the work, unless a command of the program has it. It runs on the calling thread.
  package static func run(
    _ command: Command, arguments: [String] = Array(CommandLine.arguments.dropFirst()),
    _ body: (Arguments, StandardOutput) throws -> Status = { _, _ in .success }
  ) -> Never {
    signal(SIGPIPE, SIG_IGN)
    // A process that ignores SIGCHLD passes this on to programs that it starts. A program that
    // inherits it gets no exit status from its own children.
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

  /// Answers a request of a completion script, which help does not mention: `--candidates KIND
  /// WORD…`. It reports no errors, because a user is typing.
  private static func listCandidates(_ command: Command, _ arguments: [String]) {
    guard let candidates = command.candidates, arguments.first == "--candidates",
      arguments.count > 1
    else { return }
    // Text from a log must not become a part of a command line that a shell runs.
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
      try checkEncoding()
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

  /// Throws if an argument of the process is not UTF-8. Swift's texts have other characters in
  /// place of wrong bytes, so the argument would name another file.
  private static func checkEncoding() throws(UsageError) {
    let arguments = UnsafeBufferPointer(
      start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for case let argument? in arguments where String(validatingCString: argument) == nil {
      throw UsageError("'\(String(cString: argument))' is not UTF-8; give arguments in UTF-8")
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

  /// Also writes what was printed if `body` fails. An error of `body` takes precedence over an
  /// error of the write.
  private static func flushing(
    _ output: StandardOutput, _ body: () throws -> Status
  ) throws -> Status {
    let result = Result(catching: body)
    let flushed = Result { try output.flush() }
    let status = try result.get()
    try flushed.get()
    return status
  }

  /// If a caller has closed one of the first three descriptors (`>&-`), the next file that is
  /// opened would get its number, and a message would be written into a log. The program cannot use
  /// what is opened in its place in the usual direction, and thus a result that cannot be printed
  /// is still an error.
  private static func occupyStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

extension Command {
  /// Writes a sentence to standard error, on one line: `name: sentence`. Control characters in it,
  /// such as those of a file's name, are escaped. Any thread.
  package func report(_ sentence: String) {
    StandardError.write("\(program): \(escapingControls(sentence))\n")
  }
}

/// Standard error. Each text is written at once.
package enum StandardError {
  /// Writes a text. If that fails, there is no way to report it. Any thread.
  package static func write(_ text: String) {
    // Not a duplicate: a process that has no descriptors left must still be able to report that.
    let file = File(adopting: STDERR_FILENO, path: "standard error")
    text.utf8.span.bytes.withUnsafeBytes { try? file.writeFully($0) }
    _ = file.release()
  }
}

/// As logs are shown: `\n`, or `\u{1b}`, for each character that could move a terminal's cursor or
/// fake a line.
private func escapingControls(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case "\r": result += "\\r"
    case _ where isUnsafeToShow(scalar.value):
      result += "\\u{\(String(scalar.value, radix: 16))}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}
