import MMLogFormat

/// The records of a session that are being put together, one for each thread.
struct FragmentTable {
  private var assemblers: [UInt32: FragmentAssembler] = [:]
  private var starts: [UInt32: Start] = [:]
  private var pendingBytes = 0

  /// What all threads together may have in pieces: more than any process has, and no burden if it is
  /// a lie.
  private static let mostPending = 256 << 20

  /// When a record was logged: as its first fragment says (FORMAT.md, 4).
  struct Start {
    let ticks: UInt64
    let wall: Int64
  }

  /// What became of a thread's record.
  enum Result {
    /// More is to come.
    case incomplete
    /// It is whole.
    case whole([UInt8], Start)
    /// So many bytes were there, and the rest never came.
    case unfinished(Int)
  }

  /// Whether no record is in pieces.
  var isEmpty: Bool { assemblers.isEmpty }

  /// Adds a thread's next fragment, logged at `start` if it is the first of a record.
  mutating func add(_ fragment: RecordView, thread: UInt32, start: Start) -> Result {
    let isFirst = fragment.callSite == 0
    let before = isFirst ? end(thread) : nil
    guard isFirst || assemblers[thread] != nil else { return .incomplete }
    if pendingBytes > Self.mostPending { return giveUp(thread) }
    if isFirst { starts[thread] = start }
    var assembler = assemblers[thread] ?? FragmentAssembler()
    let had = assembler.pendingBytes
    let body = assembler.add(fragment)
    pendingBytes += assembler.pendingBytes - had
    assemblers[thread] = assembler.isUnfinished ? assembler : nil
    if let body { return .whole(body, starts[thread] ?? start) }
    if let before { return .unfinished(before) }
    return assembler.isUnfinished ? .incomplete : .unfinished(had)
  }

  /// A whole record of the thread has come.
  ///
  /// - Returns: How many bytes there were of one before it that was never finished.
  mutating func end(_ thread: UInt32) -> Int? {
    guard !assemblers.isEmpty, let assembler = assemblers.removeValue(forKey: thread) else {
      return nil
    }
    pendingBytes -= assembler.pendingBytes
    return assembler.pendingBytes
  }

  /// What is unfinished at the end, by thread.
  var unfinished: [(thread: UInt32, size: Int)] {
    assemblers.map { ($0.key, $0.value.pendingBytes) }.sorted { $0.0 < $1.0 }
  }

  private mutating func giveUp(_ thread: UInt32) -> Result {
    .unfinished(end(thread) ?? 0)
  }
}
