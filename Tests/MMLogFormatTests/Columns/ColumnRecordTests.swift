import MMLogFormat
import TestSupport
import Testing

@Suite struct ColumnRecordTests {
  /// What is asked before a frame is turned into rows: it decides whether a search for letters may
  /// pass it over.
  @Test(
    "a frame says whether metadata may be no string",
    arguments: [
      ([], false), ([("k", Value.text("dead"))], false), ([("k", .hash(0xDEAD))], true),
      ([("a", .text("b")), ("k", .array([.hash(1)]))], true), ([("k", .null)], false),
    ] as [([(String, Value)], Bool)])
  func aFrameSaysWhetherMetadataMayBeNoString(metadata: [(String, Value)], expected: Bool) throws {
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .string)])
    let words = ValueWords.argument(.text("some text"))
    let record = TestRecord(
      ticks: 1, site: 1, flags: metadata.isEmpty ? [] : .metadata,
      words: words + (metadata.isEmpty ? [] : ValueWords.metadata(metadata)))
    let plain = TestRecord(ticks: 2, site: 1, words: words)
    let made = ColumnRecords([record.encoded(seed: 0), plain.encoded(seed: 0)], [site])
    let decompressor = try #require(Decompressor())
    var said: Bool?
    let rows = try made.payload.read {
      try ColumnDecoder.rows($0, size: made.rows.count, count: made.count, decompressor) {
        said = $1
        return false
      }
    }
    #expect(said == expected && rows == nil)
  }

  @Test(
    "what looks like a string, but is not filled up with zeros, comes back as it was",
    arguments: 0...17 as ClosedRange<UInt64>)
  func whatLooksLikeAString(length: UInt64) {
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .string)])
    let words = [length] + [UInt64](repeating: .max, count: Int(length + 7) / 8)
    let argument = TestRecord(ticks: 1, site: 1, words: words)
    let name = TestRecord(
      ticks: 2, site: 1, flags: .metadata,
      words: ValueWords.argument(.text("x")) + [1] + words + [UInt64(ValueType.null.rawValue)])
    let made = ColumnRecords([argument.encoded(seed: 0), name.encoded(seed: 0)], [site])
    #expect(made.problem == nil)
  }

  private static let types: [ValueType] = [
    .int, .uint, .double, .float, .bool, .string, .bytes, .int128, .uint128, .redacted, .hash,
    .null, .array, .dictionary,
  ]

  /// Random records of random call sites, those that fit and those that do not.
  private struct Maker {
    var random: SeededGenerator
    var sites: [CallSite] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

    mutating func type(depth: Int) -> ValueType {
      types[below(depth > 2 ? types.count - 2 : types.count)]
    }

    mutating func value(_ type: ValueType, depth: Int = 0) -> Value {
      switch type {
      case .int: .int(Int64(below(5000)) - 2500)
      case .uint: .uint(random.next() >> UInt64(below(64)))
      case .double: .double(Double(below(10_000)) / 100)
      case .float: .float(Float(below(100)) / 4)
      case .bool: .bool(below(2) == 0)
      case .string:
        .text(["", "XETR", "order \(below(1000))", "\(below(9)):\(below(99))"][below(4)])
      case .bytes: .bytes(random.bytes(below(20)))
      case .int128: .int128(Int128(below(9)) - 4)
      case .uint128: .uint128(UInt128(random.next()) << 60)
      case .redacted: .redacted
      case .hash: .hash(random.next())
      case .sealed: .sealed(random.bytes(below(20)))
      case .null: .null
      case .array:
        .array((0..<below(4)).map { _ in value(self.type(depth: depth), depth: depth + 1) })
      case .dictionary:
        .dictionary(
          (0..<below(3)).map { ("k\($0)", value(self.type(depth: depth), depth: depth + 1)) })
      }
    }

    mutating func addSite() {
      let parts = (0..<below(7)).map { _ -> CallSite.Part in
        .argument(type: type(depth: 0), optional: below(4) == 0)
      }
      sites.append(
        CallSite(
          file: "f", function: "g", line: UInt32(sites.count), column: 1,
          parts: [.literal("x")] + parts))
    }

    mutating func arguments(_ site: CallSite) -> [UInt64] {
      var words: [UInt64] = []
      for case .argument(let argument) in site.parts {
        let type = ValueType(rawValue: argument.type & ~ValueType.optionalBit) ?? .null
        let isOptional = argument.type & ValueType.optionalBit != 0
        if isOptional, below(2) == 0 {
          words.append(0)
        } else {
          words += (isOptional ? [1] : []) + ValueWords.argument(value(type))
        }
      }
      return words
    }

    /// The words of a record, or of its fragments.
    mutating func record(ticks: UInt64) -> [UInt64] {
      var record = TestRecord(ticks: ticks, site: UInt32(below(sites.count) + 1))
      record.label = UInt32(below(3))
      record.level = Level(rawValue: UInt8(below(7))) ?? .info
      record.words = arguments(sites[Int(record.site) - 1])
      switch below(20) {
      case 0: record.site = [0, UInt32(sites.count + 1), 1 << 21, .max][below(4)]
      case 1: record.words = (0..<below(9)).map { _ in random.next() >> UInt64(below(64)) }
      case 2: record.words.append(random.next())
      case 3: record.words = Array(record.words.dropLast())
      case 4: record.flags.insert(.thread)
      case 5: (record.flags, record.words) = (.thread, [7 | 9 << 32] + record.words)
      case 6...8:
        record.flags.insert(.metadata)
        record.words += ValueWords.metadata([("venue", value(.string)), ("n", value(.array))])
      case 9:
        (record.flags, record.site) = (.inlineCallSite, 0)
        let entry = DictionaryEntry.callSite(id: 0, sites[0]).encoded(seed: 0)
        record.words = arguments(sites[0]) + entry + [UInt64(entry.count)]
      case 10: record.flags = [.cut, .unterminated]
      case 11: return Array(record.fragments(partWords: 1 + below(4), seed: 0).joined())
      default: break
      }
      return record.encoded(seed: 0)
    }
  }

  @Test("records of any kind are the same rows", arguments: 0..<40)
  func recordsOfAnyKindAreTheSameRows(seed: UInt64) throws {
    var maker = Maker(seed: seed)
    for _ in 0...maker.below(12) { maker.addSite() }
    let count = [1, 2, 3, 40, 127, 128, 129, 400][Int(seed) % 8]
    let records = (0..<count).map { maker.record(ticks: UInt64($0 * 100 + maker.below(50))) }
    let compressor = seed % 2 == 0 ? Compressor(level: 1) : nil
    let found = ColumnRecords(
      records, maker.sites, threads: UInt32(seed % 4 + 1), compressor: compressor)
    #expect(found.count >= count)
    #expect(found.problem == nil, "seed \(seed)")
  }

  @Test("records of many call sites are the same rows", arguments: [61, 62, 63] as [UInt64])
  func recordsOfManyCallSitesAreTheSameRows(seed: UInt64) {
    var maker = Maker(seed: seed)
    for _ in 0..<200 { maker.addSite() }
    let records = (0..<1500).map { maker.record(ticks: UInt64($0 * 100 + maker.below(50))) }
    let found = ColumnRecords(records, maker.sites)
    #expect(found.problem == nil, "seed \(seed)")
  }

  @Test("a record of a call site that has few takes hardly more than its values")
  func aRecordOfACallSiteThatHasFewTakesHardlyMoreThanItsValues() {
    let sites = (0..<1000).map { line in
      CallSite(
        file: "f", function: "g", line: UInt32(line), column: 1,
        parts: [.argument(type: .int), .argument(type: .string)])
    }
    let size = { (sitesUsed: Int) in
      let records = (0..<4000).map { index in
        TestRecord(
          ticks: UInt64(index), site: UInt32(index % sitesUsed + 1),
          words: ValueWords.argument(.int(Int64(index * 7919 % 1000)))
            + ValueWords.argument(.text("user \(index * 31 % 100)"))
        ).encoded(seed: 0)
      }
      let found = ColumnRecords(records, sites)
      #expect(found.problem == nil)
      return found.payload.count
    }
    // Ten bits say which of a thousand it is.
    #expect(size(1000) < size(1) + 4000 * 10 / 8 + 1000)
  }

  @Test("no records are rows too") func noRecordsAreRowsToo() {
    let found = ColumnRecords([], [])
    #expect(found.problem == nil && found.rows.count == 8)
  }

  @Test("an encoder that is kept writes frames of any shape", arguments: [51, 52] as [UInt64])
  func anEncoderThatIsKeptWritesFramesOfAnyShape(seed: UInt64) throws {
    let encoder = ColumnEncoder()
    let compressor = try #require(Compressor(level: 1))
    var maker = Maker(seed: seed)
    for _ in 0..<5 { maker.addSite() }
    for frame in 0..<60 {
      if frame % 7 == 0 { maker.addSite() }
      let count = [1, 40, 130, 700][maker.below(4)]
      let records = (0..<count).map { maker.record(ticks: UInt64($0 * 100 + maker.below(50))) }
      let found = ColumnRecords(
        records, maker.sites, threads: UInt32(frame % 4 + 1),
        compressor: frame % 5 == 0 ? nil : compressor, encoder: encoder)
      #expect(found.problem == nil, "seed \(seed), frame \(frame)")
    }
  }

  @Test("less effort for text leaves it larger, more effort makes it smaller, and as readable")
  func effortForText() throws {
    let compressor = try #require(Compressor(level: 1))
    var random = SeededGenerator(seed: 53)
    let words = (0..<500).map { _ in String(random.next() % 999_999_999, radix: 36) }
    let texts = (0..<2000).map { _ in
      (0..<12).map { _ in words[Int(random.next() % 500)] }.joined(separator: " ")
    }
    func found(_ count: Int, _ effort: TextEffort) -> (size: Int, spent: TextEffort) {
      let encoder = ColumnEncoder()
      let found = ColumnRecords(
        texts: Array(texts.prefix(count)), compressor: compressor, effort: effort, encoder: encoder)
      #expect(found.problem == nil, "\(count) records, effort \(effort)")
      return (found.payload.count, encoder.effort)
    }
    let many = TextEffort.allCases.map { found(2000, $0) }
    let few = TextEffort.allCases.map { found(50, $0) }
    #expect(many.map(\.spent) == TextEffort.allCases)
    #expect(many[2].size > many[1].size * 5 / 4 && many[1].size >= many[0].size)
    #expect(many[3].size < many[0].size)
    // They take no time.
    #expect(few.map(\.spent) == [.full, .full, .full, .thorough])
  }

  @Test("more effort never makes text larger, also where nothing repeats")
  func moreEffortForRandomLetters() throws {
    let compressor = try #require(Compressor(level: 1))
    var random = SeededGenerator(seed: 54)
    let texts = (0..<2000).map { _ in
      String(decoding: random.bytes(100).map { $0 % 26 + 97 }, as: UTF8.self)
    }
    let sizes = [TextEffort.full, .reduced, .thorough].map { effort in
      let found = ColumnRecords(texts: texts, compressor: compressor, effort: effort)
      #expect(found.problem == nil)
      return found.payload.count
    }
    #expect(sizes[2] <= sizes[0] && sizes[2] <= sizes[1], "\(sizes)")
  }

  /// Text that was deflated is kept, and taken for the next frame if it is the same.
  @Test("an encoder that is kept tells one text from another")
  func anEncoderThatIsKeptTellsOneTextFromAnother() throws {
    let encoder = ColumnEncoder()
    let compressor = try #require(Compressor(level: 1))
    func name(_ number: Int) -> String { "name \(number % 10) of a user" }
    let letters = String(repeating: "abcdefgh", count: 8 << 10)
    let frames: [[String]] = [
      (0..<400).map(name), (0..<400).reversed().map(name), (1..<400).map { name($0 % 9) },
      // As long as the text before.
      (0..<400).map { name($0).uppercased() }, (0..<400).map(name), [], [String(letters)],
      // As long as what is kept at most.
      [String(letters.prefix(16 << 10))], [String(letters.prefix(16 << 10).dropLast() + "x")],
      [String(letters.prefix((16 << 10) - 1))], [String(letters)],
    ]
    for (index, texts) in frames.enumerated() {
      let found = ColumnRecords(texts: texts, compressor: compressor, encoder: encoder)
      #expect(found.problem == nil, "frame \(index)")
    }
  }

  @Test("a large record is the same row") func aLargeRecordIsTheSameRow() {
    let site = CallSite(
      file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .string)])
    for text in [
      String(repeating: "0123456789 ", count: 100_000), String(repeating: "é", count: 1 << 20),
    ] {
      let record = TestRecord(ticks: 1, site: 1, words: ValueWords.argument(.text(text)))
      let found = ColumnRecords([record.encoded(seed: 0)], [site])
      #expect(found.count == 1 && found.problem == nil)
    }
  }
}
