public import Foundation
#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif
public import MMLogHTTP

extension URLSession {
  /// Loads what a request asks for, as `data(for:)` does, and records the exchange.
  ///
  /// ```swift
  /// let (data, response) = try await session.data(for: request, log: http)
  /// ```
  ///
  /// Method, URL, the request's own header fields and its `httpBody` are recorded before the
  /// request is sent; status, header fields, size and body when the answer has come; or else the
  /// error, also if the task was canceled. A redirection is a part of its exchange. A body that is
  /// a stream is left alone.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - log: What records the exchange.
  ///   - task: What the request is for, in the caller's words: `HTTPLog.Elements.taskDescription`.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: As `data(for:)`.
  /// - Throws: As `data(for:)`.
  public func data(
    for request: URLRequest, log: HTTPLog, task: String? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
  ) async throws -> (Data, URLResponse) {
    let place = HTTPLog.SourceLocation(file, function, line, column)
    let exchange = log.begin(request, body: request.httpBody, task: task, at: place)
    return try await exchange.record(at: place) { try await self.data(for: request) }
  }

  /// Sends a body, as `upload(for:from:)` does, and records the exchange: see
  /// ``data(for:log:task:file:function:line:column:)``.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body.
  ///   - log: What records the exchange.
  ///   - task: What the request is for, in the caller's words: `HTTPLog.Elements.taskDescription`.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  /// - Returns: As `upload(for:from:)`.
  /// - Throws: As `upload(for:from:)`.
  public func upload(
    for request: URLRequest, from body: Data, log: HTTPLog, task: String? = nil,
    file: StaticString = #fileID, function: StaticString = #function, line: UInt32 = #line,
    column: UInt32 = #column
  ) async throws -> (Data, URLResponse) {
    let place = HTTPLog.SourceLocation(file, function, line, column)
    let exchange = log.begin(request, body: body, task: task, at: place)
    return try await exchange.record(at: place) {
      try await self.upload(for: request, from: body)
    }
  }

  /// Makes a task, as `dataTask(with:completionHandler:)` does, and records its exchange. The
  /// exchange begins now: resume the task at once.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - log: What records the exchange.
  ///   - task: What the request is for, in the caller's words: `HTTPLog.Elements.taskDescription`,
  ///     and the task's `taskDescription`.
  ///   - file: The source file; leave the default.
  ///   - function: The function; leave the default.
  ///   - line: The line; leave the default.
  ///   - column: The column; leave the default.
  ///   - completionHandler: As of `dataTask(with:completionHandler:)`.
  /// - Returns: The task.
  public func dataTask(
    with request: URLRequest, log: HTTPLog, task: String? = nil, file: StaticString = #fileID,
    function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionDataTask {
    let place = HTTPLog.SourceLocation(file, function, line, column)
    let exchange = log.begin(request, body: request.httpBody, task: task, at: place)
    let dataTask = self.dataTask(with: request) { data, response, error in
      exchange.end(data, response, error, at: place)
      completionHandler(data, response, error)
    }
    dataTask.taskDescription = task
    return dataTask
  }
}

extension HTTPLog {
  fileprivate func begin(
    _ request: URLRequest, body: Data?, task: String?, at place: SourceLocation
  ) -> Exchange {
    // The URL's text takes time.
    guard isEnabled else { return begin(method: "", url: "") }
    let exchange = begin(
      method: request.httpMethod ?? "GET", url: request.url?.absoluteString ?? "",
      headers: HTTPHeaders(request.allHTTPHeaderFields ?? [:]), task: task, file: place.file,
      function: place.function, line: place.line, column: place.column)
    if let body {
      exchange.record(
        body, of: .request, contentType: request.value(forHTTPHeaderField: "content-type"))
    }
    return exchange
  }
}

extension HTTPLog.Exchange {
  fileprivate func record(
    at place: HTTPLog.SourceLocation, _ load: () async throws -> (Data, URLResponse)
  ) async throws -> (Data, URLResponse) {
    do {
      let (data, response) = try await load()
      end(data, response, nil, at: place)
      return (data, response)
    } catch {
      end(nil, nil, error, at: place)
      throw error
    }
  }

  fileprivate func end(
    _ data: Data?, _ response: URLResponse?, _ error: (any Error)?, at place: HTTPLog.SourceLocation
  ) {
    if let error { return fail(error, place) }
    guard let response = response as? HTTPURLResponse else {
      return end(0, { [:] }, data?.count, place)
    }
    if let data {
      record(
        data, of: .response, contentType: response.value(forHTTPHeaderField: "content-type"))
    }
    end(response.statusCode, { HTTPHeaders(response) }, data?.count, place)
  }

  /// Records a body, unless it is empty.
  fileprivate func record(_ data: Data, of message: HTTPLog.Message, contentType: String?) {
    guard !data.isEmpty, let body = body(of: message, contentType: contentType) else { return }
    data.withUnsafeBytes { body.append($0) }
    body.finish()
  }
}

extension HTTPHeaders {
  /// The header fields of a response, sorted by name.
  ///
  /// - Parameter response: The response.
  public init(_ response: HTTPURLResponse) {
    self.init(
      response.allHeaderFields.map { (name: "\($0.key)", value: "\($0.value)") }
        .sorted { $0.name < $1.name })
  }
}
