import MMLogFormat
import TestSupport

/// An archive, built frame by frame.
struct GoldenArchive {
  private(set) var bytes: [UInt8]
  private let identity: SessionIdentity
  private let compressor: Compressor?
  private var index: [IndexEntry] = []
  private var frameCount: UInt32 = 0
  private var recordCount: UInt64 = 0
  private var chain: FrameChain?
  private let id: ArchiveID

  /// - Parameter previousHead: The head that it is chained to, if its frames are chained.
  init(
    _ identity: SessionIdentity, number: UInt32 = 1, compresses: Bool = false,
    previousHead: FrameHash? = nil
  ) {
    self.identity = identity
    id = ArchiveID(session: identity.session, number: number)
    compressor = compresses ? Compressor(level: 9) : nil
    bytes = ArchiveHeader(
      identity: identity, number: number, created: GoldenFiles.epoch, previousHead: previousHead
    ).encoded(pageSize: 4096)
    if previousHead != nil { chain = bytes.withUnsafeBytes { try? FrameChain(fileHeader: $0) } }
  }

  /// The head that the session's next archive is chained to.
  var head: FrameHash { chain?.head ?? .none }

  /// - Returns: Where the frame begins.
  @discardableResult
  mutating func add(_ type: FrameType, _ payload: [UInt8]) -> Int {
    add(FrameHeader(type), payload)
  }

  @discardableResult
  private mutating func add(_ fields: FrameHeader, _ payload: [UInt8]) -> Int {
    let packed = compressor?.compress(payload)
    var header = fields
    header.codec = packed == nil ? .rows : .zlibRows
    header.rawSize = payload.count
    return add(header, stored: packed ?? payload)
  }

  @discardableResult
  private mutating func add(_ fields: FrameHeader, stored: [UInt8]) -> Int {
    let start = bytes.count
    var header = fields
    (header.archive, header.ordinal, header.previous) = (id, UInt64(frameCount), chain?.head)
    frameCount += 1
    header.encode(storing: stored, into: &bytes)
    if header.type != .dictionary { index.append(IndexEntry(offset: start, header: header)) }
    bytes.withUnsafeBytes { try? chain?.append(header, $0.slice(start, $0.count - start)) }
    return start
  }

  /// Adds a frame with some records of segments, merged by their ticks as the segment adjusts them.
  ///
  /// - Parameters:
  ///   - dictionary: The entries so far, if the frame is to be in columns.
  ///   - format: What compresses the columns, if anything is compressed.
  mutating func add(
    _ segments: [(segment: GoldenSegment, range: Range<Int>)], clock: TickClock, lowest: UInt64,
    columns dictionary: [UInt8]? = nil, format: CompressionFormat = .zlib
  ) {
    var header = FrameHeader(.records)
    (header.clock, header.lowestGeneration) = (clock, lowest)
    var rows = RowBuilder()
    withRows(segments) { found in
      for row in found.sorted(by: { $0.ticks < $1.ticks }) {
        rows.add(row.view, thread: row.thread, ticks: row.ticks)
      }
    }
    header.ranges = segments.map { segment, range in
      RingRange(
        generation: segment.generation, from: UInt32(segment.offset(range.lowerBound)),
        to: UInt32(segment.offset(range.upperBound)), segment: UInt32(segment.index),
        numbers: NumberRange(
          writer: UInt32(segment.generation) + 3, thread: segment.thread.ordinal,
          first: segment.generation / 2 + UInt64(range.lowerBound), count: UInt32(range.count)))
    }
    header.summary = rows.summary
    header.summary.firstWall = clock.wall(at: header.summary.firstTicks)
    header.summary.lastWall = clock.wall(at: header.summary.lastTicks)
    recordCount += UInt64(header.summary.count)
    guard let dictionary else {
      add(header, rows.payload())
      return
    }
    var callSites = CallSiteFields()
    dictionary.withUnsafeBytes {
      callSites.add(entriesIn: $0, seed: GoldenFiles.seed(identity))
    }
    let compressor = format == .zlib ? compressor : Compressor(level: 9, format)
    (header.rawSize, header.codec) = (rows.size, format == .zlib ? .columns : .zstdColumns)
    add(header, stored: ColumnEncoder().encode(rows, callSites, compressor))
  }

  /// Adds a frame whose columns were written by hand.
  mutating func add(_ frame: ColumnFrame, clock: TickClock, isDeflated: Bool) {
    var header = FrameHeader(.records, codec: .columns)
    (header.clock, header.rawSize, header.summary) = (clock, frame.rows.count, frame.summary)
    header.summary.firstWall = clock.wall(at: header.summary.firstTicks)
    header.summary.lastWall = clock.wall(at: header.summary.lastTicks)
    recordCount += UInt64(header.summary.count)
    add(header, stored: frame.columns.payload(isDeflated: isDeflated))
  }

  private typealias Row = (view: RecordView, thread: ThreadIdentity, ticks: UInt64)

  private func withRows(
    _ segments: [(segment: GoldenSegment, range: Range<Int>)], _ body: ([Row]) -> Void
  ) {
    let memory = segments.map { segment, _ in AlignedBytes(segment.bytes(identity)) }
    var found: [Row] = []
    for ((segment, range), memory) in zip(segments, memory) {
      let taken = segment.offset(range.lowerBound)..<segment.offset(range.upperBound)
      var scanner = RecordScanner(
        memory.bytes, from: SegmentLayout.size,
        seed: GoldenFiles.seed(identity, segment.generation), zeros: .end)
      var ticks: UInt64 = 0
      while case .record(let view, let offset) = scanner.next() {
        ticks = max(ticks, view.ticks)
        guard taken.contains(offset) else { continue }
        found.append((view, view.sharedThread ?? segment.thread, ticks))
      }
    }
    withExtendedLifetime(memory) { body(found) }
  }

  /// Adds what an archive ends with.
  mutating func close(_ dictionary: [UInt8]) {
    let dictionaryOffset = add(.dictionary, dictionary)
    let indexOffset = add(.index, IndexEntry.encode(index))
    bytes +=
      Trailer(
        of: id, dictionaryOffset: UInt64(dictionaryOffset), indexOffset: UInt64(indexOffset),
        recordCount: recordCount, fileSize: UInt64(bytes.count + TrailerLayout.size),
        frameCount: frameCount
      ).encoded
  }
}
