import MMLogFormat

extension LogReader {
  /// Records of a session that were logged and are missing from what was read.
  public struct Gap: Sendable {
    /// Why the records are missing, or how that is known.
    @nonexhaustive
    public enum Cause: Hashable, Sendable {
      /// These archives of the session are not among the files, though later ones are. A limit of
      /// retention may have deleted them; nothing distinguishes that from any other removal.
      case archivesNotHere(ClosedRange<Int>)
      /// The archive of this number is not among the files, and a dead session was writing it, as
      /// its ring says. No limit deletes such an archive.
      case newestArchiveNotHere(Int)
      /// Each writer numbers its records, and numbers are missing between records that were read.
      /// The records were lost (then ``LogReader/Item/losses(session:ledger:)`` counts them, too),
      /// or their bytes are corrupted or gone.
      case recordsMissing(MissingRecords)
    }

    /// The session that logged the records.
    public let session: LogReader.Session
    /// Why the records are missing.
    public let cause: Cause

    package init(session: LogReader.Session, cause: Cause) {
      (self.session, self.cause) = (session, cause)
    }

    /// Whether records are missing that no limit of retention can have deleted.
    public var isLoss: Bool {
      switch cause {
      case .archivesNotHere: false
      case .newestArchiveNotHere, .recordsMissing: true
      }
    }

    /// What is missing, in words, such as `archive 3 is not here; retention may have deleted it`.
    public var summary: String { summary { "\($0)" } }

    /// The same, with times in the zone of `time`.
    package func summary(_ time: inout TimeFormatter) -> String { summary { time.text(of: $0) } }

    private func summary(_ text: (Timestamp) -> String) -> String {
      switch cause {
      case .archivesNotHere(let numbers):
        let first = numbers.lowerBound
        return numbers.count == 1
          ? "archive \(first) is not here; retention may have deleted it"
          : "archives \(first) to \(numbers.upperBound) are not here; "
            + "retention may have deleted them"
      case .newestArchiveNotHere(let number):
        return "archive \(number), which was being written, is not here"
      case .recordsMissing(let records): return records.summary(text)
      }
    }
  }
}
