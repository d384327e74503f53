import Glibc
import TestSupport
import Testing

@testable import MMLogFormat

/// Small payloads that claim to be large: refused before they cost much.
@Suite struct ColumnBombTests {
  /// As many bytes of rows as any payload may stand for.
  private let largest = 4 << 20

  /// A payload of one group of `count` records with these fields, their columns as given.
  private func payload(_ count: Int, _ fields: [UInt8], _ columns: ColumnBytes) -> [UInt8] {
    let head = ColumnBytes.varint(0) + .varint(1) + .bytes(1) + .varint(fields.count)
    let zeros = ColumnBytes.constant(0)
    return
      (head + ColumnBytes(numbers: fields) + zeros + zeros + zeros + zeros + columns).payload()
  }

  private func isRefused(_ payload: [UInt8], _ count: Int, size: Int? = nil) -> Bool {
    (try? rows(payload, size: size ?? largest, count: count)) == nil
  }

  @Test("a thread of more than 32 bits is refused") func aThreadOfMoreThan32BitsIsRefused() {
    for (ordinal, isRight) in [(7, true), (.max >> 32, true), (1 << 32, false), (.max, false)]
      as [(UInt64, Bool)]
    {
      let zeros = ColumnBytes.constant(0)
      let head = ColumnBytes(numbers: [0, 1, 1, 0]) + zeros
      let whole = (head + .constant(ordinal) + zeros + zeros).payload()
      #expect(isRefused(whole, 1, size: 32) == !isRight, "\(ordinal)")
    }
  }

  @Test("huge counts are refused") func hugeCountsAreRefused() {
    for count in [1 << 18, 1 << 32, 1 << 60, .max] as [UInt64] {
      for place in 0..<3 {
        let counts = (0..<3).map { ColumnBytes.varint($0 == place ? count : 0) }
        let columns = counts[0] + counts[1] + .bytes(1) + counts[2]
        #expect(isRefused(columns.payload(), 1 << 17), "\(count), \(place)")
      }
    }
  }

  @Test("columns that cost nothing are refused if their rows are too large")
  func columnsThatCostNothingAreRefusedIfTheirRowsAreTooLarge() {
    let count = 1 << 17
    for fields in [6, 100, 100_000] {
      let columns = (0..<fields).reduce(into: ColumnBytes()) { columns, _ in
        columns.numbers += [0, 0]
      }
      let kinds = [UInt8](repeating: 0, count: fields)
      #expect(isRefused(payload(count, kinds, columns), count), "\(fields) fields")
    }
  }

  @Test("some bytes are no millions of records")
  func someBytesAreNoMillionsOfRecords() throws {
    let payload = payload(1, [], ColumnBytes())
    let bound = CompressionFormat.zlib.largestRows(ofColumns: payload.count)
    for (count, isRight) in [
      (1, true), (RowBuilder.targetSize / 24, true), ((bound - 8) / 24, true),
      (bound / 24 + 1, false), ((FrameLayout.largestPayload - 8) / 24, false),
    ] {
      #expect(isRefused(payload, count, size: 8 + 24 * count) == !isRight, "\(count)")
    }
    #expect(throws: FormatError.invalid("size of the rows of so few columns")) {
      try rows(payload, size: bound + 1, count: 1)
    }
  }

  /// What takes the least of all that a frame may have: a MiB of equal records, and then a long one
  /// of zeros, or of an array of equal numbers.
  @Test("what compresses best is no bomb", arguments: [ValueType.bytes, .array])
  func whatCompressesBestIsNoBomb(type: ValueType) throws {
    let (short, long) = (((1 << 20) - 64) / 24, 6 << 20)
    let sites = [
      CallSite(file: "f", function: "g", line: 1, column: 1, parts: []),
      CallSite(file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: type)]),
    ]
    let value =
      type == .bytes
      ? [UInt64(long)] + [UInt64](repeating: 0, count: long / 8)
      : [UInt64(long / 16)] + [UInt64](repeating: 1, count: long / 8)
    let records =
      [[UInt64]](
        repeating: TestRecord(ticks: 1, site: 1).encoded(seed: 0), count: short)
      + [TestRecord(ticks: 1, site: 2, words: value).encoded(seed: 0)]
    let made = ColumnRecords(records, sites, compressor: Compressor(level: 9))
    #expect(made.problem == nil && made.payload.count < 16 << 10, "\(made.payload.count) bytes")
  }

  @Test("one large string used by many records is refused")
  func oneLargeStringUsedByManyRecordsIsRefused() {
    let count = 100_000
    let text = ColumnBytes(text: [UInt8](repeating: 0x61, count: 1 << 20))
    let dictionary = ColumnBytes.bytes(1, 1) + .constant(1 << 20) + .constant(0) + text
    #expect(isRefused(payload(count, [1], dictionary), count))
    let zeros = ColumnBytes.constant(0)
    let patterns = ColumnBytes.bytes(2, 1) + zeros + .constant(1 << 20) + .constant(1) + text
    #expect(isRefused(payload(count, [1], patterns), count))
  }

  /// One pattern of so many placeholders, which all of `count` strings have, and their values.
  private func patterns(_ count: Int, placeholders: Int, values: ColumnBytes) -> ColumnBytes {
    let text = ColumnBytes(text: [UInt8](repeating: 0, count: placeholders))
    let head = ColumnBytes.bytes(2, 1) + .constant(0) + .constant(UInt64(placeholders))
    return (0..<placeholders).reduce(into: head + text + .constant(1)) { column, _ in
      column.numbers += values.numbers
    }
  }

  @Test("patterns with more values than the rows have bytes are refused")
  func patternsWithMoreValuesThanTheRowsHaveBytesAreRefused() {
    let (count, placeholders) = (1 << 10, 1 << 10)
    let column = patterns(count, placeholders: placeholders, values: .constant(10))
    // Before the values are read.
    #expect(throws: FormatError.invalid("count of values")) {
      try rows(payload(count, [1], column), size: 8 + count * 32 + 1000, count: count)
    }
  }

  @Test("more than a million values in a column are refused")
  func moreThanAMillionValuesInAColumnAreRefused() throws {
    let placeholders = 1 << 10
    for (count, isRight) in [(1024, true), (1025, false)] {
      let column = patterns(count, placeholders: placeholders, values: .constant(10))
      let size = 8 + count * (32 + placeholders)
      #expect(isRefused(payload(count, [1], column), count, size: size) == !isRight, "\(count)")
    }
  }

  @Test("more placeholders than there may be are refused")
  func morePlaceholdersThanThereMayBeAreRefused() {
    for (placeholders, isRight) in [(1 << 16, true), (1 << 16 + 1, false)] {
      // In one string, each value has a column with the others of its kind.
      let text = ColumnBytes(text: [UInt8](repeating: 0, count: placeholders))
      let column =
        ColumnBytes.bytes(2, 1) + .constant(0) + .constant(UInt64(placeholders)) + text
        + .constant(1) + .constant(10)
      let size = 8 + 32 + (placeholders + 7) / 8 * 8
      #expect(isRefused(payload(1, [1], column), 1, size: size) == !isRight, "\(placeholders)")
    }
  }

  @Test("patterns that are longer together than the rows are refused")
  func patternsThatAreLongerTogetherThanTheRowsAreRefused() {
    let (count, length) = (1 << 15, 1 << 14)
    let text = ColumnBytes(text: [UInt8](repeating: 0x61, count: length - 1) + [0])
    // All but the first have nothing but what they have in common.
    let patterns =
      ColumnBytes.bytes(2) + .varint(count)
      + .runs([0] + [UInt64](repeating: 1, count: count - 1))
      + .runs([UInt64(length)] + [UInt64](repeating: 0, count: count - 1)) + text
      + .constant(0) + .constant(0)
    #expect(isRefused(payload(count, [1], patterns), count))
  }

  @Test(
    "strings that are too long to be split take no memory for values",
    .disabled(if: isSanitized, "A sanitizer takes memory of its own for each byte."))
  func longStringsTakeNoMemoryForValues() async {
    await #expect(processExitsWith: .success) {
      let size = 16 << 20
      let memory = AlignedBytes((0..<3).flatMap { [UInt8](repeating: 0x61 + $0, count: size) })
      let list = StringList()
      list.fill(3) { index in memory.bytes.baseAddress.map { ($0 + index * size, size) } }
      var sections = ColumnSections()
      let line = try kernelText("/proc/self/status").split(separator: "\n")
        .first { $0.hasPrefix("VmData:") }
      let used = (line?.split(separator: " ").compactMap { rlim_t($0) }.first ?? 0) << 10
      // Their text takes 48 MiB. Room for a value for each byte of one would take 128 MiB.
      var limit = rlimit(rlim_cur: used + 112 << 20, rlim_max: used + 112 << 20)
      precondition(setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit) == 0)
      StringEncoder(NumberEncoder()).encode(list, into: &sections)
      precondition(sections.text.count == 3 * size)
      withExtendedLifetime(memory) {}
    }
  }

  @Test("sections larger than a frame are refused") func sectionsLargerThanAFrameAreRefused() {
    for size in [UInt32(FrameLayout.largestPayload) + 1, 1 << 31, .max] {
      var payload = payload(1, [], ColumnBytes())
      payload.withUnsafeMutableBytes { $0.store(size, 4) }
      #expect(isRefused(payload, 1), "\(size)")
      payload.withUnsafeMutableBytes { $0.store(size, 0) }
      #expect(isRefused(payload, 1), "\(size)")
    }
  }
}
