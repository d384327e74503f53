import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import Testing
import TestSupport

@Suite("Spans")
struct SpanTests {
  private struct Refusal: Error {}

  @Test("a span that its end renames has one name there, in every format")
  func renamed() throws {
    let test = try TestStore()
    test.log.begin("first").end(metadata: ["span.name": "second", "user": "ann"])
    let records = try test.closeAndRead().records
    #expect(records.map { $0.span?.name } == ["first", "second"])
    var names: [String] = []
    records[1].forEachAttribute(.raw) { (name, value, reader) throws(FormatError) in
      names.append(name.string)
      try reader.skipElements(of: value)
    }
    #expect(names == ["user"])
  }

  @Test("a span's end has the number of its beginning, and how long it took")
  func beginAndEnd() throws {
    let test = try TestStore()
    let outer = test.log.begin("request \(7)", metadata: ["user": "ann"], level: .notice)
    let inner = test.log.begin("query", in: outer)
    test.log.info("between")
    inner.end("\(3, name: "rows") rows")
    outer.end()
    let contents = try test.closeAndRead()

    #expect(contents.isClean)
    #expect(contents.messages == ["request 7", "query", "between", "3 rows", ""])
    let records = contents.records
    let spans = records.map(\.span)
    let (first, second) = (try #require(spans[0]), try #require(spans[1]))
    #expect(first.event == .begin(parent: nil) && second.event == .begin(parent: first.number))
    #expect(first.number != nil && second.number != nil && first.number != second.number)
    #expect(spans[2] == nil)
    #expect(spans[3]?.number == second.number && spans[4]?.number == first.number)
    for (begin, end) in [(1, 3), (0, 4)] {
      guard case .end(let start, let duration, _) = spans[end]?.event else {
        Issue.record("record \(end) ends nothing")
        continue
      }
      #expect(duration >= .zero && start.duration(to: records[end].time) == duration)
      #expect(start <= records[begin].time && start >= records[0].time.advanced(by: .seconds(-1)))
    }
    #expect(records.map(\.level) == [.notice, .info, .info, .info, .notice])
    #expect(records[0].fields.map(\.name) == ["user"] && records[3].fields.map(\.name) == ["rows"])
  }

  @Test("a function that is entered is a span of its name, left by return and by error")
  func enteringAFunction() throws {
    let test = try TestStore()
    func inner(_ number: Int, in parent: Logger.Span) throws -> Int {
      let span = test.log.enter(in: parent)
      defer { span.end() }
      if number == 0 { throw Refusal() }
      return number
    }
    func outer(_ level: Logger.Level) {
      let span = test.log.enter(level: level)
      defer { span.end() }
      for number in 0..<2 { _ = try? inner(number, in: span) }
    }
    outer(.notice)
    test.log.level = .info
    outer(.debug)
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let inside = ["inner(_:in:)", "", "inner(_:in:)", ""]
    #expect(contents.messages == ["outer(_:)"] + inside + [""])
    #expect(contents.records.map(\.level) == [.notice, .debug, .debug, .debug, .debug, .notice])
    let first = try #require(contents.records.first)
    #expect(first.function == "outer(_:)" && first.file == #fileID)
    let number = try #require(first.span?.number)
    #expect(contents.records[1].span?.event == .begin(parent: number))
    var spans = OpenSpans()
    for record in contents.records { spans.add(record) }
    #expect(spans.begun == 3 && spans.ended == 3)
  }

  @Test("a span whose level is off is not recorded, and nothing of it is evaluated")
  func disabled() throws {
    let test = try TestStore()
    test.log.level = .warning
    var evaluations = 0
    func count() -> Int {
      evaluations += 1
      return evaluations
    }
    let span = test.log.begin("\(count())")
    test.log.level = .trace
    span.end("\(count())")
    #expect(!span.isRecorded && evaluations == 0)
    let recorded = test.log.begin("on", level: .debug)
    test.log.level = .critical
    recorded.end("off")
    #expect(try test.closeAndRead().messages == ["on", "off"])
  }

  @Test("of a span that is ended twice, the first end counts; of one that never ends, none")
  func endings() throws {
    let test = try TestStore()
    let (twice, never) = (test.log.begin("twice"), test.log.begin("never"))
    twice.end("1")
    twice.end("2")
    let contents = try test.closeAndRead()
    var spans = OpenSpans()
    for record in contents.records { spans.add(record) }
    #expect(contents.messages == ["twice", "never", "1", "2"])
    #expect(spans.begun == 2 && spans.ended == 1 && spans.list.map(\.message) == ["never"])
    #expect(never.isRecorded)
  }

  @Test("spans of many threads have numbers of their own, and may end on another thread")
  func threads() throws {
    // A large ring: a call inside another one waits for room only for a millisecond.
    let test = try TestStore()
    let log = test.log
    let handed = LockedValue<[Logger.Span]>([])
    try onThreads(6) { thread in
      for number in 0..<500 {
        let span = log.begin("\(thread) \(number)")
        // A span that is begun inside another one's message is written by another of the thread's
        // writers.
        func nested() -> Int {
          handed.withLock { $0.append(log.begin("nested \(thread) \(number)")) }
          return number
        }
        log.begin("\(thread) outer \(nested())", in: span).end()
        handed.withLock { $0.append(span) }
      }
    }
    try onThreads(1) { _ in for span in handed.withLock({ $0 }) { span.end() } }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    var numbers: Set<UInt64> = []
    var spans = OpenSpans()
    for record in contents.records {
      spans.add(record)
      guard let span = record.span, case .begin = span.event else { continue }
      #expect(numbers.insert(try #require(span.number)).inserted, "\(record.message)")
    }
    #expect(numbers.count == 9000 && spans.ended == 9000 && spans.count == 0)
  }

  @Test("a span around a closure ends with it, whether it returns or throws")
  func scoped() async throws {
    let test = try TestStore()
    let log = test.log
    let sum = log.span("sum", level: .debug) { span in
      log.span("part", in: span) { _ in 1 } + 1
    }
    func refuse() throws(Refusal) -> Int {
      try log.span("refused") { (_) throws(Refusal) -> Int in throw Refusal() }
    }
    #expect(throws: Refusal.self) { try refuse() }
    let later = await log.span("later") { _ in
      await Task.yield()
      return 3
    }
    func refuseLater() async throws(Refusal) {
      try await log.span("refused later") { (_) async throws(Refusal) in throw Refusal() }
    }
    await #expect(throws: Refusal.self) { try await refuseLater() }
    #expect(sum == 2 && later == 3)
    let contents = try test.closeAndRead()
    #expect(
      contents.messages == [
        "sum", "part", "", "", "refused", "Refusal()", "later", "", "refused later", "Refusal()",
      ])
    let spans = contents.records.compactMap(\.span)
    let ends = spans.compactMap { span in
      if case .end(_, _, let failed) = span.event { "\(span.name ?? "") \(failed)" } else { nil }
    }
    #expect(
      ends == ["part false", "sum false", "refused true", "later false", "refused later true"])
    let file = "MMLogTests/SpanTests.swift"
    #expect(contents.records.allSatisfy { $0.file == file && $0.span?.number != nil })
  }

  private actor Counter {
    var count = 0

    func countTwice(_ log: Logger) async -> Int {
      await log.span("counting") { _ in
        count += 1
        await Task.yield()
        count += 1
        return count
      }
    }
  }

  @Test("an asynchronous closure runs where its caller does")
  func isolated() async throws {
    let test = try TestStore()
    #expect(await Counter().countTwice(test.log) == 2)
    #expect(try test.closeAndRead().messages == ["counting", ""])
  }

  @Test(
    "a span is kept in pieces, without a call site of the dictionary, and in the shared segment")
  func rarePlaces() throws {
    let test = try TestStore { $0.makeTiny() }
    let long = String(repeating: "long ", count: 5000)
    let span = test.log.begin("\(long, privacy: .public)", metadata: ["k": "v"])
    // More texts than the dictionary has room for.
    for index in 0..<200 {
      let place = Logger.SourceLocation(
        file: "F/\(index)", function: "a function of some length", line: 1)
      test.log.log(level: .info, text: "x", at: place)
    }
    let (part, late) = (test.log.begin("part", in: span), test.log.begin("\(long)", in: span))
    late.end("\(long, privacy: .public)")
    part.end("done")
    span.end()
    try onThreads(100) { thread in test.log.begin("\(thread)", in: span).end() }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let spans = contents.records.filter { $0.span != nil }
    var open = OpenSpans()
    for record in spans { open.add(record) }
    #expect(open.begun == 103 && open.ended == 103)
    #expect(spans[0].message == long && spans[0].fields.map(\.name) == ["k"])
    let number = spans[0].span?.number
    #expect(number != nil && spans[1].span?.event == .begin(parent: number))
  }

  @Test("what was in flight when the process was killed is found, before and after recovery")
  func killed() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "test")
      let log = store.logger(label: "killed")
      let done = log.begin("done")
      let request = log.begin("request \(1)")
      try store.flush(.archive)
      _ = log.begin("query", in: request)
      done.end()
      kill(getpid(), SIGKILL)
    }
    func inFlight() throws -> [OpenSpans.Open] {
      let files = LogFiles([.path(folder.path)])
      let session = try #require(files.lastCrashedSession())
      return files.openSpans(of: session.id).list
    }
    let dead = try inFlight()
    let store = try LogStore(directory: folder.path, name: "test")
    try store.blockingClose()
    let recovered = try inFlight()
    #expect(dead.map(\.message) == ["request 1", "query"])
    #expect(dead.map(\.parent) == [nil, dead[0].number] && dead[0].label == "killed")
    #expect(recovered.map(\.message) == ["request 1", "query"])
    #expect(recovered.map(\.number) == dead.map(\.number))
  }

  @Test("Swift's own Span needs no qualification where both modules are imported")
  func swiftSpan() {
    func count(_ numbers: Span<Int>) -> Int { numbers.count }
    #expect(count([1, 2, 3].span) == 3)
  }
}
