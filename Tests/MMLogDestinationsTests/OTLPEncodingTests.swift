import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

@testable import MMLogDestinations

@Suite("OTLP in protocol buffers") struct OTLPEncodingTests {
  private struct Span: Decodable {
    let trace: String
    let span: String
    let parent: String
    let name: String
    let nanoseconds: Int
    let failed: Bool
    let scope: String
  }

  @Test(
    "by OpenTelemetry's own definitions, logs are what they are in JSON, and spans are whole",
    .enabled(
      if: Python.has("opentelemetry.proto"),
      "python3 has no module opentelemetry.proto: Tools/setup --receivers"))
  func sameAsJSON() async throws {
    let server = try TestReceiver()
    let long = String(repeating: "long ", count: 100_000)
    let made = try TestBatch { log, store in
      log.info("plain")
      log.error(
        "\(1, name: "int") \(-5, name: "negative") \(2.5, name: "double") \(true, name: "bool")")
      log.notice("\(UInt64.max, name: "large") \(long, name: "text")", metadata: ["key": "värde"])
      log.debug(
        "nested",
        metadata: [
          "list": .array([.int(1), .string("two")]), "none": .null, "thread.id": "mine",
        ])
      store.logger(label: "other").critical("another label")
      let outer = log.begin("outer \(7, name: "id")")
      let inner = log.begin("inner", in: outer)
      inner.end("inner done", failed: true)
      outer.end("outer done \(3, name: "rows")")
    }
    _ = try await OTLPDestination(url: server.url).send(made.batch)
    let requests = try server.requests
    #expect(requests.map(\.path) == ["/v1/logs", "/v1/traces"])
    var formatter = OTLPFormatter()
    var buffer = TextBuffer()
    for record in made.records { formatter.append(record, to: &buffer) }
    formatter.end(&buffer)
    let files = ["logs", "traces", "json"].map { "\(server.folder.path)/\($0)" }
    let json = buffer.withUnsafeBytes { Data($0) }
    for (path, data) in zip(files, [requests[0].body, requests[1].body, json]) {
      try data.write(to: URL(filePath: path))
    }
    let output = "\(server.folder.path)/spans"
    try ChildProcess.run(Python.program, [Python.script("otlp.py")] + files, output: output)
    let spans = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map {
      try JSONDecoder().decode(Span.self, from: Data($0.utf8))
    }
    #expect(spans.map(\.name) == ["inner", "outer {id}"])
    #expect(spans.map(\.failed) == [true, false])
    #expect(spans[0].parent == spans[1].span && spans[1].parent.isEmpty)
    #expect(spans[0].trace == spans[1].trace && spans[0].trace.count == 32)
    #expect(spans.allSatisfy { $0.nanoseconds >= 0 && $0.scope == "orders.matching" })
  }

  /// The parts of a sent span that belong to its trace.
  private struct Sent: Equatable {
    var trace = ""
    var span = ""
    var parent = ""
    var name = ""
    var kind: UInt64 = 0

    init(_ message: ArraySlice<UInt8>) {
      var reader = ProtobufReader(message)
      func digits(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      }
      while let (field, value) = reader.next() {
        switch (field, value) {
        case (1, .bytes(let id)): trace = digits(id)
        case (2, .bytes(let id)): span = digits(id)
        case (4, .bytes(let id)): parent = digits(id)
        case (5, .bytes(let text)): name = String(decoding: text, as: UTF8.self)
        case (6, .number(let number)): kind = number
        default: break
        }
      }
    }
  }

  /// The spans of a batch, by their names.
  private func spans(of batch: TestBatch) -> [String: Sent] {
    func messages(in outer: [ArraySlice<UInt8>], field: UInt64) -> [ArraySlice<UInt8>] {
      outer.flatMap { message in
        var (reader, inner) = (ProtobufReader(message), [ArraySlice<UInt8>]())
        while let next = reader.next() {
          if next.field == field, case .bytes(let bytes) = next.value { inner.append(bytes) }
        }
        return inner
      }
    }
    var formatter = OTLPSpanFormatter()
    var buffer = TextBuffer()
    for record in batch.records { formatter.append(record, to: &buffer) }
    formatter.end(&buffer)
    let request = buffer.withUnsafeBytes { Array($0)[...] }
    let sessions = messages(in: [request], field: 1)
    let spans = messages(in: messages(in: sessions, field: 2), field: 2).map { Sent($0) }
    return Dictionary(spans.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  @Test("a span is sent in the trace that it began in, wherever it ends, and so are its parts")
  func traces() throws {
    let ids = ("4bf92f3577b34da6a3ce929d0e0e4736", "0123456789abcdef0123456789abcdef")
    let caller = "00f067aa0ba902b7"
    let trace = try #require(TraceContext(traceID: ids.0, spanID: caller))
    let other = try #require(TraceContext(traceID: ids.1, spanID: "00f067aa0ba902b8"))
    let sent = spans(
      of: try TestBatch { log, _ in
        let served = log.with(trace: trace).begin("served")
        log.begin("part", in: served).end()
        withLogFields(trace: other) { served.end() }
        let late = log.with(trace: trace).begin("late")
        late.end()
        log.begin("alone").end()
      })
    let served = try #require(sent["served"])
    #expect(served.trace == ids.0 && served.parent == caller)
    #expect(sent["part"]?.trace == ids.0 && sent["part"]?.parent == served.span)
    #expect(sent["late"]?.trace == ids.0 && sent["late"]?.parent == caller)
    let alone = try #require(sent["alone"])
    #expect(alone.trace.hasSuffix(alone.span) && alone.parent.isEmpty)
  }

  @Test("a span has the kind that its end names")
  func kinds() throws {
    let names = ["server", "client", "producer", "consumer", "internal", "other"]
    let sent = spans(
      of: try TestBatch { log, _ in
        log.begin("server").end(metadata: ["a": .array([1, "x"]), "span.kind": "server"])
        log.begin("client").end(metadata: ["span.kind": "client"])
        log.begin("producer").end(metadata: ["span.kind": "producer"])
        log.begin("consumer").end(metadata: ["span.kind": "consumer"])
        log.begin("internal").end()
        log.begin("other").end(metadata: ["span.kind": 2])
      })
    #expect(names.map { sent[$0]?.kind } == [2, 3, 4, 5, 1, 1])
  }

  /// A batch of two records that begin spans, and two that end them.
  private func twoSpans() throws -> TestBatch {
    try TestBatch { log, _ in
      let outer = log.begin("outer")
      log.begin("inner", in: outer).end()
      outer.end()
    }
  }

  @Test("spans that are refused are found by halving, and logs are sent once")
  func refusedSpans() async throws {
    // The answers are to the logs, to both spans, to both spans again (the first two records have
    // none), to one span, and to the other.
    let answers = [200, 400, 400, 413, 200].map { PlannedAnswer(status: $0) }
    let server = try TestReceiver(answers)
    let answer = try await OTLPDestination(url: server.url).send(twoSpans().batch)
    #expect(answer.refused.map(\.index) == [2] && answer.refusedUnnamed == 0)
    #expect(answer.refused.first?.reason.hasPrefix("its span: ") == true)
    let requests = try server.requests
    #expect(requests.map(\.path) == ["/v1/logs"] + Array(repeating: "/v1/traces", count: 4))
    // The names differ, so a receiver that drops repeats takes each request.
    #expect(Set(requests.dropFirst().map { $0.headers["idempotency-key"] }).count == 4)
  }

  @Test("spans that an answer refuses without naming them count as refused")
  func unnamedSpans() async throws {
    // partial_success { rejected_spans: 1, error_message: "no" }
    let partial = PlannedAnswer(body: Data([0x0A, 6, 0x08, 1, 0x12, 2, 0x6E, 0x6F]))
    let server = try TestReceiver([PlannedAnswer(), partial])
    let answer = try await OTLPDestination(url: server.url).send(twoSpans().batch)
    #expect(answer.refused.isEmpty && answer.refusedUnnamed == 1)
    #expect(answer.reason == "spans: no")
  }

  @Test("numbers of refused records that cannot be are no more than there are")
  func impossibleNumbers() async throws {
    // partial_success { rejected_log_records: 2^63 - 1 }, and the same for spans.
    let number = [UInt8](repeating: 0xFF, count: 8) + [0x7F]
    let partial = PlannedAnswer(body: Data([0x0A, 10, 0x08] + number))
    let server = try TestReceiver([partial, partial])
    let batch = try twoSpans().batch
    let answer = try await OTLPDestination(url: server.url).send(batch)
    #expect(answer.refused.isEmpty && answer.refusedUnnamed == batch.count)
  }
}
