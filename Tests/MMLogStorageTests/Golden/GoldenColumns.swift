import MMLogFormat
import TestSupport

/// Frames in columns, each column written by hand: every encoding of FORMAT.md, 10, at least once.
enum GoldenColumns {
  /// Call sites 8, 9 and 10; those of ``GoldenRecords`` are 1 to 7.
  static let entries: [DictionaryEntry] = [
    .callSite(id: 8, site(8, numberTypes)),
    .callSite(id: 9, site(9, (0...64).map { _ in .uint })),
    .callSite(id: 10, site(10, stringFields.map { _ in .string } + [.bytes])),
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
    let plain = ColumnFrame.Group([identity(1), identity(1)], [])
    return [
      ColumnFrame([numbers], threads: threads),
      ColumnFrame([widths, plain], threads: threads, ticks: 2_000_001),
      ColumnFrame(
        [strings, rest(entrySeed), fragments], threads: threads.reversed(), ticks: 3_000_001),
    ]
  }

  // MARK: - Numbers

  /// One more block than one, and a number more than that.
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
    decimals(2, oddDoubles), decimals(0), decimals(22),
  ]
  private static let numberTypes: [ValueType] =
    numberFields.indices.map { $0 < 14 ? ($0 % 2 == 0 ? .int : .uint) : .double }

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
  private static let skeletons: [[UInt8]] = (0..<20).map { index in
    Array(["order \0 of \0", "\0", "no number", "\0-\0-\0 at \0:\0"][index % 7 % 4].utf8)
  }
  private static let manyNumbers: [[UInt8]] = (0..<20).map { index in
    (0..<UInt8(index)).flatMap { [0x61 + $0, 0] }
  }

  private static func number(_ index: Int, _ position: Int) -> UInt64 {
    [10, 1007, 19, 1_999_999_999_999_999_999, 10_000_000_000_000_000_000, .max, 1_234_567][
      (index + position) % 7]
  }

  /// A field of strings as skeletons, and the strings themselves.
  private static func field(
    _ skeletons: [[UInt8]], areDictionary: Bool, minimumUses: Int = 0
  ) -> ColumnFrame.Field {
    let numbers = skeletons.enumerated().map { index, skeleton in
      (0..<skeleton.count(where: { $0 == 0 })).map { number(index, $0) }
    }
    let strings = zip(skeletons, numbers).map { skeleton, numbers in
      var next = numbers.makeIterator()
      return skeleton.flatMap { byte in
        byte == 0 ? Array("\(next.next() ?? 0)".utf8.dropFirst()) : [byte]
      }
    }
    let column = ColumnBytes.skeletons(
      skeletons, numbers, areDictionary: areDictionary, minimumUses: minimumUses)
    return .string(strings, column)
  }

  private static let stringFields: [ColumnFrame.Field] = [
    .string(texts, .plain(texts)), .string(texts, .dictionary(texts)),
    field(skeletons, areDictionary: false), field(skeletons, areDictionary: false, minimumUses: 1),
    field(skeletons, areDictionary: true), field(skeletons, areDictionary: true, minimumUses: 1),
    field(skeletons, areDictionary: true, minimumUses: 6), field(manyNumbers, areDictionary: false),
    field(manyNumbers, areDictionary: true, minimumUses: 2),
    field(manyNumbers.reversed(), areDictionary: true, minimumUses: 1),
  ]
  /// With zero bytes, which a skeleton cannot have.
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
