package import MMLogCrypto
public import MMLogFormat
public import MMLogStorage
import MMLogSystem

extension LogReader {
  /// What a ``LogReader`` gives, in the order of time: records, and other items in their place
  /// among the records.
  @nonexhaustive
  public enum Item: Sendable {
    /// A record, whole and checked.
    case record(LogReader.Record)
    /// Bytes of a file that could not be read. What was in them is missing.
    case corruption(LogReader.Corruption)
    /// Records that are known to be missing, without a place in a file: at the session's end.
    case gap(LogReader.Gap)
    /// A record that was being written when its process died; its log call never returned.
    case unfinished(LogReader.UnfinishedRecord)
    /// What a session's process died of, if that was recorded. It comes after the records.
    // Indirect: a report is larger than a record, and each item is copied several times.
    indirect case crashed(session: LogReader.Session, report: CrashReport)
    /// A session begins here.
    case sessionStarted(LogReader.Session)
    /// How many records a session could not keep. It comes once, at the session's end, if any were
    /// lost.
    case losses(session: LogReader.Session, ledger: LossLedger)
    /// A session ends here. `lastTime` is when it logged last, as far as its files say.
    case sessionEnded(session: LogReader.Session, ending: SessionEnding, lastTime: Timestamp)
  }

  /// One or more items that a ``LogReader`` gives at once.
  public enum Chunk: Sendable {
    /// Records that follow one another.
    case records(LogReader.Records)
    /// An item that is no record, or a record by itself.
    case item(LogReader.Item)

    /// The records, if the chunk has nothing else.
    package var records: LogReader.Records? {
      switch self {
      case .records(let records): records
      case .item(.record(let record)): LogReader.Records(record)
      case .item: nil
      }
    }
  }

  /// The session that logged records: one life of a process's log store.
  ///
  /// One object stands for all records of a session. Immutable; any thread.
  public final class Session: Sendable {
    /// Process, host, start time and names.
    public let identity: SessionIdentity

    /// What is true of all the session's records, by name, in the order in which it was given:
    /// `LogStore.Configuration.fields`, and what the machine says of the process. Empty until the
    /// session's first record is given, and if its files have no such fields.
    public var fields: [(name: String, value: Value)] { fieldsInWords.pairs }

    /// The same fields as they stand in files.
    package var fieldsInWords: SessionFields { knownFields.withLock { $0 } }
    private let knownFields = LockedValue(SessionFields())

    /// Opens fields that are sealed; nil if nobody does.
    private let slots: OpenedSlots?

    package init(_ identity: SessionIdentity, opening slots: OpenedSlots? = nil) {
      (self.identity, self.slots) = (identity, slots)
    }

    /// Makes a session whose fields are known.
    init(_ identity: SessionIdentity, fields: SessionFields) {
      (self.identity, slots) = (identity, nil)
      knownFields.withLock { $0 = fields }
    }

    /// How many bytes the fields take.
    var fieldSize: Int { knownFields.withLock { $0.words.count * wordSize } }

    /// Takes over what a dictionary says of the session.
    package func learn(_ dictionary: LogDictionary) {
      guard var fields = dictionary.sessionFields else { return }
      fields.slots = slots
      knownFields.withLock { $0 = fields }
    }

    /// The UUID that names the session.
    public var id: SessionID { identity.session }
  }

  /// A thread that logged. Immutable; any thread.
  public final class Thread: Sendable {
    /// The number of the thread in the order in which a session's threads first logged, from 1.
    public let ordinal: UInt32
    /// The id that the operating system gave the thread. Another thread may have got it later.
    public let id: UInt32
    /// The thread's name, at most 16 bytes; empty if it had none.
    public let name: String

    init(ordinal: UInt32, id: UInt32, name: String) {
      self.ordinal = ordinal
      self.id = id
      self.name = name
    }
  }

  /// Bytes of a file that could not be read, or a place in it where something is missing.
  public typealias Corruption = MMLogStorage.Corruption

  /// A record of which only a part exists.
  public struct UnfinishedRecord: Sendable {
    /// The session that logged the record.
    public let session: LogReader.Session
    /// The ordinal of the thread that was writing the record.
    public let threadOrdinal: UInt32
    /// How many bytes of the record exist.
    public let size: Int
    /// Whether it is a flight record. A flight record may have been evicted while it was captured,
    /// because others needed its place. The rest of any other record was never written, because the
    /// process died.
    public let isFlight: Bool

    /// `thread 2 had written 1200 bytes of a record when it died`
    package var summary: String {
      isFlight
        ? "of a flight record of thread \(threadOrdinal) only \(size) bytes are there: "
          + "the rest was evicted, or never written"
        : "thread \(threadOrdinal) had written \(size) bytes of a record when it died"
    }
  }
}

/// How a session ended, or why that is not known.
@nonexhaustive
public enum SessionEnding: Hashable, Sendable {
  /// The session has ended, in this way.
  case ended(SessionEnd)
  /// The session has not ended: its process lives.
  case running
  /// It is not known: neither the session's ring nor a mark of its end is among the files.
  case unknown

  /// In which way the session ended; nil if it has not ended, or that is not known.
  public var how: SessionEnd.How? {
    if case .ended(let end) = self { end.how } else { nil }
  }

  /// Whether the session crashed: ``SessionEnd/How/isCrash``.
  public var isCrash: Bool { how?.isCrash == true }
}
