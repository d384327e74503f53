import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import Testing
import TestSupport

@Suite("Metadata and kept messages")
struct MetadataTests {
  @Test("values of every kind come back, in their order, beside the named arguments")
  func kinds() throws {
    let test = try TestStore()
    test.log.info(
      "order \(5, name: "id")",
      metadata: [
        "s": "text", "i": -3, "u": .uint(.max), "d": 1.5, "b": true, "c": .stringConvertible(42),
        "y": .bytes([0, 255, 10]), "e": .bytes([]),
        "a": [1, "x", [2]], "o": ["k": "v", "n": ["deep": false]], "s": "again", "": "",
      ])
    let record = try #require(try test.closeAndRead().records.first)
    func text(_ text: String) -> Value { .string(Array(text.utf8)) }
    let expected: [(String, Value)] = [
      ("id", .int(5)), ("s", text("text")), ("i", .int(-3)), ("u", .uint(.max)),
      ("d", .double(1.5)),
      ("b", .bool(true)), ("c", text("42")),
      ("y", .bytes([0, 255, 10])), ("e", .bytes([])),
      ("a", .array([.int(1), text("x"), .array([.int(2)])])),
      ("o", .dictionary([("k", text("v")), ("n", .dictionary([("deep", .bool(false))]))])),
      ("s", text("again")), ("", text("")),
    ]
    #expect(record.fields.map(\.name) == expected.map(\.0))
    #expect(record.fields.map(\.value) == expected.map(\.1))
  }

  /// How often a text stands in the ring of a store.
  private func count(of text: String, in test: TestStore) throws -> Int {
    let names = try FileManager.default.contentsOfDirectory(atPath: test.folder.path)
    let ring = try #require(names.first { $0.hasSuffix(".ring") })
    let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(test.folder.path)/\(ring)"))
    return String(decoding: bytes, as: UTF8.self).components(separatedBy: text).count - 1
  }

  @Test("keys stand in the dictionary once, and not in the records behind the first")
  func keysOfStatements() throws {
    let test = try TestStore { $0.drainInterval = .seconds(60) }
    let literal = "metadata.key.that.is.a.literal"
    for index in 0..<100 {
      test.log.info(
        "call",
        metadata: ["venue-of-order": .int(Int64(index)), "metadata.key.that.is.a.literal": 1])
    }
    #expect(try count(of: "venue-of-order", in: test) == 2)
    #expect(try count(of: literal, in: test) == 2)
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 100)
    for (index, record) in contents.records.enumerated() {
      #expect(record.fields.map(\.name) == ["venue-of-order", literal])
      #expect(record.fields[0].value == .int(Int64(index)))
    }
  }

  @Test("keys and types that change from record to record are those of each record")
  func changingKeys() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let test = try TestStore { $0.makeTiny() }
    let texts = [
      "", "k", "sevenor", "eightlet", "fifteen letters", "more than fifteen letters", "é",
    ]
    var expected: [[(String, Value)]] = []
    for index in 0..<2000 {
      var metadata = Logger.Metadata()
      var pairs: [(String, Value)] = []
      let most = [3, 6, 40][Int.random(in: 0..<3, using: &random)]
      for _ in 0..<Int.random(in: 0...most, using: &random) {
        let suffix = Bool.random(using: &random) ? "" : "x"
        let key = try #require(texts.randomElement(using: &random)) + suffix
        let number = Int64.random(in: 0..<3, using: &random)
        let text = try #require(texts.randomElement(using: &random))
        let string = Value.string(Array(text.utf8))
        let values: [(Logger.MetadataValue, Value)] = [
          (.int(number), .int(number)), (.string(text), string), (.null, .null),
          ([true, .string(text)], .array([.bool(true), string])), (.double(0.5), .double(0.5)),
        ]
        let (value, read) = values[Int.random(in: 0..<values.count, using: &random)]
        metadata.append(value, for: key)
        pairs.append((key, read))
      }
      expected.append(pairs)
      let text = String(repeating: "x", count: index % 97)
      test.log.info("call \(index) of \(text)", metadata: metadata)
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 2000, "seed \(seed)")
    for (record, pairs) in zip(contents.records, expected) {
      #expect(record.fields.map(\.name) == pairs.map(\.0), "seed \(seed)")
      #expect(record.fields.map(\.value) == pairs.map(\.1), "seed \(seed)")
    }
  }

  @Test("statements of the same keys in another order have their own")
  func exchangedKeys() throws {
    let test = try TestStore()
    test.log.info(
      "first",
      metadata: [
        "literal.name.of.26.bytes.a": 0, "literal.name.of.26.bytes.b": 1,
        "literal.name.of.26.bytes.c": 2, "literal.name.of.26.bytes.d": 3,
        "literal.name.of.26.bytes.e": 4, "literal.name.of.26.bytes.f": 5,
        "literal.name.of.26.bytes.g": 6, "literal.name.of.26.bytes.h": 7,
        "literal.name.of.26.bytes.i": 8, "literal.name.of.26.bytes.j": 9,
        "literal.name.of.26.bytes.k": 10, "literal.name.of.26.bytes.l": 11,
        "literal.name.of.26.bytes.m": 12, "literal.name.of.26.bytes.n": 13,
        "literal.name.of.26.bytes.o": 14, "literal.name.of.26.bytes.p": 15,
        "literal.name.of.26.bytes.q": 16,
      ])
    test.log.info(
      "second",
      metadata: [
        "literal.name.of.26.bytes.q": 0, "literal.name.of.26.bytes.b": 1,
        "literal.name.of.26.bytes.c": 2, "literal.name.of.26.bytes.d": 3,
        "literal.name.of.26.bytes.e": 4, "literal.name.of.26.bytes.f": 5,
        "literal.name.of.26.bytes.g": 6, "literal.name.of.26.bytes.h": 7,
        "literal.name.of.26.bytes.i": 8, "literal.name.of.26.bytes.j": 9,
        "literal.name.of.26.bytes.k": 10, "literal.name.of.26.bytes.l": 11,
        "literal.name.of.26.bytes.m": 12, "literal.name.of.26.bytes.n": 13,
        "literal.name.of.26.bytes.o": 14, "literal.name.of.26.bytes.p": 15,
        "literal.name.of.26.bytes.a": 16,
      ])
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let letters = contents.records.map { $0.fields.compactMap(\.name.last) }
    #expect(letters.map { String($0) } == ["abcdefghijklmnopq", "qbcdefghijklmnopa"])
  }

  @Test("a value that logs while its text is made does not disturb the keys around it")
  func loggingValues() throws {
    let test = try TestStore()
    for _ in 0..<3 {
      test.log.info(
        "outer", metadata: ["a": 1, "b": .stringConvertible(Talker(log: test.log)), "c": "end"])
    }
    let contents = try test.closeAndRead()
    #expect(
      contents.isClean
        && contents.messages == Array(repeating: ["inner", "outer"], count: 3).flatMap { $0 })
    for record in contents.records {
      #expect(
        record.fields.map(\.name) == (record.message == "inner" ? ["x", "y"] : ["a", "b", "c"]))
    }
    #expect(contents.records.last?.fields.last?.value == .string(Array("end".utf8)))
  }

  private struct Talker: CustomStringConvertible {
    let log: Logger

    var description: String {
      log.info("inner", metadata: ["x": 1, "y": "z"])
      return "said"
    }
  }

  @Test(
    "texts of all lengths, however they are kept in memory, come back under keys of all lengths")
  func texts() throws {
    let test = try TestStore { $0.segmentSize = 8192 }
    var expected: [[String]] = []
    for length in 0..<50 {
      let ascii = String(repeating: "abcdefghij", count: 5).prefix(length)
      // A text in memory of its own, whatever its length, and one with characters of several bytes.
      var own = String()
      own.reserveCapacity(100)
      own += ascii
      let other = String(ascii.prefix(length / 2)) + "é" + String(ascii.suffix(length / 3))
      test.log.info(
        "texts",
        metadata: [
          "own": .string(own), "copy": .string(String(ascii)), "other": "\(other)",
          "a key that is a literal, and does not fit into a string's words": .string(own),
          "key of \(ascii)": .string(other), own: "a literal that is not small", "last": "é",
        ])
      expected.append([
        own, String(ascii), other, own, other, "a literal that is not small", "é",
      ])
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == expected.count)
    for (record, texts) in zip(contents.records, expected) {
      #expect(record.fields.map(\.value) == texts.map { .string(Array($0.utf8)) })
      let own = texts[0]
      #expect(
        record.fields.map(\.name) == [
          "own", "copy", "other",
          "a key that is a literal, and does not fit into a string's words", "key of \(own)", own,
          "last",
        ])
    }
  }

  /// Empties its text when it is described.
  private final class Emptying: CustomStringConvertible, @unchecked Sendable {
    // Sendable: of one thread only.
    var text: String
    init(_ text: String) { self.text = text }
    var description: String {
      text = ""
      return "emptied"
    }
  }

  @Test("a text is the one that it was when the statement began, whatever its other values do")
  func changingTexts() throws {
    let test = try TestStore()
    for index in 0..<100 {
      let emptying = Emptying("text number \(index) in memory of its own")
      test.log.info(
        "call",
        metadata: [
          "before": .string(emptying.text), "value": .stringConvertible(emptying),
          "behind": .string(emptying.text),
        ])
      #expect(emptying.text.isEmpty)
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 100)
    for (index, record) in contents.records.enumerated() {
      let text = "text number \(index) in memory of its own"
      #expect(
        record.fields.map(\.value)
          == [text, "emptied", text].map { .string(Array($0.utf8)) })
    }
  }

  @Test("keys beyond what the dictionary has room for stand in their records")
  func manyKeySets() throws {
    let test = try TestStore { $0.dictionarySize = 4096 }
    for index in 0..<500 {
      test.log.info("call", metadata: ["key \(index)": .int(Int64(index)), "same": "value"])
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 500)
    for (index, record) in contents.records.enumerated() {
      #expect(record.fields.map(\.name) == ["key \(index)", "same"])
      #expect(record.fields[0].value == .int(Int64(index)))
    }
  }

  @Test("a thousand pairs are kept, in segments of 4 KiB and of 64 KiB", arguments: [true, false])
  func thousandPairs(isTiny: Bool) throws {
    let test = try TestStore { if isTiny { $0.makeTiny() } }
    var metadata = Logger.Metadata()
    for index in 0..<1000 {
      metadata.append(
        index % 2 == 0 ? .string("value \(index)") : .int(Int64(index)), for: "key \(index)")
    }
    for index in 0..<5 { test.log.info("m \(index)", metadata: metadata) }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.messages == (0..<5).map { "m \($0)" })
    for record in contents.records {
      #expect(record.fields.map(\.name) == (0..<1000).map { "key \($0)" })
      #expect(record.fields[998].value == .string(Array("value 998".utf8)))
      #expect(record.fields[999].value == .int(999))
    }
  }

  @Test("ten thousand pairs, and values of a mebibyte, are kept whole")
  func large() throws {
    let test = try TestStore()
    let long = String(repeating: "x", count: 1 << 20)
    var metadata = Logger.Metadata()
    for index in 0..<10_000 { metadata.append(.int(Int64(index)), for: "key \(index)") }
    test.log.info("many", metadata: metadata)
    test.log.info("long \(long)", metadata: ["a": .string(long), "b": .array([.string(long)])])
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    try #require(contents.records.count == 2)
    let fields = contents.records[0].fields
    #expect(fields.map(\.name) == (0..<10_000).map { "key \($0)" })
    #expect(fields.map(\.value) == (0..<10_000).map { .int(Int64($0)) })
    let text = Value.string(Array(long.utf8))
    #expect(contents.records[1].message == "long \(long)")
    #expect(contents.records[1].fields.map(\.value) == [text, .array([text])])
  }

  @Test("containers deeper than the format allows end in an ellipsis")
  func depth() throws {
    let test = try TestStore()
    var value: Logger.MetadataValue = "bottom"
    for _ in 0..<20 { value = .array([value]) }
    test.log.info("deep", metadata: ["v": value])
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    var found = try #require(contents.records.first).fields[0].value
    var depth = 0
    while case .array(let inner) = found {
      found = inner[0]
      depth += 1
    }
    #expect(depth == 16)
    #expect(found == .string(Array("…".utf8)))
  }

  @Test("messages and metadata of a disabled level are not evaluated")
  func notEvaluated() throws {
    let test = try TestStore()
    test.log.level = .warning
    var count = 0
    func touch() -> Int {
      count += 1
      return count
    }
    test.log.info("\(touch())", metadata: ["k": .int(Int64(touch()))])
    test.log.notice("kept \(touch())" as LogMessage)
    test.log.log(level: .debug, "\(touch())")
    #expect(count == 0)
    test.log.warning("\(touch())", metadata: ["k": .int(Int64(touch()))])
    #expect(count == 2)
    #expect(try test.closeAndRead().messages == ["1"])
  }

  @Test("a kept message can be logged again, elsewhere, and in another store")
  func keptMessage() throws {
    let (one, two) = (try TestStore(), try TestStore())
    let name = "a longer text than fits into a word"
    let message: LogMessage =
      "\(1) \(name) \(2.5) \(nil as Int?) \(UInt128.max) \(true) \("secret", privacy: .private)"
    let plain: LogMessage = "plain"
    for store in [one, two] {
      store.log.info(message)
      store.log.error(plain, metadata: ["k": 1])
    }
    try onThreads(1) { _ in one.log.info(message) }
    let text = "1 \(name) 2.5 nil \(UInt128.max) true <private>"
    let first = try one.closeAndRead()
    #expect(first.messages == [text, "plain", text])
    #expect(first.records.map(\.thread.ordinal) == [1, 1, 2])
    #expect(try two.closeAndRead().messages == [text, "plain"])
  }

  @Test("the longest duration is a number of seconds like others")
  func endlessDuration() throws {
    let test = try TestStore()
    let endless = Duration(secondsComponent: .max, attosecondsComponent: .max)
    let short = Duration.seconds(1.5)
    test.log.info("", metadata: ["endless": .value(endless), "short": .value(short)])
    test.log.every(endless)?.info("")
    let contents = try test.closeAndRead()
    #expect(contents.records.count == 2)
    #expect(contents.records[0].fields.map(\.value).last == .double(1.5))
  }

  @Test("a message, and metadata, may be parts of another message")
  func nestedMessage() throws {
    let test = try TestStore()
    let text = "a longer text than fits into a word"
    let inner: LogMessage = "\(text) \(3, name: "attempt") \("secret", privacy: .private)"
    let plain: LogMessage = "plain"
    let outer: LogMessage = "[\(inner)] \(plain)"
    test.log.info("\(1) \(outer) \(2.5) \(inner)\(plain)")
    test.log.info("\(["k": .int(1)] as Logger.Metadata, name: "pairs")")
    let contents = try test.closeAndRead()
    let shown = "\(text) 3 <private>"
    #expect(contents.messages == ["1 [\(shown)] plain 2.5 \(shown)plain", "[k: 1]"])
    #expect(contents.records[0].fields.map(\.name) == ["attempt", "attempt"])
    #expect(contents.records[0].fields.map(\.value) == [.int(3), .int(3)])
  }

  @Test("a message in another message keeps to its segment, wherever that ends")
  func nestedMessageAtTheEnd() throws {
    let test = try TestStore { $0.ringSize = 256 << 10 }
    try onThreads(2) { _ in
      for number in 0..<3000 {
        let text = String(repeating: "x", count: number % 100)
        let cause: LogMessage = "\(text): \(number as Int?) after \(number)"
        test.log.info("\(cause), order \(number), user \(number)")
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.records.count == 6000 && contents.isClean)
    let text = String(repeating: "x", count: 99)
    #expect(contents.messages.contains("\(text): 99 after 99, order 99, user 99"))
  }

  @Test("what a record says of its statement is the statement's")
  func source() throws {
    let test = try TestStore()
    test.log.critical("here"); let line = #line
    test.store.logger(label: "other").log(level: .notice, "there")
    let records = try test.closeAndRead().records
    #expect(records.map(\.level) == [.critical, .notice])
    #expect(records.map(\.label) == ["test", "other"])
    #expect(records[0].file == #fileID && records[0].function == #function)
    #expect(records[0].line == line)
  }
}
