import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@testable import MMLogAnalysis

@Suite struct TopTests {
  @Test("percentiles are within one in a hundred, and the ends are exact")
  func percentilesAreWithinOneInAHundred() throws {
    var generator = SeededGenerator(seed: 7)
    for scale in [1e-9, 1, 1e12, -1e3] {
      var percentiles = Percentiles()
      let values = (0..<5000).map { _ in Double.random(in: 0...1, using: &generator) * scale }
      for value in values { percentiles.add(value) }
      let sorted = values.sorted()
      for part in [0.1, 0.5, 0.9, 0.99] {
        let exact = sorted[Int((part * 5000).rounded(.up)) - 1]
        let found = try #require(percentiles.value(at: part))
        #expect(abs(found - exact) <= abs(exact) / 100, "\(part) of \(scale)")
      }
      #expect(percentiles.value(at: 1) == sorted.last && percentiles.minimum == sorted.first)
    }
  }

  @Test("where many groups have many values, percentiles get less exact, and memory does not grow")
  func manyPercentiles() throws {
    var generator = SeededGenerator(seed: 8)
    var left = 1000
    var all: [Percentiles] = []
    for _ in 0..<100 {
      var percentiles = Percentiles()
      for exponent in -150...150 {
        let significand = Double.random(in: 1..<2, using: &generator)
        let sign = exponent % 2 == 0 ? FloatingPointSign.plus : .minus
        percentiles.add(Double(sign: sign, exponent: exponent, significand: significand), of: &left)
      }
      all.append(percentiles)
    }
    #expect(all.reduce(0) { $0 + $1.buckets.count } <= 1000 + 100 * 17)
    #expect(left > -100 * 17)
    for percentiles in all {
      let values = [0.01, 0.25, 0.5, 0.75, 0.99, 1].compactMap { percentiles.value(at: $0) }
      #expect(values == values.sorted() && values.count == 6, "\(values)")
      #expect(percentiles.count == 301 && values.last == percentiles.maximum)
      #expect(values.allSatisfy { percentiles.minimum <= $0 })
    }
  }

  @Test("numbers that are none do not count") func numbersThatAreNoneDoNotCount() {
    var percentiles = Percentiles()
    #expect(percentiles.value(at: 0.5) == nil)
    for value in [Double.nan, .infinity, -.infinity] { percentiles.add(value) }
    #expect(percentiles.count == 0)
    for value in [0, -0.0, .greatestFiniteMagnitude, -.greatestFiniteMagnitude] {
      percentiles.add(value)
    }
    #expect(percentiles.value(at: 0.01).map { $0 <= -1.7e308 } == true)
    #expect(percentiles.value(at: 1) == .greatestFiniteMagnitude)
  }

  @Test(
    "what varies in a line of text is taken out",
    arguments: [
      ("GET /orders/17 took 3ms", "GET * took *"),
      ("user=42, id=\"a b\" ok", "user=*, id=\"*\" ok"),
      ("it's [ab12cd]", "it's [*]"), ("", ""), ("open \"quote 1", "open \"*"),
      ("é x² 'é 1' ü", "é * '*' ü"),
      (String(repeating: "é", count: 199) + " 7", String(repeating: "é", count: 199) + " "),
    ])
  func variables(text: String, pattern: String) {
    #expect(TextVariables.pattern(of: text) == pattern)
  }

  /// A session from tick 0 to its last record, of three records that are a second apart.
  private func threeSeconds() -> [LogReader.Item] {
    let log = TestLog()
    for second in 1...3 as ClosedRange<UInt64> { log.write("x", ticks: second * 1_000_000_000) }
    log.write("end", ticks: 10_000_000_000, level: .debug)
    return Array(LogReader(paths: log.save()))
  }

  @Test(
    "a rate is of the time that is asked for, as far as sessions go, or else of its records'",
    arguments: [
      (nil, nil, 2), (-100, nil, 10), (0, 5, 5), (nil, 5, 5), (-100, 100, 10), (2, nil, 8),
    ] as [(Int64?, Int64?, Double)])
  func rates(since: Int64?, until: Int64?, seconds: Double) {
    var filter = LogReader.Filter()
    filter.minimumLevel = .info
    filter.since = since.map { TestLog.epoch + $0 * 1_000_000_000 }
    filter.until = until.map { TestLog.epoch + $0 * 1_000_000_000 }
    var top = LogTop(by: .level, filter: filter)
    for item in threeSeconds() {
      if case .record(let record) = item, record.level < .info { continue }
      if case .record(let record) = item, let since = filter.since, record.time < since { continue }
      top.add(item)
    }
    #expect(top.seconds == seconds)
  }

  @Test("statistics count the sessions that are of the time that is asked for, or have records")
  func sessionsOfATime() {
    let log = TestLog()
    log.write("x", ticks: 1_000_000_000)
    let late = TestLog(session: 2)
    late.write("x", ticks: 9_000_000_000)
    let paths = log.save() + late.save()
    func sessions(_ change: (inout LogReader.Filter) -> Void) -> String {
      var filter = LogReader.Filter()
      change(&filter)
      var statistics = LogStatistics(zone: .utc, of: filter)
      for item in LogReader(paths: paths, filter: filter) { statistics.add(item) }
      var output = TextBuffer()
      statistics.appendJSON(to: &output)
      let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      return String(text.split(separator: #""sessions":"#).last?.prefix(1) ?? "")
    }
    #expect(sessions { _ in } == "2")
    #expect(sessions { $0.minimumLevel = .critical } == "2")
    #expect(sessions { $0.since = TestLog.epoch + 5_000_000_000 } == "1")
    #expect(
      sessions {
        $0.since = TestLog.epoch + 5_000_000_000
        $0.minimumLevel = .critical
      } == "1")
    #expect(sessions { $0.since = TestLog.epoch + 10_000_000_000 } == "0")
  }

  @Test("a session was running until it ended, though it logged last before")
  func quietSession() throws {
    let log = TestLog()
    log.write("x", ticks: 1_000_000_000)
    let crash = CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders") {
      $0.store(TestLog.epoch + 60_000_000_000, CrashLayout.wall)
    }
    log.put(crash, at: RingLayout.crash)
    let late = TestLog(session: 2)
    late.identity.startTime = TestLog.epoch + 50_000_000_000
    for second in [51, 55] as [UInt64] { late.write("x", ticks: second * 1_000_000_000) }
    var filter = LogReader.Filter()
    filter.since = TestLog.epoch + 30_000_000_000
    var (top, statistics) = (
      LogTop(by: .level, filter: filter), LogStatistics(zone: .utc, of: filter)
    )
    for item in LogReader(paths: log.save() + late.save(), filter: filter) {
      top.add(item)
      statistics.add(item)
    }
    #expect(top.seconds == 30)
    var output = TextBuffer()
    statistics.appendJSON(to: &output)
    let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(text.contains(#""sessions":2"#), "\(text)")
  }

  @Test("labels that Unicode calls equivalent are counted apart, as filters have them")
  func equivalentLabels() {
    let log = TestLog()
    let labels = ["caf\u{e9}", "cafe\u{301}"].map { log.label($0) }
    for (ticks, label) in [0, 1, 1].enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(ticks), site: log.textSite, label: labels[label],
          words: ValueWords.argument(.text("x"))))
    }
    var (top, statistics) = (LogTop(by: .label), LogStatistics(zone: .utc))
    for item in LogReader(paths: log.save()) {
      top.add(item)
      statistics.add(item)
    }
    #expect(top.sorted.map(\.group.count) == [2, 1])
    var output = TextBuffer()
    statistics.appendJSON(to: &output)
    let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.unicodeScalars
    #expect(text.contains("\"caf\u{e9}\":{\"records\":1,".unicodeScalars), "\(text)")
    #expect(text.contains("\"cafe\u{301}\":{\"records\":2,".unicodeScalars), "\(text)")
  }

  @Test("no line is wider than the terminal, whatever the characters")
  func wideCharacters() {
    let log = TestLog()
    let texts = [String(repeating: "\u{1}", count: 70), String(repeating: "\u{65E5}", count: 70)]
    for (ticks, text) in texts.enumerated() {
      let site = log.site(.literal(text))
      log.write(TestRecord(ticks: UInt64(ticks) * 1_000_000_000, site: site))
    }
    for columns in [40, 80] {
      var (top, statistics) = (LogTop(by: .template), LogStatistics(zone: .utc))
      for item in LogReader(paths: log.save()) {
        top.add(item)
        statistics.add(item)
      }
      var output = TextBuffer()
      top.appendText(rows: 9, columns: columns, to: &output)
      statistics.appendText(to: &output, columns: columns)
      let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      #expect(text.split(separator: "\n").allSatisfy { String($0).columns <= columns }, "\(text)")
      #expect(text.contains("\u{65E5}…") && text.contains("\\u{1}"), "\(text)")
    }
  }

  @Test("more records have no shorter bar, however many levels they have")
  func barsAreProportional() {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 65536, segmentCount: 4))
    for index in 0..<1000 as Range<UInt64> { log.write("x", ticks: index, level: .info) }
    for index in 0..<1100 as Range<UInt64> {
      let level = Level.allCases[Int(index % 7)]
      log.write("x", ticks: 1_000_000_000 + index, level: level)
    }
    var histogram = LogHistogram(zone: .utc, rows: 10, columns: 69)
    for item in LogReader(paths: log.save()) { histogram.add(item) }
    var output = TextBuffer()
    histogram.append(to: &output)
    let lines = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      .split(separator: "\n").filter { $0.hasPrefix("2025") }
    #expect(lines.last?.count == 69 && (lines.first?.count ?? 69) < 69, "\(lines)")
  }

  @Test("a line without a limit of its width has an end") func endlessLine() {
    let log = TestLog()
    log.write("x", ticks: 1)
    var histogram = LogHistogram(zone: .utc, rows: 10, columns: .max)
    for item in LogReader(paths: log.save()) { histogram.add(item) }
    var output = TextBuffer()
    histogram.append(to: &output)
    #expect(output.count < 10_000)
  }

  @Test("a bar is no longer than its line has room, however many levels it has")
  func barsFit() {
    let log = TestLog()
    for index in 0..<200 as Range<UInt64> { log.write("x", ticks: index, level: .info) }
    for level in Level.allCases where level != .info { log.write("x", ticks: 200, level: level) }
    var histogram = LogHistogram(zone: .utc, rows: 10, columns: 60)
    for item in LogReader(paths: log.save()) { histogram.add(item) }
    var output = TextBuffer()
    histogram.append(to: &output)
    let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let line = text.split(separator: "\n").first ?? ""
    #expect(line.count == 60 && line.hasSuffix("━▪▓█"), "\(text)")
  }

  @Test("a share that is very small fits into its column") func smallShare() {
    let log = TestLog()
    log.write("rare", ticks: 1)
    log.write("often", ticks: 2)
    var top = LogTop(by: .template)
    for item in LogReader(paths: log.save()) {
      guard case .record(let record) = item else { continue }
      for _ in 0..<(record.message == "rare" ? 1 : 200_000) { top.add(item) }
    }
    var output = TextBuffer()
    top.appendText(rows: 9, to: &output)
    let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(text.contains(" 1 <0.001 "), "\(text)")
  }

  @Test("on a narrow terminal, lines of a table are not wider, and only what is cut says so")
  func narrowTerminal() {
    let log = TestLog()
    log.write(String(repeating: "long ", count: 20), ticks: 1, level: .critical)
    log.write("a second later", ticks: 1_000_000_001)
    var (top, statistics) = (LogTop(by: .level), LogStatistics(zone: .utc))
    for item in LogReader(paths: log.save()) {
      top.add(item)
      statistics.add(item)
    }
    var output = TextBuffer()
    top.appendText(rows: 9, columns: 40, to: &output)
    statistics.appendText(to: &output, columns: 40)
    let lines = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      .split(separator: "\n").filter { $0.hasPrefix(" ") }
    #expect(lines.allSatisfy { $0.count <= 40 }, "\(lines)")
    #expect(lines.count { $0.hasSuffix(" critical") } == 2, "\(lines)")
    #expect(!lines.contains { $0.contains("critical…") }, "\(lines)")
  }

  @Test("a value that is shown by its hash has the group of that") func hashes() {
    let log = TestLog()
    let site = log.site(.argument(type: .hash, name: "user"))
    log.write(TestRecord(ticks: 1, site: site, words: ValueWords.argument(.hash(0xAB))))
    var top = LogTop(by: .field("user"))
    for item in LogReader(paths: log.save()) { top.add(item) }
    #expect(top.sorted.map(\.name) == ["<hash:00000000000000ab>"])
  }

  @Test("groups whose names take too much memory are counted together") func longNames() {
    let log = TestLog()
    let site = log.site(.argument(type: .string, name: "n"))
    for (index, text) in ["aaaa", "bbbb", "cccc", "aaaa", "d", "cccc"].enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index), site: site, words: ValueWords.argument(.text(text))))
    }
    var top = LogTop(by: .field("n"), maximumBytes: 9)
    for item in LogReader(paths: log.save()) { top.add(item) }
    #expect(top.sorted.map(\.name) == ["aaaa", "bbbb", "d"] && top.others == 2)
    #expect(top.sorted.map(\.group.count) == [2, 1, 1])
  }

  @Test("call sites whose texts take too much memory are counted together")
  func longTemplates() {
    let log = TestLog()
    for (index, text) in ["aaaa", "bbbb", "c", "bbbb", "aaaa"].enumerated() {
      let site = log.site(.literal(String(repeating: text, count: 100)))
      log.write(TestRecord(ticks: UInt64(index), site: site))
    }
    // Each takes its template three times.
    var counts = CallSiteCounts(maximumBytes: 4 * 400)
    for case .record(let record) in LogReader(paths: log.save()) { counts.add(record) }
    #expect(counts.entries.map(\.template.first) == ["a", "(", "c"])
    #expect(counts.entries.map(\.counts.records) == [2, 2, 1])
    #expect(counts.entries[1].template == tooMany && counts.entries[1].file.isEmpty)
    var roomy = CallSiteCounts()
    for case .record(let record) in LogReader(paths: log.save()) { roomy.add(record) }
    #expect(roomy.entries.map(\.counts.records) == [2, 2, 1])
  }

  @Test("a character of any size counts as those that it is made of") func largeCharacter() {
    let text = "e" + String(repeating: "\u{301}", count: 500)
    #expect(text.first200 == "e" + String(repeating: "\u{301}", count: 199))
    #expect(TextVariables.pattern(of: text) == text.first200)
    let log = TestLog()
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .span,
        words: ValueWords.argument(.text(text)) + [1, 0]))
    var spans = OpenSpans()
    for case .record(let record) in LogReader(paths: log.save()) { spans.add(record) }
    #expect(spans.list.map(\.message) == [text.first200])
  }

  @Test("spans that are said to be parts of each other are each listed once")
  func spansThatAreSaidToBePartsOfEachOther() {
    let log = TestLog()
    for (index, words) in ([[1, 2], [2, 1], [3, 3], [4, 1]] as [[UInt64]]).enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index), site: log.textSite, flags: .span,
          words: ValueWords.argument(.text("s")) + words))
    }
    var spans = LogSpans()
    for item in LogReader(paths: log.save()) { spans.add(item) }
    #expect(spans.tree.map(\.span.number) == [3, 1, 2, 4])
  }

  @Test("numbers whose sum is none are JSON all the same") func sumsThatAreNone() {
    let log = TestLog()
    let site = log.site(.argument(type: .double, name: "n"))
    for (index, value) in ([1.7e308, 1.7e308, -.infinity, 1] as [Double]).enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index), site: site, words: ValueWords.argument(.double(value))))
    }
    var output = TextBuffer()
    for order in LogTop.Order.allCases {
      var top = LogTop(by: .field("n"), of: .field("n"), order: order)
      var all = LogTop(by: .label, of: .field("n"), order: order)
      for item in LogReader(paths: log.save()) {
        top.add(item)
        all.add(item)
      }
      top.appendText(rows: 9, to: &output)
      output.removeAll()
      all.appendJSON(rows: 9, to: &output)
    }
    let text = output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(text.hasSuffix(#""maximum":1.7e+308,"sum":null}"# + "\n"), "\(text)")
  }
}
