import Testing

@testable import MMLogFormat

/// How much of a ring's streams is made for the rows of a frame.
@Suite struct SealedRowsTests {
  /// A row of 32 bytes, of which the last 8 are encrypted.
  private func row(_ stream: Int, _ offset: Int, count: Int = 32) -> SealedRows.Row {
    SealedRows.Row(stream: stream, offset: offset, place: 0, count: count, clearWords: 3)
  }

  @Test("of rows that stand alone, only what each has is made")
  func rowsThatStandAlone() {
    let rows = (0..<512).map { row(0, 128 + $0 << 15) } + (1..<512).map { row($0, 128) }
    let made = rows.indices.reduce(0) { $0 + SealedRows.part(of: rows[$1...]).count }
    #expect(made == 8 * rows.count)
  }

  @Test("what rows have that follow one another closely is made at once")
  func rowsThatFollowOneAnother() {
    let rows = (0..<10_000).map { row(0, 128 + 40 * $0) }
    let part = SealedRows.part(of: rows[100...])
    #expect(part.lowerBound == 128 + 40 * 100 + 24)
    #expect((32 << 10..<33 << 10).contains(part.count))
    #expect(SealedRows.part(of: rows[9_990...]) == 399_752..<400_120)
  }

  @Test("a long row, and one within another, are parts of what is made")
  func longRows() {
    let rows = [row(3, 1024, count: 16_000), row(3, 1032), row(3, 17_500), row(4, 17_600)]
    #expect(SealedRows.part(of: rows[...]) == 1048..<17_532)
    #expect(SealedRows.part(of: [row(3, 1024, count: 1 << 20)]) == 1048..<1024 + 1 << 20)
  }
}
