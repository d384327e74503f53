import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// The width of an aligned argument counts the logged characters, not the characters with which an
/// output escapes them (FORMAT.md, 6).
@Suite struct AlignmentTests {
  /// The text that a formatter writes for `[` VALUE `]`, if the value is aligned to eight
  /// characters.
  private func shown(_ value: Value, side: UInt64, _ formatter: some LogFormatter) -> String {
    let log = TestLog()
    let type = ValueType(rawValue: value.type) ?? .string
    let site = log.site(
      .literal("["), .argument(type: type, alignment: side | 8 << 8), .literal("]"), file: "")
    log.write(TestRecord(ticks: 1, site: site, words: ValueWords.argument(value)))
    return log.format(formatter)
  }

  static let values: [(value: Value, plain: String, json: String, csv: String, spaces: Int)] = [
    (.text("é\n"), #"é\n"#, #"é\n"#, #"é\n"#, 6),
    (.text("\u{1b}\"x"), #"\u{1b}"x"#, #"\u001b\"x"#, #"\u{1b}""x"#, 5),
    (.text("\\\\\\\\\\\\\\\\"), #"\\\\\\\\"#, #"\\\\\\\\\\\\\\\\"#, #"\\\\\\\\"#, 0),
    (.string([0xE2, 0x82, 0xFF]), "\u{FFFD}\u{FFFD}", "\u{FFFD}\u{FFFD}", "\u{FFFD}\u{FFFD}", 6),
    (.bytes([0xE2, 0x82, 0xFF]), #"\xe2\x82\xff"#, "\u{FFFD}\u{FFFD}", #"\xe2\x82\xff"#, 6),
    (
      .array([.text("\t"), .text("\n")]), #"[\t, \n]"#, #"[\t, \n]"#, #"[\t, \n]"#, 2
    ),
  ]

  @Test("every form has the same spaces", arguments: values.indices)
  func everyFormHasTheSameSpaces(index: Int) {
    let (value, plain, json, csv, count) = Self.values[index]
    let spaces = String(repeating: " ", count: count)
    for (side, before, after) in [(1 as UInt64, "", spaces), (2, spaces, "")] {
      #expect(
        shown(value, side: side, LogfmtFormatter(zone: .utc)).contains(
          "[\(before)\(json)\(after)]"),
        "side \(side)")
      #expect(
        shown(value, side: side, TextFormatter(zone: .utc))
          .contains("[\(before)\(plain)\(after)]"), "side \(side)")
      #expect(
        shown(value, side: side, JSONFormatter(zone: .utc)).contains("[\(before)\(json)\(after)]"),
        "side \(side)")
      #expect(
        shown(value, side: side, TableFormatter(.csv, zone: .utc))
          .contains("[\(before)\(csv)\(after)]"), "side \(side)")
    }
  }
}
