import MMLogSystem

extension LogStore {
  /// The space that the archives of a store's name take, of all processes, in bytes on the disk
  /// (allocated blocks).
  public struct Sizes: Equatable, Sendable {
    /// Of those that are sealed and not uploaded; as ``LogStore/pendingBytes``.
    public let pending: Int
    /// Of those that are uploaded; as ``LogStore/uploadedBytes``.
    public let uploaded: Int
    /// Of all, those that are being written included.
    public let total: Int
  }

  /// The space that archives take, when the store last scanned: each minute, when an archive is
  /// closed, and at each change through this object. Costs nothing, and waits for nobody. Any
  /// thread.
  public var sizes: Sizes {
    let totals = core.catalog.totals
    return Sizes(pending: totals.pending, uploaded: totals.uploaded, total: totals.size)
  }

  /// The space that archives take: at once, and again whenever it has changed; see ``SizeChanges``.
  ///
  /// ```swift
  /// for await sizes in store.sizeChanges {
  ///   print(sizes.pending)
  /// }
  /// ```
  public var sizeChanges: SizeChanges { SizeChanges(store: self) }

  /// The space that a store's archives take, whenever it has changed: see ``LogStore/sizeChanges``.
  ///
  /// What changes while nobody asks is one change: who asks is given the sizes of that moment. So at
  /// most one change is outstanding for each iterator, however many archives come and go; and none
  /// comes from a log call. Changes are noticed as ``LogStore/sizes`` says. The sequence ends when
  /// the store is closed, with what closing has changed as its last element. Any number of iterators
  /// may be in use, on any threads.
  public struct SizeChanges: AsyncSequence, Sendable {
    /// Sizes that differ from the ones before.
    public typealias Element = Sizes
    /// It does not end because of an error.
    public typealias Failure = Never

    let store: LogStore

    /// An iterator, which begins with the sizes as they are then. Takes a lock.
    public func makeAsyncIterator() -> Iterator {
      Iterator(store: store, signals: store.core.events.sizeSignals.stream().makeAsyncIterator())
    }

    /// Waits for one change after the other.
    public struct Iterator: AsyncIteratorProtocol {
      let store: LogStore
      var signals: AsyncStream<Void>.Iterator
      var last: Sizes?

      /// Waits until sizes are others than those that it gave last. Nil when the store is closed, or
      /// the task is canceled.
      public mutating func next() async -> Sizes? {
        // A signal may be of a change that was seen already.
        while let last, last == store.sizes {
          guard await signals.next() != nil else { return nil }
        }
        last = store.sizes
        return last
      }
    }
  }
}

/// Tells those who wait that the sizes of archives have changed. Whoever is told twice before it
/// looks is told once.
final class SizeSignals: Sendable {
  private struct State {
    /// Who waits; nil after the store's end.
    var listeners: [Int: AsyncStream<Void>.Continuation]? = [:]
    var nextKey = 0
  }

  private let state = LockedValue(State())

  func stream() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let key = state.withLock { state in
        state.nextKey += 1
        state.listeners?[state.nextKey] = continuation
        return state.listeners == nil ? nil : state.nextKey
      }
      guard let key else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners?.removeValue(forKey: key) }
      }
    }
  }

  func send() {
    // Not under the lock: a listener may end inside `yield`.
    for listener in state.withLock({ $0.listeners.map { Array($0.values) } ?? [] }) {
      listener.yield()
    }
  }

  func finish() {
    let listeners = state.withLock { state in
      defer { state.listeners = nil }
      return state.listeners
    }
    for listener in (listeners ?? [:]).values { listener.finish() }
  }
}
