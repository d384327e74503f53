import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// A log whose records differ in the properties that filters select by.
private func log() -> TestLog {
  let log = TestLog()
  let order = log.site(
    .literal("order "), .argument(type: .int, name: "id"), .literal(" of "),
    .argument(type: .string, name: "user"), file: "Orders/Book.swift")
  let tick = log.site(.literal("tick took "), .argument(type: .double, name: "ms"))
  let (book, feed) = (log.label("orders.book"), log.label("market.feed"))
  for index in 0..<4 {
    log.write(
      TestRecord(
        ticks: UInt64(index * 10), site: order, label: book, level: index == 3 ? .error : .info,
        words: ValueWords.argument(.int(Int64(index))) + ValueWords.argument(.text("user-\(index)"))
      ), thread: UInt32(1 + index % 2))
    log.write(
      TestRecord(
        ticks: UInt64(index * 10 + 5), site: tick, label: feed, level: .debug, flags: .metadata,
        words: ValueWords.argument(.double(Double(index) / 2))
          + ValueWords.metadata([
            ("venue", .text(index < 2 ? "XETR" : "XLON")), ("size", .text("\(index * 7)")),
            ("request", .dictionary([("path", .text("/a/\(index)")), ("ok", .bool(index == 1))])),
          ])))
    if index == 1 { log.archive() }
  }
  return log
}

@Suite struct QueryTests {
  /// The records that pass the filter: `o0` is order 0, `t2` is tick 2.
  private func names(_ change: (inout LogReader.Filter) throws -> Void) rethrows -> String {
    var filter = LogReader.Filter()
    try change(&filter)
    return log().read(filter).records.map { record in
      let number = record.time.nanosecondsSince1970 % 100 / 10
      return record.message.hasPrefix("order") ? "o\(number)" : "t\(number)"
    }.joined(separator: " ")
  }

  @Test("labels threads and places select") func labelsThreadsAndPlacesSelect() {
    #expect(names { $0.labels = ["orders.*"] } == "o0 o1 o2 o3")
    #expect(names { $0.labels = ["nothing", "m*t.f??d"] } == "t0 t1 t2 t3")
    #expect(names { $0.threads = [NamePattern("1002")] } == "o1 o3")
    #expect(names { $0.threads = [NamePattern("worker2")] } == "o1 o3")
    #expect(
      names { $0.callSites = CallSitePattern("Book.swift:7").map { [$0] } ?? [] } == "o0 o1 o2 o3")
    #expect(
      names { $0.callSites = CallSitePattern("App/*:1-9").map { [$0] } ?? [] } == "t0 t1 t2 t3")
    #expect(names { $0.callSites = CallSitePattern("Book.swift:8").map { [$0] } ?? [] } == "")
    #expect(names { $0.callSites = CallSitePattern("ook.swift").map { [$0] } ?? [] } == "")
    for wrong in ["", ":7", "a:b", "a:7-", "a:9-7", "a:-1"] {
      #expect(CallSitePattern(wrong) == nil)
    }
  }

  @Test("what nobody here opens is found as it is shown", arguments: [false, true])
  func sealedText(isArchived: Bool) {
    let log = TestLog()
    let site = log.site(.literal("user "), .argument(type: .sealed))
    log.write(
      TestRecord(ticks: 1, site: site, words: ValueWords.argument(.sealed([1, 2, 3]))))
    log.write("another", ticks: 2)
    if isArchived { log.archive() }
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "<sealed>")]
    #expect(log.read(filter).records.map(\.message) == ["user <sealed>"])
  }

  @Test("processes and sessions select whole sessions")
  func processesAndSessionsSelectWholeSessions() {
    let all = names { _ in }
    #expect(all == "o0 t0 o1 t1 o2 t2 o3 t3")
    #expect(names { $0.processes = [NamePattern("ord*")] } == all)
    #expect(names { $0.processes = [NamePattern("42")] } == all)
    #expect(names { $0.processes = [NamePattern("43")] } == "")
    #expect(names { $0.sessions = ["0100"] } == all)
    var filter = LogReader.Filter()
    filter.sessions = ["02"]
    #expect(log().read(filter).trace.isEmpty)
  }

  @Test(
    "signs of repetition behind each other are one, at no cost",
    arguments: [
      ("use*******************************************r-2$", "o2"), ("use+?r-2$", "o2"),
      ("us.*?r-2", "o2"),
      ("us[*+?e**]+r-2", "o2"), ("use??r-2$", "o2"),
      ("use++++++++++++++++++++++++++++++++++++++r-2", "o2"),
      (#"us\+*+*e*r-2"#, "o2"),
    ])
  func repeatedRepetition(pattern: String, found: String) throws {
    let text = try TextPattern(pattern)
    #expect(names { $0.text = [text] } == found)
  }

  @Test("text is found in messages and metadata") func textIsFoundInMessagesAndMetadata() throws {
    #expect(names { $0.text = [TextPattern(literal: "user-2")] } == "o2")
    #expect(names { $0.text = [TextPattern(literal: "USER-2", ignoresCase: true)] } == "o2")
    #expect(names { $0.text = [TextPattern(literal: "USER-2")] } == "")
    #expect(names { $0.text = [TextPattern(literal: "tick")] } == "t0 t1 t2 t3")
    #expect(names { $0.text = [TextPattern(literal: "venue=XETR")] } == "t0 t1")
    #expect(
      names { $0.text = [TextPattern(literal: "user-1"), TextPattern(literal: "1.5")] } == "o1 t3")
    #expect(try names { $0.text = [try TextPattern("^order [12]")] } == "o1 o2")
    #expect(try names { $0.text = [try TextPattern("took 1\\.[05]$")] } == "t2 t3")
    #expect(try names { $0.text = [try TextPattern("ORDER (1|3)", ignoresCase: true)] } == "o1 o3")
    #expect(try names { $0.text = [try TextPattern("^path=")] } == "")
    #expect(
      names {
        $0.text = [TextPattern(literal: "e")]; $0.isTextInverted = true
      } == "")
    #expect(
      names {
        $0.text = [TextPattern(literal: "order")]; $0.isTextInverted = true
      } == "t0 t1 t2 t3")
    #expect(throws: TextPattern.Invalid.self) { try TextPattern("(") }
    #expect(throws: TextPattern.Invalid.self) {
      try TextPattern(String(repeating: "a.", count: 4096))
    }
  }

  /// The quick search before the expression must not leave out a match.
  @Test("literals of expressions are required") func literalsOfExpressionsAreRequired() throws {
    let cases = [
      ("abc", "xabcx"), ("ab*c", "ac"), ("ab?c", "ac"), ("a{0}bc", "bc"), ("abc|x", "x"),
      ("(abc)?d", "d"), ("a[bc]d", "acd"), ("a[]x]d", "a]d"), ("a[[:digit:]]b", "a7b"),
      ("a\\.b", "a.b"), ("a\\.*b", "ab"), ("a+b", "aab"), ("(a|b)c", "bc"),
      ("\\bfoo\\b", "a foo b"),
      ("", "anything"), ("^$", ""), ("a.c", "abc"), ("x[^a]y", "xby"), ("\\(a\\)", "(a)"),
    ]
    for (pattern, text) in cases {
      let found = names(of: text, try TextPattern(pattern))
      #expect(found, "\(pattern) in \(text)")
    }
    #expect(!names(of: "ac", try TextPattern("ab+c")))
    #expect(!names(of: "abc", try TextPattern("a\\.c")))
  }

  /// A frame whose text lacks a word is not decompressed. Numbers, ids and UUIDs are not in that
  /// text.
  @Test("words are found in frames whatever was taken out of their strings")
  func wordsAreFoundInFramesWhateverWasTakenOutOfTheirStrings() throws {
    let lines = [
      "request_abc1 cafe 0xabc12 by deadbeef7", "0XDEADBEEF1 facade of x0fade",
      "[123e4567-e89b-12d3-a456-426614174000] accepted", "0123456789abcdefabcdef01 bad_1fed",
      "user_badc0de(0xfeed)", "added 1facade2 to xabc", "fee1dead", "x",
    ]
    var generator = SeededGenerator(seed: 23)
    let parts = lines.flatMap { line in
      (0..<120).map { _ in
        let start = Int.random(in: 0..<line.count, using: &generator)
        return String(line.dropFirst(start).prefix(Int.random(in: 1...9, using: &generator)))
      }
    }
    for line in lines {
      // Lines of one kind, enough for a pattern, in a frame of their own.
      let log = TestLog()
      for ticks in 1...40 as ClosedRange<UInt64> { log.write("\(line) \(ticks)", ticks: ticks) }
      log.archive(isInColumns: true)
      for part in Set(parts) {
        var filter = LogReader.Filter()
        filter.text = [TextPattern(literal: part)]
        let expected = (1...40).count { "\(line) \($0)".contains(part) }
        #expect(log.read(filter).messages.count == expected, "'\(part)' in '\(line)', seed 23")
      }
    }
  }

  /// Frames without a word are not decompressed, whether they have static text, strings or both.
  @Test("words are found whatever call site they are of") func wordsOfCallSitesAreFound() {
    let texts = ["facade", "ordered", "deadbeef", "beads", "x7cafe", "0xbead", "ade", "word"]
    let log = TestLog()
    let sites = [
      log.site(.literal("the facade of "), .argument(type: .string)),
      log.site(.argument(type: .string), .literal("ered by "), .argument(type: .int)),
      log.site(.literal("bead"), .argument(type: .string), .literal(" palisade")),
      log.site(.argument(type: .string)),
    ]
    var messages: [String] = []
    for (frame, site) in sites.enumerated() {
      for index in 0..<40 {
        let (text, ticks) = (texts[index % texts.count], UInt64(frame * 100 + index))
        let number = frame == 1 ? ValueWords.argument(.int(Int64(index))) : []
        log.write(
          TestRecord(ticks: ticks, site: site, words: ValueWords.argument(.text(text)) + number))
        messages.append(
          [
            "the facade of \(text)", "\(text)ered by \(index)", "bead\(text) palisade", text,
          ][frame])
      }
      log.archive(isInColumns: true)
    }
    let words =
      texts + [
        "palisade", "of", "ered", "beadead", "ord", "dered", "eof", "bea", "adeered", "by 7",
      ]
    for word in words {
      var filter = LogReader.Filter()
      filter.text = [TextPattern(literal: word)]
      #expect(log.read(filter).messages == messages.filter { $0.contains(word) }, "\(word)")
    }
  }

  @Test("a text that two arguments show is found, also if an empty literal is between them")
  func emptyLiteral() {
    let log = TestLog()
    let site = log.site(.argument(type: .string), .literal(""), .argument(type: .string))
    let words = ValueWords.argument(.text("ab")) + ValueWords.argument(.text("cd"))
    log.write(TestRecord(ticks: 1, site: site, words: words))
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "bc")]
    #expect(log.read(filter).messages == ["abcd"])
  }

  private func names(of text: String, _ pattern: TextPattern) -> Bool {
    let log = TestLog()
    log.write(text, ticks: 1)
    var filter = LogReader.Filter()
    filter.text = [pattern]
    return log.read(filter).messages == [text]
  }

  @Test(
    "conditions select",
    arguments: [
      ("id == 2", "o2"), ("id != 2", "o0 o1 o3"), ("id >= 2 && id < 3", "o2"),
      ("id", "o0 o1 o2 o3"),
      ("!id", "t0 t1 t2 t3"), ("user == 'user-1'", "o1"), ("user == \"user-1\" || ms > 1", "o1 t3"),
      ("ms > 0.4 && ms < 1.2", "t1 t2"), ("size == 14", "t2"), ("size > 7", "t2 t3"),
      ("size == '7'", "t1"), ("venue ~ '^X[LM]'", "t2 t3"), ("venue !~ 'ET'", "t2 t3"),
      ("request.path == '/a/3'", "t3"), ("request.ok", "t1"), ("request.ok == false", "t0 t2 t3"),
      ("'request' ~ 'path: /a/2'", "t2"), ("@level >= warning", "o3"), ("@level >= WARN", "o3"),
      ("@level in (err, critical)", "o3"), ("user in ('user-1', 'user-3')", "o1 o3"),
      ("!(user in ('user-1')) && user", "o0 o2 o3"), ("id in ( 2 )", "o2"),
      ("@level == 'error'", "o3"),
      ("@label == 'market.feed' && (ms == 0 || ms == 1.5)", "t0 t3"),
      ("@line == 7 && id == 0", "o0"),
      ("@thread == 'worker2'", "o1 o3"), ("@threadID == 1002", "o1 o3"),
      ("@message ~ 'of user-[03]'", "o0 o3"),
      ("@file == 'Orders/Book.swift' && !(id == 1)", "o0 o2 o3"),
      ("nothing == nil", ""), ("nothing != 1", ""), ("id == true", ""), ("id == 2.0", "o2"),
      ("id == -0", "o0"), ("user < 'user-1'", "o0"), ("((((id == 1))))", "o1"),
      ("!!id", "o0 o1 o2 o3"),
      ("@process == 42 && id == 1", "o1"), ("@process == orders && id == 1", "o1"),
      ("@process == '42'", ""), ("@process != 42", ""),
      ("@process in (41, orders) && id == 1", "o1"),
      ("@process ~ '^ord' && id == 1", "o1"), ("@processID < 43 && id == 1", "o1"),
      ("@thread == worker2", "o1 o3"), ("@thread == 1002", "o1 o3"),
      ("@session == 0100 && id == 1", "o1"), ("@session == '01000000-00' && id == 1", "o1"),
      ("@session == 02", ""), ("@session != 02 && id == 1", "o1"),
      ("@session in (02, 01) && id == 1", "o1"), ("@label == orders.book && id == 1", "o1"),
      ("@file == Orders/Book.swift && id == 1", "o1"),
      ("@time < '2025-11-21T09:00:00.00000002Z'", "o0 t0 o1 t1"),
      ("@time >= 2025-11-21T09:00:00.00000002Z && @time <= @1763715600.000000025", "o2 t2"),
      ("@time > 15m", ""), ("@time < 1h && id == 1", "o1"), ("@duration", ""),
      ("!@duration && id == 1", "o1"), ("@duration < 1h", ""), ("@span == nil", ""),
      ("ms >= 0.5ms && ms <= 1000us", "t1 t2"), ("ms > 0.001s", "t3"), ("size > 7B", "t2 t3"),
      ("size < 0.0078kB", "t0 t1"), ("size >= 0.0136KiB", "t2 t3"),
    ])
  func conditionsSelect(condition: String, expected: String) throws {
    #expect(try names { $0.conditions = [try FieldCondition(condition)] } == expected)
  }

  @Test(
    "the end of a field's name says its unit",
    arguments: [
      ("elapsedMs", "1.5s", 1500), ("http.ELAPSED_MS", "1.5s", 1500), ("age_days", "2d", 2),
      ("ageHours", "1d", 24), ("waited_mins", "5min", 5), ("cacheMiB", "1GiB", 1024),
      ("sizeKB", "1MB", 1000), ("disk_tb", "1000GB", 1), ("diskTiB", "1TiB", 1),
      ("elapsed_us", "1.001ms", 1001), ("size_megabytes", "1GB", 1000), ("free_min", "1KiB", 1024),
      ("isolatedB", "1kB", 1000),
    ])
  func unitsInNames(name: String, quantity: String, value: Int64) throws {
    let log = TestLog()
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .metadata,
        words: ValueWords.argument(.text("m")) + ValueWords.metadata([(name, .int(value))])))
    var filter = LogReader.Filter()
    filter.conditions = [try FieldCondition("\(name) == \(quantity)")]
    #expect(filter.matchesContent(of: try #require(log.read().records.first)))
  }

  @Test("quantities of whole nanoseconds are exact", arguments: [("us", 1), ("ms", 1000)])
  func exactQuantities(unit: String, nanoseconds: Double) {
    let wrong = (1..<20_000).filter { number in
      let thousandths = "\(1000 + number % 1000)".dropFirst()
      let quantity = Quantity("\(number / 1000).\(thousandths)\(unit)")
      return quantity?.nanoseconds != Double(number) * nanoseconds
    }
    #expect(wrong == [])
    #expect(Quantity("0.0001us")?.nanoseconds == 0.1)
  }

  @Test("names of arguments and of metadata are compared byte by byte") func namesByBytes() throws {
    let log = TestLog()
    let site = log.site(.argument(type: .int, name: "caf\u{E9}"))
    log.write(
      TestRecord(
        ticks: 1, site: site, flags: .metadata,
        words: ValueWords.argument(.int(1)) + ValueWords.metadata([("th\u{E9}", .int(2))])))
    for (condition, isFound) in [
      ("'caf\u{E9}' == 1", true), ("'th\u{E9}' == 2", true),
      ("'cafe\u{301}' == 1", false), ("'the\u{301}' == 2", false),
    ] {
      var filter = LogReader.Filter()
      filter.conditions = [try FieldCondition(condition)]
      #expect(log.read(filter).records.count == (isFound ? 1 : 0), "\(condition)")
    }
  }

  @Test(
    "a number of single precision is found as it is shown",
    arguments: [
      ("ratio == 0.1", true), ("ratio <= 0.1", true), ("ratio > 0.1", false),
      ("ratio < 0.1000001", true), ("ratio == 0.10000000149", false),
    ])
  func singlePrecision(condition: String, isFound: Bool) throws {
    let log = TestLog()
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .metadata,
        words: ValueWords.argument(.text("m")) + ValueWords.metadata([("ratio", .float(0.1))])))
    var filter = LogReader.Filter()
    filter.conditions = [try FieldCondition(condition)]
    #expect(log.read(filter).records.count == (isFound ? 1 : 0))
  }

  @Test(
    "a wrong condition is explained",
    arguments: [
      ("", "the name of a field is expected"), ("id ==", "a value is expected"),
      ("id = 2", "equality is =="),
      ("id == x", "'x' is no number; a text stands in quotes"), ("(id == 2", "a ) is missing"),
      ("id == 2 id", "before 'id': a condition ends here, or goes on with && or ||"),
      ("id and user", "before 'and user': 'and' is written &&"),
      ("id | user", "'or' is written ||"),
      ("id & user", "'and' is written &&"), ("not id", "before 'id': 'not' is written !"),
      ("id not in (1)", "'not' is written !"), ("id is 3", "'is' is written =="),
      ("user like 'a'", "~ 'text'"), ("id)", "there is no ("), ("id =< 3", "at most is <="),
      ("id => 3", "at least is >="), ("id <> 3", "inequality is !="), ("id === 3", "is =="),
      ("user =~ 'a'", "found by ~"), ("user == 'a", "a quote is not closed"),
      ("@nothing == 1", "before '@nothing == 1': after @ comes one of @level, @label"),
      ("id == 3x", "'3x' is no number"), ("id > 10ms", "'id' does not end in its unit"),
      ("rtt_min > 5ms", "'rtt_min' does not end in its unit"),
      ("ms > 3KiB", "'ms' is no size"), ("@line > 3ms", "not counted in"),
      ("@duration > 3", "such as 250us"), ("@duration > 3KiB", "such as 250us"),
      ("@time > yesteryear", "before 'yesteryear': @time is compared with a time"),
      ("@session == xyz", "first hexadecimal digits"), ("@session < 3f", "by == and !="),
      ("@level ~ 'err'", "@level has no text"), ("@duration ~ '3'", "@duration has no text"),
      ("id in 2", "after in comes a list"),
      ("id in (1 2)", "the list ends with )"), ("id in ()", "a value is expected"),
      ("@level > loud", "trace, debug"),
      ("id ~ 3", "in quotes"),
      ("id ~ '('", "before ''('': '(' is not understood at character 1: this ( has no )"),
      ("&& id", "the name of a field"),
      ("id == 2 &&", "at its end"),
      (String(repeating: "(", count: 100_000), "at most 100"),
      (String(repeating: "!", count: 100_000), "at most 100"),
    ])
  func aWrongConditionIsExplained(condition: String, expected: String) {
    #expect {
      try FieldCondition(condition)
    } throws: { error in
      "\(error)".contains(expected)
    }
  }

  @Test("a record without a place has no line") func aRecordWithoutAPlaceHasNoLine() throws {
    let log = TestLog()
    for file in ["", "a.swift"] {
      log.write(
        TestRecord(
          ticks: 1, site: log.site(.argument(type: .string), file: file),
          words: ValueWords.argument(.text("at \(file)"))))
    }
    for (condition, expected) in [("@line == 7", ["at a.swift"]), ("@line < 7", [])] {
      var filter = LogReader.Filter()
      filter.conditions = [try FieldCondition(condition)]
      #expect(log.read(filter).records.map(\.message) == expected)
    }
  }

  @Test("fragments are searched whole") func fragmentsAreSearchedWhole() {
    let log = TestLog()
    let long = String(repeating: "x", count: 2000) + "needle" + String(repeating: "y", count: 2000)
    log.writeFragments(
      TestRecord(ticks: 5, site: log.textSite, words: ValueWords.argument(.text(long))),
      partWords: 60)
    log.write("other", ticks: 9)
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "xneedley")]
    #expect(log.read(filter).messages == [long])
    filter.text = [TextPattern(literal: "nail")]
    #expect(log.read(filter).messages == [])
  }

  @Test("a record in fragments has one time, though its frames have different clocks")
  func clocksOfFragments() {
    for step in [-700, 700] as [Int64] {
      let log = TestLog()
      log.writesRing = false
      let long = String(repeating: "x", count: 2000)
      let record = TestRecord(
        ticks: 5000, site: log.textSite, words: ValueWords.argument(.text(long)))
      log.writeFragments(record, partWords: 60, range: 0..<2)
      log.archive()
      log.frameClock = TickClock(ticks: 0, wall: TestLog.epoch + step, rate: 1 << 32)
      log.writeFragments(record, partWords: 60, range: 2..<(.max))
      log.archive()
      var (from, until) = (LogReader.Filter(), LogReader.Filter())
      from.since = TestLog.epoch + 5000
      until.until = TestLog.epoch + 5001
      #expect(log.read(from).messages == [long] && log.read(until).messages == [long], "\(step)")
      until.until = from.since
      #expect(log.read(until).messages == [], "\(step)")
    }
  }

  /// This also holds for a frame with a wrong order of records.
  @Test("times do not depend on what is asked for") func timesDoNotDependOnWhatIsAskedFor() {
    let log = TestLog()
    log.writesRing = false
    var rows: [UInt64] = [0]
    for (level, ticks) in [(Level.info, 10), (.debug, 30), (.info, 20)] {
      var words = TestRecord(ticks: UInt64(ticks), site: log.site(), level: level).encoded(seed: 0)
      words[0] &= 0xFFFF_FFFF
      rows += words
    }
    var summary = RecordSummary()
    for level in [Level.info, .debug, .info] { summary.add(ticks: 10, level: level) }
    log.addFrame(.dictionary, log.dictionaryPayload)
    log.addFrame(.records, rows.withUnsafeBytes { Array($0) }, summary)
    #expect(log.read().records.map(\.ticks) == [10, 30, 30])
    var filter = LogReader.Filter()
    filter.minimumLevel = .info
    #expect(log.read(filter).records.map(\.ticks) == [10, 30])
  }

  @Test("the search for the last records can be given up, and gives chunks meanwhile")
  func givingUp() {
    let log = TestLog()
    log.writesRing = false
    for index in 0..<50 as Range<UInt64> {
      log.write("\(index)", ticks: index)
      log.archive()
    }
    log.save()
    let files = LogFiles([.path(log.folder.path)])
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "nothing")]
    var calls = 0
    _ = files.lastRecords(5, filter: filter) {
      calls += 1
      return calls < 10
    }
    #expect(calls <= 12)
    filter.text = []
    for count in [0, 1, 7, 50, 60] {
      let reader = files.lastRecords(count, filter: filter)
      var messages: [String] = []
      while let chunk = reader.nextChunk() {
        if case .records(let records) = chunk { records.forEach { messages.append($0.message) } }
        if case .item(.record(let record)) = chunk { messages.append(record.message) }
      }
      #expect(messages == (0..<50).suffix(count).map(String.init))
    }
  }
}
