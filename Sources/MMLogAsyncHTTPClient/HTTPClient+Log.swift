#if AsyncHTTPClient
  public import AsyncHTTPClient
  public import Logging
  public import MMLogHTTP
  public import NIOCore
  import NIOHTTP1

  extension HTTPClient {
    /// Executes a request, as `execute(_:timeout:logger:)` does, and records the exchange.
    ///
    /// ```swift
    /// let request = HTTPClientRequest(url: "https://shop.example/orders")
    /// let response = try await HTTPClient.shared.execute(
    ///   request, timeout: .seconds(30), log: http)
    /// ```
    ///
    /// See ``execute(_:deadline:logger:log:task:file:function:line:column:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - timeout: How long the request may take.
    ///   - logger: swift-log's logger for what the client itself has to say. Default: none.
    ///   - log: What records the exchange.
    ///   - task: What the request is for, in the caller's words:
    ///     `HTTPLog.Elements.taskDescription`.
    ///   - file: The source file; leave the default.
    ///   - function: The function; leave the default.
    ///   - line: The line; leave the default.
    ///   - column: The column; leave the default.
    /// - Returns: As `execute(_:timeout:logger:)`.
    /// - Throws: As `execute(_:timeout:logger:)`.
    public func execute(
      _ request: HTTPClientRequest, timeout: TimeAmount, logger: Logger? = nil, log: HTTPLog,
      task: String? = nil, file: StaticString = #fileID, function: StaticString = #function,
      line: UInt32 = #line, column: UInt32 = #column
    ) async throws -> HTTPClientResponse {
      try await execute(
        request, deadline: .now() + timeout, logger: logger, log: log, task: task, file: file,
        function: function, line: line, column: column)
    }

    /// Executes a request, as `execute(_:deadline:logger:)` does, and records the exchange.
    ///
    /// Method, URL and the request's own header fields are recorded before the request is sent. The
    /// exchange ends when the response's body has been read, with its status, header fields and
    /// size; or with an error, also one while the body was read. Dropping a response without
    /// reading it ends the exchange, too. Bodies are recorded while they pass by: they are never
    /// collected, and a stream stays a stream. A redirection is a part of its exchange.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - deadline: When the request has to be done.
    ///   - logger: swift-log's logger for what the client itself has to say. Default: none.
    ///   - log: What records the exchange.
    ///   - task: What the request is for, in the caller's words:
    ///     `HTTPLog.Elements.taskDescription`.
    ///   - file: The source file; leave the default.
    ///   - function: The function; leave the default.
    ///   - line: The line; leave the default.
    ///   - column: The column; leave the default.
    /// - Returns: As `execute(_:deadline:logger:)`.
    /// - Throws: As `execute(_:deadline:logger:)`.
    public func execute(
      _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger? = nil, log: HTTPLog,
      task: String? = nil, file: StaticString = #fileID, function: StaticString = #function,
      line: UInt32 = #line, column: UInt32 = #column
    ) async throws -> HTTPClientResponse {
      let exchange = log.begin(
        method: request.method.rawValue, url: request.url, headers: HTTPHeaders(request.headers),
        task: task, file: file, function: function, line: line, column: column)
      guard exchange.isRecorded else {
        return try await execute(request, deadline: deadline, logger: logger)
      }
      do {
        let request = try await exchange.recording(request)
        return exchange.recording(
          try await execute(request, deadline: deadline, logger: logger),
          at: HTTPLog.SourceLocation(file, function, line, column))
      } catch {
        exchange.fail(error, file: file, function: function, line: line, column: column)
        throw error
      }
    }
  }

  extension HTTPLog.Exchange {
    /// Returns the request. Its body is recorded now, or while it is sent.
    fileprivate func recording(_ request: HTTPClientRequest) async throws -> HTTPClientRequest {
      guard let body = request.body, recordsBody(of: .request) else { return request }
      let passing = HTTPLog.PassingBody(
        self, contentType: request.headers.first(name: "content-type"))
      var request = request
      switch body.kind {
      case .whole:
        for try await chunk in body { passing.append(chunk.readableBytesView) }
        passing.finish()
      case .stream(let length):
        let chunks = HTTPLog.PassingChunks(body, by: passing) { $0.readableBytesView }
        request.body = .stream(chunks, length: length)
      case .unknown: break
      }
      return request
    }

    /// Returns the response, whose body ends the exchange.
    fileprivate func recording(
      _ response: HTTPClientResponse, at place: HTTPLog.SourceLocation
    ) -> HTTPClientResponse {
      let (status, headers) = (Int(response.status.code), response.headers)
      let passing = HTTPLog.PassingBody(
        self, contentType: headers.first(name: "content-type"),
        ending: HTTPLog.PassingBody.Head(status: status, headers: HTTPHeaders(headers)), at: place)
      var recorded = response
      recorded.body = .stream(
        HTTPLog.PassingChunks(response.body, by: passing) { $0.readableBytesView })
      return recorded
    }
  }

  private typealias HTTPHeaders = MMLogHTTP.HTTPHeaders

  extension MMLogHTTP.HTTPHeaders {
    fileprivate init(_ headers: NIOHTTP1.HTTPHeaders) {
      self.init(headers.map { (name: $0.name, value: $0.value) })
    }
  }

  extension HTTPClientRequest.Body {
    /// How a body gives its bytes.
    fileprivate enum Kind {
      /// All bytes are there, and can be read any number of times.
      case whole
      /// The bytes can be read once.
      case stream(Length)
      /// A body that is left alone.
      case unknown
    }

    /// AsyncHTTPClient does not say the kind: so this reads it by reflection. A stream that was
    /// taken for another kind of body would be consumed, or sent with another length.
    fileprivate var kind: Kind {
      let mirror = Mirror(reflecting: self)
      func part(_ names: String...) -> Any? {
        names.reduce(mirror.descendant("mode")) { part, name in
          part.flatMap { Mirror(reflecting: $0).descendant(name) }
        }
      }
      if part("byteBuffer") != nil { return .whole }
      if part("sequence", "canBeConsumedMultipleTimes") as? Bool == true { return .whole }
      if let size = part("asyncSequence", "length", "known") as? Int64 {
        return .stream(.known(size))
      }
      return part("asyncSequence", "length").map { "\($0)" } == "unknown"
        ? .stream(.unknown) : .unknown
    }
  }
#endif
