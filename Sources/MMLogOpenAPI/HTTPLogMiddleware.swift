#if OpenAPI
  public import Foundation
  public import HTTPTypes
  public import MMLogHTTP
  public import OpenAPIRuntime

  /// A middleware of swift-openapi-runtime, for clients and servers, that records each operation as
  /// an exchange of an `HTTPLog`.
  ///
  /// ```swift
  /// let middlewares: [any ClientMiddleware] = [HTTPLogMiddleware(http)]
  /// ```
  ///
  /// An exchange ends with the head of its response. Bodies are recorded while they pass by: they
  /// are never collected, and a stream stays a stream. The operation's id is what an exchange is
  /// for: `HTTPLog.Elements.taskDescription`.
  public struct HTTPLogMiddleware: ClientMiddleware, ServerMiddleware {
    private let log: HTTPLog

    /// A middleware. For a server, the log's options have its role.
    ///
    /// - Parameter log: What records exchanges.
    public init(_ log: HTTPLog) { self.log = log }

    /// Records an operation of a client. Called by the runtime.
    public func intercept(
      _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String,
      next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
      let base = baseURL.absoluteString
      let url = (base.hasSuffix("/") ? String(base.dropLast()) : base) + (request.path ?? "")
      return try await record(request, url, body, operationID) {
        try await next(request, $0, baseURL)
      }
    }

    /// Records an operation of a server. Called by the runtime.
    public func intercept(
      _ request: HTTPRequest, body: HTTPBody?, metadata: ServerRequestMetadata,
      operationID: String,
      next:
        @Sendable (HTTPRequest, HTTPBody?, ServerRequestMetadata) async throws -> (
          HTTPResponse, HTTPBody?
        )
    ) async throws -> (HTTPResponse, HTTPBody?) {
      let host = request.authority.map { "\(request.scheme ?? "http")://\($0)" } ?? ""
      return try await record(request, host + (request.path ?? ""), body, operationID) {
        try await next(request, $0, metadata)
      }
    }

    private func record(
      _ request: HTTPRequest, _ url: String, _ body: HTTPBody?, _ operationID: String,
      _ next: (HTTPBody?) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?) {
      let exchange = log.begin(
        method: request.method.rawValue, url: url, headers: HTTPHeaders(request.headerFields),
        task: operationID)
      do {
        let (response, responseBody) = try await next(
          exchange.recording(body, of: .request, request.headerFields))
        exchange.end(
          status: response.status.code, headers: HTTPHeaders(response.headerFields),
          size: responseBody?.knownSize)
        return (response, exchange.recording(responseBody, of: .response, response.headerFields))
      } catch {
        exchange.fail(error)
        throw error
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
    /// The body, which is recorded while it is read; as it is, if it is not to be recorded.
    fileprivate func recording(
      _ body: HTTPBody?, of message: HTTPLog.Message, _ fields: HTTPFields
    ) -> HTTPBody? {
      guard let body, let record = self.body(of: message, contentType: fields[.contentType])
      else { return body }
      return HTTPBody(
        RecordedBody(body: body, record: record), length: body.length,
        iterationBehavior: body.iterationBehavior)
    }
  }

  extension HTTPBody {
    fileprivate var knownSize: Int? {
      if case .known(let size) = length { Int(clamping: size) } else { nil }
    }
  }

  /// A body whose chunks are recorded as they are read.
  private struct RecordedBody: AsyncSequence, Sendable {
    let body: HTTPBody
    let record: HTTPLog.Body

    struct Iterator: AsyncIteratorProtocol {
      var chunks: HTTPBody.Iterator
      let record: HTTPLog.Body

      mutating func next() async throws -> HTTPBody.ByteChunk? {
        guard let chunk = try await chunks.next() else {
          record.finish()
          return nil
        }
        record.append(chunk)
        return chunk
      }
    }

    func makeAsyncIterator() -> Iterator {
      Iterator(chunks: body.makeAsyncIterator(), record: record)
    }
  }
#endif
