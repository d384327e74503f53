import CommandLineTool
import LogCommands

extension Command {
  static let decode = Command(
    name: "mmlog-decode",
    description: [
      """
      Reads what mmlog recorded: archives (.mmlog) and rings (.ring), of processes that live, \
      ended or died, merged by time. A record that is in a ring and in an archive is read once.
      """,
      """
      Without PATH, it reads the directory that the variable MMLOG_DIR names. Standard error has a \
      line for each loss and each corrupted place, and a line that says what else needs attention. \
      Control characters are escaped in every format but message.
      """,
      """
      Only recover changes the files that it reads. mmlogctl acts on running processes and on \
      directories.
      """,
      timeDescription,
    ],
    commands: [
      .print, .follow, .sessions, .crash, .spans, .http, .stats, .top, .histogram, .report, .verify,
      .inspect, .recover, .repair,
    ],
    examples: [
      Example("Everything of a service", "mmlog-decode /var/log/orders"),
      Example(
        "Errors of the last quarter of an hour, in UTC",
        "mmlog-decode --level error --since 15m --utc /var/log/orders"),
      Example("What happens now", "mmlog-decode -f --grep timeout /var/log/orders"),
      Example("How it ended", "mmlog-decode crash /var/log/orders"),
      Example("Where it is slow", "mmlog-decode top elapsed_ms --by label /var/log/orders"),
      Example("Whether all files are sound", "mmlog-decode verify /var/log/orders"),
      Example(
        "Slow orders of a user",
        "mmlog-decode --where 'user == 42 && elapsed_ms > 10' /var/log/orders"),
      Example("Fields, with jq", "mmlog-decode --json . | jq 'select(.attributes.user == 42)'"),
      Example("An archive from elsewhere", "zcat old.mmlog.gz | mmlog-decode -"),
    ],
    exitStatuses: Program.Status.meanings, candidates: loggedNames)

  /// Writes a sentence to standard error, with dangerous characters escaped.
  static func complain(_ sentence: String) { decode.report(sentence) }
}
