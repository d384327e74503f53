import CommandLineTool
import LogCommands
import MMLog
import MMLogReader
import MMLogSystem

extension Option {
  static let directory = Option(
    "directory", short: "d", value: "DIR", required: true,
    "Where the archives and the ring are; made if missing.")
  static let name = Option(
    "name", short: "n", value: "NAME", required: true, "The name that the files begin with.")
  static let level = Option(
    "level", short: "l", oneOf: Level.allCases.map(\.description), default: "info",
    canonical: { Level(usualName: $0)?.description ?? $0 },
    "The level of the records; with --level-from, of those in which none is found.")
  static let levelFrom = Option(
    "level-from", value: "RULE",
    "Find the level of each line in it. 'prefix': a prefix of sd-daemon(3) such as <3>, which is "
      + "removed; else the first word that begins in 128 bytes and is a level in capitals, in "
      + "brackets or with a colon behind it, as in ERROR, [warn] or info:. 'json': the field "
      + "level, severity, lvl, levelname or log.level of an object of JSON, by name or number "
      + "(those of syslog below 8, else those of bunyan and pino). 'logfmt': the same fields in "
      + "4096 bytes, by name. 'regex:PATTERN': what the first group of the pattern is in 4096 "
      + "bytes, by name, as in 'regex:^\\S+ \\|(\\w+)'; a word that continues after these bytes "
      + "is cut. Names may be in upper or lower case, and may be names of other loggers, such as "
      + "warn, err and fatal.")
  static let join = Option(
    "join", value: "RULE",
    "Make one record of several lines. 'indent': a line that begins with a space or a tab belongs "
      + "to the line before. 'traceback': so do these lines, and the other lines of a traceback of "
      + "Python, Java or Go. 'regex:PATTERN': a line belongs to the line before if the pattern is "
      + "not found in its first 4096 bytes. A record ends at 1 MiB, after 20 milliseconds without "
      + "a line, and after a second.")
  static let fields = Option(
    "fields", oneOf: ["json"],
    "Take lines that are objects of JSON apart: 'message' or 'msg' is the message, the others are "
      + "fields with their types, and the one that --level-from json has found is the level. "
      + "Another rule of --level-from reads the line before it is taken apart. Any other line "
      + "stays as it is, and so does one above 1 MiB.")
  static let label = Option("label", value: "LABEL", "The label of the records; else the name.")
  static let tee = Option("tee", short: "t", "Pass standard input on to standard output.")
  static let ringDirectory = Option(
    "ring-directory", value: "DIR", "Where the ring is, if not beside the archives.")
  static let recipient = Option(
    "recipient", short: "r", value: "AGE1...", repeatable: true,
    "Encrypt the log for this recipient of age.")
  static let hashChain = Option(
    "hash-chain",
    "Store the hash of the frame before in each frame of an archive. Then 'mmlog-decode verify "
      + "--anchor' finds what was changed or taken out.")
  static let ringSize = Option(
    "ring-size", value: "MIB", default: "8", "Size of the ring in mebibytes, 1 to 4096.")
  static let rotationSize = Option(
    "rotation-size", value: "MIB", default: "64",
    "Size in mebibytes at which an archive is closed and the next begun; 0: any size. An archive "
      + "is also closed after 24 hours.")
}

let command = Command(
  name: "mmlog-pipe",
  description: [
    "Records each line of standard input, byte for byte, so that it survives the death of this "
      + "process and of the one that wrote it.",
    "A line is safe as soon as its line end has been read. With --join, lines are safe as "
      + "soon as the next record begins, and at most 20 milliseconds after the last of them was "
      + "read. They are lost only if this process is killed within that time. At the end of the "
      + "input, everything is kept, even a last line without an end, and the log is closed. "
      + "SIGTERM and SIGINT may have come to the writer, too. So after such a signal, the input "
      + "ends when the writer closes it or has been silent for a second. If the disk cannot keep "
      + "up, or is full, the writer waits, and nothing is dropped. So with a full disk, the end "
      + "after SIGTERM waits for room, too. A second SIGTERM ends this process at once; the next "
      + "start then recovers what is in the ring.",
    "The oldest archives are deleted when all take more than 1 GiB (--total-size), or less than 5% "
      + "of the file system is free (--free-space; the newest 64 MiB stay). Zero stands for no "
      + "limit.",
  ],
  options: [
    .directory, .name, .level, .levelFrom, .join, .fields, .label, .tee, .ringDirectory,
    .recipient, .hashChain, .ringSize, .rotationSize,
  ] + retentionOptions,
  examples: [
    Example(
      "Keep what a service prints", "service 2>&1 | mmlog-pipe -d /var/log/service -n service"),
    Example(
      "Keep what a service logs as JSON, with its levels and fields",
      "service | mmlog-pipe -d /var/log/service -n service --level-from json --fields json"),
    Example(
      "Keep tracebacks in one piece",
      "service 2>&1 | mmlog-pipe -d /var/log/service -n service --level-from prefix "
        + "--join traceback"
    ),
    Example("Read it", "mmlog-decode --format message /var/log/service"),
  ],
  exitStatuses: [
    (.success, "Everything that was read is kept."),
    (
      .failure,
      "The log could not be opened or closed, or records were lost; or standard input could not be "
        + "read to its end, or not be passed on (--tee): what was read is kept then. That nobody "
        + "reads what is passed on is no failure."
    ),
    (.usage, "The command line is wrong."),
  ])

Program.run(command) { arguments, output in
  // A pipe knows only to a microsecond when a line came.
  Clock.coarsenTicks()
  var pipe = try Pipe(arguments)
  return try pipe.run(tee: arguments.isSet(.tee) ? output : nil)
}
