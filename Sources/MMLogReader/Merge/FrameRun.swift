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
  private var reader: RowReader?
  private(set) var isOpened = false
  /// What the next step gives.
  private var row: RecordView?
  private var lastThread: (ordinal: UInt32, thread: Unmanaged<LogThread>)?
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
    guard let row else { return stepWithoutRow() }
    let ticks = ticks
    advance()
    return .record(row, ticks: ticks, offset: frame.offset)
  }

  @inline(never)
  private func stepWithoutRow() -> RunStep {
    if !isOpened {
      open()
      return .nothing
    }
    damage = failure
    failure = nil
    return damage == nil ? .end : .damage
  }

  override func thread(of view: RecordView) -> Unmanaged<LogThread> {
    let ordinal = view.threadOrdinalOfRow
    if let lastThread, lastThread.ordinal == ordinal { return lastThread.thread }
    return find(ordinal)
  }

  @inline(never)
  private func find(_ ordinal: UInt32) -> Unmanaged<LogThread> {
    guard let rows else { preconditionFailure("a run without records") }
    let thread = Unmanaged.passUnretained(rows.thread(ordinal))
    lastThread = (ordinal, thread)
    return thread
  }

  override var owner: AnyObject { rows ?? self }

  private func open() {
    isOpened = true
    do {
      let bytes = try archive.payload(of: frame) { filter.mayPass(text: $0) }
      guard let payload = bytes.map(Payload.init) else { return }
      let reader = try RowReader(payload.bytes)
      rows = FrameRows(payload, reader.threads, threads)
      self.reader = reader
      advance()
    } catch {
      failure = damage(
        frame.offset, frame.header.frameSize,
        "a frame of \(frame.header.summary.count) records: \(error)")
    }
  }

  private func advance() {
    guard var reader else { return }
    defer { self.reader = reader }
    do {
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

/// What the rows of a frame in memory refer to.
private final class FrameRows {
  private let payload: Payload
  private var threads: [UInt32: LogThread] = [:]

  init(_ payload: Payload, _ identities: [ThreadIdentity], _ table: ThreadTable) {
    self.payload = payload
    for identity in identities { threads[identity.ordinal] = table.thread(identity) }
  }

  /// The thread of that number, which is kept as long as this is; one without a name if the frame does not know it.
  func thread(_ ordinal: UInt32) -> LogThread {
    if let thread = threads[ordinal] { return thread }
    let thread = LogThread(ordinal: ordinal, id: 0, name: "")
    threads[ordinal] = thread
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
