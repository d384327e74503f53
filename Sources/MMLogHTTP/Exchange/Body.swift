import MMLog
import MMLogFormat
import Synchronization

extension HTTPLog {
  /// The message of an exchange that a body belongs to.
  public enum Message: Sendable {
    /// The request.
    case request
    /// The response.
    case response
  }

  /// A body that is recorded while it passes by: its bytes go where they went before, and are given
  /// to ``append(_:)-(UnsafeRawBufferPointer)`` on the way.
  ///
  /// It keeps at most ``Options/longestBody`` bytes: redacted ones, or a form's bytes as they are.
  /// ``finish()`` redacts what is left to redact, and records the bytes. Until then, they are in
  /// the process's memory, and in no ring. So a body of any size takes no more memory than that,
  /// and bytes behind the limit take little time. Any thread.
  public final class Body: @unchecked Sendable {
    // Sendable: the parts are touched under the lock.
    private let lock = Mutex(())
    private let parts: [BodyPart]

    fileprivate init(_ parts: [BodyPart]) { self.parts = parts }

    // An abandoned body is recorded as far as it came.
    deinit { finish() }

    /// Takes the next bytes of the body.
    ///
    /// - Parameter bytes: The bytes, which are copied.
    public func append(_ bytes: UnsafeRawBufferPointer) {
      lock.withLock { _ in for part in parts { part.append(bytes) } }
    }

    /// Takes the next bytes of the body.
    ///
    /// - Parameter bytes: The bytes, which are copied.
    public func append(_ bytes: some Sequence<UInt8>) {
      let isDone: Void? = bytes.withContiguousStorageIfAvailable {
        append(UnsafeRawBufferPointer($0))
      }
      if isDone == nil { Array(bytes).withUnsafeBytes { append($0) } }
    }

    /// Records the body, as far as it came. Afterwards, it takes no more bytes. Deinitialization
    /// does this, too.
    public func finish() {
      lock.withLock { _ in for part in parts { part.finish() } }
    }
  }
}

extension HTTPLog.Exchange {
  /// Begins to record a body of the exchange while it passes by.
  ///
  /// The body's record belongs to the exchange's span, has the place of the statement that began
  /// the exchange, and has the level ``HTTPLog/Options/bodyLevel``. If that level is below the
  /// store's `archiveLevel`, bodies are flight records: they stay in the ring, and are captured
  /// when somebody asks for it, or when the process dies.
  ///
  /// JSON is redacted as it comes, and a form at its end; a form that begins like JSON is redacted
  /// as JSON, too. If ``HTTPLog/Options/contentTypes`` does not name a body's type, or if the body
  /// begins with control characters, as compressed bodies do, only its size and hash are recorded.
  ///
  /// - Parameters:
  ///   - message: Which message the body belongs to.
  ///   - contentType: What the field `content-type` says. Nil: it is not known.
  /// - Returns: The object that takes the body; nil if the body would not be recorded.
  /// - Complexity: O(1); the body allocates.
  public func body(of message: HTTPLog.Message, contentType: String?) -> HTTPLog.Body? {
    let parts = ([self] + others).compactMap { BodyPart($0, message, contentType) }
    return parts.isEmpty ? nil : HTTPLog.Body(parts)
  }

  /// Whether a body would be recorded now.
  package func recordsBody(of message: HTTPLog.Message) -> Bool {
    recordsOwnBody(of: message) || others.contains { $0.recordsOwnBody(of: message) }
  }

  /// As ``recordsBody(of:)``, in this log alone.
  fileprivate func recordsOwnBody(of message: HTTPLog.Message) -> Bool {
    guard let shared, span != nil else { return false }
    let options = shared.options
    let elements = message == .request ? options.request : options.response
    return elements.contains(.body) && shared.log.isEnabled(options.bodyLevel)
  }

  /// Records a whole body of the exchange. See ``body(of:contentType:)``.
  ///
  /// - Parameters:
  ///   - bytes: The body. Evaluated only if it is recorded.
  ///   - message: Which message the body belongs to.
  ///   - contentType: What the field `content-type` says. Nil: it is not known.
  /// - Complexity: O(bytes up to ``HTTPLog/Options/longestBody``), and for a hash O(bytes).
  public func record(
    body bytes: @autoclosure () -> [UInt8], of message: HTTPLog.Message, contentType: String?
  ) {
    guard let body = body(of: message, contentType: contentType) else { return }
    body.append(bytes())
    body.finish()
  }
}

/// A body as one log records it.
private final class BodyPart {
  private enum Reading {
    case json(JSONRedaction)
    /// A form is redacted at its end: only what follows user information shows where that ends.
    case form
    /// Text that may have JSON in it, whose fields are redacted first.
    case text(JSONRedaction)
    case binary(ValueHash)
  }

  private let shared: HTTPLog.Shared
  private let span: Logger.Span
  private let place: HTTPLog.SourceLocation
  private let message: HTTPLog.Message
  private var reading: Reading
  private let memory: UnsafeMutableRawBufferPointer
  private var output: RedactedOutput
  private var size: Int64 = 0
  /// The hash of the body's pieces that are inspected for control characters.
  private var beginning = ValueHash()
  private var isFinished = false

  init?(_ exchange: HTTPLog.Exchange, _ message: HTTPLog.Message, _ contentType: String?) {
    guard exchange.recordsOwnBody(of: message), let shared = exchange.shared,
      let span = exchange.span
    else { return nil }
    let options = shared.options
    (self.shared, self.span, self.message) = (shared, span, message)
    // The place is not known if the level of bodies was off when the exchange began.
    place = exchange.beginning?.place ?? HTTPLog.SourceLocation(#fileID, #function, #line, #column)
    reading = Self.reading(contentType, shared)
    var capacity = Self.limit(options)
    if case .binary = reading { capacity = 0 }
    memory = .allocate(byteCount: capacity, alignment: 1)
    output = RedactedOutput(memory)
  }

  deinit { memory.deallocate() }

  private static func limit(_ options: HTTPLog.Options) -> Int {
    max(16, min(options.longestBody, RecordLayout.longestValue))
  }

  private static func reading(_ contentType: String?, _ shared: HTTPLog.Shared) -> Reading {
    // This works on bytes: a mark that combines with a letter must not hide what is to be redacted.
    let plain = (contentType ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
      .filter { $0 != UInt8(ascii: " ") }
    let type = String(decoding: plain, as: UTF8.self).lowercased()
    let compiled = shared.options.redactor.compiled
    guard shared.contentTypes.contains(where: { $0.matches(type) }) else {
      return .binary(ValueHash())
    }
    if type.utf8.contains("json".utf8) { return .json(JSONRedaction(compiled)) }
    if type.utf8.contains("form-urlencoded".utf8) { return .form }
    return .text(JSONRedaction(compiled))
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    if isFinished { return }
    inspect(bytes)
    size += Int64(bytes.count)
    switch reading {
    case .binary(var hash):
      hash.combine(bytes)
      reading = .binary(hash)
    // Bytes behind the limit are not even read.
    case _ where output.isCut: break
    case .json(var json):
      json.append(bytes, to: &output)
      reading = .json(json)
    case .text(var json):
      json.append(bytes, to: &output)
      reading = .text(json)
    case .form:
      guard let start = bytes.baseAddress else { return }
      output.append(start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
  }

  /// Finds out by the first bytes whether the body is compressed, for example. A header field would
  /// not say so: clients decompress a body and leave the field as it was.
  private func inspect(_ bytes: UnsafeRawBufferPointer) {
    guard size < Self.inspectedSize else { return }
    if case .binary = reading { return }
    if bytes.prefix(Int(Self.inspectedSize - size)).contains(where: Self.isControl) {
      reading = .binary(beginning)
    }
    // Of what is behind, no piece is inspected that would need the hash.
    if size + Int64(bytes.count) < Self.inspectedSize { beginning.combine(bytes) }
  }

  private static let inspectedSize: Int64 = 512

  /// Whether a byte is a control character that no text to be redacted has.
  private static func isControl(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): false
    default: byte < 0x20
    }
  }

  func finish() {
    if isFinished { return }
    isFinished = true
    switch reading {
    case .binary(let hash): record(hash.value)
    case .json(var json):
      json.finish(to: &output)
      output.markCut()
      record(String(decoding: output.bytes, as: UTF8.self))
    case .form:
      output.markCut()
      let redactor = shared.options.redactor
      // Many clients call whatever they send a form, unless somebody names its type.
      let first = output.bytes.first { $0 > 0x20 }
      let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      let bytes = isJSON ? redactor.redacted(json: Array(output.bytes)) : Array(output.bytes)
      record(redactor.redacted(form: String(decoding: bytes, as: UTF8.self)))
    case .text(var json):
      json.finish(to: &output)
      output.markCut()
      let text = String(decoding: output.bytes, as: UTF8.self)
      record(shared.options.redactor.redacted(text: text))
    }
  }

  private func record(_ whole: String) {
    // Bytes that are not UTF-8, and a form that was redacted, have become longer.
    let text = HTTPLog.Shared.cut(whole, to: Self.limit(shared.options))
    let fields: Logger.Metadata? =
      output.isCut || text.utf8.count < whole.utf8.count ? ["cut": true] : nil
    switch message {
    case .request:
      log(
        """
        request body of \(size, name: "http.request.body.size") bytes: \
        \(text, name: "http.request.body.content", privacy: .public)
        """, fields)
    case .response:
      log(
        """
        response body of \(size, name: "http.response.body.size") bytes: \
        \(text, name: "http.response.body.content", privacy: .public)
        """, fields)
    }
  }

  private func record(_ hash: UInt64) {
    switch message {
    case .request:
      log(
        """
        request body of \(size, name: "http.request.body.size") bytes, hash \
        \(hash, name: "http.request.body.hash", format: .hex)
        """)
    case .response:
      log(
        """
        response body of \(size, name: "http.response.body.size") bytes, hash \
        \(hash, name: "http.response.body.hash", format: .hex)
        """)
    }
  }

  /// Inlined, so that the message is a literal of its statement.
  @inline(__always)
  private func log(_ message: @autoclosure () -> LogLiteral, _ fields: Logger.Metadata? = nil) {
    shared.log.with(span: span).log(
      level: shared.options.bodyLevel, message(), metadata: fields, file: place.file,
      function: place.function, line: place.line, column: place.column)
  }
}
