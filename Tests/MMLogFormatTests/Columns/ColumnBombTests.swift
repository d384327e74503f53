import MMLogFormat
import TestSupport
import Testing

/// Small payloads that claim to be large: refused before they cost much.
@Suite struct ColumnBombTests {
  private let largest = FrameLayout.largestPayload

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
    for count in [1 << 20, 1 << 32, 1 << 60, .max] as [UInt64] {
      for place in 0..<3 {
        let counts = (0..<3).map { ColumnBytes.varint($0 == place ? count : 0) }
        let columns = counts[0] + counts[1] + .bytes(1) + counts[2]
        #expect(isRefused(columns.payload(), 1 << 20), "\(count), \(place)")
      }
    }
  }

  @Test("columns that cost nothing are refused if their rows are too large")
  func columnsThatCostNothingAreRefusedIfTheirRowsAreTooLarge() {
    let count = 1 << 20
    for fields in [6, 100, 100_000] {
      let columns = (0..<fields).reduce(into: ColumnBytes()) { columns, _ in
        columns.numbers += [0, 0]
      }
      let kinds = [UInt8](repeating: 0, count: fields)
      #expect(isRefused(payload(count, kinds, columns), count), "\(fields) fields")
    }
  }

  @Test("one large string used by many records is refused")
  func oneLargeStringUsedByManyRecordsIsRefused() {
    let count = 100_000
    let text = ColumnBytes(text: [UInt8](repeating: 0x61, count: 1 << 20))
    let dictionary = ColumnBytes.bytes(1, 1) + .constant(1 << 20) + .constant(0) + text
    #expect(isRefused(payload(count, [1], dictionary), count))
    let skeletons = ColumnBytes.bytes(2) + dictionary + .varint(1)
    #expect(isRefused(payload(count, [1], skeletons), count))
  }

  /// A number without digits would take no room in the rows, so that nothing bounded how many there
  /// are.
  @Test("skeletons with more numbers than the rows have bytes are refused")
  func skeletonsWithMoreNumbersThanTheRowsHaveBytesAreRefused() {
    let (count, placeholders) = (1 << 10, 1 << 10)
    let size = 8 + count * 32 + 1000
    let skeleton = ColumnBytes(text: [UInt8](repeating: 0, count: placeholders))
    let own = ColumnBytes(numbers: (0..<placeholders).flatMap { _ in [0, 2] as [UInt8] })
    for minimumUses in [0, 1] {
      let column =
        .bytes(2, 1, 1) + .constant(UInt64(placeholders)) + .constant(0) + skeleton
        + .varint(minimumUses) + own
      #expect(isRefused(payload(count, [1], column), count, size: size))
      #expect(isRefused(payload(count, [1], column), count))
    }
  }

  @Test("more than a million numbers in a column are refused")
  func moreThanAMillionNumbersInAColumnAreRefused() throws {
    let placeholders = 1 << 10
    let skeleton = ColumnBytes(text: [UInt8](repeating: 0, count: placeholders))
    let own = ColumnBytes(
      numbers: (0..<placeholders).flatMap { _ in ColumnBytes.constant(10).numbers })
    for (count, isRight) in [(1024, true), (1025, false)] {
      let column =
        .bytes(2, 1, 1) + .constant(UInt64(placeholders)) + .constant(0) + skeleton + .varint(1)
        + own
      let size = 8 + count * (32 + placeholders)
      #expect(isRefused(payload(count, [1], column), count, size: size) == !isRight, "\(count)")
    }
  }

  @Test("sections larger than a frame are refused") func sectionsLargerThanAFrameAreRefused() {
    for size in [UInt32(largest) + 1, 1 << 31, .max] {
      var payload = payload(1, [], ColumnBytes())
      payload.withUnsafeMutableBytes { $0.store(size, 4) }
      #expect(isRefused(payload, 1), "\(size)")
      payload.withUnsafeMutableBytes { $0.store(size, 0) }
      #expect(isRefused(payload, 1), "\(size)")
    }
  }
}
