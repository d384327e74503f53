#if ServiceLifecycle
  public import MMLog
  public import ServiceLifecycle

  /// A service of swift-service-lifecycle that closes a store when its group shuts down.
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
  /// Make it the first service: a group shuts its services down in the opposite order, and waits
  /// for each, so that the store gets what the others log at their end. A group that is canceled,
  /// such as by a service that fails, cancels all services at once: then the store stays open for
  /// the others. Without this service, nothing is lost either: the ring is recovered at the next
  /// start.
  public struct LogStoreService: Service {
    private let store: LogStore
    /// How long this holds up a canceled group at most: the group may end the process if its
    /// services take longer than it allows.
    private static var cancellationLimit: Duration { .seconds(2) }

    /// Makes a service.
    ///
    /// - Parameter store: The store that is closed at the end: `LogStore.close()`.
    public init(_ store: LogStore) { self.store = store }

    /// Waits until the group shuts down, and closes the store: moves all records to archives, makes
    /// these safe from a power cut, and removes the ring. If the group is canceled instead, this
    /// makes all records so far safe from a power cut, in two seconds at most, and leaves the store
    /// open. If the group is canceled while the store closes, this stops waiting, and the closing
    /// goes on for as long as the process lives. Called by the group.
    ///
    /// - Throws: `LogError` if the archive cannot be written while the store is closed. Records
    ///   that are not in it stay in the ring, and are recovered at the next start.
    public func run() async throws {
      do { try await gracefulShutdown() } catch {
        // The other services still log why they end. Records that are not safe by then are in the
        // ring.
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
