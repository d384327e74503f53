import Foundation
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// Bytes that are not UTF-8. Outputs and searches replace them by as many U+FFFD as Swift's
/// `String(decoding:as:)`.
@Suite struct InvalidTextTests {
  /// Bytes that begin characters, continue them, and break them off.
  private static let parts: [UInt8] = [
    0x61, 0x22, 0x5C, 0x0A, 0x1B, 0x80, 0xA0, 0xBF, 0xC0, 0xC2, 0xC3, 0xE0, 0xE2, 0x82, 0xAC, 0xED,
    0xEF, 0xBB, 0xF0, 0x9F, 0x98, 0x90, 0xF1, 0xF4, 0x8F, 0xF5, 0xFF,
  ]

  private func bytes(_ generator: inout SeededGenerator, _ maximum: Int) -> [UInt8] {
    (0..<Int.random(in: 0...maximum, using: &generator)).map { _ in
      Self.parts.randomElement(using: &generator) ?? 0
    }
  }

  /// A log of one record: bytes without a name, a text with a name, and metadata with the same
  /// text.
  private func log(_ raw: [[UInt8]], _ text: [UInt8], key: [UInt8]) -> TestLog {
    let log = TestLog()
    let arguments = raw.map { _ in CallSite.Part.argument(type: .bytes) }
    let site = log.site(
      parts: arguments + [.literal("|"), .argument(type: .string, name: "text")])
    let words = raw.flatMap { ValueWords.argument(.bytes($0)) } + ValueWords.argument(.string(text))
    log.write(
      TestRecord(
        ticks: 1, site: site, flags: .metadata,
        words: words + ValueWords.metadata(key: key, .string(text))))
    return log
  }

  private func object(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test("every place shows what swift shows") func everyPlaceShowsWhatSwiftShows() throws {
    for seed in 0..<400 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let raw = [bytes(&generator, 6), bytes(&generator, 6)]
      let (text, key) = (bytes(&generator, 12), [0x6B] + bytes(&generator, 4))
      let log = log(raw, text, key: key)
      let shown = String(decoding: text, as: UTF8.self)
      // A text is decoded separately, as FORMAT.md, 4, says; bytes are joined before.
      let message = String(decoding: raw.flatMap(\.self), as: UTF8.self) + "|" + shown
      let name = String(decoding: key, as: UTF8.self)

      let record = try #require(log.read().records.first)
      #expect(Array(record.message.utf8) == Array(message.utf8), "seed \(seed)")
      #expect(record.fields.map(\.name) == ["text", name], "seed \(seed)")

      let json = try object(log.format(JSONFormatter(zone: .utc)))
      #expect(same(json["body"], message), "seed \(seed)")
      let fields = try #require(json["attributes"] as? [String: Any])
      #expect(same(fields["text"], shown) && same(fields[name], shown), "seed \(seed)")

      let otlp = try object(log.format(OTLPFormatter()))
      #expect(bodies(otlp).map { Array($0.utf8) } == [Array(message.utf8)], "seed \(seed)")
      try expectFound(record, shown, name, seed)
    }
  }

  @Test("logfmt has the escapes of JSON, which its parsers know") func logfmt() {
    let log = log([[0x1B, 0xFF, 0x5C]], Array("\u{1b}\"".utf8), key: Array("k".utf8))
    let message = ##""\u001b\##u{FFFD}\\|\u001b\"""##
    let line = log.format(LogfmtFormatter(zone: .utc))
    let part = ##" msg=\##(message) text="\u001b\"" k="\u001b\"" source="##
    #expect(line.contains(part), "\(line)")
    #expect(log.format(FieldsFormatter(["message"], .logfmt)) == "message=\(message)\n")
  }

  /// Checks that searches and conditions find the text that is shown.
  private func expectFound(
    _ record: LogReader.Record, _ text: String, _ name: String, _ seed: UInt64
  )
    throws
  {
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "|" + text)]
    #expect(filter.matchesContent(of: record), "seed \(seed)")
    filter.text = [TextPattern(literal: "\(name)=\(text)")]
    #expect(filter.matchesContent(of: record), "seed \(seed)")
    filter.text = []
    let quoted = { (text: String) in
      "'" + text.replacingOccurrences(of: #"\"#, with: #"\\"#) + "'"
    }
    for condition in [
      "text == \(quoted(text))", "\(quoted(name)) == \(quoted(text))",
    ] {
      filter.conditions = [try FieldCondition(condition)]
      #expect(filter.matchesContent(of: record), "seed \(seed): \(condition)")
    }
  }

  private func bodies(_ object: [String: Any]) -> [String] {
    let resources = object["resourceLogs"] as? [[String: Any]] ?? []
    let scopes = resources.flatMap { $0["scopeLogs"] as? [[String: Any]] ?? [] }
    let records = scopes.flatMap { $0["logRecords"] as? [[String: Any]] ?? [] }
    return records.compactMap { ($0["body"] as? [String: Any])?["stringValue"] as? String }
  }

  /// Compares bytes: Swift's `==` also accepts Unicode's equivalences.
  private func same(_ value: Any?, _ text: String) -> Bool {
    (value as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
  }
}

extension ValueWords {
  /// Metadata of one pair, with any bytes as the key.
  fileprivate static func metadata(key: [UInt8], _ value: Value) -> [UInt64] {
    [1] + argument(.string(key)) + [UInt64(value.type)] + argument(value)
  }
}
