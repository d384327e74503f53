import MMLogSystem

/// An answer that one thread gives and another waits for.
final class Promise<Value: Sendable>: Sendable {
  private let value = LockedValue<Value?>(nil)
  private let answers = EventCount()

  func fulfill(_ new: Value) {
    value.withLock { $0 = new }
    answers.advance()
  }

  /// The answer; nil if there is none after so many nanoseconds, or, now and then, earlier.
  func wait(atMost nanoseconds: Int64) -> Value? {
    answers.wait(since: 0, atMost: nanoseconds)
    return value.withLock { $0 }
  }
}
