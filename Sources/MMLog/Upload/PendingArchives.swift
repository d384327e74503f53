import MMLogSystem

/// The archives that are to be handed on, one after the other, for as long as the store is open:
/// see ``LogStore/pendingArchives``.
public struct PendingArchives: AsyncSequence, Sendable {
  /// An archive, leased to whoever takes it.
  public typealias Element = PendingArchive
  /// The sequence does not end because of an error.
  public typealias Failure = Never

  let core: StoreCore
  var lease = Duration.seconds(600)

  /// Returns the same sequence with leases of another length. If an uploader dies, others can have
  /// its archive once the lease ends.
  ///
  /// - Parameter lease: A day at most. Default: ten minutes.
  public func leased(for lease: Duration) -> PendingArchives {
    var other = self
    other.lease = lease
    return other
  }

  /// Makes an iterator. Several iterators, in any process, never have the same archive at a time.
  public func makeAsyncIterator() -> Iterator { Iterator(core: core, lease: lease) }

  /// Takes archives one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let core: StoreCore
    let lease: Duration

    /// Waits for the next archive. Returns nil when the store is closed, or the task is canceled.
    public mutating func next() async -> PendingArchive? {
      await core.uploads?.next(leasedFor: lease)
    }
  }
}

extension LogStore {
  /// The archives that are to be handed on, each leased to whoever takes it: first those of
  /// sessions that crashed, then those that earlier runs left, then new ones as they are sealed. An
  /// archive that was released, or not settled before its lease ended, comes again after a while.
  ///
  /// ```swift
  /// for await archive in store.pendingArchives {
  ///   await archive.upload { path in try await upload(path) }
  /// }
  /// ```
  ///
  /// The sequence ends when the store is closed, and not before: no error ends it. Archives that
  /// closing the store seals come at the next start. The last archive of a session may have no
  /// record, and only say how the session ended: a receiver learns the ending from there. An
  /// archive that fails comes again after a second, then after twice as long each time, up to five
  /// minutes, and behind all archives that have not been tried. Any number of loops may run at
  /// once, in any processes that share the directory.
  public var pendingArchives: PendingArchives { PendingArchives(core: core) }
}
