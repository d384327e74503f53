#if ServiceLifecycle
  public import MMLog
  public import ServiceLifecycle

  /// A store as a service of swift-service-lifecycle, which is closed when its group shuts down.
  ///
  /// ```swift
  /// import Logging
  /// import MMLogServiceLifecycle
  /// import ServiceLifecycle
  ///
  /// let services: [any Service] = [LogStoreService(store)]  // then the others
  /// let group = ServiceGroup(
  ///   services: services, gracefulShutdownSignals: [.sigterm], logger: Logger(label: "main"))
  /// try await group.run()
  /// ```
  ///
  /// Make it the first one: a group shuts its services down in the opposite order, and waits for
  /// each, so that the store gets what the others log at their end. A group that is canceled, as by
  /// a service that fails, cancels all at once: then the store stays open for the others. Without
  /// this service, nothing is lost either: the ring is recovered at the next start.
  public struct LogStoreService: Service {
    private let store: LogStore
    /// How long a canceled group is held up at most: it may end the process if that takes longer
    /// than it allows.
    private static var cancellationLimit: Duration { .seconds(2) }

    /// A service.
    ///
    /// - Parameter store: What is closed at the end: `LogStore.close()`.
    public init(_ store: LogStore) { self.store = store }

    /// Waits until the group shuts down, and closes the store: moves all records to archives, makes
    /// these safe from a power cut, and removes the ring. If the group is canceled instead, it makes
    /// safe what there is, in two seconds at most, and leaves the store open. If it is canceled while
    /// the store closes, it waits no longer for that, which goes on for as long as the process lives.
    /// Called by the group.
    ///
    /// - Throws: `LogError` if the archive cannot be written while the store is closed. What is not
    ///   in it is left in the ring, and recovered at the next start.
    public func run() async throws {
      do { try await gracefulShutdown() } catch {
        // The others still log why they end. What is not safe by then is in the ring.
        try? await store.flush(.disk, within: Self.cancellationLimit)
        return
      }
      let (closing, continuation) = AsyncThrowingStream<Void, any Error>.makeStream()
      Task { [store] in
        do {
          try await store.close()
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      // Ends when the store is closed, and when the task is canceled.
      for try await _ in closing {}
    }
  }
#endif
