#if Tracing
  import MMLog
  import MMLogFormat
  import MMLogReader
  import MMLogTracing
  import TestSupport
  import Testing
  import Tracing

  @Suite("swift-distributed-tracing", .serialized) struct TracerTests {
    private struct Refusal: Error {}

    private struct Headers: Extractor, Injector {
      func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
      func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key] = value
      }
    }

    private func read(_ path: String) -> [String: LogReader.Record] {
      var records: [String: LogReader.Record] = [:]
      for case .record(let record) in LogReader(paths: [path]) {
        let isEnd = if case .end = record.span?.event { true } else { false }
        records[isEnd ? "end of \(record.span?.name ?? "")" : record.message] = record
      }
      return records
    }

    @Test("spans of libraries are spans of the log, and records in them belong to span and trace")
    func spans() async throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let log = store.logger(label: "test")
      let tracer = MMLogTracer(store: store)
      var sent: [String: String] = [:]
      let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      var context = ServiceContext.topLevel
      tracer.extract(["traceparent": header], into: &context, using: Headers())
      try? await tracer.withSpan("GET /orders/{id}", context: context, ofKind: .server) { outer in
        outer.attributes["http.request.method"] = "GET"
        log.info("in outer")
        await withLogFields(["tenant": "acme"]) {
          await tracer.withSpan("query") { inner in
            inner.addEvent(SpanEvent(name: "rows", attributes: ["count": 3]))
            await withTaskGroup(of: Void.self) { group in
              group.addTask { log.info("in task") }
            }
            inner.setStatus(SpanStatus(code: .error, message: "no rows"))
          }
          log.info("in fields")
        }
        if let current = ServiceContext.current {
          tracer.inject(current, into: &sent, using: Headers())
        }
        throw Refusal()
      }
      log.info("outside")
      try await store.close()

      let records = read(folder.path)
      let outer = try #require(records["GET /orders/{id}"])
      let inner = try #require(records["query"])
      let outerNumber = try #require(outer.span?.number)
      #expect(inner.span?.event == .begin(parent: outerNumber))
      #expect(outer.trace?.description == header && outer.fields.map(\.name) == ["span.kind"])
      let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
      for name in [
        "in outer", "query", "rows", "in task", "in fields", "end of query",
        "end of GET /orders/{id}",
      ] {
        #expect(records[name]?.trace?.traceID == trace, "\(name)")
      }
      #expect(records["in outer"]?.spanNumber == outerNumber)
      #expect(records["in fields"]?.spanNumber == outerNumber)
      for name in ["in task", "rows"] {
        #expect(records[name]?.spanNumber == inner.span?.number, "\(name)")
      }
      #expect(records["in task"]?.fields.map(\.name) == ["tenant"])
      #expect(records["outside"]?.trace == nil && records["outside"]?.spanNumber == nil)
      let ends = ["end of query", "end of GET /orders/{id}"].compactMap { records[$0] }
      #expect(ends.first?.message == "no rows")
      #expect(ends.last?.fields.map(\.name) == ["span.kind", "http.request.method"])
      #expect(ends.last?.field("span.kind") == .string(Array("server".utf8)))
      guard case .end(_, _, let failed) = ends.first?.span?.event else {
        Issue.record("no end")
        return
      }
      #expect(failed)
      #expect(records.values.contains { $0.level == .error && $0.spanNumber == outerNumber })
      #expect(sent["traceparent"] == "00-\(trace)-\(LogReader.Span.text(of: outerNumber))-01")
    }

    @Test("without a parent, a span begins a trace; below its level, it hands one on all the same")
    func traces() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let tracer = MMLogTracer(store: store)
      let quiet = MMLogTracer(store: store, label: "quiet", level: .trace)
      var ids: [String] = []
      for _ in 0..<2 {
        quiet.withSpan("quiet", context: .topLevel) { span in
          #expect(!span.isRecording)
          tracer.withSpan("loud") { span in
            #expect(span.isRecording)
            var sent: [String: String] = [:]
            tracer.inject(span.context, into: &sent, using: Headers())
            ids.append(String(sent["traceparent"]?.split(separator: "-")[1] ?? ""))
          }
        }
      }
      try store.close()
      var found: [String] = []
      for case .record(let record) in LogReader(paths: [folder.path]) {
        if record.message == "loud" { found.append(record.trace?.traceID ?? "") }
      }
      #expect(found == ids && Set(ids).count == 2 && ids.allSatisfy { $0.count == 32 })
    }

    @Test("a span within one of mmlog's is a part of that, also if a tracer's span is around both")
    func withinLoggedSpan() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let (log, tracer) = (store.logger(label: "test"), MMLogTracer(store: store))
      tracer.withSpan("outer") { _ in
        log.span("logged") { _ in tracer.withSpan("inner") { $0.operationName = "renamed" } }
      }
      try store.close()

      let records = read(folder.path)
      func number(_ name: String) -> UInt64? { records[name]?.span?.number }
      func parent(_ name: String) -> UInt64? {
        if case .begin(let parent) = records[name]?.span?.event { parent } else { nil }
      }
      #expect(parent("inner") != nil && parent("inner") == number("logged"))
      #expect(parent("logged") != nil && parent("logged") == number("outer"))
      #expect(number("end of renamed") == number("inner"))
      #expect(Set(records.values.map { $0.trace?.traceID }).count == 1)
    }

    @Test("a span with a context of its own is no part of the task's span, nor is what is in it")
    func ownContext() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let log = store.logger(label: "test")
      let tracer = MMLogTracer(store: store)
      let quiet = MMLogTracer(store: store, label: "quiet", level: .trace)
      let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      var remote = ServiceContext.topLevel
      tracer.extract(["traceparent": header], into: &remote, using: Headers())
      let exchange = log.begin("exchange")
      withLogFields(["tenant": "acme"], span: exchange) {
        // Nobody's span but the exchange's is open.
        tracer.withSpan("first", context: .topLevel) { outer in
          tracer.withSpan("job", context: .topLevel) { _ in
            log.info("in job")
            tracer.withSpan("part of job") { _ in }
          }
          tracer.withSpan("served", context: remote) { _ in log.info("in served") }
          tracer.withSpan("given", context: outer.context) { _ in }
          quiet.withSpan("quiet", context: .topLevel) { _ in
            log.info("in quiet")
            tracer.withSpan("in quiet span") { _ in }
          }
          log.info("in first")
        }
      }
      try store.close()

      let records = read(folder.path)
      func number(_ name: String) -> UInt64? { records[name]?.span?.number }
      func parent(_ name: String) -> UInt64? {
        if case .begin(let parent) = records[name]?.span?.event { parent } else { nil }
      }
      #expect(parent("first") != nil && parent("first") == number("exchange"))
      for name in ["job", "served", "in quiet span"] {
        #expect(number(name) != nil && parent(name) == nil, "\(name)")
        #expect(records[name]?.fields.map(\.name) == ["tenant"], "\(name)")
        let trace = records[name]?.trace?.traceID
        #expect(trace != nil && trace != records["first"]?.trace?.traceID, "\(name)")
      }
      #expect(records["served"]?.trace?.description == header)
      for name in ["first", "job", "served", "in quiet span", "given"] {
        #expect(records["end of \(name)"]?.trace == records[name]?.trace, "\(name)")
      }
      #expect(parent("part of job") == number("job") && parent("given") == number("first"))
      #expect(records["in job"]?.spanNumber == number("job"))
      #expect(records["in served"]?.spanNumber == number("served"))
      #expect(records["in first"]?.spanNumber == number("first"))
      #expect(records["in quiet"] != nil && records["in quiet"]?.spanNumber == nil)
    }

    @Test("a span keeps the attributes of its links, and a status's message where it throws")
    func linksAndStatus() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let tracer = MMLogTracer(store: store)
      let quiet = MMLogTracer(store: store, label: "quiet", level: .trace)
      let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      var remote = ServiceContext.topLevel
      tracer.extract(["traceparent": header], into: &remote, using: Headers())
      let noSpan = quiet.startSpan("quiet", context: .topLevel)
      try? tracer.withSpan("linked", context: .topLevel) { span in
        span.addLink(SpanLink(context: remote, attributes: ["kind": "follows", "rank": 2]))
        span.addLink(SpanLink(context: noSpan.context, attributes: [:]))
        span.addLink(SpanLink(context: remote, attributes: [:]))
        span.setStatus(SpanStatus(code: .error, message: "no rows"))
        throw Refusal()
      }
      try? tracer.withSpan("unsaid", context: .topLevel) { span in
        span.setStatus(SpanStatus(code: .ok, message: "fine so far"))
        throw Refusal()
      }
      noSpan.end()
      try store.close()

      let records = read(folder.path)
      let end = try #require(records["end of linked"])
      #expect(end.message == "no rows" && records["end of unsaid"]?.message == "")
      for name in ["linked", "unsaid"] {
        guard case .end(_, _, let failed) = records["end of \(name)"]?.span?.event else {
          Issue.record("no end of \(name)")
          continue
        }
        #expect(failed)
      }
      let trace = Value.string(Array(header.utf8))
      #expect(
        end.field("links")
          == .array([
            .dictionary([
              ("traceparent", trace),
              (
                "attributes",
                .dictionary([("kind", .string(Array("follows".utf8))), ("rank", .int(2))])
              ),
            ]), trace,
          ]))
    }

    @Test("an error's type is recorded once, and as its caller says if it does")
    func errorTypes() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      MMLogTracer(store: store).withSpan("span", context: .topLevel) { span in
        span.recordError(Refusal())
        span.recordError(Refusal(), attributes: ["exception.type": "refusal"])
      }
      try store.close()
      let types = LogReader.records(in: folder).filter { $0.level == .error }.map { record in
        record.fields.filter { $0.name == "exception.type" }.map { "\($0.value)" }
      }
      #expect(types.count == 2 && types.allSatisfy { $0.count == 1 }, "\(types)")
      #expect(types.last == ["string(\(Array("refusal".utf8)))"])
    }

    @Test("a span that is off sends what its caller sent, and nothing if there is none")
    func offSpans() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let quiet = MMLogTracer(store: store, label: "quiet", level: .trace)
      func sent(in context: ServiceContext) -> [String: String] {
        quiet.withSpan("quiet", context: context) { outer in
          #expect(!outer.isRecording)
          return quiet.withSpan("within", context: outer.context) { span in
            var sent: [String: String] = [:]
            quiet.inject(span.context, into: &sent, using: Headers())
            return sent
          }
        }
      }
      let headers = ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]
      var context = ServiceContext.topLevel
      quiet.extract(headers, into: &context, using: Headers())
      #expect(sent(in: context) == headers)
      #expect(sent(in: .topLevel).isEmpty)
      // Flags that nobody knows yet are not handed on.
      let later = headers.mapValues { String($0.dropLast(2)) + "ff" }
      quiet.extract(later, into: &context, using: Headers())
      #expect(sent(in: context) == headers.mapValues { String($0.dropLast(2)) + "03" })
      try store.close()
    }

    @Test("a context that is bound in fields has span and trace of its own, and the task's fields")
    func boundInFields() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let log = store.logger(label: "test")
      let tracer = MMLogTracer(store: store)
      let job = withLogFields(["queue": "q"]) { tracer.startSpan("job", context: .topLevel) }
      withLogFields(["worker": 3]) {
        ServiceContext.withValue(job.context) {
          log.info("in one")
          log.with(["bound": 1]).info("bound")
          withLogFields(["step": 1]) { log.info("in step") }
          tracer.withSpan("part") { _ in log.info("in part") }
        }
        withLogFields(["step": 2]) {
          ServiceContext.withValue(job.context) { log.info("in two") }
          log.info("outside")
        }
      }
      // Nothing of the task's is in the place of what was there when the span began.
      ServiceContext.withValue(job.context) { log.info("without fields") }
      job.end()
      try store.close()

      let records = read(folder.path)
      let fields = [
        "in one": ["worker"], "bound": ["bound", "worker"], "in step": ["worker", "step"],
        "part": ["worker"], "in part": ["worker"], "in two": ["worker", "step"],
        "without fields": ["queue"],
      ]
      let trace = try #require(records["job"]?.trace?.traceID)
      for (name, fields) in fields {
        #expect(records[name]?.fields.map(\.name) == fields, "\(name)")
        #expect(records[name]?.trace?.traceID == trace, "\(name)")
      }
      let number = try #require(records["job"]?.span?.number)
      #expect(records["part"]?.span?.event == .begin(parent: number))
      for name in ["in one", "bound", "in step", "in two", "without fields"] {
        #expect(records[name]?.spanNumber == number, "\(name)")
      }
      #expect(records["in part"]?.spanNumber == records["part"]?.span?.number)
      #expect(records["outside"]?.spanNumber == nil && records["outside"]?.trace == nil)
    }

    @Test("a request whose context is bound in fields is no part of the span that they are in")
    func requestInFields() throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let log = store.logger(label: "test")
      let tracer = MMLogTracer(store: store)
      let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      var remote = ServiceContext.topLevel
      tracer.extract(["traceparent": header], into: &remote, using: Headers())
      tracer.withSpan("listen", context: .topLevel) { _ in
        withLogFields(["port": 80]) {
          ServiceContext.withValue(remote) {
            log.info("accepted")
            withLogFields(["client": "c"]) { log.info("known") }
            tracer.withSpan("GET /") { _ in log.info("in GET /") }
          }
          ServiceContext.withValue(.topLevel) {
            log.info("apart")
            tracer.withSpan("own") { _ in }
          }
          log.info("in listen")
        }
      }
      let exchange = log.begin("exchange")
      withLogFields(span: exchange) {
        // As with `context: remote`: nobody's span but the exchange's is open.
        ServiceContext.withValue(remote) {
          log.info("received")
          tracer.withSpan("POST /") { _ in }
        }
      }
      try store.close()

      let records = read(folder.path)
      func number(_ name: String) -> UInt64? { records[name]?.span?.number }
      #expect(number("listen") != nil && number("GET /") != nil && number("exchange") != nil)
      #expect(records["GET /"]?.span?.event == .begin(parent: nil))
      #expect(records["in GET /"]?.spanNumber == number("GET /"))
      for name in ["accepted", "known", "GET /", "received", "POST /"] {
        #expect(records[name]?.trace?.description == header, "\(name)")
      }
      #expect(records["accepted"]?.spanNumber == nil && records["known"]?.spanNumber == nil)
      #expect(records["apart"]?.spanNumber == nil && records["apart"]?.trace == nil)
      #expect(records["own"]?.span?.event == .begin(parent: nil))
      #expect(records["own"]?.trace?.traceID != records["listen"]?.trace?.traceID)
      #expect(records["in listen"]?.spanNumber == number("listen"))
      #expect(records["in listen"]?.trace?.traceID == records["listen"]?.trace?.traceID)
      for name in ["accepted", "in GET /", "apart", "own", "in listen"] {
        #expect(records[name]?.fields.map(\.name) == ["port"], "\(name)")
      }
      #expect(records["known"]?.fields.map(\.name) == ["port", "client"])
      #expect(records["received"]?.spanNumber == number("exchange"))
      #expect(records["POST /"]?.span?.event == .begin(parent: number("exchange")))
    }

    @Test("a span that is off hands on the span above it, and none of the task that it comes to")
    func offSpansElsewhere() async throws {
      let folder = TemporaryDirectory()
      let store = try LogStore(directory: folder.path, name: "test")
      let log = store.logger(label: "test")
      let tracer = MMLogTracer(store: store)
      let quiet = MMLogTracer(store: store, label: "quiet", level: .trace)
      let above = await tracer.withSpan("above", context: .topLevel) { above in
        let off = quiet.startSpan("off")
        await Task.detached { tracer.withSpan("below", context: off.context) { _ in } }.value
        return above
      }
      let top = quiet.startSpan("off", context: .topLevel)
      tracer.withSpan("other", context: .topLevel) { _ in
        tracer.withSpan("apart", context: top.context) { _ in log.info("in apart") }
        quiet.withSpan("off", context: above.context) { _ in log.info("in above") }
        quiet.withSpan("off") { _ in log.info("in other") }
      }
      let last = tracer.startSpan("last", context: .topLevel)
      store.logger(label: "tracing").level = .off
      last.end()
      try await store.close()

      let records = read(folder.path)
      func number(_ name: String) -> UInt64? { records[name]?.span?.number }
      #expect(number("above") != nil && number("other") != nil && number("apart") != nil)
      #expect(records["below"]?.span?.event == .begin(parent: number("above")))
      #expect(records["apart"]?.span?.event == .begin(parent: nil))
      #expect(records["in apart"]?.spanNumber == number("apart"))
      #expect(records["in above"]?.spanNumber == number("above"))
      #expect(records["in other"]?.spanNumber == number("other"))
      #expect(records["end of last"] != nil)
    }
  }
#endif
