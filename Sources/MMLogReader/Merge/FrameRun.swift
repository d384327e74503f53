import MMLogCrypto
import MMLogFormat
import MMLogStorage

/// The records of a frame that may pass the filter. The frame is read and decompressed when the
/// merge arrives at its first ticks. If many frames are open, it is decompressed anew for each
/// part.
final class FrameRun: Run {
  private let archive: ArchiveFile
  private let frame: ArchiveFile.Frame
  private let threads: RunThreads
  private let filter: SessionFilter
  private let memory: FrameMemory
  /// The records of the frame that were given before, from the ring.
  @exclusivity(unchecked)
  private var emitted: EmittedRecords?
  /// Some of the frame's rows, and how many bytes they take.
  private var part: Payload?
  private var held = 0
  @exclusivity(unchecked)
  private var reader: RowReader?
  /// Where the unread rows begin; nil if there are none.
  private var next: Int? = 0
  private(set) var isOpened = false
  /// The row that the next step gives.
  private var view: RecordView?
  /// How many rows have been read, including the one in ``view``, and how many are passed over.
  private var rowCount: UInt32 = 0
  private let passedRows: UInt32
  private var lastThread: (ordinal: UInt32, thread: Unmanaged<LogReader.Thread>)?
  private var failure: LogReader.Corruption?
  private let name: FrameName

  init(
    _ archive: ArchiveFile, _ frame: ArchiveFile.Frame, _ threads: ThreadTable,
    _ filter: SessionFilter, _ memory: FrameMemory, emitted: EmittedRecords?,
    passing passedRows: UInt32
  ) {
    self.passedRows = passedRows
    self.archive = archive
    self.frame = frame
    name = FrameName(frame.header)
    self.threads = RunThreads(threads)
    self.filter = filter
    self.memory = memory
    self.emitted = emitted
    super.init(
      path: archive.path, ticks: frame.header.summary.firstTicks, clock: frame.header.clock,
      flightLevel: frame.header.isFlight ? .max : 0)
  }

  deinit { memory.release(held) }

  /// How many bytes the frame takes in memory while it is decompressed.
  var size: Int { max(frame.header.rawSize, frame.header.payloadSize) }

  override func step() -> RunStep {
    guard let view else { return stepWithoutRow() }
    let ticks = ticks
    give(row: rowCount &- 1)
    advance()
    return .record(view, ticks: ticks, offset: frame.offset)
  }

  @inline(never)
  private func stepWithoutRow() -> RunStep {
    // A part is released before the next one is read: whoever inspects its records keeps it.
    if part != nil {
      release()
      return .nothing
    }
    if next != nil {
      readPart()
      return .nothing
    }
    corruption = failure
    failure = nil
    return corruption == nil ? .end : .corruption
  }

  override func thread(of view: RecordView) -> Unmanaged<LogReader.Thread> {
    let ordinal = view.threadOrdinalOfRow
    if let lastThread, lastThread.ordinal == ordinal { return lastThread.thread }
    return find(ordinal)
  }

  @inline(never)
  private func find(_ ordinal: UInt32) -> Unmanaged<LogReader.Thread> {
    let thread = Unmanaged.passUnretained(threads.thread(ordinal))
    lastThread = (ordinal, thread)
    return thread
  }

  override var owner: AnyObject { part ?? self }
  override var threadOwner: AnyObject { threads }
  override var frameName: FrameName? { name }

  /// Behind corruption in a frame, nothing more of the frame comes.
  override var placeBehindCorruption: LogReader.Cursor.Place? {
    LogReader.Cursor.Place(
      archive: name.archive, frame: name.ordinal, row: frame.header.summary.count)
  }

  // MARK: - Parts

  private func release() {
    (part, reader) = (nil, nil)
    memory.release(held)
    held = 0
  }

  private func readPart() {
    guard let start = next else { return }
    next = nil
    do {
      let bytes = try archive.payload(of: frame) {
        isOpened || filter.mayPass($0, mayHaveOtherMetadata: $1)
      }
      isOpened = true
      guard let bytes else { return }
      let share = memory.share(of: bytes.count)
      try bytes.withUnsafeBytes { bytes in
        let reader = try RowReader(bytes)
        if start == 0 { threads.note(reader.threads) }
        let rows = reader.rows(from: start, size: share)
        if rows.endIndex < reader.size { next = rows.endIndex }
        take(UnsafeRawBufferPointer(rebasing: rows))
      }
    } catch FormatError.encrypted(let reason) {
      // `LogFiles` has reported this for all files.
      isOpened = true
      readingError = LogError(FormatError.encrypted(reason), while: "Reading failed", path: path)
    } catch {
      isOpened = true
      fail(start == 0 ? "a frame" : "the rest of a frame", error)
    }
  }

  private func take(_ rows: UnsafeRawBufferPointer) {
    let part = Payload(rows)
    held = rows.count
    memory.take(held)
    reader = RowReader(rows: part.bytes)
    self.part = part
    advance()
  }

  private func advance() {
    guard var reader else { return }
    defer { self.reader = reader }
    do {
      while let row = try reader.next() {
        // A record's time does not depend on whether the records before it are wanted.
        move(to: row.ticks)
        rowCount &+= 1
        if rowCount <= passedRows { continue }
        if emitted != nil, emitted?.take(row, thread: row.threadOrdinalOfRow) == true { continue }
        guard filter.mayPass(row) else { continue }
        return view = row
      }
      view = nil
    } catch {
      (view, next) = (nil, nil)
      fail("the rest of a frame", error)
    }
  }

  private func fail(_ what: String, _ error: any Error) {
    if !(error is FormatError) {
      readingError = LogError(error, while: "Reading an archive failed", path: path)
    }
    failure = corruption(
      frame.offset, frame.header.frameSize,
      "\(what) of \(frame.header.summary.rows): \(error)")
  }
}

/// The memory of frames that are open at once.
///
/// Each frame takes at most an eighth of what is left. Thus *n* frames come to have 1/(*n* + 8) of
/// the memory each, whenever they are opened, and few frames have all that they need.
final class FrameMemory {
  private var left = 24 << 20
  /// Opens single sealed values of these sessions; nil if nobody does.
  let slots: OpenedSlots?

  /// The writer's frames are smaller. Decompressing a larger frame again and again would take long.
  private static let largestInParts = 2 * RowBuilder.targetSize
  private static let maximumParts = 16

  init(opening slots: OpenedSlots? = nil) { self.slots = slots }

  /// How much of a frame's rows may be read at once, in bytes.
  func share(of size: Int) -> Int {
    size > Self.largestInParts ? size : max(left / 8, size / Self.maximumParts)
  }

  func take(_ size: Int) { left -= size }
  func release(_ size: Int) { left += size }
}

/// A decompressed payload, which records point into.
final class Payload {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: some Collection<UInt8>) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    copy.copyBytes(from: bytes)
    self.bytes = UnsafeRawBufferPointer(copy)
  }

  deinit { bytes.deallocate() }
}
