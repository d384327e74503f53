import CommandLineTool
import Glibc
import LogCommands
import MMLogSystem

/// Shows output page by page, if it goes to a terminal, as git does.
///
/// The program is `$MMLOG_PAGER`, `$PAGER`, or less, with `$LESS` or `FRSX`: it ends at once if all
/// fits on the screen, keeps colors, and cuts no line by itself. There is no pager if the variable
/// is empty, or names cat or a program that does not exist. Standard error goes through the pager,
/// too: otherwise it would be written across the page.
extension Arguments {
  /// Runs `body` with its output in a pager, if there is one.
  func paging(
    _ output: StandardOutput, _ body: () throws -> Program.Status
  ) throws -> Program.Status {
    guard !isSet(.noPager), !isWritingToFile, Terminal.has(STDOUT_FILENO),
      let command = Self.pager, let program = start(command)
    else { return try body() }
    Interruption.watch(withPager: program.id)
    let errors = Terminal.has(STDERR_FILENO) ? dup(STDERR_FILENO) : -1
    if errors >= 0 { dup2(program.pipe, STDERR_FILENO) }
    output.redirect(to: File(adopting: program.pipe, path: "the pager"))
    let result = Result { try body() }
    let flushed = Result { try output.flush() }
    if errors >= 0 {
      dup2(errors, STDERR_FILENO)
      close(errors)
    }
    output.redirect(to: try File.open("/dev/null", [.write]))
    let end = program.wait()
    Interruption.forgetPager()
    let status = try result.get()
    try flushed.get()
    guard Self.isNotStarted(end) else { return status }
    Command.complain("the pager '\(command)' could not be started; --no-pager prints without one")
    return .corruptionOrLoss
  }

  /// Whether this is the shell's status of a program that it could not run.
  private static func isNotStarted(_ status: CInt) -> Bool {
    status == 126 << 8 || status == 127 << 8
  }

  private func start(_ command: String) -> PipedProgram? {
    setenv("LESS", "FRSX", 0)
    // All output is UTF-8, even if no locale says so.
    setenv("LESSCHARSET", "utf-8", 0)
    return PipedProgram.reading(command)
  }

  private static var pager: String? {
    let named = CurrentProcess.variable("MMLOG_PAGER") ?? CurrentProcess.variable("PAGER")
    let command = named ?? "less"
    return command.isEmpty || command == "cat" || !mayExist(command) ? nil : command
  }

  /// False if a command names a program that does not exist. What only a shell understands may
  /// exist.
  private static func mayExist(_ command: String) -> Bool {
    let word = command.prefix { $0 != " " }
    let isPlain = word.allSatisfy { character in
      character.isASCII && (character.isLetter || character.isNumber) || "/._+-".contains(character)
    }
    if !isPlain || word.isEmpty { return true }
    return PipedProgram.output(of: ["sh", "-c", "command -v \"$0\"", String(word)]) != nil
  }
}

extension Option {
  static let noPager = Option(
    "no-pager",
    "Do not show the output page by page on a terminal, with $MMLOG_PAGER, $PAGER or less.")
}
