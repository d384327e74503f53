import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

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
        metadata: ["list": .array([.int(1), .string("two")]), "none": .null])
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

  /// Two records that begin spans, and two that end them.
  private func twoSpans() throws -> TestBatch {
    try TestBatch { log, _ in
      let outer = log.begin("outer")
      log.begin("inner", in: outer).end()
      outer.end()
    }
  }

  @Test("spans that are refused are found by halving, and logs are sent once")
  func refusedSpans() async throws {
    // Logs; all spans, those of the first two records have none; both of the others, one, the
    // other.
    let answers = [200, 400, 400, 413, 200].map { PlannedAnswer(status: $0) }
    let server = try TestReceiver(answers)
    let answer = try await OTLPDestination(url: server.url).send(twoSpans().batch)
    #expect(answer.refused.map(\.index) == [2] && answer.refusedUnnamed == 0)
    #expect(answer.refused.first?.reason.hasPrefix("its span: ") == true)
    let requests = try server.requests
    #expect(requests.map(\.path) == ["/v1/logs"] + Array(repeating: "/v1/traces", count: 4))
    // A receiver that drops repeats takes each.
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
    // partial_success { rejected_log_records: 2^63 - 1 }, and the same of spans.
    let number = [UInt8](repeating: 0xFF, count: 8) + [0x7F]
    let partial = PlannedAnswer(body: Data([0x0A, 10, 0x08] + number))
    let server = try TestReceiver([partial, partial])
    let batch = try twoSpans().batch
    let answer = try await OTLPDestination(url: server.url).send(batch)
    #expect(answer.refused.isEmpty && answer.refusedUnnamed == batch.count)
  }
}
