import Foundation
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// The words of a format, as FORMAT.md, 6, describes them.
private func format(
  _ style: UInt64, precision: UInt64 = 255, sign: Bool = false, prefix: Bool = false,
  upper: Bool = false, digits: UInt64 = 0
) -> UInt64 {
  style | precision << 8 | (sign ? 1 << 16 : 0) | (prefix ? 1 << 17 : 0) | (upper ? 1 << 18 : 0)
    | digits << 24
}

/// A log with one record.
private func log(
  _ parts: [CallSite.Part], _ words: [UInt64], flags: RecordFlags = [], level: Level = .info,
  label: String? = nil, file: String = "App/Main.swift"
) -> TestLog {
  let log = TestLog()
  let label = label.map { log.label($0) } ?? 0
  let id = log.site(parts: parts, file: file)
  log.write(
    TestRecord(ticks: 123_456_789, site: id, label: label, level: level, flags: flags, words: words)
  )
  return log
}

extension TestLog {
  /// All records, as a formatter writes them.
  func format(_ formatter: some LogFormatter) -> String {
    var formatter = formatter
    var buffer = TextBuffer()
    formatter.begin(&buffer)
    for record in read().records { formatter.append(record, to: &buffer) }
    formatter.end(&buffer)
    return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  fileprivate var json: [String: Any]? {
    let line = Data(format(JSONFormatter(zone: .utc)).utf8)
    return (try? JSONSerialization.jsonObject(with: line)) as? [String: Any]
  }
}

/// The keys in a line of OTLP.
private struct OTLPLine: Decodable {
  struct Attributes: Decodable {
    struct Attribute: Decodable { let key: String }
    let attributes: [Attribute]
  }
  struct Scope: Decodable { let logRecords: [Attributes] }
  struct Session: Decodable {
    let resource: Attributes
    let scopeLogs: [Scope]
  }
  let resourceLogs: [Session]
}

@Suite struct MessageTests {
  static let cases: [(Value, UInt64, UInt8, String)] = [
    (.int(-42), 0, 64, "-42"), (.int(.min), 0, 64, "-9223372036854775808"),
    (.uint(.max), 0, 64, "18446744073709551615"),
    (.int(7), format(1, sign: true, digits: 3), 64, "+007"),
    (.int(-7), format(1, digits: 3), 64, "-007"),
    (.int(255), format(2), 64, "ff"),
    (.int(255), format(2, prefix: true, upper: true, digits: 4), 64, "0x00FF"),
    (.int(-1), format(2), 8, "ff"), (.int(-1), format(2), 0, "ffffffffffffffff"),
    (.int(-2), format(4), 8, "11111110"), (.uint(8), format(3, prefix: true), 8, "0o10"),
    (.int128(-1), format(2), 128, String(repeating: "f", count: 32)),
    (.int128(.min), 0, 128, "-170141183460469231731687303715884105728"),
    (.uint128(.max), 0, 128, "340282366920938463463374607431768211455"),
    (.double(0.1), 0, 0, "0.1"), (.double(1), 0, 0, "1.0"), (.double(1e-5), 0, 0, "1e-05"),
    (.double(.infinity), 0, 0, "inf"), (.double(-.infinity), format(5), 0, "-inf"),
    (.double(.nan), format(5, sign: true), 0, "nan"), (.double(-0.0), 0, 0, "-0.0"),
    (.double(2.5), format(5, precision: 2), 0, "2.50"),
    (.double(2.5), format(5, precision: 2, sign: true), 0, "+2.50"),
    (.double(1234.5), format(6, precision: 3, upper: true), 0, "1.234E+03"),
    (.double(1234.5), format(7), 0, "1234.5"), (.double(1e20), format(7, precision: 3), 0, "1e+20"),
    (.double(1e308), format(5, precision: 0), 0, String(format: "%.0f", 1e308)),
    (.float(0.1), 0, 0, "0.1"), (.float(16_777_216), 0, 0, "16777216.0"),
    (.bool(true), 0, 0, "true"), (.bool(false), 0, 0, "false"),
    (.text("é\n"), 0, 0, "é\n"), (.bytes([0x61, 0x62]), 0, 0, "ab"),
    (.redacted, 0, 0, "<private>"), (.hash(0xAB), 0, 0, "<hash:00000000000000ab>"),
    (.null, 0, 0, "nil"), (.array([.int(1), .text("b")]), 0, 0, "[1, b]"),
    (.dictionary([("a", .int(1)), ("b", .null)]), 0, 0, "[a: 1, b: nil]"),
    (.dictionary([]), 0, 0, "[:]"), (.array([]), 0, 0, "[]"),
  ]

  @Test("every type and format is shown", arguments: cases.indices)
  func everyTypeAndFormatIsShown(index: Int) throws {
    let (value, format, width, text) = Self.cases[index]
    let part = CallSite.Part.argument(
      .init(type: value.type, privacy: 0, width: width, format: format, alignment: 0, name: "x"))
    let record = try #require(log([part], ValueWords.argument(value)).read().records.first)
    #expect(record.message == text, "\(value)")
    #expect(record.fields.map(\.value) == [value], "\(value)")
  }

  @Test("alignment puts spaces on one side") func alignmentPutsSpacesOnOneSide() {
    let parts: [CallSite.Part] = [
      .literal("["), .argument(type: .int, alignment: 2 | 4 << 8), .literal("|"),
      .argument(type: .string, alignment: 1 | 4 << 8), .literal("]"),
    ]
    let words = ValueWords.argument(.int(7)) + ValueWords.argument(.text("é"))
    #expect(log(parts, words).read().messages == ["[   7|é   ]"])
  }

  @Test("an optional is nil or its value") func anOptionalIsNilOrItsValue() {
    let part = CallSite.Part.argument(type: .int, optional: true)
    #expect(log([part], [0]).read().messages == ["nil"])
    #expect(log([part], [1, 9]).read().messages == ["9"])
  }

  @Test("bytes stay as they are and text is repaired")
  func bytesStayAsTheyAreAndTextIsRepaired() throws {
    let parts: [CallSite.Part] = [.argument(type: .bytes), .argument(type: .string)]
    let words = ValueWords.argument(.bytes([0xFF, 0])) + ValueWords.argument(.string([0xFF]))
    let record = try #require(log(parts, words).read().records.first)
    #expect(record.messageBytes == [0xFF, 0] + Array("\u{FFFD}".utf8))
  }

  @Test("arguments that end too early are corruption")
  func argumentsThatEndTooEarlyAreCorruption() {
    let part = CallSite.Part.argument(type: .string)
    #expect(log([part], [1 << 40, 0]).read().trace == ["<", "!", ">"])
    #expect(log([.argument(type: .array)], [1 << 60]).read().trace == ["<", "!", ">"])
  }

  @Test("what nests too deep is corruption") func whatNestsTooDeepIsCorruption() {
    let deep = (0..<16).reduce(Value.int(1)) { value, _ in .array([value]) }
    let part = CallSite.Part.argument(type: .array)
    #expect(log([part], ValueWords.argument(deep)).read().corruption.isEmpty)
    #expect(log([part], ValueWords.argument(.array([deep]))).read().corruption.count == 1)
  }
}

@Suite struct FormatterTests {
  private let text: [CallSite.Part] = [.argument(type: .string)]

  @Test("text is one readable line") func textIsOneReadableLine() {
    let metadata = ValueWords.metadata([
      ("venue", .text("XETR")), ("note", .text("two words")), ("e", .text("")),
      ("q", .text("a\"b")), ("n", .int(3)),
    ])
    let log = log(
      [.literal("order "), .argument(type: .int, name: "id")],
      ValueWords.argument(.int(7)) + metadata, flags: .metadata, label: "orders.book")
    #expect(
      log.format(TextFormatter(zone: .utc))
        == "2025-11-21T09:00:00.123456789Z INFO     orders.book: order 7 venue=XETR "
        + #"note="two words" e="" q="a\"b" n=3 (App/Main.swift:7)"# + "\n")
  }

  @Test("text has nothing in it that moves a terminal")
  func textHasNothingInItThatMovesATerminal() {
    let hostile = "a\u{1b}[2J\r\n\t\u{0}\u{7f}\u{9b}\u{2028}\u{202e}\u{2066}é😀"
    let log = log(
      text, ValueWords.argument(.text(hostile)) + ValueWords.metadata([("k\n", .text(hostile))]),
      flags: .metadata, label: "l\u{1b}", file: "f\u{1b}.swift")
    let shown = #"a\u{1b}[2J\r\n\t\u{0}\u{7f}\u{9b}\u{2028}\u{202e}\u{2066}é😀"#
    #expect(
      log.format(TextFormatter(zone: .utc))
        == #"2025-11-21T09:00:00.123456789Z INFO     l\u{1b}: "# + shown
        + " \"k\\n\"=\"\(shown)\" (f\\u{1b}.swift:7)\n")
  }

  @Test("bytes that are not text are shown in hexadecimal")
  func bytesThatAreNotTextAreShownInHexadecimal() {
    let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80, 0xF5, 0xC3]
    let log = log([.argument(type: .bytes)], ValueWords.argument(.bytes(bytes)), file: "")
    #expect(
      log.format(TextFormatter(zone: .utc)).hasSuffix(
        #"INFO     a\xff\xc3(\xed\xa0\x80\xf5\xc3"# + "\n"))
  }

  @Test("json has everything") func jsonHasEverything() throws {
    let log = log(
      [.literal("n="), .argument(type: .int, name: "n"), .argument(type: .double, name: "n")],
      ValueWords.argument(.int(7)) + ValueWords.argument(.double(.nan))
        + ValueWords.metadata([
          ("wide", .uint128(.max)), ("raw", .bytes([1, 2, 3, 4])), ("nil", .null),
          ("list", .array([.int(1), .bool(true)])), ("map", .dictionary([("a", .float(0.5))])),
          ("secret", .redacted), ("hash", .hash(1)), ("big", .uint(.max)),
        ]),
      flags: [.metadata, .unterminated], level: .error, label: "l")
    #expect(
      log.format(JSONFormatter(zone: .utc))
        == #"{"timestamp":"2025-11-21T09:00:00.123456789Z","time_unix_nano":1763715600123456789,"severity_text":"error","#
        + #""severity_number":17,"scope_name":"l","body":"n=7nan","attributes":{"n":7,"n#2":"NaN","#
        + #""wide":"340282366920938463463374607431768211455","raw":{"base64":"AQIDBA=="},"#
        + #""nil":null,"list":[1,true],"map":{"a":0.5},"secret":"<private>","#
        + #""hash":"<hash:0000000000000001>","big":"18446744073709551615"},"#
        + #""code_file_path":"App/Main.swift","code_line_number":7,"code_function_name":"run()","#
        + #""thread_ordinal":1,"thread_id":1001,"thread_name":"worker1","service_name":"test","#
        + #""process_name":"orders","process_pid":42,"host_name":"tokyo","#
        + #""session_id":"01000000000000000000000000000000","unterminated":true}"# + "\n")
    #expect(log.json != nil)
  }

  /// A receiver may use either of two equal keys, or refuse both.
  @Test("otlp has no key twice, and fields that are called like others get a number")
  func otlpHasNoKeyTwice() throws {
    let names = [
      "thread.id", "thread.name", "log.record.uid", "code.line.number", "span.name", "thread.id#2",
      "user",
    ]
    let log = log(
      [.argument(type: .int, name: "code.file.path")],
      ValueWords.argument(.int(7)) + ValueWords.metadata(names.map { ($0, .bool(true)) }),
      flags: .metadata)
    log.sessionFields([("host.name", .int(1)), ("zone", .int(2))])
    let line = Data(log.format(OTLPFormatter()).utf8)
    let found = try JSONDecoder().decode(OTLPLine.self, from: line).resourceLogs[0]
    let keys = found.scopeLogs[0].logRecords[0].attributes.map(\.key)
    #expect(
      keys == [
        "thread.id", "thread.name", "code.file.path#2", "thread.id#2", "thread.name#2",
        "log.record.uid#2", "code.line.number#2", "span.name", "thread.id#2#2", "user",
        "code.file.path", "code.line.number", "code.function.name",
      ])
    #expect(
      found.resource.attributes.map(\.key) == [
        "service.name", "service.instance.id", "process.pid", "process.executable.name",
        "host.name", "host.name#2", "zone",
      ])
  }

  @Test("json is valid whatever the bytes") func jsonIsValidWhateverTheBytes() throws {
    var generator = SeededGenerator(seed: 6)
    for round in 0..<200 {
      let bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        Bool.random(using: &generator)
          ? UInt8.random(in: 0...255, using: &generator)
          : ([0x22, 0x5C, 0x0A, 0xE2, 0x80, 0xA8] as [UInt8]).randomElement(using: &generator) ?? 0
      }
      let key = String(decoding: bytes, as: UTF8.self)
      let log = log(
        [.argument(type: .bytes)],
        ValueWords.argument(.bytes(bytes)) + ValueWords.metadata([(key, .string(bytes))]),
        flags: .metadata)
      let json = try #require(log.json, "round \(round): \(bytes)")
      let fields = try #require(json["attributes"] as? [String: String])
      #expect(json["body"] as? String == fields.values.first, "round \(round): \(bytes)")
      if let base64 = json["body_base64"] as? String {
        #expect(Data(base64Encoded: base64) == Data(bytes), "round \(round): \(bytes)")
      } else {
        #expect(json["body"] as? String == key, "round \(round): \(bytes)")
      }
    }
  }

  @Test("messages come byte for byte") func messagesComeByteForByte() {
    let log = TestLog()
    let site = log.site(.argument(type: .bytes))
    for (index, flags) in [RecordFlags(), .unterminated].enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index), site: site, flags: flags,
          words: ValueWords.argument(.bytes(Array("a\u{1b}".utf8)))))
    }
    #expect(log.format(MessageFormatter()) == "a\u{1b}\na\u{1b}")
  }
}
