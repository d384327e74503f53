import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogReader
import MMLogStorage
import MMLogSystem

extension Command {
  static let head = Command(
    "head",
    description: [
      """
      Prints a hash of all that each session has in archives, if their frames are chained. Keep it \
      where a user who can change archives cannot change it: then 'mmlog-decode verify --anchor' \
      finds what was changed, left out or put in.
      """,
      """
      What it covers is made safe from a power cut first. What is in the ring is not covered: \
      'mmlogctl flush' has it archived.
      """,
    ],
    options: [.recursive], operands: inputOperands,
    examples: [
      Example(
        "Note each hour what a log is",
        "mmlogctl head /var/log/orders | logger -n collector -t head")
    ]
  ) { arguments, output in
    // A directory may have more archives than the usual limit of open files.
    File.raiseOpenLimit()
    let files = LogFiles(arguments.inputs(try arguments.paths()))
    let unreadable = files.unreadableWithKeys
    for error in unreadable { complain(error.message) }
    let heads = try files.heads()
    for head in heads { try output.append("\(head)\n".escapedControls) }
    if heads.isEmpty {
      // This is not known of archives that cannot be read.
      if unreadable.isEmpty {
        complain(
          "no archive there has chained frames: LogStore.Configuration.hashChain has them so")
      }
      return .nothingReadable
    }
    return unreadable.isEmpty ? .success : .corruptionOrLoss
  }
}
