import MMLogFormat
import MMLogReader
package import MMLogShipping
import MMLogSystem

/// Sends records to any receiver of OpenTelemetry's protocol over HTTP: logs to `/v1/logs`, spans
/// to `/v1/traces`, in protocol buffers. See the specification "OTLP/HTTP".
///
/// Records that the receiver refuses of a request that it took (`partial_success`) are counted; the
/// receiver does not say which records these are. A record whose span is refused counts as refused,
/// although the receiver has it as a log.
package final class OTLPDestination: LogDestination {
  private let receiver: Receiver
  private let url: String
  private let sendsSpans: Bool
  private let state = LockedValue(State())

  private struct State: @unchecked Sendable {
    // Proof: touched under the lock alone. The formatters keep nothing of a batch that is over.
    var logs = OTLPLogFormatter()
    var spans = OTLPSpanFormatter()
    /// The last batch whose logs were taken, and the answer: its spans may have to be sent again.
    var taken: (id: String, answer: LogBatch.Answer)?
  }

  /// Names a receiver.
  ///
  /// - Parameters:
  ///   - url: The receiver's base, such as `http://collector:4318`; the paths of the protocol are
  ///     added.
  ///   - sendsSpans: Whether spans are sent, too.
  package init(url: String, sendsSpans: Bool = true, settings: HTTPSettings = HTTPSettings()) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.sendsSpans = sendsSpans
    receiver = Receiver(settings)
  }

  package func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
    var answer = try await sendLogs(of: batch)
    if sendsSpans { try await sendSpans(of: batch, 0..<batch.count, &answer) }
    return answer
  }

  package func check() async throws {
    // Requests without records are valid.
    _ = try await post(TextBuffer(), to: logsURL, nil)
    if sendsSpans { _ = try await post(TextBuffer(), to: tracesURL, nil) }
  }

  private func sendLogs(of batch: LogBatch) async throws -> LogBatch.Answer {
    if let known = state.withLock({ $0.taken }), known.id == batch.id { return known.answer }
    let response = try await post(encodeLogs(of: batch), to: logsURL, batch.id)
    let answer = LogBatch.Answer(ofOTLP: response)
    state.withLock { $0.taken = (batch.id, answer) }
    return answer
  }

  /// Sends the spans that end in a range of the records. The receiver has the logs already. If it
  /// refuses spans, this finds out which, and does not send the logs again.
  private func sendSpans(
    of batch: LogBatch, _ range: Range<Int>, _ answer: inout LogBatch.Answer
  ) async throws {
    let spans = encodeSpans(of: batch, range)
    if spans.isEmpty { return }
    let isWhole = range.count == batch.count
    let id = isWhole ? batch.id : "\(batch.id)-\(range.lowerBound)-\(range.upperBound)"
    do {
      let refused = LogBatch.Answer(ofOTLP: try await post(spans, to: tracesURL, id))
      if refused.refusedUnnamed == 0 { return }
      answer.refusedUnnamed = min(answer.refusedUnnamed + refused.refusedUnnamed, batch.count)
      if answer.reason.isEmpty { answer.reason = "spans: \(refused.reason)" }
    } catch let error as DeliveryError where error.remedy == .halve || error.remedy == .makeSmaller
    {
      guard range.count > 1 else {
        answer.refused.append(.init(index: range.lowerBound, reason: "its span: \(error.message)"))
        return
      }
      let middle = range.lowerBound + range.count / 2
      try await sendSpans(of: batch, range.lowerBound..<middle, &answer)
      try await sendSpans(of: batch, middle..<range.upperBound, &answer)
    }
  }

  private func post(
    _ body: consuming TextBuffer, to url: String, _ id: String?
  ) async throws -> HTTPResponse {
    var headers = [(name: "Content-Type", value: "application/x-protobuf")]
    if let id { headers.append(("Idempotency-Key", id)) }
    let response = try await receiver.post(body, to: url, headers: headers)
    if response.isSuccess { return response }
    let error = response.error(from: url, response.statusMessage)
    // The receiver may take logs alone.
    guard url == tracesURL, [404, 405, 501].contains(response.status) else { throw error }
    throw DeliveryError.blocked(
      "\(error.message); if the receiver takes no spans, set spans = no")
  }

  private var logsURL: String { "\(url)/v1/logs" }
  private var tracesURL: String { "\(url)/v1/traces" }

  private func encodeLogs(of batch: LogBatch) -> TextBuffer {
    var output = TextBuffer(capacity: 1 << 16)
    state.withLock { state in
      batch.forEach { state.logs.append($0, to: &output) }
      state.logs.end(&output)
    }
    output.append(gapsOf: batch)
    return output
  }

  private func encodeSpans(of batch: LogBatch, _ range: Range<Int>) -> TextBuffer {
    var output = TextBuffer()
    state.withLock { state in
      var index = 0
      batch.forEach {
        if range.contains(index) { state.spans.append($0, to: &output) }
        index += 1
      }
      state.spans.end(&output)
    }
    return output
  }
}

extension TextBuffer {
  /// Appends gaps as records of a session.
  fileprivate mutating func append(gapsOf batch: LogBatch) {
    if batch.gaps.isEmpty { return }
    let session = begin(field: 1)
    append(resource: batch.session)
    let label = begin(field: 2)
    let scope = begin(field: 1)
    append(field: 1, GapRecord.label)
    end(scope)
    for gap in GapRecord.all(of: batch) { append(gap) }
    end(label)
    end(session)
  }

  private mutating func append(_ gap: GapRecord) {
    let record = begin(field: 2)
    append(field: 1, fixed64: UInt64(max(0, gap.time.nanosecondsSince1970)))
    append(field: 2, varint: UInt64(Level.warning.severityNumber))
    append(field: 3, Level.warning.name)
    let body = begin(field: 5)
    append(field: 1, text: gap.text)
    end(body)
    append(attribute: "log.record.uid", gap.id, field: 6)
    for (name, value) in gap.attributes {
      let start = begin(field: 6)
      append(field: 1, text: name)
      let any = begin(field: 2)
      switch value {
      case .text(let text): append(field: 1, text: text)
      case .number(let number): append(field: 3, varint: UInt64(bitPattern: number))
      }
      end(any)
      end(start)
    }
    append(field: 12, "mmlog.gap")
    end(record)
  }
}

extension LogBatch.Answer {
  /// Reads the answer of a receiver of OTLP: an `ExportLogsServiceResponse` or an
  /// `ExportTraceServiceResponse`, which have the same fields. Any other body says nothing: the
  /// status was a success.
  fileprivate init(ofOTLP response: HTTPResponse) {
    var refused: Int64 = 0
    var message = ""
    var reader = ProtobufReader(response.body[...])
    while let (field, value) = reader.next() {
      guard field == 1, case .bytes(let partial) = value else { continue }
      var inner = ProtobufReader(partial)
      while let (field, value) = inner.next() {
        switch (field, value) {
        case (1, .number(let count)): refused = Int64(bitPattern: count)
        case (2, .bytes(let text)): message = String(decoding: text, as: UTF8.self).excerpt
        default: continue
        }
      }
    }
    // No batch has so many records, and the sum of two such counts does not overflow.
    self.init(refusedUnnamed: Int(UInt32(clamping: refused)), reason: message)
  }
}

extension HTTPResponse {
  /// The message of a `google.rpc.Status`, which an error's body is; nil for any other body.
  fileprivate var statusMessage: String? {
    guard header("content-type")?.hasPrefix("application/x-protobuf") == true else {
      return nil
    }
    var reader = ProtobufReader(body[...])
    while let (field, value) = reader.next() {
      if field == 2, case .bytes(let text) = value { return String(decoding: text, as: UTF8.self) }
    }
    return nil
  }
}
