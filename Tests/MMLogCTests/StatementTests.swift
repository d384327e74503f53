import CCalls
import CMMLogWriter
import CMMLogC
import Glibc
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite("Log statements in C")
struct StatementTests {
  /// What printf makes of one of the formats.
  private func printed(_ index: Int32) -> String {
    let capacity = 8192
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { text in
      guard let base = text.baseAddress else { return "" }
      let length = Int(ccalls_print(index, base, capacity))
      return String(decoding: UnsafeRawBufferPointer(text).prefix(length), as: UTF8.self)
    }
  }

  @Test("widths and precisions are limited, also those that are arguments")
  func wide() throws {
    let test = try CStore()
    ccalls_log_wide(test.log)
    let messages = try test.closeAndRead().messages
    #expect(messages.prefix(3).map(\.utf8.count) == [65536, 65536, 65536])
    #expect(
      messages.dropFirst(3) == ["%0400000000.2f", "%.65537a", "%1$400000000d", "%1$*2$d"])
  }

  @Test("each format is shown as printf shows it")
  func formats() throws {
    let test = try CStore()
    let all = 0..<ccalls_count()
    // Twice: when a statement is known, it goes another way.
    for index in Array(all) + Array(all) { ccalls_log(test.log, index) }
    let contents = try test.closeAndRead()
    #expect(contents.problems == [])
    let expected = all.map(printed)
    #expect(contents.records.count == 2 * all.count)
    for (index, message) in zip(Array(all) + Array(all), contents.messages) {
      #expect(message == expected[Int(index)], "\(String(cString: ccalls_format(index)))")
    }
    #expect(contents.records.allSatisfy { $0.file.hasSuffix("CCalls/calls.c") })
    #expect(contents.records.allSatisfy { $0.function == "ccalls_log" && $0.line > 0 })
  }

  @Test("a statement of many parts leaves no memory behind, also where its records do not fit")
  func manyParts() async {
    // In a process of its own, whose heap nobody else uses.
    await #expect(processExitsWith: .success) {
      let test = try CStore { $0.makeTiny() }
      // More than a segment has room for: it is built elsewhere, and takes the long way.
      let text = String(repeating: "t", count: 6000)
      func log(_ count: Int) { for _ in 0..<count { ccalls_log_parts(test.log, text) } }
      log(1000)
      let before = ccalls_heap_size()
      log(20_000)
      let grown = ccalls_heap_size() - before
      require(grown < 20_000 * 64, "\(grown) bytes")
      require(try test.closeAndRead().records.count == 21_000)
    }
  }

  @Test("a statement in another's place, as in a library that is loaded anew, has its own text")
  func anotherInItsPlace() throws {
    let test = try CStore()
    let site = UnsafeMutablePointer<mmlog_site>.allocate(capacity: 1)
    let format = UnsafeMutablePointer<CChar>.allocate(capacity: 16)
    defer {
      site.deallocate()
      format.deallocate()
    }
    for text in ["of the first", "of the second"] {
      site.initialize(to: mmlog_site())
      site.pointee.file = UnsafePointer(format)
      site.pointee.function = UnsafePointer(format)
      _ = text.withCString { strcpy(format, $0) }
      // Twice: when a statement is known, it goes another way.
      for _ in 0..<2 {
        withVaList([]) { mmlog_vrecord(test.log, MMLOG_INFO, site, nil, 0, format, $0) }
      }
    }
    let messages = try test.closeAndRead().messages
    #expect(messages == ["of the first", "of the first", "of the second", "of the second"])
  }

  @Test("a statement in another's place has its own file and function, or none")
  func anotherOfTheSameFormat() throws {
    let test = try CStore()
    let site = UnsafeMutablePointer<mmlog_site>.allocate(capacity: 1)
    let (file, function) = (
      UnsafeMutablePointer<CChar>.allocate(capacity: 16),
      UnsafeMutablePointer<CChar>.allocate(capacity: 16)
    )
    defer {
      site.deallocate()
      file.deallocate()
      function.deallocate()
    }
    func log(_ file: UnsafePointer<CChar>?, _ function: UnsafePointer<CChar>?) {
      site.initialize(to: mmlog_site())
      (site.pointee.file, site.pointee.function) = (file, function)
      withVaList([]) { mmlog_vrecord(test.log, MMLOG_INFO, site, nil, 0, "the same", $0) }
    }
    let places = [("a.c", "first"), ("b.c", "first"), ("b.c", "second"), ("a.c", "first")]
    for place in places {
      _ = place.0.withCString { strcpy(file, $0) }
      _ = place.1.withCString { strcpy(function, $0) }
      log(file, function)
    }
    log(nil, nil)
    let records = try test.closeAndRead().records
    #expect(records.map(\.file) == places.map(\.0) + [""])
    #expect(records.map(\.function) == places.map(\.1) + [""])
    #expect(records.allSatisfy { $0.message == "the same" })
  }

  @Test("arguments are deferred where readers show them as printf does, and only there")
  func deferral() {
    var seen: [Bool] = []
    for index in 0..<ccalls_count() {
      var plan = [mmlog_planned](repeating: 0, count: Int(MMLOG_PLANNED))
      var parts: UInt32 = 0
      seen.append(mmlog_plan(ccalls_format(index), &plan, &parts) >= 0)
    }
    let firstText = (0..<ccalls_count()).first { String(cString: ccalls_format($0)) == "%a" }
    #expect(seen == (0..<ccalls_count()).map { $0 < firstText ?? 0 })
  }

  @Test(
    "formats that make no sense end at the text's end",
    arguments: ["%", "%5", "%-", "%.", "%l", "%1$", "a%"])
  func brokenFormats(format: String) {
    var plan = [mmlog_planned](repeating: 0, count: Int(MMLOG_PLANNED))
    var parts: UInt32 = 0
    #expect(mmlog_plan(format, &plan, &parts) == -1)
    #expect(parts <= 1)
  }

  @Test("random formats are taken apart without reading beyond them")
  func randomFormats() {
    var generator = SeededGenerator(seed: 7)
    let letters = Array("%%%%diuxXofFeEgGcspmahlqjztL0123456789.-+# '*$n".utf8)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...12, using: &generator)
      let bytes = (0..<count).map { _ in
        CChar(bitPattern: letters.randomElement(using: &generator) ?? 0)
      }
      // In memory of just its size, which the address sanitizer watches.
      let memory = UnsafeMutableBufferPointer<CChar>.allocate(capacity: count + 1)
      defer { memory.deallocate() }
      _ = memory.update(fromContentsOf: bytes + [0])
      guard var next = memory.baseAddress.map({ UnsafePointer($0) }) else { continue }
      let end = next + count
      var directive = mmlog_directive()
      var parts = 0
      while mmlog_next_directive(&next, &directive) { parts += 1 }
      #expect(next == end && parts <= count, "\(bytes)")
    }
  }

  @Test("fields have their types, and private ones leave nothing on the disk")
  func fields() throws {
    let test = try CStore()
    ccalls_log_fields(test.log)
    let contents = try test.closeAndRead()
    let record = try #require(contents.records.first)
    #expect(record.message == "message with fields")
    #expect(record.level == .error)
    let fields = record.fields
    #expect(
      fields.map(\.name)
        == [
          "int", "uint", "double", "bool", "text", "null", "part", "private", "hash", "again",
          "(null)", "long", "none",
        ])
    let shown = fields.map { "\($0.value)" }
    let texts = ["someone", "(null)", "ab"].map { "string(\(Array($0.utf8)))" }
    #expect(
      Array(shown.prefix(8))
        == ["int(-1)", "uint(\(UInt64.max))", "double(0.5)", "bool(true)"] + texts + ["redacted"])
    #expect(shown[8].hasPrefix("hash(") && shown[8] == shown[9])
    // What cannot be the length of a text is none.
    #expect(shown.suffix(2) == ["string([])", "string([])"])
  }

  /// A field by its name, and whether its value is a text; otherwise it is a number.
  private typealias Field = (name: String, isText: Bool)

  /// Logs records with such fields, and compares what is read with what was logged.
  private func expectKept(_ records: [[Field]], _ comment: Comment? = nil) throws {
    let test = try CStore { ($0.ring_size, $0.dictionary_size) = (16 << 20, 4 << 20) }
    let site = UnsafeMutablePointer<mmlog_site>.allocate(capacity: 1)
    site.initialize(to: mmlog_site())
    defer { site.deallocate() }
    for fields in records {
      let names = fields.map { strdup($0.name) }
      defer { for name in names { free(name) } }
      "text".withCString { text in
        let fields = zip(names, fields).map {
          $1.isText ? mmlog_field_text($0, text) : mmlog_field_int($0, 7)
        }
        withVaList([]) {
          mmlog_vrecord(test.log, MMLOG_INFO, site, fields, fields.count, "fields", $0)
        }
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.problems == [], comment)
    try #require(contents.records.count == records.count, comment)
    for (record, fields) in zip(contents.records, records) {
      #expect(record.fields.map(\.name) == fields.map(\.name), comment)
      #expect(
        record.fields.map { "\($0.value)" }
          == fields.map { $0.isText ? "string(\(Array("text".utf8)))" : "int(7)" }, comment)
    }
  }

  @Test("fields of long names have their own types and names, wherever equal parts of names stand")
  func longNames() throws {
    let (p, q) = (String(repeating: "p", count: 504), String(repeating: "q", count: 504))
    try expectKept([
      [(p, true), (q, true), ("user", true)], [(p, false), (q, false), ("user", true)],
      [(p, true), (q, true), ("user", true)],
    ])
    // The 65 words of a name, of which two are exchanged.
    let words = (0..<65).map { "word.\(100 + $0)" }
    var exchanged = words
    exchanged.swapAt(0, 64)
    try expectKept([[(words.joined(), false)], [(exchanged.joined(), false)]])
    // Two names that are exchanged.
    let tail = String(repeating: "t", count: 500)
    try expectKept([
      [("aaaaaaaa\(tail)", false), ("bbbbbbbb\(tail)", false)],
      [("bbbbbbbb\(tail)", false), ("aaaaaaaa\(tail)", false)],
    ])
  }

  @Test("fields have the names and types that they were logged with, whatever comes together")
  func manyNames() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var records: [[Field]] = []
    for _ in 0..<40 {
      let count = [1, 7, 31, 63].randomElement(using: &random) ?? 1
      let rest = "ccccccc".prefix(Int.random(in: 0..<8, using: &random))
      let field = (words: Array(repeating: "aaaaaaaa", count: count), isText: false)
      let fields = Array(repeating: field, count: Int.random(in: 1...32, using: &random))
      // Records that differ in few places.
      for changes in [0, 2, 2, 2, 2, 2, 2, 2, 2] {
        var changed = fields
        for _ in 0..<changes {
          let index = Int.random(in: 0..<fields.count, using: &random)
          if Bool.random(using: &random) {
            changed[index].words[Int.random(in: 0..<count, using: &random)] = "bbbbbbbb"
          } else {
            changed[index].isText.toggle()
          }
        }
        records.append(changed.map { ($0.words.joined() + rest, $0.isText) })
      }
    }
    // Twice: a key set that is known goes another way.
    try expectKept(records + records, "seed \(seed)")
  }

  @Test("a statement below the level evaluates nothing, and levels change at run time")
  func levels() throws {
    let test = try CStore()
    #expect(ccalls_log_below_level(test.log) == 0)
    mmlog_set_level(test.log, MMLOG_DEBUG)
    #expect(ccalls_log_below_level(test.log) == 1)
    mmlog_set_levels(test.store, "c*", MMLOG_CRITICAL)
    #expect(ccalls_log_below_level(test.log) == 0)
    #expect(!mmlog_is_enabled(test.log, MMLOG_ERROR) && mmlog_is_enabled(test.log, MMLOG_CRITICAL))
    mmlog_set_level(test.log, MMLOG_OFF)
    #expect(!mmlog_is_enabled(test.log, MMLOG_CRITICAL))
    mmlog_set_level(test.log, MMLOG_TRACE)
    #expect(!mmlog_is_enabled(test.log, MMLOG_OFF) && mmlog_is_enabled(test.log, MMLOG_TRACE))
    #expect(try test.closeAndRead().messages == ["1"])
  }

  @Test("a wrapper's statements are distinguished by their texts, which may change afterwards")
  func wrapped() throws {
    let test = try CStore()
    for number in 0..<3 {
      ccalls_log_wrapped(test.log, "first %d", Int32(number))
      ccalls_log_wrapped(test.log, "second %d", Int32(number))
    }
    let contents = try test.closeAndRead()
    #expect(contents.messages == (0..<3).flatMap { ["first \($0)", "second \($0)"] })
    #expect(contents.records.allSatisfy { $0.file == "wrapped.c" && $0.line == 77 })
    #expect(contents.records.allSatisfy { $0.function == "wrapped" && $0.level == .notice })
  }

  @Test("a wrapper's statements have their own places, also in files of similar names")
  func wrappedPlaces() throws {
    let test = try CStore()
    let places: [(file: String, line: UInt32)] = [
      ("rx.c", 10), ("tx.c", 12), ("get.c", 40), ("set.c", 60), ("get.c", 60),
    ]
    for (file, line) in places + places {
      withVaList([]) { mmlog_vlog(test.log, MMLOG_NOTICE, file, line, "copy", "the same", $0) }
    }
    let records = try test.closeAndRead().records
    #expect(
      records.map { "\($0.file):\($0.line)" }
        == (places + places).map { "\($0.file):\($0.line)" })
  }

  @Test("a limit distinguishes a wrapper's statements by their texts, wherever these are")
  func wrappedLimit() throws {
    let test = try CStore()
    mmlog_set_rate_limit(test.store, "*", 1, 3_600_000, 0)
    let files = (0..<3).compactMap { _ in strdup("wrapped.c") }
    defer { for file in files { free(file) } }
    for file in files {
      for text in ["first", "second"] {
        withVaList([]) { mmlog_vlog(test.log, MMLOG_NOTICE, file, 77, "wrapped", text, $0) }
      }
    }
    #expect(files.count == 3)
    #expect(try test.closeAndRead().messages == ["first", "second"])
  }

  @Test("errno is shown by %m, also one that has no text, and is what it was afterwards")
  func errorNumber() throws {
    let test = try CStore()
    var expected: [String] = []
    for number in [EACCES, 0, 524, -1, .max, .min] {
      #expect(ccalls_log_errno(test.log, number) == number)
      let text = String(cString: strerror(number))
      expected += ["\(text), and again: \(text)", "failed: \(text), 0x1p+0"]
    }
    #expect(try test.closeAndRead().messages == expected)
  }

  @Test("many threads lose nothing, whatever segments they come to")
  func threads() throws {
    let test = try CStore { $0.makeTiny() }
    let log = UInt(bitPattern: test.log)
    let threads = try (0..<4).map { _ in
      try Thread(name: "worker") {
        UnsafeMutablePointer(bitPattern: log).map { ccalls_log_many($0, 5000) }
      }
    }
    for thread in threads { thread.join() }
    let contents = try test.closeAndRead()
    #expect(contents.problems == [])
    let byThread = Dictionary(grouping: contents.records, by: \.thread.ordinal)
    #expect(byThread.count == 4)
    for records in byThread.values {
      #expect(records.map { Int($0.message.prefix { $0 != " " }) } == (0..<5000).map(Optional.init))
    }
  }
}
