import Synchronization

extension HTTPLog {
  /// A body that an adapter lets pass by in chunks, and records on the way. A response's body ends
  /// its exchange when all of it has passed by.
  ///
  /// So an exchange lasts as long as its bodies, its bodies are recorded before its end, and an
  /// error on the way fails the exchange. An empty body is not recorded.
  package final class PassingBody: Sendable {
    /// What a response has before its body.
    package struct Head: Sendable {
      let status: Int
      let headers: @Sendable () -> HTTPHeaders

      package init(status: Int, headers: @escaping @Sendable @autoclosure () -> HTTPHeaders) {
        (self.status, self.headers) = (status, headers)
      }
    }

    private struct State {
      var record: Body?
      var size = 0
      var isOver = false
    }

    private let exchange: Exchange
    private let contentType: String?
    private let head: Head?
    private let place: SourceLocation
    private let state = Mutex(State())

    /// - Parameters:
    ///   - exchange: The exchange that the body belongs to.
    ///   - contentType: What the field `content-type` says. Nil: it is not known.
    ///   - head: The head of the response that ends the exchange. Nil, the default: the body is the
    ///     request's.
    ///   - place: The statement at which the exchange ends. Nil, the default: this one.
    package init(
      _ exchange: Exchange, contentType: String?, ending head: Head? = nil,
      at place: SourceLocation? = nil
    ) {
      (self.exchange, self.contentType, self.head) = (exchange, contentType, head)
      self.place = place ?? SourceLocation(#fileID, #function, #line, #column)
    }

    // A body that nobody reads to its end is recorded as far as it came.
    deinit { end(isWhole: false) }

    /// Takes the next bytes.
    package func append(_ bytes: some Collection<UInt8>) {
      if bytes.isEmpty { return }
      state.withLock { state in
        if state.isOver { return }
        if state.size == 0 {
          state.record = exchange.body(
            of: head == nil ? .request : .response, contentType: contentType)
        }
        state.size += bytes.count
        state.record?.append(bytes)
      }
    }

    /// Says that the body is read from its beginning. If it was read before, but not to its end,
    /// that part is a body of its own, recorded as far as it came.
    package func begin() {
      state.withLock { state in
        if state.isOver { return }
        (state.record, state.size) = (nil, 0)
      }
    }

    /// Says that no more bytes come.
    ///
    /// - Parameter isWhole: Whether the body is whole. Default: it is.
    package func finish(isWhole: Bool = true) { end(isWhole: isWhole) }

    /// Says that the body ends with an error.
    package func fail(_ error: any Error) { end(isWhole: false, error) }

    private func end(isWhole: Bool, _ error: (any Error)? = nil) {
      let size = state.withLock { state -> Int? in
        if state.isOver { return nil }
        state.isOver = true
        state.record?.finish()
        return state.size
      }
      guard let size, let head else { return }
      if let error { return exchange.fail(error, place) }
      exchange.end(head.status, head.headers, isWhole ? size : nil, place)
    }
  }

  /// The chunks of a body that passes by, for whoever asked for them.
  package struct PassingChunks<Chunks: AsyncSequence & Sendable, Bytes: Collection<UInt8>>:
    AsyncSequence, Sendable
  {
    private let chunks: Chunks
    private let body: PassingBody
    private let bytes: @Sendable (Chunks.Element) -> Bytes

    /// - Parameters:
    ///   - chunks: Where the chunks come from.
    ///   - body: What gets the bytes on the way.
    ///   - bytes: The bytes of a chunk.
    package init(
      _ chunks: Chunks, by body: PassingBody, _ bytes: @escaping @Sendable (Chunks.Element) -> Bytes
    ) {
      (self.chunks, self.body, self.bytes) = (chunks, body, bytes)
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate var chunks: Chunks.AsyncIterator
      fileprivate let body: PassingBody
      fileprivate let bytes: @Sendable (Chunks.Element) -> Bytes

      package mutating func next() async throws -> Chunks.Element? {
        do {
          guard let chunk = try await chunks.next() else {
            // If the task is canceled, a stream ends wherever it is.
            body.finish(isWhole: !Task.isCancelled)
            return nil
          }
          body.append(bytes(chunk))
          return chunk
        } catch {
          body.fail(error)
          throw error
        }
      }
    }

    package func makeAsyncIterator() -> AsyncIterator {
      body.begin()
      return AsyncIterator(chunks: chunks.makeAsyncIterator(), body: body, bytes: bytes)
    }
  }
}
