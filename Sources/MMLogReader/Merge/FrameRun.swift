import MMLogFormat
import MMLogStorage

/// The records of a frame that may pass the filter. It is read and decompressed when the merge arrives at its first
/// ticks.
final class FrameRun: Run {
  private let archive: ArchiveFile
  private let frame: ArchiveFile.Frame
  private let threads: ThreadTable
  private let filter: SessionFilter
  /// Of a frame that has records which were given before, from the ring: which.
  private var given: GivenRecords?
  private var rows: FrameRows?
  private(set) var isOpened = false
  private var row: RecordView?
  private var failure: LogDamage?

  init(
    _ archive: ArchiveFile, _ frame: ArchiveFile.Frame, _ threads: ThreadTable,
    _ filter: SessionFilter, given: GivenRecords? = nil
  ) {
    self.archive = archive
    self.frame = frame
    self.threads = threads
    self.filter = filter
    self.given = given
    super.init(
      path: archive.path, ticks: frame.header.summary.firstTicks, clock: frame.header.clock)
  }

  /// What it takes in memory when it is open, in bytes.
  var size: Int { max(frame.header.rawSize, frame.header.payloadSize) }

  override func step() -> RunStep {
    if !isOpened {
      open()
      return .nothing
    }
    guard let rows, let row else {
      damage = failure
      failure = nil
      return damage == nil ? .end : .damage
    }
    let ticks = ticks
    advance(rows)
    return .record(row, ticks: ticks, offset: frame.offset)
  }

  override func thread(of view: RecordView) -> LogThread {
    rows?.thread(of: view) ?? LogThread(ordinal: 0, id: 0, name: "")
  }

  override var owner: AnyObject { rows?.payload ?? self }

  private func open() {
    isOpened = true
    do {
      let rows = try FrameRows(archive.payload(of: frame), threads)
      self.rows = rows
      advance(rows)
    } catch {
      failure = damage(
        frame.offset, frame.header.frameSize,
        "a frame of \(frame.header.summary.count) records: \(error)")
    }
  }

  private func advance(_ rows: FrameRows) {
    do {
      var reader = rows.reader
      defer { rows.reader = reader }
      while let row = try reader.next() {
        if given != nil, given?.take(row, ticks: row.ticks, thread: row.threadOrdinalOfRow) == true
        {
          continue
        }
        guard filter.mayPass(row) else { continue }
        self.row = row
        return move(to: row.ticks)
      }
      row = nil
    } catch {
      row = nil
      failure = damage(
        frame.offset, frame.header.frameSize,
        "the rest of a frame of \(frame.header.summary.count) records: \(error)")
    }
  }
}

/// The rows of a frame in memory.
final class FrameRows {
  let payload: Payload
  var reader: RowReader
  private var threads: [UInt32: LogThread] = [:]
  private var last: LogThread?

  init(_ bytes: [UInt8], _ table: ThreadTable) throws(FormatError) {
    payload = Payload(bytes)
    reader = try RowReader(payload.bytes)
    for identity in reader.threads { threads[identity.ordinal] = table.thread(identity) }
  }

  func thread(of row: RecordView) -> LogThread {
    let ordinal = row.threadOrdinalOfRow
    if let last, last.ordinal == ordinal { return last }
    let thread = threads[ordinal] ?? LogThread(ordinal: ordinal, id: 0, name: "")
    last = thread
    return thread
  }
}

/// A decompressed payload, which records point into.
final class Payload {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    copy.copyBytes(from: bytes)
    self.bytes = UnsafeRawBufferPointer(copy)
  }

  deinit { bytes.deallocate() }
}
