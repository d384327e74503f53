import MMLogFormat
import TestSupport

/// Frames in columns, each column written by hand: every encoding of FORMAT.md, 10, at least once.
enum GoldenColumns {
  /// Call sites 8, 9, 10 and 11; those of ``GoldenRecords`` are 1 to 7.
  static let entries: [DictionaryEntry] = [
    .callSite(id: 8, site(8, numberTypes)),
    .callSite(id: 9, site(9, (0...64).map { _ in .uint })),
    .callSite(id: 10, site(10, stringFields.map { _ in .string } + [.bytes])),
    .callSite(id: 11, site(11, lineFields.map { _ in .string })),
  ]

  private static func site(_ number: UInt32, _ types: [ValueType]) -> CallSite {
    let parts = types.map { [CallSite.Part.argument(type: $0, width: 64)] }
    return CallSite(
      file: "Golden/Columns.swift", function: "columns", line: number, column: 1,
      parts: Array(parts.joined(separator: [.literal("|")])))
  }

  private static let threads = [
    ThreadIdentity(ordinal: 1, id: 1001, name: "main"),
    ThreadIdentity(ordinal: 2, id: 1002, name: "worker"),
  ]

  private static func identity(_ site: UInt64, flags: UInt64 = 0) -> UInt64 {
    site | 1 << 32 | 2 << 48 | flags << 56
  }

  static func frames(entrySeed: UInt32) -> [ColumnFrame] {
    let numbers = ColumnFrame.Group(
      Array(repeating: identity(8), count: count), numberFields, write: ColumnBytes.constant)
    let widths = ColumnFrame.Group(Array(repeating: identity(9), count: 9), widthFields)
    let strings = ColumnFrame.Group(
      Array(repeating: identity(10), count: 20), stringFields + [bytesField])
    let lines = ColumnFrame.Group(Array(repeating: identity(11), count: 90), lineFields)
    let plain = ColumnFrame.Group([identity(1), identity(1)], [])
    return [
      ColumnFrame([numbers], threads: threads),
      ColumnFrame([widths, plain], threads: threads, ticks: 2_000_001),
      ColumnFrame(
        [strings, rest(entrySeed), fragments], threads: threads.reversed(), ticks: 3_000_001),
      ColumnFrame([lines], threads: threads, ticks: 4_000_001),
    ]
  }

  // MARK: - Numbers

  /// Two blocks of numbers and one number more.
  private static let count = 257
  private static let each = (0..<UInt64(count)).map { $0 }
  private static let many = each.map { $0 &* 0x9E37_79B9_7F4A_7C15 }
  private static let steps = each.map { $0 / 90 }
  private static let few = each.map { ($0 * 7 % 5) &* 1_000_003 &- 2_000_000 }
  private static let wholes = each.map { Int64($0 * $0) * 25 - 9_007_199_254_740_992 / 3 }
  private static let oddDoubles: [(position: UInt64, bits: UInt64)] = [
    (3, (-0.0).bitPattern), (4, Double.infinity.bitPattern), (128, 0x7FF8_0000_0000_0000),
    (200, Double.leastNonzeroMagnitude.bitPattern), (256, (0.1 + 0.2).bitPattern),
  ]

  private static func decimals(
    _ exponent: Int, _ exceptions: [(position: UInt64, bits: UInt64)] = []
  ) -> ColumnFrame.Field {
    let power = (0..<exponent).reduce(1.0) { power, _ in power * 10 }
    var values = wholes.map { (Double($0) / power).bitPattern }
    for (position, bits) in exceptions { values[Int(position)] = bits }
    return .word(values) { _ in .decimals(UInt8(exponent), wholes, exceptions) }
  }

  private static let numberFields: [ColumnFrame.Field] = [
    .word(Array(repeating: UInt64(bitPattern: -7), count: count), ColumnBytes.constant),
    .word(Array(repeating: 1 << 63, count: count), ColumnBytes.constant),
    .word(each.map { $0 * $0 &- 500 }, ColumnBytes.packed),
    .word(many) { .packed($0, width: 64) },
    .word(each.map { 5 &- 3 * $0 }) { .differences($0) },
    .word(each.map { $0 * $0 / 64 }) { values in
      .differences(values) { .differences($0) { .runs($0, firsts: ColumnBytes.packed) } }
    },
    .word(few) { .dictionary($0) },
    .word(few) { values in .dictionary(values, entries: { .differences($0) }) { .runs($0) } },
    .word(steps) { .runs($0) },
    .word(steps) { .runs($0, firsts: { .differences($0, ColumnBytes.constant) }) },
    .word(each.map { $0 % 50 == 3 ? .max - $0 : $0 % 4 }) { .patched($0, width: 2) },
    .word(each.map { $0 % 50 == 3 ? .max - $0 : 9 }) { .patched($0, width: 0) },
    .word(many) { .patched($0, width: 64) },
    .word(many.map { $0 >> 1 }) { .patched($0, width: 59) },
    .word(steps) { .planes($0, width: 1, random: 0) },
    .word(many) { .planes($0, width: 8, random: 0b1001_0110) },
    .word(each.map { 5_000 &- 26 &* $0 &* $0 }) { .multiples($0, of: 26) },
    .word(many) { .multiples($0, of: (1 << 63) + 1) },
    decimals(2, oddDoubles), decimals(0), decimals(22),
  ]
  private static let numberTypes: [ValueType] =
    numberFields.indices.map { $0 < 18 ? ($0 % 2 == 0 ? .int : .uint) : .double }

  /// Column *w* takes just *w* bits.
  private static let widthFields: [ColumnFrame.Field] = (0...64).map { width in
    let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
    let base = UInt64(bitPattern: Int64(width) * 100 - 3000) &* (width == 64 ? 0 : 1)
    let start = width == 64 ? 1 << 63 : base
    return .word(
      (0..<9).map { $0 == 0 ? start : $0 == 4 ? start &+ mask : start &+ many[$0] & mask },
      ColumnBytes.packed)
  }

  // MARK: - Strings

  private static let texts: [[UInt8]] = (0..<20).map { index in
    Array(["", "é😀", "longer than a word", "8 bytes."][index % 4].utf8)
      + [0x61, 0x62].prefix(index / 9)
  }
  private static let patterns: [[UInt8]] = (0..<20).map { index in
    [
      "order \0 of \0", "\0", "no number", "\0-\0-\0 at \0:\0", "order \0 of \0 and \u{1}",
      "0x\u{1} 0X\u{2} [\u{3}]", "id \u{4}-\u{5}",
    ][index % 7].utf8.map { $0 }
  }
  private static let manyNumbers: [[UInt8]] = (0..<20).map { index in
    (0..<UInt8(index)).flatMap { [0x61 + $0, 0] }
  }

  private static func value(_ placeholder: UInt8, _ index: Int, _ position: Int) -> UInt64 {
    let place = (index + position) % 7
    switch placeholder {
    case 0:
      return [
        10, 1007, 19, 1_999_999_999_999_999_999, 10_000_000_000_000_000_000, .max, 1_234_567,
      ][place]
    case 1, 2: return [16, 0x1F, 0x1ABCDEF, 0x1FFF_FFFF_FFFF_FFFF, 1 << 60, 0x10A, 0x1009][place]
    default: return UInt64(place) &* 0x2468_ACE1_3579_BDF1
    }
  }

  private static func token(_ placeholder: UInt8, _ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    let whole = String(repeating: "0", count: 16 - digits.count) + digits
    switch placeholder {
    case 0: return String("\(value)".dropFirst())
    case 1: return String(digits.dropFirst())
    case 2: return String(digits.dropFirst()).uppercased()
    case 3: return whole
    case 4: return "\(whole.prefix(8))-\(whole.dropFirst(8).prefix(4))-\(whole.suffix(4))"
    default: return "\(whole.prefix(4))-\(whole.dropFirst(4))"
    }
  }

  /// A field of strings as patterns, and the strings themselves.
  ///
  /// - Parameter loose: One of so many strings has no pattern; 0: each has a pattern.
  private static func field(
    _ patterns: [[UInt8]], loose: Int = 0, sharesAll: Bool = true,
    column: @escaping ColumnBytes.Numbers = ColumnBytes.packed
  ) -> ColumnFrame.Field {
    var (strings, found): ([[UInt8]], [ColumnBytes.Patterned]) = ([], [])
    for (index, pattern) in patterns.enumerated() {
      if loose > 0, index % loose == 0 {
        strings.append(Array("loose \(index)\0".utf8))
        found.append(.init(Array("loose \(index)\0".utf8), isLoose: true))
        continue
      }
      let placeholders = pattern.filter { $0 < 6 }
      let values = placeholders.enumerated().map { value($1, index, $0) }
      var tokens = zip(placeholders, values).map { token($0, $1) }.makeIterator()
      strings.append(pattern.flatMap { $0 < 6 ? Array((tokens.next() ?? "").utf8) : [$0] })
      found.append(.init(pattern, values))
    }
    return .string(strings, .patterns(found, sharesAll: sharesAll, column: column))
  }

  private static let stringFields: [ColumnFrame.Field] = [
    .string(texts, .plain(texts)), .string(texts, .dictionary(texts)),
    field(patterns), field(patterns, loose: 3), field(patterns, loose: 1),
    field(patterns, sharesAll: false),
    field(patterns, loose: 4) { .planes($0, width: 8, random: 5) },
    field(manyNumbers), field(manyNumbers.reversed(), sharesAll: false),
    field(manyNumbers.reversed()) { .differences($0) },
  ]
  /// Fields of a larger number of records: some placeholders have columns of their own.
  private static let lineFields: [ColumnFrame.Field] = [
    field((0..<90).map { patterns[$0 % 20] }, loose: 10),
    field((0..<90).map { manyNumbers[$0 % 4 + 2] }) { .planes($0, width: 8, random: 0) },
  ]
  /// With zero bytes, which are placeholders in patterns.
  private static let bytesField: ColumnFrame.Field = {
    let values = (0..<20).map { [UInt8](repeating: UInt8($0 % 3), count: $0 % 11) }
    return .string(values, .plain(values) { .dictionary($0) })
  }()

  // MARK: - Records that are written as they are

  private static func rest(_ seed: UInt32) -> ColumnFrame.Group {
    let site = CallSite(
      file: "Golden/Inline.swift", function: "inline", line: 9, column: 1,
      parts: [.literal("inline "), .argument(type: .int, width: 64, name: "n")])
    let entry = DictionaryEntry.callSite(id: 0, site).encoded(seed: seed)
    let words = [1, 2, 1].map { [$0] + entry + [UInt64(entry.count)] }
    return ColumnFrame.Group(
      Array(repeating: identity(0, flags: 16), count: 3), [.rest(words) { .dictionary($0) }])
  }

  /// Two records, each of a single fragment.
  private static let fragments: ColumnFrame.Group = {
    let found = ["one", "the other one"].flatMap { text in
      TestRecord(ticks: 1, site: 7, label: 1, words: ValueWords.argument(.text(text)))
        .fragments(partWords: 50, seed: 0)
    }
    return ColumnFrame.Group(
      kind: 2, found.map { $0[2] }, [.rest(found.map { Array($0[3...]) }) { .plain($0) }])
  }()
}
