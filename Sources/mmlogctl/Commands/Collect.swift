import CommandLineTool
import LogCommands
import MMLogReader
import MMLogStorage
import MMLogSystem

extension Command {
  static let collect = Command(
    "collect",
    description: [
      "Puts everything that support needs into one tar file.",
      """
      The file has archives (all, or those of a time, the newest first), also those that cannot be \
      read; rings of dead processes, and copies of the rings of running processes; crash reports \
      as text; status, sessions and statistics as JSON; versions, and facts about the machine. \
      manifest.json in the file lists what the file has, and what --limit left out. Only its user \
      may read the file.
      """,
      """
      The file has whole archives, even if they go beyond the time that is asked for. Readers of \
      the file say that a running process was killed: a line on standard error names the process, \
      and status.json in the file shows it as running.
      """,
    ],
    options: [.target, .since, .until, .limit] + zoneOptions + [.silent], operands: storeOperands,
    examples: [
      Example(
        "What happened since noon, in 100 MiB at most",
        "mmlogctl collect -o orders.tar --since 12:00 --limit 100M /var/log/orders")
    ]
  ) { arguments, output in
    let zone = try arguments.zone()
    var filter = LogReader.Filter()
    try arguments.setTimes(of: &filter, zone)
    let limit = try arguments.value(of: .limit, expected: "a size as 100M or 2G", sizeArgument)
    let paths = try arguments.directories()
    let path = arguments.required(.target)
    if path == "-" {
      throw UsageError("the file is complete only at the end; name one in place of '-'")
    }
    let found = FoundRings(paths, withArchives: true)
    if found.running.isEmpty, found.dead.isEmpty, found.archives.isEmpty, found.others.isEmpty {
      if found.isComplete { complain("there is no log in \(paths.joined(separator: ", "))") }
      return found.statusOfNone
    }
    let (folder, name) = path.splitAtLastSlash
    let directory = try Directory.open(folder)
    if try directory.status(of: name).map({ !$0.isRegularFile }) ?? name.isEmpty {
      throw UsageError("'\(path)' is not the name of a file; name one that is to be made")
    }
    if FileNames.isOurs(name) {
      throw UsageError("'\(path)' would be taken for a log; name it *.tar")
    }
    let file = try UnfinishedFile(name, in: directory, mode: 0o600)
    defer { file.discard(in: directory) }
    var collection = Collection(
      found, filter, zone, limit: limit ?? .max, StandardOutput(to: try file.open(in: directory)))
    try collection.write()
    try file.finish(in: directory)
    if let omission = collection.omission { complain(omission) }
    if !arguments.isSet(.silent) {
      if let running = collection.running { complain(running) }
      try output.append("\(path): \(collection.summary)\n".escapedControls)
    }
    return collection.hasProblems ? .corruptionOrLoss : .success
  }
}

extension Option {
  fileprivate static let target = Option(
    "output", short: "o", value: "FILE", required: true, "The tar file to be made.")
  fileprivate static let limit = Option(
    "limit", value: "SIZE", "Make the file no larger, such as 100M or 2G.")
}
