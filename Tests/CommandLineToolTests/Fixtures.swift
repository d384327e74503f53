@testable import CommandLineTool

// A command with an option of each kind, and with names that are special cases of help.

extension Option {
  static let name = Option("name", short: "n", value: "N", required: true, "What it is called.")
  static let format = Option(
    "format", short: "f", oneOf: ["text", "json", "message"], default: "text",
    "How each record is printed, which is a sentence long enough to need a second line.")
  static let label = Option("label", value: "PATTERN", repeatable: true, "Only these labels.")
  static let count = Option("count", short: "c", value: "K", "Print the last K only.")
  static let quiet = Option("quiet", short: "q", "Print less.")
  static let follow = Option("follow", short: "F", "Wait for more.")
}

let sample = Command(
  name: "sample",
  description: [
    "Prints samples, in an order that is nobody's business, one after the other, until there are none.",
    "A second paragraph.",
  ],
  options: [.name, .format, .label, .count, .quiet, .follow],
  operands: Operands("PATH", count: 0...2, "A file, or a directory of files."),
  examples: [
    Example("The last ten", "sample -n a -c 10 /var/log/samples"),
    Example("All, for another program", "sample -n a --format json | jq ."),
  ],
  exitStatuses: [(.success, "all was printed"), (.usage, "the command line was wrong")])

/// The parsed arguments, or nil if the result is help or the version.
func parsed(_ arguments: String..., by command: Command = sample) throws -> Arguments? {
  if case .run(let result) = try command.parse(arguments) { return result }
  return nil
}
