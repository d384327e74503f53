public import MMLogFormat
public import MMLogReader

/// A session in short.
public struct SessionOverview: Sendable {
  /// Process, host, start.
  public let session: LogReader.Session
  /// How it ended.
  public let ending: SessionEnding
  /// What its process died of, if that was recorded.
  public let crash: CrashReport?
  /// What was in its state slots last, by name: of a process that lives, just now. Empty if it has
  /// none, or has closed its store.
  public var state: [(name: String, value: Value)] { stateInWords.pairs }
  /// The same as it stands in files.
  package let stateInWords: SessionFields
  /// When it logged last, as far as its files say; nil if it has no
  /// records.
  public let lastTime: Timestamp?
  /// How many records there are, each once. In what cannot be read, each part of a large one
  /// counts.
  public let recordCount: Int
  /// What could not be kept.
  public let losses: LossLedger
  /// What is missing among its files: archives, which retention may have deleted, and records
  /// between others.
  public let gaps: [LogReader.Gap]
  /// What cannot be read, as far as that is known without reading the archives' records.
  package let corruption: [LogReader.Corruption]
  /// How many archives there are.
  public let archiveCount: Int
  /// Whether its ring is there.
  public let hasRing: Bool
}

extension LogFiles {
  /// All sessions, by their start.
  ///
  /// - Complexity: O(*n* log *n*) in the number of frames and the size of the rings. The records of
  ///   archives are read as far as it takes to count them: in such as are not closed, or have
  ///   records that are larger than a segment.
  public func overview(filter: LogReader.Filter = LogReader.Filter()) -> [SessionOverview] {
    sessions.filter { filter.passes($0.identity) }.map {
      SessionOverview($0, identities)
    }
  }
}

extension SessionOverview {
  fileprivate init(_ files: SessionFiles, _ identities: LogIdentities) {
    var summary = SessionSummary()
    summary.read(files)
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
