import MMLogStorage
import MMLogSystem
import Synchronization

/// Hands events to everyone who listens.
final class EventHub: Sendable {
  /// Who listens; nil after the store's end.
  private let listeners = Guarded<[Int: AsyncStream<LogEvent>.Continuation]?>([:])
  private let nextKey = Atomic<Int>(0)
  private let missedByStreams = Atomic<Int>(0)
  private let startup: [LogEvent]
  private let observer: ObserverQueue?

  /// - Parameters:
  ///   - startup: What happened before anyone could listen.
  ///   - observer: Is told of these, too.
  init(startup: [LogEvent], observer: (any LogStoreObserver)?) {
    self.startup = startup
    self.observer = observer.map { ObserverQueue($0) }
    for event in startup { self.observer?.send(event) }
  }

  /// How many events listeners and the observer have missed, because they did not keep up.
  var missedCount: Int {
    missedByStreams.load(ordering: .relaxed) + (observer?.missedCount ?? 0)
  }

  /// A stream of what happened at the start and of all events from now on. A listener that does not keep up misses the oldest.
  func stream() -> AsyncStream<LogEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
      for event in startup { continuation.yield(event) }
      let key = nextKey.add(1, ordering: .relaxed).newValue
      continuation.onTermination = { [weak self] _ in
        self?.listeners.withLock { _ = $0?.removeValue(forKey: key) }
      }
      let isOpen = listeners.withLock { listeners in
        listeners?[key] = continuation
        return listeners != nil
      }
      if !isOpen { continuation.finish() }
    }
  }

  func send(_ event: LogEvent) {
    // Not under the lock: a listener may end inside `yield`.
    for listener in listeners.withLock({ $0.map { Array($0.values) } ?? [] }) {
      if case .dropped = listener.yield(event) { missedByStreams.add(1, ordering: .relaxed) }
    }
    observer?.send(event)
  }

  /// Whether the observer lets an archive be deleted; true if there is none, or none that answers.
  func mayDelete(_ archive: ArchiveInfo, _ rule: RetentionRule) -> Bool {
    observer?.ask(archive, rule) ?? true
  }

  /// Lets nobody wait for the observer any longer.
  func stopAsking() { observer?.stopAsking() }

  func finish() {
    let all = listeners.withLock { listeners in
      defer { listeners = nil }
      return listeners.map { Array($0.values) } ?? []
    }
    for listener in all { listener.finish() }
    observer?.finish()
  }
}
