import MMLogFormat
import TestSupport
import Testing

@Suite struct DictionaryTests {
  private let seed = checksumSeed(session: SessionID(words: (1, 2)), generation: 0)
  private let site = CallSite(
    file: "Module/Fïle.swift", function: "f(_:)", line: .max, column: 7,
    parts: [
      .literal("order "),
      .argument(
        CallSite.Argument(
          type: 1 | 128, privacy: 2, width: 64, format: 0xFF02, alignment: 0x0402, name: "id")),
      .literal(""), .argument(type: .string), .literal("12345678"),
    ])

  private func bytes(_ entries: DictionaryEntry...) -> [UInt8] {
    entries.flatMap { $0.encoded(seed: seed) }.withUnsafeBytes { Array($0) }
  }

  private func scan(_ bytes: [UInt8]) -> (entries: [DictionaryEntry], corruption: [Range<Int>]) {
    bytes.read {
      var scanner = EntryScanner($0, seed: seed)
      var entries: [DictionaryEntry] = []
      while let next = scanner.next() { entries.append(next.entry) }
      return (entries, scanner.corruption)
    }
  }

  @Test("entries are read as they were written") func entriesAreReadAsTheyWereWritten() {
    let entries: [DictionaryEntry] = [
      .callSite(id: 5, site), .label(id: 65535, "label"), .label(id: 1, ""),
      .callSite(id: .max, CallSite(file: "", function: "", line: 0, column: 0, parts: [])),
    ]
    let bytes = entries.flatMap { $0.encoded(seed: seed) }.withUnsafeBytes { Array($0) }
    #expect(scan(bytes).entries == entries && scan(bytes).corruption.isEmpty)
    #expect(scan(bytes + [UInt8](repeating: 0, count: 80)).entries == entries)
  }

  @Test("a label stands in its bytes as the format says")
  func aLabelStandsInItsBytesAsTheFormatSays() {
    let words = DictionaryEntry.label(id: 3, "ab").encoded(seed: seed)
    #expect(words.count == 4 && words[0] & 0xFFFF_FFFF == 4 << 24 | 4)
    #expect(Array(words[1...]) == [3, 2, 0x6261])
    let covered = words[1...].withUnsafeBytes { Array($0) } + [4, 0, 0, 4]
    #expect(UInt32(words[0] >> 32) == covered.read { crc32cState(seed, $0) })
  }

  @Test("a corrupted entry costs itself only") func aCorruptedEntryCostsItselfOnly() {
    let (first, second, third) = (
      bytes(.label(id: 1, "a")), bytes(.callSite(id: 2, site)), bytes(.label(id: 3, "c"))
    )
    for bit in 0..<second.count * 8 {
      let found = scan(first + second.flipping(bit: bit) + third)
      #expect(found.entries == [.label(id: 1, "a"), .label(id: 3, "c")], "bit \(bit)")
      #expect(found.corruption == [first.count..<first.count + second.count], "bit \(bit)")
    }
  }

  @Test("an entry cut anywhere is none") func anEntryCutAnywhereIsNone() {
    let whole = bytes(.callSite(id: 2, site))
    for count in 0..<whole.count {
      #expect(scan(Array(whole.prefix(count))).entries.isEmpty, "\(count) bytes")
      let zeros = [UInt8](repeating: 0, count: whole.count - count)
      let isZeroAnyway = whole.suffix(whole.count - count).allSatisfy { $0 == 0 }
      #expect(
        scan(Array(whole.prefix(count)) + zeros).entries.isEmpty || isZeroAnyway, "\(count) bytes")
    }
  }

  @Test("another sessions entries are none") func anotherSessionsEntriesAreNone() {
    let other = checksumSeed(session: SessionID(words: (1, 3)), generation: 0)
    let words = DictionaryEntry.label(id: 3, "ab").encoded(seed: other)
    #expect(scan(words.withUnsafeBytes { Array($0) }).entries.isEmpty)
  }

  @Test("of two entries with the same number the first counts, and another one is noticed")
  func ofTwoEntriesWithTheSameNumberTheFirstCounts() {
    var dictionary = LogDictionary()
    let other = CallSite(file: "", function: "", line: 1, column: 1, parts: [])
    let bytes = bytes(
      .label(id: 1, "a"), .callSite(id: 1, site), .label(id: 1, "b"), .callSite(id: 1, other),
      .label(id: 1, "a"), .label(id: 2, "c"))
    let corruption = bytes.read { dictionary.insert(entriesIn: $0, seed: seed) }
    #expect(dictionary.labels == [1: "a", 2: "c"] && dictionary.callSites == [1: site])
    #expect(corruption.isEmpty && dictionary.contradictions == 2)
  }

  /// The check is right, what it covers is not.
  @Test("entries with hostile contents are corruption")
  func entriesWithHostileContentsAreCorruption() {
    let contents: [[UInt64]] = [
      [1, .max], [1, 9, 0], [1 << 40, 1 << 32, 0, 0], [1, 1 << 32, 0, 0, 2],
      [1, 0xFFFF << 32, 0, 0],
      [1, 1 << 32, 0, 0, 1, 0, 0], [1, 1 << 32, 0, 0, 0, 1 << 60], [], [1],
    ]
    for kind in [RecordLayout.callSiteKind, RecordLayout.labelKind, 9 << 24] {
      for content in contents where kind != RecordLayout.labelKind || content.count < 4 {
        var words = [UInt64(content.count + 1) | kind] + content
        let checksum = words.withUnsafeBytes { entryChecksum($0, seed: seed) }
        words[0] |= UInt64(checksum) << 32
        let found = scan(words.withUnsafeBytes { Array($0) } + bytes(.label(id: 2, "next")))
        #expect(
          found.entries == [.label(id: 2, "next")] || kind == RecordLayout.labelKind, "\(content)")
      }
    }
  }

  @Test("a label with a number that no record can name is corruption", arguments: [0, 65536, .max])
  func aLabelThatNoRecordCanNameIsCorruption(id: UInt32) {
    let label = bytes(.label(id: id, "label"))
    let found = scan(label + bytes(.label(id: 2, "next")))
    #expect(found.entries == [.label(id: 2, "next")] && found.corruption == [0..<label.count])
  }

  @Test("an entry with more parts or keys than any log statement has is corruption")
  func anEntryWithMorePartsOrKeysThanAnyLogStatementHasIsCorruption() {
    func site(_ count: Int) -> DictionaryEntry {
      let parts = [CallSite.Part](repeating: .argument(type: .redacted), count: count)
      return .callSite(
        id: 1, CallSite(file: "", function: "", line: 0, column: 0, parts: parts))
    }
    func keys(_ count: Int) -> DictionaryEntry {
      let key = KeySet.Key("", ValueType.redacted.rawValue)
      return .keySet(id: 1, KeySet([KeySet.Key](repeating: key, count: count)))
    }
    let (parts, names) = (CallSite.maximumParts, KeySet.maximumKeys)
    for entry in [site(parts), keys(names)] { #expect(scan(bytes(entry)).entries == [entry]) }
    for entry in [site(parts + 1), site(0xFFFF), keys(names + 1), keys(0xFFFF)] {
      let found = scan(bytes(entry))
      #expect(found.entries.isEmpty && !found.corruption.isEmpty)
    }
  }

  /// Every second word announces an entry that reaches to the end, and valid ones stand between.
  @Test("hostile entries do not take for ever") func hostileEntriesDoNotTakeForEver() {
    var words: [UInt64] = []
    let size = 1 << 16
    while words.count < size {
      words.append(UInt64(size - words.count) | RecordLayout.callSiteKind)
      words += DictionaryEntry.label(id: UInt32(words.count), "").encoded(seed: seed)
    }
    let found = scan(words.withUnsafeBytes { Array($0) })
    // What may be checked is spent after some of them; without a bound, this would take minutes.
    #expect(found.entries.count > 10 && found.entries.count < size / 4)
    #expect(!found.corruption.isEmpty)
  }

  @Test("an entry that does not fit is not written") func anEntryThatDoesNotFitIsNotWritten() {
    let whole = DictionaryEntry.callSite(id: 2, site).encoded(seed: seed)
    for room in 0...whole.count {
      var memory = [UInt64](repeating: 0, count: room + 1)
      let size = memory.withUnsafeMutableBytes { memory -> Int? in
        var writer = EntryWriter(into: UnsafeMutableRawBufferPointer(rebasing: memory.dropLast(8)))
        writer.label(id: 2, UnsafeRawBufferPointer(start: nil, count: 0))
        writer.literal(UnsafeRawBufferPointer(start: nil, count: 0))
        return writer.finish(kind: RecordLayout.labelKind, seed: seed)?.size
      }
      #expect(size == (room >= 5 ? 40 : nil), "\(room) words")
      #expect(memory.last == 0, "nothing beyond its memory")
    }
  }
}
