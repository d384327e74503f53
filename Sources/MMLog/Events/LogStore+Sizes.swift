import MMLogSystem

extension LogStore {
  /// The space that the archives of a store's name take, including those of other processes, in
  /// bytes on the disk (allocated blocks).
  public struct Sizes: Equatable, Sendable {
    /// The space of archives that are sealed and not uploaded; as ``LogStore/pendingBytes``.
    public let pending: Int
    /// The space of archives that are uploaded; as ``LogStore/uploadedBytes``.
    public let uploaded: Int
    /// The space of all archives, including those that are being written.
    public let total: Int
  }

  /// The space that archives took when the store last scanned them: it scans each minute, when an
  /// archive is closed, and at each change through this object. Costs nothing, and waits for
  /// nobody. Any thread.
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
  public var sizeChanges: SizeChanges { SizeChanges(stores: LogStores([self])) }

  /// The space that the archives of one store or of several take, whenever it has changed: see
  /// ``LogStore/sizeChanges`` and ``LogStores/sizeChanges``.
  ///
  /// All changes while nobody asks count as one: whoever asks gets the sizes of that moment. So at
  /// most one change is outstanding for each iterator, however many archives come and go. No change
  /// comes from a log call. ``LogStore/sizes`` says when changes are noticed. The sequence ends
  /// when all stores are closed; its last element has what closing has changed. Any number of
  /// iterators may be in use, on any threads.
  public struct SizeChanges: AsyncSequence, Sendable {
    /// Sizes that differ from the ones before.
    public typealias Element = Sizes
    /// The sequence does not end because of an error.
    public typealias Failure = Never

    let stores: LogStores

    /// Makes an iterator, which begins with the sizes as they are then. Takes a lock.
    public func makeAsyncIterator() -> Iterator { Iterator(stores) }

    /// Waits for one change after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private let stores: LogStores
      private var signals: AsyncStream<Void>.Iterator
      private var last: Sizes?

      init(_ stores: LogStores) {
        self.stores = stores
        let all = stores.stores.map(\.core.events.sizeSignals)
        let stream = AsyncStream(Void.self, bufferingPolicy: .bufferingNewest(1)) { listener in
          let added = all.map { ($0, $0.add(listener)) }
          listener.onTermination = { _ in for (signals, key) in added { signals.remove(key) } }
        }
        signals = stream.makeAsyncIterator()
      }

      /// Waits until the sizes differ from those that it returned last. Returns nil when all stores
      /// are closed, or the task is canceled.
      public mutating func next() async -> Sizes? {
        // A signal may belong to a change that was seen already.
        while let last, last == stores.sizes {
          let isOver = stores.stores.allSatisfy { $0.core.events.sizeSignals.isFinished }
          // Closing may have changed them since.
          if isOver && last == stores.sizes { return nil }
          if !isOver, await signals.next() == nil { return nil }
        }
        last = stores.sizes
        return last
      }
    }
  }
}

extension LogStores {
  /// The space that the archives of all stores take together: at once, and again whenever it has
  /// changed. So one threshold holds for all:
  ///
  /// ```swift
  /// for await sizes in stores.sizeChanges where sizes.total > 2 << 30 {
  ///   try stores.limitTotalSize(to: 1 << 30)
  /// }
  /// ```
  ///
  /// Stores that are added to the list afterwards do not count. See ``LogStore/SizeChanges``.
  public var sizeChanges: LogStore.SizeChanges { LogStore.SizeChanges(stores: self) }
}

/// Signals that the sizes of archives have changed. Signals that come before a listener takes the
/// first of them count as one.
final class SizeSignals: Sendable {
  typealias Listener = AsyncStream<Void>.Continuation

  private struct State {
    /// Who waits; nil after the store's end.
    var listeners: [Int: Listener]? = [:]
    var nextKey = 0
  }

  private let state: LockedValue<State>

  /// - Parameter isOver: Whether the store is closed already.
  init(isOver: Bool) { state = LockedValue(State(listeners: isOver ? nil : [:])) }

  /// Whether the store is closed.
  var isFinished: Bool { state.withLock { $0.listeners == nil } }

  /// - Returns: A key to remove the listener by.
  func add(_ listener: Listener) -> Int {
    state.withLock { state in
      state.nextKey += 1
      state.listeners?[state.nextKey] = listener
      return state.nextKey
    }
  }

  func remove(_ key: Int) { state.withLock { _ = $0.listeners?.removeValue(forKey: key) } }

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
    for listener in (listeners ?? [:]).values { listener.yield() }
  }
}
