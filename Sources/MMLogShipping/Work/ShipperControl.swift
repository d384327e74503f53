import MMLogStorage
import MMLogSystem

/// What a shipper's thread shares with other threads.
final class ShipperControl: Sendable {
  struct Orders: Sendable {
    var isSuspended = false
    var isStopping = false
    /// Whether the shipper's thread runs, so that it answers flushes.
    var isRunning = false
    /// Whether a batch that waits for its next try is to be sent at once.
    var isHurried = false
    var flushes: [Flush] = []
    var nextFlush = 0
  }

  struct Flush: Sendable {
    let number: Int
    let deadline: Deadline
    let answer: CheckedContinuation<Bool, Never>
  }

  let orders = LockedValue(Orders())
  let statistics = LockedValue(Shipper.Statistics())
  private let wakeups = EventCount()
  /// Nil once the events have ended.
  private let listeners = LockedValue<[AsyncStream<Shipper.Event>.Continuation]?>([])

  deinit { finishEvents() }

  func change(_ body: (inout Orders) -> Void) {
    orders.withLock { body(&$0) }
    wakeups.advance()
  }

  func stop() { change { $0.isStopping = true } }

  var isStopping: Bool { orders.withLock { $0.isStopping } }

  /// How many wakeups there were; see ``EventCount/current``.
  var wakeupCount: UInt32 { wakeups.current }

  /// Waits until an order comes, or until a flush's deadline, for at most so many nanoseconds.
  func wait(since seen: UInt32, atMost nanoseconds: Int64) {
    let limit = min(nanoseconds, timeUntilDeadline)
    if limit > 0 { wakeups.wait(since: seen, atMost: limit) }
    answerLateFlushes()
  }

  func wake() { wakeups.advance() }

  // MARK: - Flushing

  func flush(within limit: Duration) async -> Bool {
    let deadline = Deadline(after: limit.nanoseconds)
    return await withCheckedContinuation { answer in
      let isRunning = orders.withLock { orders in
        guard orders.isRunning else { return false }
        orders.nextFlush += 1
        orders.flushes.append(Flush(number: orders.nextFlush, deadline: deadline, answer: answer))
        return true
      }
      if isRunning { wakeups.advance() } else { answer.resume(returning: false) }
    }
  }

  /// The time until the earliest deadline of a flush, in nanoseconds.
  var timeUntilDeadline: Int64 {
    orders.withLock { $0.flushes.map(\.deadline.left).min() } ?? .max
  }

  /// Answers flushes whose deadline is over.
  func answerLateFlushes() {
    answerFlushes(done: false) { $0.deadline.isOver }
  }

  /// Notes that the thread ends, and answers all flushes: nobody waits for it any longer.
  func end() {
    orders.withLock { $0.isRunning = false }
    answerFlushes(done: false) { _ in true }
  }

  /// Answers the callers that wait for a flush.
  func answerFlushes(done isDone: Bool, where isMeant: (Flush) -> Bool) {
    let answered = orders.withLock { orders in
      let meant = orders.flushes.filter(isMeant)
      let numbers = Set(meant.map(\.number))
      orders.flushes.removeAll { numbers.contains($0.number) }
      return meant
    }
    for flush in answered { flush.answer.resume(returning: isDone) }
  }

  // MARK: - Events

  func makeEvents() -> AsyncStream<Shipper.Event> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1000)) { listener in
      let isListening = listeners.withLock { listeners in
        listeners?.append(listener)
        return listeners != nil
      }
      if !isListening { listener.finish() }
    }
  }

  func send(_ event: Shipper.Event) {
    listeners.withLock { listeners in
      listeners?.removeAll { listener in
        if case .terminated = listener.yield(event) { true } else { false }
      }
    }
  }

  /// Notes why something failed.
  ///
  /// - Parameter isNew: Whether it is to be reported.
  func note(_ error: LogError, isNew: Bool) {
    statistics.withLock { $0.lastError = error.message }
    if isNew { send(.failed(error: error)) }
  }

  func finishEvents() {
    let all = listeners.withLock { listeners in
      defer { listeners = nil }
      return listeners ?? []
    }
    for listener in all { listener.finish() }
  }
}
