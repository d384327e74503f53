import MMLogStorage
import MMLogSystem
import Synchronization

/// Hands events to everyone who listens.
final class EventHub: Sendable {
  private let state: LockedValue<State>
  private let nextKey = Atomic<Int>(0)
  private let missedByStreams = Atomic<Int>(0)
  private let observer: ObserverQueue?
  /// Not events: a listener only needs to know that there were some.
  let sizeSignals: SizeSignals

  private struct State {
    /// What happened at the start, for everyone who will ever listen.
    var startup: [LogStore.Event]
    /// Who listens; nil after the store's end.
    var listeners: [Int: AsyncStream<LogStore.Event>.Continuation]? = [:]
    /// The newest events since the start, until somebody listens; nil from then on.
    var unheard: [LogStore.Event]? = []
    /// What is written to standard error while nobody listens; nil if there is an observer.
    var reports: TroubleReports?

    var all: [AsyncStream<LogStore.Event>.Continuation] { listeners.map { Array($0.values) } ?? [] }
  }

  /// How many events wait for a listener at most.
  private static let maximum = 256

  /// - Parameters:
  ///   - name: The store's.
  ///   - startup: What happened before anyone could listen.
  ///   - observer: Is notified of the start's events, too.
  ///   - isOver: Whether the store is closed already.
  init(
    of name: String, startup: [LogStore.Event], observer: (any LogStore.Observer)?,
    isOver: Bool = false
  ) {
    var reports = observer == nil ? TroubleReports(of: name) : nil
    for event in startup { reports?.add(event, at: Clock.monotonic()) }
    state = LockedValue(
      State(startup: startup, listeners: isOver ? nil : [:], reports: reports))
    sizeSignals = SizeSignals(isOver: isOver)
    self.observer = isOver ? nil : observer.map { ObserverQueue($0) }
    for event in startup { self.observer?.send(event) }
  }

  /// How many events listeners and the observer have missed, because they did not keep up.
  var missedCount: Int {
    missedByStreams.load(ordering: .relaxed) + (observer?.missedCount ?? 0)
  }

  /// Returns a stream of what happened at the start, and of all events from now on. The first
  /// stream also has the events since the start. A listener that does not keep up misses the oldest
  /// events.
  func stream() -> AsyncStream<LogStore.Event> {
    AsyncStream(bufferingPolicy: .bufferingNewest(Self.maximum)) { continuation in
      let key = nextKey.add(1, ordering: .relaxed).newValue
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners?.removeValue(forKey: key) }
      }
      let isOpen = state.withLock { state in
        // Under the lock, so that later events come behind these. Nobody has the stream yet, so
        // nobody can end it meanwhile.
        for event in state.startup + (state.unheard ?? []) { yield(event, to: continuation) }
        if state.unheard != nil { state.reports?.forget() }
        state.unheard = nil
        state.listeners?[key] = continuation
        return state.listeners != nil
      }
      if !isOpen { continuation.finish() }
    }
  }

  func send(_ event: LogStore.Event) {
    send(event) { state in
      if let unheard = state.unheard { state.unheard = unheard.suffix(Self.maximum - 1) + [event] }
    }
  }

  /// Sends an event about something that the start has found. Later listeners receive it, too.
  func sendAtStart(_ event: LogStore.Event) { send(event) { $0.startup.append(event) } }

  private func send(_ event: LogStore.Event, keeping keep: (inout State) -> Void) {
    let listeners = state.withLock { state in
      keep(&state)
      let listeners = state.all
      if listeners.isEmpty { state.reports?.add(event, at: Clock.monotonic()) }
      return listeners
    }
    // Not under the lock: a listener may end inside `yield`.
    for listener in listeners { yield(event, to: listener) }
    observer?.send(event)
  }

  private func yield(
    _ event: LogStore.Event, to listener: AsyncStream<LogStore.Event>.Continuation
  ) {
    if case .dropped = listener.yield(event) { missedByStreams.add(1, ordering: .relaxed) }
  }

  /// Writes to standard error what has waited for a listener for a second, in vain.
  ///
  /// - Parameter isOver: Whether nothing can wait any longer.
  func reportTrouble(isOver: Bool = false) {
    let lines = state.withLock { state in
      state.reports?.takeLines(at: Clock.monotonic(), isOver: isOver) ?? []
    }
    for line in lines { CurrentProcess.writeToStandardError(line) }
  }

  /// Whether the observer lets an archive be deleted; true if there is no observer, or it does not
  /// answer.
  func mayDelete(_ archive: ArchiveInfo, _ rule: Retention.Rule) -> Bool {
    observer?.ask(archive, rule) ?? true
  }

  /// Waits until the observer has had all events, unless the observer is the caller. Called after
  /// the store's end.
  func waitForObserver() { observer?.waitForEnd() }

  /// Lets nobody wait for the observer any longer.
  func stopAsking() { observer?.stopAsking() }

  func finish() {
    reportTrouble(isOver: true)
    let all = state.withLock { state in
      defer { state.listeners = nil }
      return state.all
    }
    for listener in all { listener.finish() }
    sizeSignals.finish()
    observer?.finish()
  }
}
