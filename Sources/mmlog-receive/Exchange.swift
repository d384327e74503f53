import CMicroHTTPD
import MMLogReceiving
import MMLogStorage

/// A request and its answer. For the thread of its connection.
final class Exchange {
  private enum State {
    case receiving(Upload)
    /// The answer is known, and the client is still sending.
    case passingOver(Answer, left: Int)
    case answered
  }

  private let server: Server
  private let connection: OpaquePointer
  /// The client, as the log names it.
  private var client = ""
  private var state = State.answered

  /// Shorter bodies are read to their end before a refusal is answered: a client that sends on does
  /// not see an answer. A client that has more to send waits for the answer (`Expect`), or is cut
  /// off.
  private static let longestPassedOver = 1 << 20

  init(_ server: Server, _ connection: OpaquePointer) {
    (self.server, self.connection) = (server, connection)
  }

  /// Whether nothing more is taken from the client.
  var isAnswered: Bool { if case .answered = state { true } else { false } }

  // MARK: - The header

  /// Takes the header of the request.
  ///
  /// - Returns: What the callback of libmicrohttpd returns.
  func begin(method: String, path: String?) -> MHD_Result {
    let answer: Answer
    // Reading what is stored may take longer than a client may be silent.
    defer { mmlog_http_restart_timeout(connection, UInt32(server.timeout)) }
    mmlog_http_restart_timeout(connection, 0)
    do throws(Refusal) {
      guard let path else { throw Refusal(.badRequest, "The request's target is no UTF-8.") }
      try checkFraming()
      client = try server.client(field("authorization"), of: path)
      let request = try ReceiverRequest(method: method, path: path, field: field)
      guard let known = try self.answer(request) else { return .YES }
      answer = known
    } catch {
      server.report(error, client)
      answer = Answer(error)
    }
    if mustAnswerNow { return send(answer) }
    state = .passingOver(answer, left: Self.longestPassedOver)
    return .YES
  }

  /// Refuses a request whose body has two sizes, or two places: a proxy in front may have used the
  /// other value.
  private func checkFraming() throws(Refusal) {
    for (name, title) in [
      ("content-length", "Content-Length"), ("content-range", "Content-Range"),
    ] where count(ofField: name) > 1 {
      throw Refusal(.badRequest, "\(title) is there more than once.")
    }
    guard field("content-length") == nil || field("transfer-encoding") == nil else {
      throw Refusal(.badRequest, "Content-Length is there together with Transfer-Encoding.")
    }
  }

  /// Whether the client has to have an answer before the end of its request: it waits for one, or
  /// has much to send. The connection ends with such an answer.
  private var mustAnswerNow: Bool {
    if field("expect")?.lowercased() == "100-continue" { return true }
    return field("content-length").flatMap { Int($0) } ?? 0 > Self.longestPassedOver
  }

  /// Returns the answer that is known before the body; nil if an upload has begun.
  private func answer(_ request: ReceiverRequest) throws(Refusal) -> Answer? {
    guard case .archive(let name) = request.target else { return .health }
    if request.method != .put {
      return Answer(try server.archives.holding(of: name, client: client))
    }
    switch try server.archives.begin(request, of: name, client: client) {
    case .done(let receipt): return Answer(receipt)
    case .upload(let upload):
      state = .receiving(upload)
      return nil
    }
  }

  /// How often a field is in the request's header.
  private func count(ofField name: String) -> Int {
    var fields = (name: name, count: 0)
    withUnsafeMutablePointer(to: &fields) { fields in
      _ = MHD_get_connection_values(
        connection, .HEADER_KIND,
        { context, _, name, _ in
          let fields = context?.assumingMemoryBound(to: (name: String, count: Int).self)
          let name = name.flatMap { String(validatingCString: $0)?.lowercased() }
          if let fields, fields.pointee.name == name { fields.pointee.count += 1 }
          return .YES
        }, fields)
    }
    return fields.count
  }

  /// The value of a field of the request's header.
  private func field(_ name: String) -> String? {
    MHD_lookup_connection_value(connection, .HEADER_KIND, name).flatMap {
      String(validatingCString: $0)
    }
  }

  // MARK: - The body

  /// Takes bytes of the body.
  func take(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
    switch state {
    case .receiving(let upload): return upload.append(bytes) ? .YES : .NO
    case .passingOver(let answer, let left):
      state = .passingOver(answer, left: left - bytes.count)
      return left >= bytes.count ? .YES : .NO
    case .answered: return .YES
    }
  }

  /// Answers, when the whole request has come.
  func finish() -> MHD_Result {
    switch state {
    case .answered: return .YES
    case .passingOver(let answer, _): return send(answer)
    case .receiving(let upload):
      // Checking may take longer than a client may be silent.
      defer { mmlog_http_restart_timeout(connection, UInt32(server.timeout)) }
      mmlog_http_restart_timeout(connection, 0)
      do throws(Refusal) {
        let receipt = try upload.finish()
        server.report(receipt, client)
        return send(Answer(receipt))
      } catch {
        server.report(error, client)
        return send(Answer(error))
      }
    }
  }

  /// Ends the exchange, however the request has ended.
  func end() {
    if case .receiving(let upload) = state { upload.suspend() }
  }

  private func send(_ answer: Answer) -> MHD_Result {
    if case .receiving(let upload) = state { upload.suspend() }
    state = .answered
    let response = answer.body.utf8.span.bytes.withUnsafeBytes {
      mmlog_http_response($0.baseAddress, $0.count)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    for (name, value) in answer.fields { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, answer.status, response)
  }
}
