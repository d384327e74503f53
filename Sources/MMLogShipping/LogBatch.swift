public import MMLogReader

/// Records of one session in their order, to be sent together.
///
/// Any thread. A batch keeps its records in memory.
public struct LogBatch: Sendable {
  /// The batch's name: 32 hexadecimal digits. It is the same at every try, in whatever process, and
  /// no other batch of the consumer has it. A receiver can use it as the key by which it drops
  /// repeats.
  public let id: String
  /// The session that logged the records.
  public let session: LogReader.Session
  /// The records, in order; may be none. Edits and the transform have been applied.
  public let records: [LogReader.Records]
  /// The gaps that the batch reports; mostly none.
  public let gaps: [Gap]
  /// How many records there are.
  public let count: Int
  /// The first record's id; nil without records.
  public let firstID: LogReader.RecordID?
  /// The last record's id; nil without records.
  public let lastID: LogReader.RecordID?
  /// How many bytes the records' values take in memory: about as many as the records take as text.
  public let bytes: Int
  /// Which try this is in this process, from 1.
  public let attempt: Int
  /// Whether the receiver may have the batch already: an earlier try ended without an answer.
  public let mayBeRepeat: Bool

  /// Makes a batch, for tests of a destination and for tools.
  public init(
    id: String, session: LogReader.Session, records: [LogReader.Records], gaps: [Gap] = [],
    attempt: Int = 1, mayBeRepeat: Bool = false
  ) {
    (self.id, self.session, self.records, self.gaps) = (id, session, records, gaps)
    (self.attempt, self.mayBeRepeat) = (attempt, mayBeRepeat)
    count = records.reduce(0) { $0 + $1.count }
    bytes = records.reduce(0) { $0 + $1.size }
    firstID = records.first { $0.count > 0 }?.firstID
    lastID = records.last { $0.count > 0 }?.lastID
  }

  /// Calls `body` with one record after the other. A record costs no reference counting unless
  /// `body` keeps it.
  ///
  /// - Parameter body: Takes a record.
  /// - Throws: what `body` throws.
  @inline(__always)
  public func forEach<Failure: Error>(
    _ body: (LogReader.Record) throws(Failure) -> Void
  ) throws(Failure) {
    for chunk in records { try chunk.forEach(body) }
  }

  /// Records that were gone before they could be sent.
  public struct Gap: Hashable, Sendable, CustomStringConvertible {
    /// The session that they are of.
    public let session: SessionID
    /// What is missing and why, in words.
    public let description: String
    /// How many records are missing; nil if nobody knows.
    public let count: UInt64?
    /// How many of each level; empty if nobody knows. Those of unknown level are in ``count`` only.
    public let levels: [Level: UInt64]
    /// The archives that are missing; nil if single records are missing.
    public let archives: ClosedRange<Int>?
    /// When they were logged at the earliest and at the latest; nil if nobody knows.
    public let times: ClosedRange<Timestamp>?
    /// Whether the receiver may have them all the same: their archive was deleted after they were
    /// sent and before an answer came.
    public let mayBeSent: Bool

    package init(
      _ description: String, session: SessionID, count: UInt64? = nil,
      levels: [Level: UInt64] = [:], archives: ClosedRange<Int>? = nil,
      times: ClosedRange<Timestamp>? = nil, mayBeSent: Bool = false
    ) {
      (self.session, self.description, self.count) = (session, description, count)
      (self.levels, self.archives, self.times) = (levels, archives, times)
      self.mayBeSent = mayBeSent
    }
  }

  /// What a receiver says of a batch that it has.
  public struct Answer: Sendable {
    /// A record that the receiver has refused, and will never take.
    public struct Refusal: Hashable, Sendable {
      /// Which of the batch's records, from 0, in the order in which ``LogBatch/forEach(_:)`` gives
      /// them.
      public let index: Int
      /// What the receiver says is wrong with it.
      public let reason: String

      /// Makes a refusal.
      public init(index: Int, reason: String) { (self.index, self.reason) = (index, reason) }
    }

    /// The records that are refused. The receiver has all others.
    public var refused: [Refusal]
    /// How many more records the receiver has refused without saying which, as OTLP does. They are
    /// counted, and the batch is noted among what was put aside.
    public var refusedUnnamed: Int
    /// What the receiver says about these.
    public var reason: String
    /// Why a gap of the batch is refused; nil if no gap is.
    package var gapRefusal: String?

    /// The receiver has the whole batch.
    public static let accepted = Answer()

    /// Makes an answer.
    public init(refused: [Refusal] = [], refusedUnnamed: Int = 0, reason: String = "") {
      (self.refused, self.refusedUnnamed, self.reason) = (refused, refusedUnnamed, reason)
    }
  }
}
