import CommandLineTool
import MMLog

extension Option {
  static let directory = Option(
    "directory", short: "d", value: "DIR", required: true,
    "Where the archives and the ring are; made if missing.")
  static let name = Option(
    "name", short: "n", value: "NAME", required: true, "The name that the files begin with.")
  static let level = Option(
    "level", short: "l", oneOf: Level.allCases.map(\.description), default: "info",
    "The level of the records.")
  static let label = Option("label", value: "LABEL", "The label of the records; else the name.")
  static let tee = Option("tee", short: "t", "Pass standard input on to standard output.")
  static let ringDirectory = Option(
    "ring-directory", value: "DIR", "Where the ring is, if not beside the archives.")
  static let recipient = Option(
    "recipient", short: "r", value: "AGE1...", repeatable: true,
    "Encrypt the archives for this recipient of age. --ring-directory must be on a tmpfs, such as "
      + "/dev/shm/NAME.")
  static let hashChain = Option(
    "hash-chain",
    "Have each frame of an archive carry the hash of the one before it: 'mmlog-decode verify "
      + "--anchor' then finds what was changed or taken out.")
  static let ringSize = Option(
    "ring-size", value: "MIB", default: "8", "Size of the ring in mebibytes, 1 to 4096.")
  static let rotationSize = Option(
    "rotation-size", value: "MIB", default: "64",
    "Size in mebibytes at which an archive is closed and the next begun; 0 for never.")
}

let command = Command(
  name: "mmlog-pipe",
  description: [
    "Records each line of standard input, byte for byte, so that it survives the death of this "
      + "process and of the one that wrote it.",
    "A line counts as soon as its line end has been read. At the end of the input, and at SIGTERM "
      + "or SIGINT, everything that was read is kept, a last line without an end included, and the "
      + "log is closed. When the disk cannot keep up, the writer waits; nothing is dropped.",
  ],
  options: [
    .directory, .name, .level, .label, .tee, .ringDirectory, .recipient, .hashChain, .ringSize,
    .rotationSize,
  ],
  examples: [
    Example(
      "Keep what a service prints", "service 2>&1 | mmlog-pipe -d /var/log/service -n service"),
    Example("Read it", "mmlog-decode --format message /var/log/service"),
  ],
  exitStatuses: [
    (.success, "Everything that was read is kept."),
    (.failure, "The log could not be opened or closed, or records were lost."),
    (.usage, "The command line is wrong."),
  ])

Program.run(command) { arguments, output in
  let pipe = try Pipe(arguments)
  return try pipe.run(tee: arguments.isSet(.tee) ? output : nil)
}
