import CommandLineTool
import LogCommands

extension Command {
  static let control = Command(
    name: "mmlogctl",
    description: [
      """
      Acts on running processes that log with mmlog, and on directories of archives. To print \
      records, use mmlog-decode.
      """,
      """
      Without PATH, it works on the directory that the variable MMLOG_DIR names. The command sends \
      requests to a running process through the process's ring. The process answers them within a \
      second. Only the process's user and root may send requests.
      """,
      timeDescription,
    ],
    commands: [
      .status, .inFlight, .levels, .setLevel, .enable, .disable, .capture, .flush, .rotate, .pin,
      .unpin, .uploaded, .rewrap, .head, .prune, .collect,
    ],
    examples: [
      Example("How a service's log fares", "mmlogctl status /var/log/orders"),
      Example("What hangs", "mmlogctl in-flight --older-than 5s /var/log/orders"),
      Example(
        "More of the database, for ten minutes",
        "mmlogctl set-level 'db.*=debug' --for 10m /var/log/orders"),
      Example("Everything for support", "mmlogctl collect -o orders.tar /var/log/orders"),
    ],
    exitStatuses: Program.Status.meanings, candidates: loggedNames)

  /// Prints a sentence on standard error, with everything dangerous in it escaped.
  static func complain(_ sentence: String) { control.report(sentence) }
}

/// What a command works on.
let storeOperands = Operands(
  "PATH",
  "Directories that processes log into, or their rings; else the directory in MMLOG_DIR.")
