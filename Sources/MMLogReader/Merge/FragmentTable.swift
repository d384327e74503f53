import MMLogFormat

/// The records of a session that are being put together from fragments: for each thread a flight
/// record and another one. Flight records are captured while other records of their thread are
/// incomplete.
struct FragmentTable {
  private let session: LogReader.Session
  private var pending: [Key: Pending] = [:]
  private var pendingBytes = 0

  private struct Key: Hashable {
    let thread: UInt32
    let isFlight: Bool
  }

  private struct Pending {
    var assembler = FragmentAssembler()
    let start: Start
  }

  /// The maximum of incomplete records that all threads have together, in bytes and in records:
  /// more than any process has, and little enough if a file is forged.
  private static let (maximumBytes, maximumRecords) = (256 << 20, 1 << 16)

  /// When a record was logged, as its first fragment says (FORMAT.md, 4), and whether it is a
  /// flight record.
  struct Start {
    let ticks: UInt64
    let wall: Timestamp
    var isFlight = false
  }

  /// What became of a thread's record.
  enum Result {
    /// More fragments are to come.
    case incomplete
    /// The record is whole.
    case whole([UInt8], Start)
    /// The rest of a record never came.
    case unfinished(LogReader.UnfinishedRecord)
  }

  init(of session: LogReader.Session) { self.session = session }

  /// Whether no record is incomplete.
  var isEmpty: Bool { pending.isEmpty }

  /// Adds a thread's next fragment, logged at `start` if it is the first of a record.
  mutating func add(_ fragment: RecordView, thread: UInt32, start: Start) -> Result {
    let isFirst = fragment.callSite == 0
    let key = Key(thread: thread, isFlight: start.isFlight)
    let before = isFirst ? end(key) : nil
    guard isFirst || pending[key] != nil else { return .incomplete }
    let isFull = isFirst && pending.count >= Self.maximumRecords
    if isFull || pendingBytes > Self.maximumBytes {
      return .unfinished(before ?? end(key) ?? unfinished(key, size: 0))
    }
    // Taken out of the table: a record that is in two places is copied with each fragment.
    var record = pending.removeValue(forKey: key) ?? Pending(start: start)
    let had = record.assembler.pendingBytes
    let body = record.assembler.add(fragment)
    pendingBytes += record.assembler.pendingBytes - had
    if record.assembler.isUnfinished { pending[key] = record }
    if let body { return .whole(body, record.start) }
    if let before { return .unfinished(before) }
    return record.assembler.isUnfinished
      ? .incomplete : .unfinished(unfinished(key, size: had))
  }

  /// Notes that a whole record of the thread has come.
  ///
  /// - Returns: The record before it of the same kind, if that one was never finished.
  mutating func end(_ thread: UInt32, isFlight: Bool) -> LogReader.UnfinishedRecord? {
    if pending.isEmpty { return nil }
    return end(Key(thread: thread, isFlight: isFlight))
  }

  private mutating func end(_ key: Key) -> LogReader.UnfinishedRecord? {
    guard let record = pending.removeValue(forKey: key) else { return nil }
    pendingBytes -= record.assembler.pendingBytes
    return unfinished(key, size: record.assembler.pendingBytes)
  }

  /// The records that are unfinished at the end, by thread.
  var unfinished: [LogReader.UnfinishedRecord] {
    pending.map { unfinished($0.key, size: $0.value.assembler.pendingBytes) }
      .sorted { $0.threadOrdinal < $1.threadOrdinal }
  }

  private func unfinished(_ key: Key, size: Int) -> LogReader.UnfinishedRecord {
    LogReader.UnfinishedRecord(
      session: session, threadOrdinal: key.thread, size: size, isFlight: key.isFlight)
  }
}
