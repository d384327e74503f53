#if OpenAPI
  public import Foundation
  public import HTTPTypes
  import MMLog
  public import MMLogHTTP
  public import OpenAPIRuntime

  /// A middleware of swift-openapi-runtime, for clients and servers, that records each operation as
  /// an exchange of an `HTTPLog`.
  ///
  /// ```swift
  /// let middlewares: [any ClientMiddleware] = [HTTPLogMiddleware(http)]
  /// ```
  ///
  /// The first middleware is the outermost one. On a server, put `ErrorHandlingMiddleware` behind
  /// this one: `[HTTPLogMiddleware(http), ErrorHandlingMiddleware()]`. Then an error that
  /// `ErrorHandlingMiddleware` answers ends the exchange with the answer's status. In the other
  /// order, the error is the exchange's failure.
  ///
  /// An exchange ends when its response's body has been read, or was dropped. Bodies are recorded
  /// while they pass by: they are never collected, and a stream stays a stream. The operation's id
  /// is the exchange's `HTTPLog.Elements.taskDescription`. All that the operation logs, by any
  /// logger of mmlog or of swift-log, belongs to the exchange's span.
  public struct HTTPLogMiddleware: ClientMiddleware, ServerMiddleware {
    private let log: HTTPLog

    /// Makes a middleware. For a server, the log's options must have the role of a server.
    ///
    /// - Parameter log: What records exchanges.
    public init(_ log: HTTPLog) { self.log = log }

    /// Records an operation of a client. Called by the runtime.
    ///
    /// - Throws: What `next` throws.
    public func intercept(
      _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
      next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
      try await record(request, request.url(from: baseURL), body, operationID) {
        try await next(request, $0, baseURL)
      }
    }

    /// Records an operation of a server. Called by the runtime.
    ///
    /// - Throws: What `next` throws.
    public func intercept(
      _ request: HTTPRequest, body: HTTPBody?, metadata: ServerRequestMetadata,
      operationID: String,
      next:
        @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (
          HTTPResponse, HTTPBody?
        )
    ) async throws -> (HTTPResponse, HTTPBody?) {
      try await record(request, request.ownURL, body, operationID) {
        try await next(request, $0, metadata)
      }
    }

    private func record(
      _ request: HTTPRequest, _ url: @autoclosure () -> String, _ body: HTTPBody?,
      _ operationID: String, _ next: (HTTPBody?) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
      guard log.isEnabled else { return try await next(body) }
      let exchange = log.begin(
        method: request.method.rawValue, url: url(), headers: HTTPHeaders(request.headerFields),
        task: operationID)
      guard exchange.isRecorded else { return try await next(body) }
      let recorded = exchange.recording(request, body)
      do {
        let (response, responseBody) = try await withLogFields(span: exchange.span) {
          try await next(recorded)
        }
        return (response, exchange.recording(response, responseBody))
      } catch {
        exchange.fail(error.wrapped)
        throw error
      }
    }
  }

  extension HTTPRequest {
    /// The URL of a client's request.
    fileprivate func url(from base: URL) -> String {
      let base = base.absoluteString
      return (base.hasSuffix("/") ? String(base.dropLast()) : base) + (path ?? "")
    }

    /// The URL of a server's request.
    fileprivate var ownURL: String {
      (authority.map { "\(scheme ?? "http")://\($0)" } ?? "") + (path ?? "")
    }
  }

  extension Error {
    /// The error that the runtime has wrapped: the wrapper's description has all header fields, and
    /// what is decoded of bodies. A server's operation that is itself a client may throw a wrapper,
    /// too.
    fileprivate var wrapped: any Error {
      switch self {
      case let error as ClientError: error.underlyingError.wrapped
      case let error as ServerError: error.underlyingError.wrapped
      default: self
      }
    }
  }

  extension HTTPHeaders {
    /// Header fields of swift-http-types.
    ///
    /// - Parameter fields: The fields.
    public init(_ fields: HTTPFields) {
      self.init(fields.map { (name: $0.name.rawName, value: $0.value) })
    }
  }

  extension HTTPLog.Exchange {
    /// Returns the request's body, which will be recorded while it is read.
    fileprivate func recording(_ request: HTTPRequest, _ body: HTTPBody?) -> HTTPBody? {
      guard let body, recordsBody(of: .request) else { return body }
      return body.passing(
        by: HTTPLog.PassingBody(self, contentType: request.headerFields[.contentType]))
    }

    /// Returns the response's body, which ends the exchange; without a body, the exchange ends now.
    fileprivate func recording(_ response: HTTPResponse, _ body: HTTPBody?) -> HTTPBody? {
      let (status, fields) = (response.status.code, response.headerFields)
      guard let body, isRecorded else {
        end(status: status, headers: HTTPHeaders(fields))
        return body
      }
      return body.passing(
        by: HTTPLog.PassingBody(
          self, contentType: fields[.contentType],
          ending: HTTPLog.PassingBody.Head(status: status, headers: HTTPHeaders(fields)),
          at: HTTPLog.SourceLocation(#fileID, #function, #line, #column)))
    }
  }

  extension HTTPBody {
    fileprivate func passing(by passing: HTTPLog.PassingBody) -> HTTPBody {
      HTTPBody(
        HTTPLog.PassingChunks(self, by: passing) { $0 }, length: length,
        iterationBehavior: iterationBehavior)
    }
  }
#endif
