public import MMLogStorage
import Synchronization

/// Something that a store has done or met, for whoever looks after the service.
public enum LogEvent: Sendable {
  /// An archive was closed; its path.
  case rotated(archive: String)
  /// A session that had ended without closing its store was recovered.
  case recovered(RecoveredSession)
  /// Records were lost since the last event of this kind; the ledger counts from the session's start.
  case dropped(LossLedger)
  /// Archives cannot be written, or a ring cannot be made or recovered; the store tries again by itself.
  case failed(LogError)
  /// Archives can be written again.
  case resumed
}

/// Hands events to everyone who listens.
final class EventHub: Sendable {
  /// Who listens; nil after the store's end.
  private let listeners = Mutex<[Int: AsyncStream<LogEvent>.Continuation]?>([:])
  private let nextKey = Atomic<Int>(0)
  private let startup: [LogEvent]

  /// - Parameter startup: What happened before anyone could listen.
  init(startup: [LogEvent]) { self.startup = startup }

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
      listener.yield(event)
    }
  }

  func finish() {
    let all = listeners.withLock { listeners in
      defer { listeners = nil }
      return listeners.map { Array($0.values) } ?? []
    }
    for listener in all { listener.finish() }
  }
}
