import MMLogFormat
import MMLogReader

/// The records of a report, as many as the page can show: in columns, in chunks that are
/// compressed.
///
/// The last of all records are kept. A quarter of the room is for warnings and higher levels, which
/// may be older. Memory is bounded.
struct ReportRecords {
  /// The maximum number of records.
  private static let maximum = 200_000
  /// The maximum size of all of them in bytes.
  private let maximumBytes: Int
  /// The maximum size of a message, and of a record's fields, in bytes; longer ones are cut.
  static let longest = 8192

  /// The second lane is for warnings and higher levels.
  private(set) var lanes = [Lane(), Lane()]
  private var ordinal: UInt64 = 0
  /// Higher compression levels take more time than everything else of a page.
  private let compressor = Compressor(level: 1)

  /// Records of one kind, in the order of time.
  struct Lane {
    fileprivate var chunks: ArraySlice<Chunk> = []
    fileprivate var open = OpenChunk()
    var count: Int { chunks.reduce(open.count) { $0 + $1.count } }
    fileprivate var byteCount: Int { chunks.reduce(0) { $0 + $1.bytes.count } }
  }

  fileprivate struct Chunk {
    let first: UInt64
    let count: Int
    let bytes: [UInt8]
  }

  /// What a record refers to, by number.
  struct References {
    var site = 0
    var label = 0
    var thread = 0
    var session = 0
  }

  init(maximumBytes: Int = 128 << 20) { self.maximumBytes = maximumBytes }

  mutating func add(_ record: LogReader.Record, _ references: References) {
    let lane = record.level >= .warning ? 1 : 0
    lanes[lane].open.add(record, references, ordinal)
    ordinal += 1
    if lanes[lane].open.isFull { close(lane) }
  }

  /// Appends the chunks. Each is an element that a script finds and no browser runs.
  mutating func append(to output: inout TextBuffer) {
    for lane in lanes.indices { close(lane) }
    for chunk in lanes.flatMap(\.chunks) {
      let packed = compressor?.compress(chunk.bytes)
      output.append(#"<script type="text/plain" class="chunk""#)
      output.append(packed == nil ? ">" : #" data-packed="">"#)
      (packed ?? chunk.bytes).withUnsafeBytes { output.append(base64: $0) }
      output.append("</script>\n")
    }
  }

  private mutating func close(_ lane: Int) {
    guard lanes[lane].open.count > 0 else { return }
    let open = lanes[lane].open
    lanes[lane].chunks.append(Chunk(first: open.first, count: open.count, bytes: open.encoded))
    lanes[lane].open = OpenChunk()
    while isTooMuch { dropOldest() }
  }

  private var isTooMuch: Bool {
    lanes.reduce(0) { $0 + $1.count } > Self.maximum
      || lanes.reduce(0) { $0 + $1.byteCount } > maximumBytes
  }

  private mutating func dropOldest() {
    let first = lanes.map { $0.chunks.first?.first ?? .max }
    // Warnings within their quarter stay, however old they are.
    let isAboveQuarter =
      lanes[1].count > Self.maximum / 4 || lanes[1].byteCount > maximumBytes / 4
    let isSevere = first[1] < first[0] && isAboveQuarter || first[0] == .max
    _ = lanes[isSevere ? 1 : 0].chunks.popFirst()
  }
}

/// A chunk that is being filled. It has one column for each field, so that it compresses well.
/// Numbers have seven bits in each byte, the lowest first. In rising columns they are differences
/// (report.js reads them).
///
/// An object, so that it is not copied for each record.
private final class OpenChunk {
  private(set) var count = 0
  /// The number of the first record.
  private(set) var first: UInt64 = 0
  private var columns = (0..<10).map { _ in [UInt8]() }
  private var texts: [UInt8] = []
  private var text = TextBuffer()
  private var lastOrdinal: UInt64 = 0
  private var lastMillisecond: Int64 = 0

  private static let maximum = 4096
  private static let maximumBytes = 1 << 20

  var isFull: Bool { count >= Self.maximum || texts.count >= Self.maximumBytes }

  func add(
    _ record: LogReader.Record, _ references: ReportRecords.References, _ ordinal: UInt64
  ) {
    if count == 0 { first = ordinal }
    let time = record.time.nanosecondsSince1970
    let millisecond = time.flooredQuotient(by: 1_000_000)
    put(ordinal - lastOrdinal, 0)
    put(zigzag(millisecond - lastMillisecond), 1)
    // For the very earliest times, the beginning of the millisecond is out of range.
    put(UInt64(truncatingIfNeeded: time &- millisecond &* 1_000_000), 2)
    put(UInt64(record.level.rawValue), 3)
    put(UInt64(references.site), 4)
    put(UInt64(references.label), 5)
    put(UInt64(references.thread), 6)
    put(UInt64(references.session), 7)
    (lastOrdinal, lastMillisecond) = (ordinal, millisecond)
    putText(8) { text in
      // The page escapes what it shows, and copies a record as it was logged.
      record.content.appendMessage(.raw, to: &text)
      // A record that ends a span need not have a message.
      if text.count == 0 { TextFormatter.appendMessage(record, to: &text) }
    }
    putText(9) { if record.content.hasFields { $0.append(attributes: record.content) } }
    count += 1
  }

  /// The columns, with their sizes before them, and the texts.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    appendVarint(UInt64(count), &bytes)
    for column in columns { appendVarint(UInt64(column.count), &bytes) }
    return bytes + columns.flatMap { $0 } + texts
  }

  private func putText(_ column: Int, _ body: (inout TextBuffer) -> Void) {
    text.removeAll(keeping: 1 << 20)
    body(&text)
    let size = text.count
    let kept = text.withUnsafeBytes { bytes in
      let kept = bytes.countOfWholeCharacters(within: ReportRecords.longest)
      texts.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<kept]))
      return kept
    }
    // An odd number for a text that was cut.
    put(UInt64(kept) << 1 | (kept < size ? 1 : 0), column)
  }

  private func put(_ value: UInt64, _ column: Int) { appendVarint(value, &columns[column]) }

  private func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

  private func appendVarint(_ value: UInt64, _ bytes: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
