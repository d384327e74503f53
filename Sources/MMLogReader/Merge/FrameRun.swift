import MMLogFormat
import MMLogStorage

/// The records of a frame. It is read and decompressed when the merge arrives at its first ticks.
final class FrameRun: Run {
  private let archive: ArchiveFile
  private let frame: ArchiveFile.Frame
  private let threads: ThreadTable
  private var rows: FrameRows?
  private(set) var isOpened = false
  private var row: RecordView?
  private var failure: LogDamage?

  init(_ archive: ArchiveFile, _ frame: ArchiveFile.Frame, _ threads: ThreadTable) {
    self.archive = archive
    self.frame = frame
    self.threads = threads
    super.init(
      path: archive.path, ticks: frame.header.summary.firstTicks, clock: frame.header.clock)
  }

  /// What it takes in memory when it is open, in bytes.
  var size: Int { max(frame.header.rawSize, frame.header.payloadSize) }

  override func next() -> RunItem? {
    if !isOpened {
      open()
      return .nothing
    }
    guard let rows, let row else {
      defer { failure = nil }
      return failure.map { .damage($0) }
    }
    let record = RunRecord(
      view: row, ticks: ticks, offset: frame.offset, thread: rows.thread(of: row),
      owner: rows.payload)
    advance(rows)
    return .record(record)
  }

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
      row = try rows.next()
      if let row { move(to: row.ticks) }
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
  private var reader: RowReader
  private var threads: [UInt32: LogThread] = [:]
  private var last: LogThread?

  init(_ bytes: [UInt8], _ table: ThreadTable) throws(FormatError) {
    payload = Payload(bytes)
    reader = try RowReader(payload.bytes)
    for identity in reader.threads { threads[identity.ordinal] = table.thread(identity) }
  }

  func next() throws(FormatError) -> RecordView? { try reader.next() }

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
