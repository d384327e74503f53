public import MMLogFormat
public import MMLogReader

/// A summary of a session.
public struct SessionOverview: Sendable {
  /// The session, with its process, host and start.
  public let session: LogReader.Session
  /// How it ended.
  public let ending: SessionEnding
  /// What the session's process died of, if that was recorded.
  public let crash: CrashReport?
  /// The last values of the state slots, by name; the current ones for a process that lives. Empty
  /// if the process has none, or has closed its store.
  public var state: [(name: String, value: Value)] { stateInWords.pairs }
  /// The values of ``state`` as they stand in files.
  package let stateInWords: SessionFields
  /// The time of the last record, as far as the session's files say; nil if it has no records.
  public let lastTime: Timestamp?
  /// The number of records, each counted once. In frames that cannot be read, each fragment of a
  /// record counts.
  public let recordCount: Int
  /// The records that could not be kept.
  public let losses: LossLedger
  /// What is missing among the session's files: archives, which retention may have deleted, and
  /// records between others.
  public let gaps: [LogReader.Gap]
  /// What cannot be read, as far as that is known without reading the archives' records.
  package let corruption: [LogReader.Corruption]
  /// The number of archives.
  public let archiveCount: Int
  /// Whether the session's ring exists.
  public let hasRing: Bool
}

extension LogFiles {
  /// All sessions, by their start.
  ///
  /// - Complexity: O(*n* log *n*) in the number of frames and the size of the rings. Records are
  ///   only read from archives that are not closed, or have records larger than a segment, and only
  ///   as far as counting takes it.
  public func overview(filter: LogReader.Filter = LogReader.Filter()) -> [SessionOverview] {
    sessions.filter { filter.passes($0.identity) }.map {
      SessionOverview($0, identities)
    }
  }
}

extension SessionOverview {
  fileprivate init(_ files: SessionFiles, _ identities: LogIdentities) {
    let summary = SessionSummary(files)
    session = LogReader.Session(files.identity, opening: identities.slots)
    session.learn(summary.dictionary)
    losses = summary.losses
    gaps = SessionGaps(files, summary, of: session).gaps
    crash = summary.crash
    stateInWords = summary.dictionary.lastState ?? SessionFields()
    archiveCount = files.archives.count
    hasRing = files.ring != nil
    let records = files.records(summary)
    recordCount = records.countInRing + files.countInArchives(summary)
    lastTime = records.lastTime
    ending = files.ending(summary.end).notBefore(records.lastTime)
    corruption =
      summary.corruption.sorted { $0.key < $1.key }.flatMap(\.value) + records.corruption
  }
}
