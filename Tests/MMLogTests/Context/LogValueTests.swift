import MMLog
import MMLogReader
import TestSupport
import Testing

/// Metadata that is private, and values of a program's own types.
@Suite("Values of metadata") struct LogValueTests {
  private struct Order: LogValue {
    let id: Int
    let tags: [String]
    let parent: Int?

    var logValue: Logger.MetadataValue {
      ["id": .value(id), "tags": .value(tags), "parent": .value(parent)]
    }
  }

  private func values(_ metadata: Logger.Metadata) throws -> [Value] {
    let test = try TestStore()
    test.log.info("call", metadata: metadata)
    test.log.with(metadata).info("bound")
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 2)
    let values = contents.records.map { $0.fields.map(\.value) }
    #expect(values.first == values.last)
    return values.first ?? []
  }

  @Test("values of own types have their structure and their types")
  func structure() throws {
    let order = Order(id: 7, tags: ["a", "b"], parent: nil)
    let found = try values(["order": .value(order), "all": .value(["x": [order.id, 8], "a": []])])
    let tags: [Value] = [.string(Array("a".utf8)), .string(Array("b".utf8))]
    let pairs: [(key: String, value: Value)] = [
      ("id", .int(7)), ("tags", .array(tags)), ("parent", .null),
    ]
    let sorted: [(key: String, value: Value)] = [
      ("a", .array([])), ("x", .array([.int(7), .int(8)])),
    ]
    #expect(found.count == 2 && found[0] == .dictionary(pairs) && found[1] == .dictionary(sorted))
  }

  @Test("numbers, durations and times are recorded as their types say")
  func types() throws {
    let found = try values([
      "a": .value(Int8(-1)), "b": .value(UInt64.max), "c": .value(Int128.max),
      "d": .value(Float(0.5)),
      "e": .value(Duration.milliseconds(1500)), "f": .value(Timestamp(nanosecondsSince1970: 0)),
      "g": .value(true), "h": .value("abc".dropFirst()), "i": .hex([0, 0xCA, 0xFE]), "j": .null,
    ])
    func text(_ text: String) -> Value { .string(Array(text.utf8)) }
    let expected: [Value] = [
      .int(-1), .uint(.max), text("\(Int128.max)"), .double(0.5), .double(1.5),
      text("1970-01-01T00:00:00.000000000Z"), .bool(true), text("bc"), text("00cafe"), .null,
    ]
    #expect(found == expected)
  }

  @Test("nothing of a private value is evaluated, and equal values have equal hashes, as arguments")
  func privacy() throws {
    let test = try TestStore()
    var evaluations = 0
    func count() -> Int {
      evaluations += 1
      return evaluations
    }
    test.log.info(
      "\("ann", name: "user", privacy: .hash)",
      metadata: [
        "a": .value(count(), privacy: .private), "b": .value("ann", privacy: .hash),
        "c": .value("bob", privacy: .hash), "d": .value(7, privacy: .auto),
        "e": .value("ann", privacy: .auto), "f": .value("ann", privacy: .auto(mask: .hash)),
        "g": .value(Order(id: 1, tags: [], parent: nil), privacy: .hash),
      ])
    let contents = try test.closeAndRead()
    let values = try #require(contents.records.first).fields.map(\.value)
    #expect(contents.isClean && evaluations == 0 && values.count == 8)
    guard case .hash(let ann) = values[0], case .hash(let bob) = values[3] else {
      Issue.record("no hashes: \(values)")
      return
    }
    #expect(values[1] == .redacted && values[2] == .hash(ann) && bob != ann)
    #expect(values[4] == .int(7) && values[5] == .redacted && values[6] == .hash(ann))
    guard case .hash = values[7] else {
      Issue.record("no hash: \(values[7])")
      return
    }
  }

  @Test("what auto means in a store counts for arrays and own types, and not for numbers")
  func autoPrivacy() throws {
    let order = Order(id: 7, tags: ["a"], parent: nil)
    for privacy in [Logger.Privacy.public, .private, .hash] {
      let test = try TestStore { $0.autoPrivacy = privacy }
      test.log.info(
        "\(["ann"], name: "a", privacy: .auto) \(order, name: "b", privacy: .auto) \(3)")
      func log(_ value: some LogValue) { test.log.info("\(value, name: "n", privacy: .auto)") }
      log(3)
      let contents = try test.closeAndRead()
      #expect(contents.isClean && contents.records.count == 2)
      #expect(contents.messages.last == "3")
      let fields = contents.records[0].fields
      #expect(fields.map(\.name) == ["a", "b"])
      for value in fields.map(\.value) {
        let found: Logger.Privacy =
          switch value {
          case .hash: .hash
          case .redacted: .private
          default: .public
          }
        #expect(found == privacy)
      }
    }
  }

  @Test("an optional has the hash of its value, also in metadata, and nil has one hash")
  func hashesOfOptionals() throws {
    let test = try TestStore()
    let (name, tags): (String?, [String]?) = ("ann", ["a"])
    let (noName, noTags): (String?, [String]?) = (nil, nil)
    test.log.info(
      "\("ann", name: "a", privacy: .hash) \(name, name: "b", privacy: .hash)",
      metadata: ["c": .value("ann", privacy: .hash), "d": .value(name, privacy: .hash)])
    test.log.info(
      "\(["a"], name: "a", privacy: .hash) \(tags, name: "b", privacy: .hash)",
      metadata: ["c": .value(tags, privacy: .hash)])
    test.log.info(
      "\(noName, name: "a", privacy: .hash) \(noTags, name: "b", privacy: .hash)",
      metadata: ["c": .value(noName, privacy: .hash)])
    let records = try test.closeAndRead().records
    #expect(records.map(\.fields.count) == [4, 3, 3])
    var found: [UInt64] = []
    for record in records {
      guard case .hash(let first) = record.fields[0].value else {
        Issue.record("no hash: \(record.fields[0].value)")
        continue
      }
      found.append(first)
      #expect(record.fields.allSatisfy { $0.value == .hash(first) })
    }
    #expect(Set(found).count == 3)
  }

  @Test("arguments of a message have their structure, and those behind them are whole")
  func arguments() throws {
    let test = try TestStore()
    let order = Order(id: 7, tags: ["a", "b"], parent: nil)
    let none: Order? = nil
    let many = Array(0..<20_000)
    let message: LogMessage = "kept \(order, name: "order") \(["x": 1.5]) \(8)"
    let literal: LogLiteral = "alone \(order) \(9)"
    func log(_ value: some LogValue) { test.log.info("generic \(value, name: "value") \(1)") }
    test.log.info("\(order, name: "order") at \(2) of \("three")")
    test.log.info("\(none, name: "none"), \([order.id, 2]), \(Optional(order))")
    test.log.info("\(many, name: "many") \(4) \("five") \(6.5)")
    test.log.info("\(order, privacy: .private) \(order, align: .right(columns: 40)) \(7)")
    test.log.info("\(Duration.milliseconds(1500)) \(Refusal())")
    test.log.info(message)
    test.log.info(literal)
    log(order)
    log(3)
    let contents = try test.closeAndRead()
    let text = "[id: 7, tags: [a, b], parent: nil]"
    #expect(contents.isClean)
    #expect(
      contents.messages == [
        "\(text) at 2 of three", "nil, [7, 2], \(text)", "\(many) 4 five 6.5",
        "<private> \(String(repeating: " ", count: 40 - text.count) + text) 7",
        "1.5 seconds Refusal()", "kept \(text) [x: 1.5] 8", "alone \(text) 9",
        "generic \(text) 1", "generic 3 1",
      ])
    let condition = try FieldCondition("order.id == 7")
    var filter = LogReader.Filter()
    filter.conditions = [condition]
    let found = LogReader(LogFiles([.path(test.folder.path)]), filter: filter).compactMap {
      if case .record(let record) = $0 { record.message.prefix(4) } else { nil }
    }
    #expect(found == ["[id:", "kept"])
  }

  private struct Refusal: Error, LogValue {
    var logValue: Logger.MetadataValue { "no text" }
  }

  @Test("bytes in a message are hexadecimal on request")
  func hexadecimal() throws {
    let test = try TestStore()
    test.log.info("sealed with \(hex: [0xCA, 0xFE] as [UInt8], name: "digest")")
    test.log.info("\(hex: [UInt8](), privacy: .private)")
    #expect(try test.closeAndRead().messages == ["sealed with cafe", "<private>"])
  }
}
