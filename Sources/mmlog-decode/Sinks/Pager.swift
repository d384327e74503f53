import CommandLineTool
import Glibc
import MMLogSystem

/// Shows what is printed page by page, where that is a terminal: as git does it.
///
/// The program is `$MMLOG_PAGER`, `$PAGER`, or less, with `$LESS` or `FRSX`: it ends at once where
/// all fits on the screen, keeps colors, and cuts no line of its own accord. An empty one, or cat,
/// is none. Standard error goes through it, too, or it would be written across the page.
extension Arguments {
  /// Runs `body` with its output in a pager, if there is to be one.
  func paging(
    _ output: StandardOutput, _ body: () throws -> Program.Status
  ) throws -> Program.Status {
    guard !isSet(.noPager), !isWritingToFile, Terminal.has(STDOUT_FILENO),
      let command = Self.pager, let program = start(command)
    else { return try body() }
    // The pager has the keyboard: an interruption ends the reading, and what was read stays shown.
    Interruption.watch(repeatedly: true)
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
    program.wait()
    let status = try result.get()
    try flushed.get()
    return status
  }

  private func start(_ command: String) -> PipedProgram? {
    setenv("LESS", "FRSX", 0)
    return PipedProgram.reading(command)
  }

  private static var pager: String? {
    let named = CurrentProcess.variable("MMLOG_PAGER") ?? CurrentProcess.variable("PAGER")
    let command = named ?? "less"
    return command.isEmpty || command == "cat" ? nil : command
  }
}

extension Option {
  static let noPager = Option(
    "no-pager",
    "Do not show the output page by page on a terminal, with $MMLOG_PAGER, $PAGER or less.")
}
