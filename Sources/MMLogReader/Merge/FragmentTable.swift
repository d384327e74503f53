import MMLogFormat

/// The records of a session that are being put together, one for each thread.
struct FragmentTable {
  private let session: LogReader.Session
  private var assemblers: [UInt32: FragmentAssembler] = [:]
  private var starts: [UInt32: Start] = [:]
  private var pendingBytes = 0

  /// What all threads together may have in pieces: more than any process has, and no burden if it
  /// is a lie.
  private static let maximumPending = 256 << 20

  /// When a record was logged, as its first fragment says (FORMAT.md, 4), and whether it is a
  /// flight record.
  struct Start {
    let ticks: UInt64
    let wall: Timestamp
    var isFlight = false
  }

  /// What became of a thread's record.
  enum Result {
    /// More is to come.
    case incomplete
    /// It is whole.
    case whole([UInt8], Start)
    /// The rest of a record never came.
    case unfinished(LogReader.UnfinishedRecord)
  }

  init(of session: LogReader.Session) { self.session = session }

  /// Whether no record is in pieces.
  var isEmpty: Bool { assemblers.isEmpty }

  /// Adds a thread's next fragment, logged at `start` if it is the first of a record.
  mutating func add(_ fragment: RecordView, thread: UInt32, start: Start) -> Result {
    let isFirst = fragment.callSite == 0
    let before = isFirst ? end(thread) : nil
    guard isFirst || assemblers[thread] != nil else { return .incomplete }
    if isFirst { starts[thread] = start }
    if pendingBytes > Self.maximumPending {
      return .unfinished(end(thread) ?? unfinished(thread, size: 0))
    }
    var assembler = assemblers[thread] ?? FragmentAssembler()
    let had = assembler.pendingBytes
    let body = assembler.add(fragment)
    pendingBytes += assembler.pendingBytes - had
    assemblers[thread] = assembler.isUnfinished ? assembler : nil
    if let body { return .whole(body, starts[thread] ?? start) }
    if let before { return .unfinished(before) }
    return assembler.isUnfinished ? .incomplete : .unfinished(unfinished(thread, size: had))
  }

  /// A whole record of the thread has come.
  ///
  /// - Returns: The one before it, if that was never finished.
  mutating func end(_ thread: UInt32) -> LogReader.UnfinishedRecord? {
    guard !assemblers.isEmpty, let assembler = assemblers.removeValue(forKey: thread) else {
      return nil
    }
    pendingBytes -= assembler.pendingBytes
    return unfinished(thread, size: assembler.pendingBytes)
  }

  /// What is unfinished at the end, by thread.
  var unfinished: [LogReader.UnfinishedRecord] {
    assemblers.map { unfinished($0.key, size: $0.value.pendingBytes) }.sorted {
      $0.threadOrdinal < $1.threadOrdinal
    }
  }

  private func unfinished(_ thread: UInt32, size: Int) -> LogReader.UnfinishedRecord {
    LogReader.UnfinishedRecord(
      session: session, threadOrdinal: thread, size: size,
      isFlight: starts[thread]?.isFlight ?? false)
  }
}
