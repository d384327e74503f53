package import CommandLineTool

extension Program.Status {
  /// Something is missing from what was printed or done.
  package static let corruptionOrLoss = Program.Status.failure
  /// There was nothing to work on.
  package static let nothingReadable = Program.Status(rawValue: 3)
  /// Nothing matched what was asked for.
  package static let nothingMatched = Program.Status(rawValue: 4)

  /// What the exit statuses of `mmlog-decode` and `mmlogctl` mean.
  package static let meanings: [(status: Program.Status, meaning: String)] = [
    (.success, "All was read or done, and no session lost a record."),
    (
      .corruptionOrLoss,
      "Something is corrupted or unreadable, a session lost records, a process does not answer, or "
        + "another error."
    ),
    (.usage, "The command line is wrong."),
    (
      .nothingReadable,
      "No file could be read, or no process runs there: for a stopped service, that is no error."
    ),
    (.nothingMatched, "With --exit-code: nothing is what was asked for."),
  ]
}
