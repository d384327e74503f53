import MMLogFormat
import TestSupport
import Testing

/// Columns exist to be small: much smaller than rows that zlib has compressed.
@Suite struct ColumnSizeTests {
  /// Records of a service that takes orders: ids that rise, prices, few users, times with noise.
  static func orders(_ count: Int) -> ColumnRecords {
    var random = SeededGenerator(seed: 41)
    let sites = [
      [ValueType.uint, .string, .double, .int], [.uint, .double], [.string], [.string, .uint],
    ].map { types in
      CallSite(
        file: "Orders/Book.swift", function: "take(_:)", line: 7, column: 3,
        parts: types.map { .argument(type: $0, width: 64) })
    }
    var ticks: UInt64 = 1 << 50
    let records = (0..<count).map { index -> [UInt64] in
      ticks += 20_000 + random.next() % 4096
      let id = UInt64(1_000_000 + index / 3)
      let values: [Value] =
        switch index % 5 {
        case 0, 3:
          [
            .uint(id), .text(["XETR", "XLON", "XPAR"][Int(random.next() % 3)]),
            .double(Double(9_000 + random.next() % 512) / 100), .int(Int64(random.next() % 100)),
          ]
        case 1: [.uint(id), .double(Double(random.next() % 100_000) / 1000)]
        case 2:
          [.text("GET /orders/\(id)?user=\(random.next() % 5000) 200 \(random.next() % 900) ms")]
        default: [.text("user \(random.next() % 64)"), .uint(random.next() % 8)]
        }
      return TestRecord(
        ticks: ticks, site: [1, 2, 3, 1, 4][index % 5],
        words: values.flatMap { ValueWords.argument($0) }
      ).encoded(seed: 0)
    }
    return ColumnRecords(records, sites, threads: 2, compressor: Compressor(level: 1))
  }

  @Test("orders take far less than compressed rows", arguments: [100, 1000, 4000])
  func ordersTakeFarLessThanCompressedRows(count: Int) throws {
    let orders = Self.orders(count)
    #expect(orders.problem == nil)
    let deflated = try #require(Compressor(level: 6)?.compress(orders.rows))
    #expect(orders.payload.count * 2 < deflated.count, "\(orders.payload.count), \(deflated.count)")
    #expect(
      orders.payload.count < count * 12 + 400, "\(orders.payload.count) of \(orders.rows.count)")
  }

  @Test("noise takes hardly more than rows") func noiseTakesHardlyMoreThanRows() {
    var random = SeededGenerator(seed: 42)
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1,
      parts: [.argument(type: .uint), .argument(type: .bytes)])
    let records = (0..<1000).map { index in
      let values = [Value.uint(random.next()), .bytes(random.bytes(32))]
      return TestRecord(
        ticks: UInt64(index), site: 1, words: values.flatMap { ValueWords.argument($0) }
      ).encoded(seed: 0)
    }
    let found = ColumnRecords(records, [site], compressor: Compressor(level: 1))
    #expect(found.problem == nil)
    // What is random in a record is 40 of its 72 bytes.
    #expect(found.payload.count < 41 * 1000 + 1000, "\(found.payload.count)")
  }

  /// Near its beginning a text of words from a vocabulary shows few repetitions.
  @Test("words from a vocabulary are compressed by their repetitions")
  func wordsFromAVocabularyAreCompressedByTheirRepetitions() {
    var random = SeededGenerator(seed: 43)
    let letters = Array("etaoinshrdlucmfw")
    let words = (0..<1000).map { _ in
      String((0..<Int(2 + random.next() % 8)).map { _ in letters[Int(random.next() % 16)] })
    }
    let texts = (0..<6000).map { _ in
      (0..<15).map { _ in words[Int(random.next() % 1000)] }.joined(separator: " ")
    }
    let found = ColumnRecords(texts: texts, compressor: Compressor(level: 1))
    #expect(found.problem == nil)
    #expect(found.payload.count < 42 * 6000, "\(found.payload.count / 6000) bytes for each")
  }

  @Test("numbers of few values in text take what it takes to tell these apart")
  func numbersOfFewValuesInTextTakeWhatItTakesToTellTheseApart() {
    var random = SeededGenerator(seed: 44)
    let processes = (0..<16).map { _ in random.next() % 1_000_000 }
    let lines = (0..<4000).map { _ in "process \(processes[Int(random.next() % 16)]) runs" }
    let found = ColumnRecords(texts: lines, compressor: Compressor(level: 1))
    #expect(found.problem == nil)
    // Four bits for each.
    #expect(found.payload.count < 4000 * 5 / 8 + 250, "\(found.payload.count)")
  }

  @Test("with more effort, times that come at one pace take what their noise takes")
  func timesThatComeAtOnePaceTakeWhatTheirNoiseTakes() {
    var random = SeededGenerator(seed: 45)
    // One in 32 is late, so that the next comes early.
    let noise = (0..<2000).map { _ in
      random.next() % (random.next() % 32 == 0 ? 1 << 18 : 1 << 10)
    }
    let sizes = [TextEffort.full, .thorough].map { effort in
      let found = ColumnRecords(
        texts: noise.map { _ in "the same" }, ticks: { UInt64($0) << 24 + noise[$0] },
        compressor: Compressor(level: 1), effort: effort)
      #expect(found.problem == nil)
      return found.payload.count
    }
    #expect(sizes[1] < sizes[0] * 9 / 10, "\(sizes)")
  }

  @Test("a single record is no larger than its row") func aSingleRecordIsNoLargerThanItsRow() {
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .string)])
    let record = TestRecord(
      ticks: 1 << 60, site: 1, words: ValueWords.argument(.text("a line of some text, and 7")))
    let found = ColumnRecords([record.encoded(seed: 0)], [site])
    #expect(found.problem == nil && found.payload.count < found.rows.count + 16)
  }
}
