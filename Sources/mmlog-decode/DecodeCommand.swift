import CommandLineTool

extension Program.Status {
  /// Something is missing from what was printed.
  static let corruptionOrLoss = Program.Status(rawValue: 1)
  /// None of the files could be read.
  static let nothingReadable = Program.Status(rawValue: 3)
}

extension Command {
  static let decode = Command(
    name: "mmlog-decode", version: "0.1.0",
    description: [
      """
      Prints what mmlog recorded: archives (.mmlog) and rings (.ring), of processes that live, \
      ended or died, merged by time. A record that is in a ring and in an archive is printed \
      once.
      """,
      """
      Corruption, losses and sessions that did not end well are reported on standard error, a \
      line each, with file and place. Control characters are escaped in every format but message.
      """,
      """
      TIME is a date (2026-11-21), a date and a time (2026-11-21T09:00, 2026-11-21T09:00:00.5Z, \
      2026-11-21T09:00:00+01:00), now, today, yesterday, boot (when the machine was started), or \
      a time before now (-30s, -15m, -2h, -1d, -1w).
      """,
    ],
    options: inputOptions + filterOptions + zoneOptions + outputOptions + fileJobOptions
      + pruneOptions + controlOptions,
    operands: inputOperands,
    examples: [
      Example("Everything of a service", "mmlog-decode /var/log/orders"),
      Example(
        "Errors of the last quarter of an hour, in UTC",
        "mmlog-decode --level error --since -15m --utc /var/log/orders"),
      Example("What happens now", "mmlog-decode --follow --grep timeout /var/log/orders"),
      Example("How it ended", "mmlog-decode --last-crash /var/log/orders"),
      Example(
        "Slow orders of a user",
        "mmlog-decode --where 'user == 42 && elapsed_ms > 10' /var/log/orders"
      ),
      Example("Whether all files are sound", "mmlog-decode --verify /var/log/orders"),
      Example(
        "Fields, with jq", "mmlog-decode --format json . | jq 'select(.attributes.user == 42)'"),
      Example(
        "What a limit would delete",
        "mmlog-decode --prune --total-size 2G --dry-run /var/log/orders"),
      Example(
        "More of the database in a running service, for ten minutes",
        "mmlog-decode --set-level 'db.*=debug' --for 10m /var/log/orders"),
      Example("An archive from elsewhere", "zcat old.mmlog.gz | mmlog-decode -"),
    ],
    exitStatuses: [
      (.success, "All was read, and no session lost a record."),
      (
        .corruptionOrLoss,
        "Something is corrupted or unreadable, a session lost records, a process does not "
          + "answer, or another error."
      ),
      (.usage, "The command line is wrong."),
      (
        .nothingReadable, "None of the files could be read, or no process runs that could be asked."
      ),
    ])
}
