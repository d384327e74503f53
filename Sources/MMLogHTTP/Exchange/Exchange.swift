public import MMLog
import MMLogSystem

extension HTTPLog {
  /// An exchange that has begun:
  /// ``HTTPLog/begin(method:url:headers:task:file:function:line:column:)``.
  ///
  /// An exchange is a value: copy it, keep it, send it to another thread, end it anywhere. Readers
  /// list an exchange that never ended as open, or as in flight if its process died.
  public struct Exchange: Sendable {
    /// Nil if the exchange is not recorded. This is one value, so that the compiler knows that
    /// nothing is left to do if the level is off.
    @usableFromInline private(set) var recorded: Recorded?

    /// What is recorded of the exchange. Perhaps only a further log records it, and this one does
    /// not.
    @usableFromInline
    struct Recorded: Sendable {
      @usableFromInline let shared: Shared?
      @usableFromInline let span: Logger.Span?
      /// What the end and bodies need to know of the beginning, and the further logs; nil if
      /// nothing.
      @usableFromInline var extra: Extra?

      init(_ shared: Shared?, _ span: Logger.Span?, _ extra: Extra?) {
        (self.shared, self.span, self.extra) = (shared, span, extra)
      }

      // This is a function of `Recorded`, so that an exchange that is not recorded need not be in
      // memory.
      @usableFromInline @inline(never)
      func end(_ status: Int, _ headers: () -> HTTPHeaders, _ size: Int?, _ place: SourceLocation) {
        Exchange(self).end(status, headers, size, place)
      }
    }

    /// Makes an exchange that is not recorded.
    @inlinable @inline(__always)
    init() { recorded = nil }

    private init(_ recorded: Recorded) { self.recorded = recorded }

    init(_ shared: Shared, _ span: Logger.Span, _ extra: Extra?) {
      recorded = Recorded(shared, span, extra)
    }

    var shared: Shared? { recorded?.shared }

    /// The exchange's span: what belongs to the exchange is logged within it
    /// (`Logger.with(_:span:trace:)`, `withLogFields(_:span:trace:_:)`). Nil if the exchange is not
    /// recorded, or only in further logs.
    public var span: Logger.Span? { recorded?.span }

    var extra: Extra? { recorded?.extra }

    /// What few exchanges have. It is an object, so that the others have no references to count.
    @usableFromInline
    final class Extra: Sendable {
      let beginning: Beginning?
      /// The same exchange in further logs.
      let others: [Exchange]

      init(_ beginning: Beginning?, _ others: [Exchange] = []) {
        (self.beginning, self.others) = (beginning, others)
      }
    }

    /// What the end and bodies need to know of the beginning.
    struct Beginning: Sendable {
      let number: UInt64
      let method, url: String
      /// When the exchange began: nanoseconds.
      let start = Clock.monotonic()
      /// The statement that began the exchange; records of its bodies have this place, too.
      let place: SourceLocation

      init(_ number: UInt64, _ method: String, _ url: String, _ place: SourceLocation) {
        (self.number, self.method, self.url, self.place) = (number, method, url, place)
      }
    }

    var beginning: Beginning? { extra?.beginning }

    /// Returns the exchange with the same one in further logs that record it.
    func adding(_ others: [Exchange]) -> Exchange {
      if others.isEmpty { return self }
      var exchange = self
      exchange.recorded = Recorded(shared, span, Extra(beginning, others))
      return exchange
    }

    var others: [Exchange] { extra?.others ?? [] }

    /// Whether the exchange's end will be recorded, in this log or in a further one. See
    /// `Logger.Span.isRecorded`.
    @inlinable public var isRecorded: Bool {
      @inline(__always) get {
        guard case .some = recorded else { return false }
        return true
      }
    }

    /// The number of the exchange in its ``HTTPLog``, from 1; 0 where exchanges are not counted,
    /// because neither ``Elements/serialNumber``, ``Options/sampling`` nor ``Options/reporter``
    /// asks for it.
    public var serialNumber: UInt64 { beginning?.number ?? 0 }

    /// Records that a response ends the exchange. Its span has failed if the status is one of a
    /// failure: see ``Options/role-swift.property``.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The response's header fields. Evaluated only if they are recorded. Default:
    ///     none.
    ///   - size: The size of the response's body in bytes. Default: nil, it is not known.
    ///   - file: The source file; leave the default.
    ///   - function: The function; leave the default.
    ///   - line: The line; leave the default.
    ///   - column: The column; leave the default.
    /// - Complexity: O(bytes of the header fields).
    @inlinable @inline(__always)
    public func end(
      status: Int, headers: @autoclosure () -> HTTPHeaders = [:], size: Int? = nil,
      file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
      column: UInt32 = #column
    ) {
      guard let recorded else { return }
      recorded.end(status, headers, size, SourceLocation(file, function, line, column))
    }

    /// Records that a response ends the exchange, at a place that the caller gives.
    package func end(
      _ status: Int, _ headers: () -> HTTPHeaders, _ size: Int?, _ place: SourceLocation
    ) {
      endOne(status, headers, size, place)
      guard let extra else { return }
      for other in extra.others { other.endOne(status, headers, size, place) }
    }

    private func endOne(
      _ status: Int, _ headers: () -> HTTPHeaders, _ size: Int?, _ place: SourceLocation
    ) {
      guard let shared, let span else { return }
      let elements = shared.options.response
      var fields = fields(of: elements)
      if elements.contains(.headers), shared.recordsHeaders {
        shared.appendHeaders(headers, "http.response.header.", to: &fields)
      }
      let failed = shared.isFailure(status)
      let captures = shared.isSlow(span)
      let size = elements.contains(.size) ? size : nil
      if elements.contains(.status), let size {
        span.end(
          """
          \(status, name: "http.response.status_code"), \
          \(size, name: "http.response.body.size") bytes
          """, failed: failed, captures: captures, fields, shared.log, place)
      } else if elements.contains(.status) {
        span.end(
          "\(status, name: "http.response.status_code")", failed: failed, captures: captures,
          fields,
          shared.log, place)
      } else {
        if let size { fields.append(.int(Int64(size)), for: "http.response.body.size") }
        span.end("response", failed: failed, captures: captures, fields, shared.log, place)
      }
      if extra != nil { report(.response(status: status), fields) }
    }

    /// Records that an error ends the exchange. Its span has failed.
    ///
    /// - Parameters:
    ///   - error: The error, recorded as `String(describing:)` puts it, and redacted as a message:
    ///     see ``Redactor/redacted(text:)``.
    ///   - file: The source file; leave the default.
    ///   - function: The function; leave the default.
    ///   - line: The line; leave the default.
    ///   - column: The column; leave the default.
    public func fail(
      _ error: any Error, file: StaticString = #fileID, function: StaticString = #function,
      line: UInt32 = #line, column: UInt32 = #column
    ) {
      fail(error, SourceLocation(file, function, line, column))
    }

    /// Records that an error ends the exchange, at a place that the caller gives.
    package func fail(_ error: any Error, _ place: SourceLocation) {
      failOne(error, place)
      for other in others { other.failOne(error, place) }
    }

    private func failOne(_ error: any Error, _ place: SourceLocation) {
      guard let shared, let span else { return }
      let elements = shared.options.error
      let fields = fields(of: elements)
      let text = shared.redacted(String(describing: error), .text)
      if elements.contains(.error) {
        span.end(
          """
          \(String(describing: type(of: error)), name: "error.type", privacy: .public): \
          \(text, name: "error.message", privacy: .public)
          """, failed: true, captures: false, fields, shared.log, place)
      } else {
        span.end("failed", failed: true, captures: false, fields, shared.log, place)
      }
      report(.error(text), fields)
    }

    /// The fields of the beginning that the end repeats.
    private func fields(of elements: Elements) -> Logger.Metadata? {
      guard let beginning else { return nil }
      var fields: Logger.Metadata?
      if elements.contains(.serialNumber) {
        fields.append(.uint(beginning.number), for: "http.serial")
      }
      shared?.append(beginning.method, beginning.url, elements, to: &fields)
      return fields
    }

    /// Calls the reporter, if there is one.
    func report(_ kind: Report.Kind, _ fields: Logger.Metadata?) {
      guard let shared, let beginning, let reporter = shared.options.reporter else { return }
      var duration = Duration.zero
      if case .request = kind {
      } else {
        duration = .nanoseconds(Int64(clamping: Clock.monotonic() &- beginning.start))
      }
      reporter(
        Report(
          kind: kind, serialNumber: beginning.number, method: beginning.method,
          url: shared.redacted(beginning.url, .url), duration: duration,
          fields: fields ?? Logger.Metadata()))
    }
  }
}

extension Logger.Span {
  /// Records the span's end, with the fields of the exchange's logger, at a place that the caller
  /// gives. Inlined, so that the message is a literal of its statement.
  @inline(__always)
  fileprivate func end(
    _ message: @autoclosure () -> LogLiteral, failed: Bool, captures: Bool,
    _ fields: Logger.Metadata?, _ log: Logger, _ place: HTTPLog.SourceLocation
  ) {
    end(
      message, failed: failed, captures: captures, metadata: fields, by: log, file: place.file,
      function: place.function, line: place.line, column: place.column)
  }
}
