import MMLogFormat

/// The records of a session that are being put together from fragments: for each thread a flight
/// record and another one. Flight records are captured while other records of their thread are
/// incomplete.
struct FragmentTable {
  private let session: LogReader.Session
  /// The incomplete records that are no flight records, by thread.
  private var others: [UInt32: Pending] = [:]
  /// The incomplete flight records, by thread.
  private var flight: [UInt32: Pending] = [:]
  private var pendingBytes = 0
  /// Whether the rest of a flight record may come in the next row, and not only, if ever, with
  /// another capture.
  private var isInCapture = false

  private struct Key {
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

  /// Whether the table has to be told (``end(_:isFlight:)``) of a whole record that was logged at
  /// `start`. Behind a capture, incomplete flight records do not change with other records.
  func concerns(_ start: Start) -> Bool { !isSettled || start.isFlight && !flight.isEmpty }

  /// Whether a cursor may be behind all fragments. Flight records whose rest did not come with
  /// their capture do not count: for most, it never comes.
  var isSettled: Bool { others.isEmpty && !isInCapture }

  /// Adds a thread's next fragment, logged at `start` if it is the first of a record.
  mutating func add(_ fragment: RecordView, thread: UInt32, start: Start) -> Result {
    let isFirst = fragment.callSite == 0
    let key = Key(thread: thread, isFlight: start.isFlight)
    defer { noteCapture(after: key) }
    let before = isFirst ? end(key) : nil
    guard isFirst || self[key] != nil else { return .incomplete }
    if isFull(for: key) { forgetFlight() }
    if isFull(for: key) {
      return .unfinished(before ?? end(key) ?? unfinished(key, size: 0))
    }
    // Taken out of the table: a record that is in two places is copied with each fragment.
    var record = remove(key) ?? Pending(start: start)
    let had = record.assembler.pendingBytes
    let body = record.assembler.add(fragment)
    if record.assembler.isUnfinished {
      self[key] = record
      pendingBytes += record.assembler.pendingBytes
      if key.isFlight { isInCapture = true }
    }
    if let body { return .whole(body, record.start) }
    if let before { return .unfinished(before) }
    return record.assembler.isUnfinished
      ? .incomplete : .unfinished(unfinished(key, size: had))
  }

  /// Notes that a whole record of the thread has come.
  ///
  /// - Returns: The record before it of the same kind, if that one was never finished.
  mutating func end(_ thread: UInt32, isFlight: Bool) -> LogReader.UnfinishedRecord? {
    if others.isEmpty, flight.isEmpty { return nil }
    let key = Key(thread: thread, isFlight: isFlight)
    defer { noteCapture(after: key) }
    return end(key)
  }

  /// Takes in that a row of a thread was read: a row that is none of a flight record is behind the
  /// capture.
  private mutating func noteCapture(after key: Key) {
    if !key.isFlight || flight.isEmpty { isInCapture = false }
  }

  private mutating func end(_ key: Key) -> LogReader.UnfinishedRecord? {
    remove(key).map { unfinished(key, size: $0.assembler.pendingBytes) }
  }

  private mutating func remove(_ key: Key) -> Pending? {
    guard let record = self[key] else { return nil }
    self[key] = nil
    pendingBytes -= record.assembler.pendingBytes
    return record
  }

  private subscript(key: Key) -> Pending? {
    get { key.isFlight ? flight[key.thread] : others[key.thread] }
    set { if key.isFlight { flight[key.thread] = newValue } else { others[key.thread] = newValue } }
  }

  /// Whether there is no room for another fragment.
  private func isFull(for key: Key) -> Bool {
    self[key] == nil && others.count + flight.count >= Self.maximumRecords
      || pendingBytes > Self.maximumBytes
  }

  /// Gives up the flight records, whose rest mostly never comes.
  private mutating func forgetFlight() {
    for record in flight.values { pendingBytes -= record.assembler.pendingBytes }
    flight = [:]
  }

  /// The records that are unfinished at the end, by thread.
  var unfinished: [LogReader.UnfinishedRecord] {
    let keys = [(others, false), (flight, true)].flatMap { records, isFlight in
      records.map { (Key(thread: $0.key, isFlight: isFlight), $0.value.assembler.pendingBytes) }
    }
    return keys.map { unfinished($0.0, size: $0.1) }
      .sorted { $0.threadOrdinal < $1.threadOrdinal }
  }

  private func unfinished(_ key: Key, size: Int) -> LogReader.UnfinishedRecord {
    LogReader.UnfinishedRecord(
      session: session, threadOrdinal: key.thread, size: size, isFlight: key.isFlight)
  }
}
