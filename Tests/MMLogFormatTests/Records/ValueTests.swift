import MMLogFormat
import TestSupport
import Testing

@Suite struct ValueTests {
  private static let values: [Value] = [
    .int(.min), .int(-1), .uint(.max), .double(.nan), .double(-0.0), .double(.infinity),
    .float(1.5),
    .float(.nan), .bool(true), .bool(false), .string([]), .text("12345678"), .text("é😀"),
    .string([0xFF, 0]), .bytes([]), .bytes([1, 2, 3]), .int128(.min), .int128(-1), .uint128(.max),
    .uint128(1 << 64), .redacted, .hash(0xAB), .sealed([]), .sealed([1, 2, 3]), .null, .array([]),
    .dictionary([]),
    .array([.int(1), .text("b"), .array([.null, .uint128(3)])]),
    .dictionary([("", .dictionary([("k", .bytes([9]))])), ("a", .array([.redacted])), ("a", .null)]
    ),
  ]

  private func read(_ words: [UInt64], _ type: UInt8) throws -> (value: Value, left: Int) {
    let memory = AlignedBytes(words: words)
    return try withExtendedLifetime(memory) {
      var reader = WordReader(memory.bytes)
      return (try reader.value(ofArgumentType: type), reader.remaining)
    }
  }

  /// Reads it and walks over it in place: both throw, or neither does and both end at the same
  /// word.
  private func checkHostile(_ words: [UInt64], _ type: UInt8, _ what: String) {
    let memory = AlignedBytes(words: words)
    withExtendedLifetime(memory) {
      var (reader, walker) = (WordReader(memory.bytes), WordReader(memory.bytes))
      let value = try? reader.value(ofArgumentType: type)
      let walked: Bool? = try? {
        try walker.skipElements(of: walker.view(ofArgumentType: type))
        return true
      }()
      #expect((value == nil) == (walked == nil), "\(what)")
      #expect(value == nil || reader.offset == walker.offset, "\(what)")
    }
  }

  @Test("every type is read as it was written", arguments: values)
  func everyTypeIsReadAsItWasWritten(value: Value) throws {
    let words = ValueWords.argument(value)
    let plain = try read(words, value.type)
    #expect(plain.value == value && plain.left == 0)
    let present = try read([1] + words, value.type | ValueType.optionalBit)
    #expect(present.value == value && present.left == 0)
    let absent = try read([0] + words, value.type | ValueType.optionalBit)
    #expect(absent.value == .null && absent.left == words.count * 8)
    let metadata = try read([1, 0, UInt64(value.type)] + words, ValueType.dictionary.rawValue)
    #expect(metadata.value == .dictionary([("", value)]))
  }

  @Test("values stand in their words as the format says")
  func valuesStandInTheirWordsAsTheFormatSays() {
    let cases: [(Value, [UInt64])] = [
      (.int(-2), [.max - 1]), (.uint(5), [5]), (.double(1), [0x3FF0_0000_0000_0000]),
      (.float(1), [0x3F80_0000]), (.bool(true), [1]),
      (.text("abcdefghi"), [9, 0x6867_6665_6463_6261, 0x69]),
      (.int128(-2), [.max - 1, .max]), (.uint128(1 << 64 | 7), [7, 1]), (.hash(4), [4]),
      (.null, []),
      (.redacted, []), (.array([.bool(false)]), [1, 5, 0]),
      (.dictionary([("k", .int(1))]), [1, 1, 0x6B, 1, 1]),
    ]
    for (value, words) in cases { #expect(ValueWords.argument(value) == words, "\(value)") }
  }

  @Test("anything but zero is true") func anythingButZeroIsTrue() throws {
    #expect(try read([2], ValueType.bool.rawValue).value == .bool(true))
    #expect(try read([1 << 63, 9], ValueType.int.rawValue | 128).value == .int(9))
    #expect(try read([.max << 32 | 0x3F80_0000], ValueType.float.rawValue).value == .float(1))
  }

  @Test("a value cut at any word is refused", arguments: values)
  func aValueCutAtAnyWordIsRefused(value: Value) {
    let words = ValueWords.argument(value)
    for count in 0..<words.count {
      #expect((try? read(Array(words.prefix(count)), value.type)) == nil, "\(count) words")
    }
    // Bytes beyond whole words, too.
    let bytes = words.withUnsafeBytes { Array($0) }
    for count in 0..<bytes.count {
      let result = Array(bytes.prefix(count)).read { memory -> Value? in
        var reader = WordReader(memory)
        return try? reader.value(ofArgumentType: value.type)
      }
      #expect(result == nil, "\(count) bytes")
    }
  }

  @Test("a value with any bit flipped is read or refused", arguments: values)
  func aValueWithAnyBitFlippedIsReadOrRefused(value: Value) {
    let words = ValueWords.argument(value)
    for bit in 0..<words.count * 64 {
      var flipped = words
      flipped[bit / 64] ^= 1 << (bit % 64)
      checkHostile(flipped, value.type, "bit \(bit)")
    }
  }

  @Test("every type byte is read or refused") func everyTypeByteIsReadOrRefused() {
    let words: [UInt64] = [1, 1, 0x6B, 1, 1, 14, 2, 13, 1, 255, 6, 3, 7]
    for type in 0...255 as ClosedRange<UInt8> {
      checkHostile(words, type, "type \(type)")
      let isKnown = (1...15).contains(type & 127)
      if !isKnown { #expect((try? read(words, type)) == nil, "type \(type)") }
    }
    for tag in [0, 16, 128 | 1, 256 | 1, .max] as [UInt64] {
      #expect((try? read([1, tag, 0, 0], ValueType.array.rawValue)) == nil, "tag \(tag)")
    }
  }

  @Test("containers nest sixteen deep and no deeper")
  func containersNestSixteenDeepAndNoDeeper() throws {
    for leaf in [Value.array([]), .dictionary([]), .int(1)] {
      let isContainer = leaf != .int(1)
      let allowed = (0..<(isContainer ? 15 : 16)).reduce(leaf) { value, index in
        index % 2 == 0 ? .array([value]) : .dictionary([("k", value)])
      }
      #expect(try read(ValueWords.argument(allowed), allowed.type).value == allowed)
      let refused = Value.array([allowed])
      #expect(throws: FormatError.invalid("nesting")) {
        try read(ValueWords.argument(refused), refused.type)
      }
      checkHostile(ValueWords.argument(refused), refused.type, "nested")
    }
  }

  @Test("hostile counts cost no memory") func hostileCountsCostNoMemory() {
    for count in [9, 1 << 20, 1 << 40, 1 << 61, 1 << 63, .max - 6, .max] as [UInt64] {
      for type in [ValueType.array, .dictionary, .string, .bytes] {
        #expect((try? read([count, 0], type.rawValue)) == nil, "\(type) \(count)")
      }
    }
  }

  @Test("random words are read or refused") func randomWordsAreReadOrRefused() {
    var generator = SeededGenerator(seed: 5)
    for round in 0..<20_000 {
      let words = (0..<Int.random(in: 0..<24, using: &generator)).map { _ -> UInt64 in
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: generator.next()
        case 1: UInt64.random(in: 1...14, using: &generator)
        default: UInt64.random(in: 0...3, using: &generator)
        }
      }
      let type = UInt8.random(in: 1...14, using: &generator)
      checkHostile(words, type, "round \(round), type \(type): \(words)")
    }
  }
}

@Suite struct RecordPartsTests {
  private let site = CallSite(
    file: "f", function: "g", line: 1, column: 2, parts: [.argument(type: .int)])
  private var entry: [UInt64] { DictionaryEntry.callSite(id: 0, site).encoded(seed: 0) }

  private func parts<Result>(
    _ words: [UInt64], _ body: (RecordParts) throws -> Result
  ) throws -> Result {
    let memory = AlignedBytes(words: words)
    return try withExtendedLifetime(memory) { try body(RecordParts(memory.bytes)) }
  }

  @Test("a body is taken apart") func aBodyIsTakenApart() throws {
    let identity: UInt64 = 5 | 0xABCD << 32 | 4 << 48 | 13 << 56
    try parts([identity, 1, 2]) {
      #expect($0.callSite == 5 && $0.label == 0xABCD && $0.level == .warning)
      #expect($0.flags == [.metadata, .cut, .unterminated] && $0.values.count == 16)
      let inline = try $0.inlineCallSite()
      #expect(inline == nil)
    }
    try parts([1 | 2 << 56, 99, 7]) { #expect($0.values.count == 8) }
  }

  @Test("an entry at the end is the call site") func anEntryAtTheEndIsTheCallSite() throws {
    let words = [16 << 56, 42] + entry + [UInt64(entry.count)]
    try parts(words) {
      let inline = try $0.inlineCallSite()
      #expect(inline == site && $0.values.count == 8)
    }
    for length in [0, 1, UInt64(entry.count) - 1, UInt64(entry.count) + 1, 99, 1 << 61, .max] {
      let found = try? parts(words.dropLast() + [length]) { try $0.inlineCallSite() }
      #expect(found == nil, "\(length)")
    }
  }

  @Test("hostile bodies throw") func hostileBodiesThrow() {
    for words in [[], [2 << 56], [16 << 56], [18 << 56, 1], [16 << 56, 0]] as [[UInt64]] {
      #expect(throws: FormatError.self) { try parts(words) { try $0.inlineCallSite() } }
    }
    let words = [16 << 56 | 2 << 56, 3, 42] + entry + [UInt64(entry.count)]
    for bit in 0..<words.count * 64 {
      var flipped = words
      flipped[bit / 64] ^= 1 << (bit % 64)
      _ = try? parts(flipped) { try $0.inlineCallSite() }
    }
    for count in 0..<words.count { _ = try? parts(Array(words.prefix(count))) { _ in } }
  }
}
