import MMLogFormat
import TestSupport

/// A record, or a fragment of one, as it stands in a segment.
struct GoldenItem {
  let record: TestRecord
  var fragment: (index: Int, thread: UInt64?)?

  func words(seed: UInt32) -> [UInt64] {
    guard let fragment else { return record.encoded(seed: seed) }
    let all = record.fragments(
      partWords: GoldenRecords.partWords, seed: seed, thread: fragment.thread)
    return all[fragment.index]
  }
}

/// A segment of the golden ring, in use.
struct GoldenSegment {
  let index: Int
  let generation: UInt64
  let thread: ThreadIdentity
  let isSealed: Bool
  let items: [GoldenItem]
}

/// Records of every kind, by segments.
enum GoldenRecords {
  static let partWords = 150
  static let labels = ["golden.matching", "golden.bücher"]
  private static let messages: [GoldenMessage] = [
    .started, .everyType, .optionals, .integers, .floats, .alignments, .text,
  ]

  /// Labels and then call sites, each counted from 1.
  static let entries: [DictionaryEntry] =
    labels.enumerated().map { .label(id: UInt32($0 + 1), $1) }
    + messages.enumerated().map { .callSite(id: UInt32($0 + 1), site(UInt32($0), $1)) }

  private static func site(_ number: UInt32, _ message: GoldenMessage) -> CallSite {
    CallSite(
      file: "Golden/Büro.swift", function: "log(_:\(number))", line: 100 + number, column: number,
      parts: message.messageParts)
  }

  /// Ticks in the order of their numbers, not multiples of the clock's steps.
  private static func ticks(_ order: UInt64) -> UInt64 { 1_000_001 + order * 1001 }

  private static func item(
    _ order: UInt64, _ site: UInt32, _ level: Level, label: UInt32 = 1, flags: RecordFlags = [],
    before: [UInt64] = [], words: [UInt64]? = nil, after: [UInt64] = []
  ) -> GoldenItem {
    let values = words ?? (site > 0 ? messages[Int(site) - 1].words : [])
    return GoldenItem(
      record: TestRecord(
        ticks: ticks(order), site: site, label: label, level: level, flags: flags,
        words: before + values + after))
  }

  private static let metadata: [(String, Value)] = [
    ("venue", .text("XETR")), ("attempt", .int(-3)), ("attempt", .uint(4)),
    ("ratio", .double(0.75)),
    ("ok", .bool(false)), ("none", .null), ("", .text("empty key")),
    ("list", .array([.int(1), .text("two"), .dictionary([("three", .array([.bool(true)]))])])),
    ("map", .dictionary([("x", .dictionary([]))])),
  ]

  private static func text(_ text: [UInt8]) -> [UInt64] { ValueWords.argument(.string(text)) }

  private static func inlineSite(_ seed: UInt32) -> [UInt64] {
    let site = CallSite(
      file: "Golden/Inline.swift", function: "inline", line: 9, column: 1,
      parts: [.literal("inline "), .argument(type: .int, width: 64, name: "n")])
    let entry = DictionaryEntry.callSite(id: 0, site).encoded(seed: seed)
    return entry + [UInt64(entry.count)]
  }

  /// 2000 bytes, which take two fragments.
  private static let long = (0..<200).flatMap { Array("\($0 % 10)bcdefghi\n".utf8) }

  private static func fragment(
    _ order: UInt64, _ index: Int, level: Level = .notice, thread: UInt64? = nil
  ) -> GoldenItem {
    let values = text(long) + ValueWords.metadata([("long", .bool(true))])
    var item = item(order, 7, level, label: 2, flags: .metadata, words: values)
    item.fragment = (index, thread)
    return item
  }

  /// The segments in the order of their generations. The first is not in the ring any more.
  static func segments(entrySeed: UInt32) -> [GoldenSegment] {
    let main = ThreadIdentity(ordinal: 1, id: 1001, name: "main")
    let worker = ThreadIdentity(ordinal: 2, id: 1002, name: "worker")
    let third: UInt64 = 3 | 1003 << 32
    return [
      GoldenSegment(
        index: 0, generation: 1, thread: main, isSealed: true,
        items: [item(0, 1, .trace, label: 0)]),
      GoldenSegment(
        index: 1, generation: 2, thread: main, isSealed: true,
        items: [item(1, 1, .info), item(2, 2, .debug), item(4, 3, .notice, label: 2)]),
      GoldenSegment(
        index: 2, generation: 3, thread: worker, isSealed: true,
        items: [item(3, 4, .warning), fragment(6, 0)]),
      GoldenSegment(
        index: 3, generation: 4, thread: worker, isSealed: false,
        items: [fragment(6, 1), item(8, 5, .error), item(9, 6, .critical)]),
      GoldenSegment(
        index: 0, generation: 5, thread: main, isSealed: false,
        items: [
          item(5, 1, .info, flags: .metadata, after: ValueWords.metadata(metadata)),
          item(7, 7, .info, flags: .unterminated),
          item(10, 7, .info, flags: .cut, words: text(Array("cut".utf8))),
          item(11, 0, .info, flags: .inlineCallSite, words: [42], after: inlineSite(entrySeed)),
          // A reader gives this record the ticks of the one before; and its label is unknown.
          item(2, 7, .info, label: 77, words: text([0x61, 0xFF, 0xE2, 0x82, 0x62])),
          item(
            12, 0, .debug, flags: [.inlineCallSite, .metadata, .unterminated], words: [1],
            after: ValueWords.metadata([("a", .int(1))]) + inlineSite(entrySeed)),
        ]),
      GoldenSegment(
        index: 5, generation: 6, thread: ThreadIdentity(ordinal: 0, id: 0, name: ""),
        isSealed: false,
        items: [
          item(13, 1, .info, flags: .thread, before: [third]),
          fragment(14, 0, level: .trace, thread: third),
          // Two with the same ticks: the ticks of fragments have to stay the same in an archive.
          item(14, 1, .info, flags: .thread, before: [4 | 1004 << 32]),
          fragment(14, 1, level: .trace, thread: third),
          item(16, 7, .error, flags: .thread, before: [1 | 1001 << 32]),
        ]),
    ]
  }
}
