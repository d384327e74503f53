#if Hummingbird
  public import Hummingbird
  import HTTPTypes
  import MMLog
  public import MMLogHTTP
  import NIOCore

  /// A middleware of Hummingbird that records each request as an exchange of an `HTTPLog`.
  ///
  /// ```swift
  /// let router = Router()
  /// router.add(middleware: HTTPLogRouterMiddleware(http))
  /// ```
  ///
  /// Everything that the route's handler logs, and the code for the response's body, by any logger
  /// of mmlog or of swift-log, belongs to the exchange's span. An exchange ends when its response's
  /// body has been written. An error that Hummingbird answers with a status of its own ends the
  /// exchange with that status; any other error is its failure. Bodies are recorded while they pass
  /// by: they are never collected, and a stream stays a stream.
  ///
  /// While a request's body is recorded, it is not the body that Hummingbird has made. Hummingbird
  /// lets a body be changed only once before `consumeWithInboundCloseHandler` or
  /// `consumeWithCancellationOnInboundClose`, and stops the process otherwise. If handlers call one
  /// of these on a body that a middleware or `collectBody` has changed, too, leave `.body` out of
  /// `HTTPLog.Options.request`. A request whose head announces no body is left as it is.
  ///
  /// Add this middleware before others: it records what those behind it make of a request.
  public struct HTTPLogRouterMiddleware<Context: RequestContext>: RouterMiddleware {
    private let log: HTTPLog

    /// Makes a middleware.
    ///
    /// - Parameter log: What records exchanges. Its options must have the role of a server.
    public init(_ log: HTTPLog) { self.log = log }

    /// Records a request. Called by Hummingbird.
    ///
    /// - Throws: What `next` throws.
    public func handle(
      _ request: Request, context: Context,
      next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      let exchange = log.begin(request.head)
      guard exchange.isRecorded else { return try await next(request, context) }
      let recorded = exchange.recording(request)
      do {
        let response = try await withLogFields(span: exchange.span) {
          try await next(recorded, context)
        }
        return exchange.recording(response)
      } catch {
        if let answer = error as? any HTTPResponseError {
          exchange.end(status: answer.status.code)
        } else {
          exchange.fail(error)
        }
        throw error
      }
    }
  }

  extension HTTPLog {
    fileprivate func begin(_ head: HTTPRequest) -> Exchange {
      guard isEnabled else { return begin(method: "", url: "") }
      let host = head.authority.map { "\(head.scheme ?? "http")://\($0)" } ?? ""
      return begin(
        method: head.method.rawValue, url: host + (head.path ?? ""),
        headers: HTTPHeaders(head.headerFields))
    }
  }

  extension HTTPLog.Exchange {
    /// Returns the request, whose body will be recorded while it is read.
    fileprivate func recording(_ request: Request) -> Request {
      guard request.mayHaveBody, recordsBody(of: .request) else { return request }
      let passing = HTTPLog.PassingBody(self, contentType: request.headers[.contentType])
      var recorded = request
      recorded.body = RequestBody(
        asyncSequence: HTTPLog.PassingChunks(request.body, by: passing) { $0.readableBytesView })
      return recorded
    }

    /// Returns the response, whose body ends the exchange.
    fileprivate func recording(_ response: Response) -> Response {
      let (status, headers, body) = (response.status.code, response.headers, response.body)
      let passing = HTTPLog.PassingBody(
        self, contentType: headers[.contentType],
        ending: HTTPLog.PassingBody.Head(status: status, headers: HTTPHeaders(headers)),
        at: HTTPLog.SourceLocation(#fileID, #function, #line, #column))
      var recorded = response
      recorded.body = ResponseBody(contentLength: body.contentLength) { writer in
        do {
          let recorded = writer.map { chunk in
            passing.append(chunk.readableBytesView)
            return chunk
          }
          try await withLogFields(span: span) { try await body.write(recorded) }
          passing.finish()
        } catch {
          passing.fail(error)
          throw error
        }
      }
      return recorded
    }
  }

  extension Request {
    /// Whether the head announces a body. On HTTP/2 and later, the head need not do so.
    fileprivate var mayHaveBody: Bool {
      if let length = headers[.contentLength] { return length != "0" }
      return headers[.transferEncoding] != nil || method != .get && method != .head
    }
  }

  extension HTTPHeaders {
    fileprivate init(_ fields: HTTPFields) {
      self.init(fields.map { (name: $0.name.rawName, value: $0.value) })
    }
  }
#endif
