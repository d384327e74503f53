import Dispatch
import MMLog
import MMLogFormat
import MMLogReader
import Synchronization
import TestSupport
import Testing

/// Fields, spans and traces that records have from their logger and their task.
@Suite("Context") struct ContextTests {
  @Test("bound fields are in every record, behind its own, with their types")
  func boundFieldsAreInEveryRecord() throws {
    let test = try TestStore()
    let log = test.log.with(["request": "r7", "attempt": 3, "share": 0.5, "last": true])
    log.info("first \(1, name: "id")", metadata: ["venue": "XETR"])
    test.log.info("without")
    log.error("second")
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.messages == ["first 1", "without", "second"])
    #expect(
      contents.fieldTexts == [
        "id=1 venue=XETR request=r7 attempt=3 share=0.5 last=true", "",
        "request=r7 attempt=3 share=0.5 last=true",
      ])
    #expect(contents.records.map(\.label) == ["test", "test", "test"])
    #expect(contents.records.map(\.level) == [.info, .info, .error])
  }

  @Test(
    "fields of a bound logger that is bound again are added, and those of the same name replaced")
  func boundAgain() throws {
    let test = try TestStore()
    let log = test.log.with(["a": 1, "b": 2]).with(["b": "new", "c": 3])
    log.info("x")
    log.with().info("y")
    let contents = try test.closeAndRead()
    #expect(contents.fieldTexts == ["a=1 b=new c=3", "a=1 b=new c=3"])
  }

  @Test("a bound logger has the level of its label, and evaluates nothing below it")
  func level() throws {
    let test = try TestStore()
    let log = test.log.with(["a": 1])
    test.log.level = .warning
    var evaluations = 0
    func count() -> Int {
      evaluations += 1
      return evaluations
    }
    log.info("\(count())", metadata: ["n": .int(Int64(count()))])
    let span = log.begin("\(count())")
    span.end("\(count())")
    #expect(evaluations == 0 && log.level == .warning && !span.isRecorded)
    #expect(!log.isEnabled(.info) && log.isEnabled(.warning) && !log.isEnabled(.off))
    log.level = .debug
    #expect(test.log.level == .debug)
    log.debug("\(count())")
    #expect(try test.closeAndRead().messages == ["1"] && test.store.losses.isEmpty)
  }

  @Test("a task's fields are in what any logger logs there, also over hops to other threads")
  func taskFields() async throws {
    let test = try TestStore()
    let other = test.store.logger(label: "other")
    let bound = other.with(["bound": 1])
    await withLogFields(["request": "r1"]) {
      test.log.info("a")
      await Task.yield()
      bound.info("b", metadata: ["own": 0])
      async let child: Void = other.info("c")
      await child
      await withTaskGroup { group in
        for index in 0..<3 { group.addTask { other.info("d \(index)") } }
      }
      await Task { other.info("e") }.value
      await Task.detached { other.info("f") }.value
      withLogFields(["request": "r2", "inner": true]) { test.log.info("g") }
      test.log.info("h")
    }
    test.log.info("i")
    try test.store.blockingClose()
    let contents = Contents(test.folder.path)
    let texts = Dictionary(
      zip(contents.messages, contents.fieldTexts), uniquingKeysWith: { "\($0), \($1)" })
    #expect(contents.isClean)
    #expect(
      texts == [
        "a": "request=r1", "b": "own=0 bound=1 request=r1", "c": "request=r1",
        "d 0": "request=r1", "d 1": "request=r1", "d 2": "request=r1", "e": "request=r1", "f": "",
        "g": "request=r2 inner=true", "h": "request=r1", "i": "",
      ])
  }

  @Test("many tasks that change their fields at once have each their own")
  func manyTasks() async throws {
    let test = try TestStore()
    let log = test.log
    await withTaskGroup { group in
      for task in 0..<64 {
        group.addTask {
          for round in 0..<20 {
            await withLogFields(["task": .int(Int64(task)), "round": .int(Int64(round))]) {
              log.info("\(task) \(round)")
              await Task.yield()
              log.with(["bound": .int(Int64(task))]).info("\(task) \(round)")
            }
          }
        }
      }
    }
    try test.store.blockingClose()
    let contents = Contents(test.folder.path)
    #expect(contents.isClean && contents.records.count == 64 * 20 * 2)
    for (record, text) in zip(contents.records, contents.fieldTexts) {
      let parts = record.message.split(separator: " ")
      let own = "task=\(parts[0]) round=\(parts[1])"
      #expect(text == own || text == "bound=\(parts[0]) \(own)")
    }
  }

  @Test("the name of a task, and the label of a dispatch queue, stand beside the thread")
  func names() async throws {
    let test = try TestStore()
    let log = test.log
    await Task(name: "settlement") {
      await withLogFields(["task": .value(Task.name)]) {
        await Task.yield()
        log.info("settled")
      }
    }.value
    let queue = DispatchQueue(label: "orders.io")
    queue.sync { withLogFields(["queue": .string(queue.label)]) { log.info("read") } }
    try test.store.blockingClose()
    let contents = Contents(test.folder.path)
    #expect(contents.isClean && contents.messages == ["settled", "read"])
    #expect(contents.fieldTexts == ["task=settlement", "queue=orders.io"])
    #expect(contents.records.allSatisfy { $0.thread.ordinal > 0 })
  }

  @Test("records of a span's body belong to it, and spans that begin there are its parts")
  func spans() throws {
    let test = try TestStore()
    let outer = test.log.begin("outer")
    let log = test.log.with(span: outer)
    log.info("in outer")
    let inner = log.begin("inner")
    withLogFields(span: inner) {
      test.log.info("in inner")
      log.info("in outer again")
      test.log.begin("innermost").end()
    }
    inner.end()
    outer.end()
    let contents = try test.closeAndRead()
    let records = contents.records
    #expect(contents.isClean)
    func span(_ message: String) -> UInt64? {
      records.first { $0.message == message }?.spanNumber
    }
    let (outerNumber, innerNumber) = (try #require(span("outer")), try #require(span("inner")))
    #expect(span("in outer") == outerNumber && span("in inner") == innerNumber)
    #expect(span("in outer again") == outerNumber)
    let parents = records.compactMap { record -> UInt64? in
      if case .begin(let parent) = record.span?.event { parent ?? 0 } else { nil }
    }
    #expect(parents == [0, outerNumber, innerNumber])
    #expect(records.filter { $0.span == nil }.allSatisfy { $0.trace == nil && $0.fields.isEmpty })
  }

  @Test("what is logged in a span's closure belongs to it, also in tasks, if it is recorded")
  func closures() async throws {
    let test = try TestStore()
    test.log.level = .info
    await test.log.span("request") { _ in
      test.log.info("in request")
      test.log.span("query") { _ in test.log.with(["a": 1]).info("in query") }
      test.log.span("off", level: .debug) { _ in test.log.info("in request, too") }
      await withTaskGroup { group in group.addTask { test.log.info("in a task") } }
    }
    test.log.info("outside")
    try test.store.blockingClose()
    let contents = Contents(test.folder.path)
    #expect(contents.isClean)
    func span(_ message: String) -> UInt64? {
      contents.records.first { $0.message == message }?.spanNumber
    }
    let (request, query) = (try #require(span("request")), try #require(span("query")))
    #expect(span("in request") == request && span("in query") == query)
    #expect(span("in request, too") == request && span("in a task") == request)
    #expect(span("outside") == nil)
    let begin = contents.records.first { $0.message == "query" }?.span?.event
    #expect(begin == .begin(parent: request))
  }

  @Test("records have the trace that is given, and its flags")
  func traces() throws {
    let test = try TestStore()
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let trace = try #require(TraceContext(text))
    test.log.with(["a": 1], trace: trace).info("bound")
    withLogFields(trace: trace) { test.log.info("task") }
    let other = try #require(
      TraceContext("cc-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00-x"))
    withLogFields(trace: trace) { test.log.with(trace: other).info("the logger's goes before") }
    test.log.info("none")
    let records = try test.closeAndRead().records
    #expect(records.map(\.trace) == [trace, trace, other, nil])
    #expect(records[0].trace?.description == text)
    #expect(records[2].trace?.traceID == "4bf92f3577b34da6a3ce929d0e0e4737")
  }

  @Test("what is no traceparent is refused")
  func invalidTraces() {
    let (id, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    for text in [
      "", "00-\(id)-\(span)", "00-\(id)-\(span)-01-x", "ff-\(id)-\(span)-01", "0-\(id)-\(span)-01",
      "00-\(id.uppercased())-\(span)-01", "00-\(id.dropLast())-\(span)-01", "00-\(id)-\(span)x-01",
      "00-00000000000000000000000000000000-\(span)-01", "00-\(id)-0000000000000000-01",
      "00-\(id)-\(span)-1", "00-\(id)-\(span)-zz", "é0-\(id)-\(span)-01",
    ] { #expect(TraceContext(text) == nil, "\(text)") }
    #expect(TraceContext(traceID: id, spanID: span)?.flags == 0)
  }

  @Test("fields that are larger than a segment, and than all of the ring, are there")
  func largeFields() throws {
    let test = try TestStore {
      $0.ringSize = 1 << 20
      $0.segmentSize = 1 << 16
    }
    let text = String(repeating: "0123456789", count: 300_000)
    let log = test.log.with(["large": .string(text), "small": 1])
    for index in 0..<3 { log.info("\(index)") }
    let records = try test.closeAndRead().records
    #expect(records.map(\.message) == ["0", "1", "2"])
    #expect(records.allSatisfy { $0.fields.map(\.value) == [.string(Array(text.utf8)), .int(1)] })
  }

  @Test("fields that are longer than a record gets are cut, marked and counted, record by record")
  func cutFields() throws {
    let test = try TestStore()
    let text = String(repeating: "0123456789abcdef", count: (17 << 20) / 16)
    let (one, five) = (
      test.log.with(["t": .string(text)]),
      test.log.with(["a": 1, "t": .string(text), "u": .string(text)])
    )
    one.info("one")
    five.info("five")
    test.log.info("none")
    withLogFields(["t": .string(text)]) { test.log.info("task") }
    let contents = try test.closeAndRead()
    #expect(contents.isWhole && contents.messages == ["one", "five", "none", "task"])
    #expect(contents.records.map(\.isCut) == [true, true, false, true])
    #expect(contents.losses.map { $0.total(.cut) } == [3] && contents.losses.first?.total == 3)
  }

  @Test("thousands of different names find no room in the dictionary, and are there nevertheless")
  func manyNames() throws {
    let test = try TestStore()
    for index in 0..<20_000 {
      test.log.with([.init(repeating: "k", count: index % 40) + "\(index)": 1]).info("x")
    }
    // There is still room for call sites.
    test.log.info("y")
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 20_001)
    let names = contents.records.dropLast().enumerated().map { index, record in
      record.fields.map(\.name) == [.init(repeating: "k", count: index % 40) + "\(index)"]
    }
    #expect(names.allSatisfy { $0 })
    #expect(contents.records.last?.fields.isEmpty == true)
  }

  @Test("a bound logger logs into each store that it is used with by its own key set")
  func severalSessions() throws {
    let tests = [try TestStore(), try TestStore()]
    let logs = tests.map { test in
      // The stores' key sets get different numbers.
      for number in 0..<(test.folder.path == tests[0].folder.path ? 3 : 1) {
        test.log.with(["k\(number)": 0]).info("before")
      }
      return test.log.with(["a": 1, "b": 2])
    }
    for _ in 0..<3 { for log in logs { log.info("x") } }
    for test in tests {
      let contents = try test.closeAndRead()
      #expect(contents.isClean)
      #expect(contents.fieldTexts.suffix(3) == ["a=1 b=2", "a=1 b=2", "a=1 b=2"])
    }
  }

  @Test("a task's fields are in records of all stores, also of many threads that begin at once")
  func severalStores() async throws {
    for _ in 0..<20 {
      let tests = [try TestStore(), try TestStore(), try TestStore()]
      // So that the stores' key sets have other numbers.
      tests[1].log.with(["other": 0]).info("before")
      await withLogFields(["request": "r7", "n": 3]) {
        await withTaskGroup { group in
          for task in 0..<12 {
            let log = tests[task % 3].log
            group.addTask { for _ in 0..<20 { log.info("x") } }
          }
        }
      }
      for test in tests {
        try test.store.blockingClose()
        let contents = Contents(test.folder.path)
        #expect(contents.isClean)
        let texts = contents.fieldTexts.filter { $0 != "other=0" }
        #expect(texts == Array(repeating: "request=r7 n=3", count: 80))
      }
    }
  }

  @Test("calls inside of a message have the context of their own logger")
  func nested() throws {
    let test = try TestStore()
    let (outer, inner) = (test.log.with(["outer": 1]), test.log.with(["inner": 2]))
    func value() -> Int {
      inner.info("inside")
      test.log.info("plain")
      return 7
    }
    outer.info("outside \(value())", metadata: ["own": .int(Int64(value()))])
    let contents = try test.closeAndRead()
    let texts = Set(zip(contents.messages, contents.fieldTexts).map { "\($0): \($1)" })
    #expect(contents.isClean && contents.records.count == 5)
    #expect(texts == ["inside: inner=2", "plain: ", "outside 7: own=7 outer=1"])
  }

  @Test("a logger that is used last by its own log call, or in a deinit, is there long enough")
  func lifetime() throws {
    final class Request {
      let log: Logger
      init(_ log: Logger) { self.log = log }
      deinit { log.info("gone") }
    }
    let test = try TestStore()
    for index in 0..<1000 {
      test.log.with(["n": .int(Int64(index))]).info("\(index)")
      _ = Request(test.log.with(["request": .int(Int64(index))]))
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.records.count == 2000)
    for (index, text) in contents.fieldTexts.enumerated() {
      #expect(text == (index % 2 == 0 ? "n=\(index / 2)" : "request=\(index / 2)"))
    }
  }

  @Test("fields of redacted and hashed values, bytes and containers are as in metadata")
  func allKinds() throws {
    let test = try TestStore()
    let fields: Logger.Metadata = [
      "array": [1, "two", [3.5]], "dictionary": ["k": true], "": "no name", "twice": 1, "twice": 2,
    ]
    test.log.info("call", metadata: fields)
    test.log.with(fields).info("bound")
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let first = contents.records[0].fields, second = contents.records[1].fields
    #expect(first.map(\.name) == second.map(\.name) && first.map(\.value) == second.map(\.value))
    #expect(first.count == 5)
  }

  @Test("a bound logger's records of signal handlers are there, without its fields")
  func signalHandlers() throws {
    let test = try TestStore { $0.servesSignalHandlers = true }
    #expect(test.log.with(["a": 1]).recordInSignalHandler(.error, "in a handler", number: 7))
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.messages == ["in a handler 7"])
    #expect(contents.records.map(\.label) == ["test"] && contents.fieldTexts == [""])
  }

  @Test("after the store is closed, calls of a bound logger are counted as lost")
  func closed() throws {
    let test = try TestStore()
    let log = test.log.with(["a": 1])
    log.info("kept")
    #expect(try test.closeAndRead().messages == ["kept"])
    log.info("lost")
    withLogFields(["b": 2]) { log.info("lost") }
    #expect(test.store.losses.total == 2)
  }
}

extension Contents {
  /// The fields of each record, as `name=value`.
  fileprivate var fieldTexts: [String] {
    records.map { record in
      record.fields.map { "\($0.name)=\($0.value.text)" }.joined(separator: " ")
    }
  }
}

extension Value {
  fileprivate var text: String {
    switch self {
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .string(let bytes): String(decoding: bytes, as: UTF8.self)
    default: "\(self)"
    }
  }
}
