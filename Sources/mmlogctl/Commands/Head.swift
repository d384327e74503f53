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
      Prints for each session a hash of everything that the session has in archives, if their \
      frames are chained. Keep this hash in a place where a user who can change archives cannot \
      change it. Then 'mmlog-decode verify --anchor' finds what was changed, left out or put in.
      """,
      """
      Before it prints a hash, the command makes the records that the hash covers safe from a \
      power cut. The hash does not cover records in the ring: 'mmlogctl flush' moves them into \
      archives.
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
    let complaints = Complaints(complain)
    for error in unreadable { complaints.add(error.message) }
    complaints.end()
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
