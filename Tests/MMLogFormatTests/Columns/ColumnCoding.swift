@testable import MMLogFormat
import TestSupport

/// A column of numbers as the encoder writes it.
func encoded(_ values: [UInt64], areDoubles: Bool = false) -> [UInt8] {
  var sections = ColumnSections()
  values.withUnsafeBufferPointer { values in
    guard let base = values.baseAddress else { return }
    NumberEncoder().encode(base, count: values.count, areDoubles: areDoubles, into: &sections)
  }
  return Array(sections.numbers.bytes)
}

/// The numbers of a column that has to end where `bytes` do.
func decoded(_ bytes: [UInt8], count: Int) throws -> [UInt64] {
  let memory = bytes + [UInt8](repeating: 0xFF, count: NumberDecoder.slack)
  return try memory.withUnsafeBytes { memory in
    var decoder = NumberDecoder(memory, planes: UnsafeRawBufferPointer(start: nil, count: 0))
    let values = WordBuffer(capacity: count)
    try decoder.column(count, to: values.base)
    guard decoder.isAtEnd else { throw FormatError.truncated }
    return withExtendedLifetime(values) { (0..<count).map { values.base[$0] } }
  }
}

/// A column of strings as the encoder writes it, from where records have them: at a word's edge,
/// and padded.
func encoded(_ strings: [[UInt8]]) -> ColumnBytes {
  let padded = strings.map { $0 + [UInt8](repeating: 0, count: -$0.count & 7) }
  let starts = padded.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
  let memory = AlignedBytes(padded.joined())
  return withExtendedLifetime(memory) {
    var sections = ColumnSections()
    let list = StringList()
    list.fill(strings.count) { index in
      memory.bytes.baseAddress.map { ($0 + starts[index], strings[index].count) }
    }
    StringEncoder(NumberEncoder()).encode(list, into: &sections)
    return ColumnBytes(
      numbers: Array(sections.numbers.bytes), planes: Array(sections.planes.bytes),
      text: Array(sections.text.bytes))
  }
}

/// The strings of a column that has to end where numbers and text do.
///
/// - Parameter limit: How large all that is put together may be.
func decoded(_ column: ColumnBytes, count: Int, limit: Int = 1 << 24) throws -> [[UInt8]] {
  let numbers = column.numbers + [UInt8](repeating: 0xFF, count: NumberDecoder.slack)
  return try numbers.read { numbers in
    try column.planes.read { planes in
      try column.text.read { text in
        var input = NumberDecoder(numbers, planes: planes)
        var decoder = StringDecoder(text, limit: limit)
        let places = WordBuffer(capacity: count)
        try decoder.column(count, to: places.base, &input)
        guard input.isAtEnd, decoder.isAtEnd else { throw FormatError.truncated }
        return withExtendedLifetime(places) {
          (0..<count).map { index in
            let place = StringRange(places.base[index])
            return Array(
              UnsafeRawBufferPointer(start: decoder.base + place.start, count: place.length))
          }
        }
      }
    }
  }
}

/// What a frame's payload in columns stands for.
func rows(_ payload: [UInt8], size: Int, count: Int) throws -> [UInt8] {
  guard let decompressor = Decompressor() else { throw FormatError.truncated }
  let rows = try payload.read {
    try ColumnDecoder.rows($0, size: size, count: count, decompressor, ifWanted: { _, _ in true })
  }
  guard let rows else { throw FormatError.truncated }
  return rows
}

/// Rows of records and fragments of threads in turn, and call sites for them.
struct ColumnRecords {
  var rows: [UInt8] = []
  var count = 0
  var payload: [UInt8] = []

  /// - Parameters:
  ///   - records: Their words, checked with seed 0, as a segment has them.
  ///   - sites: Entries, with ids from 1 on.
  ///   - threads: How many there are.
  ///   - encoder: One that has written other frames before, say.
  init(
    _ records: [[UInt64]], _ sites: [CallSite], threads: UInt32 = 1, compressor: Compressor? = nil,
    effort: TextEffort = .full, encoder: ColumnEncoder = ColumnEncoder()
  ) {
    var callSites = CallSiteFields()
    let entries = sites.enumerated().flatMap {
      DictionaryEntry.callSite(id: UInt32($0 + 1), $1).encoded(seed: 0)
    }
    entries.withUnsafeBytes { callSites.add(entriesIn: $0, seed: 0) }
    let memory = AlignedBytes(words: Array(records.joined()))
    withExtendedLifetime(memory) {
      var builder = RowBuilder()
      var scanner = RecordScanner(memory.bytes, from: 0, seed: 0, zeros: .end)
      while case .record(let view, _) = scanner.next() {
        let ordinal = UInt32(builder.summary.count) / 3 % threads + 1
        let thread = ThreadIdentity(ordinal: ordinal, id: 1000 + ordinal, name: "t\(ordinal)")
        builder.add(view, thread: thread, ticks: view.ticks)
      }
      (rows, count) = (builder.payload(), Int(builder.summary.count))
      payload = encoder.encode(builder, callSites, compressor, effort: effort)
    }
  }

  /// Of records with a text each.
  init(
    texts: [String], ticks: (Int) -> UInt64 = { UInt64($0) }, compressor: Compressor?,
    effort: TextEffort = .full, encoder: ColumnEncoder = ColumnEncoder()
  ) {
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .string)])
    let records = texts.enumerated().map { place, text in
      TestRecord(ticks: ticks(place), site: 1, words: ValueWords.argument(.text(text)))
        .encoded(seed: 0)
    }
    self.init(records, [site], compressor: compressor, effort: effort, encoder: encoder)
  }

  /// Nil if the columns are the rows.
  var problem: String? {
    do {
      let found = try MMLogFormatTests.rows(payload, size: rows.count, count: count)
      let first = zip(found, rows).enumerated().first { $1.0 != $1.1 }?.offset
      return found == rows ? nil : "they differ at \(first ?? -1) of \(rows.count)"
    } catch {
      return "\(error)"
    }
  }
}
