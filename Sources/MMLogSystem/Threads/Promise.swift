/// An answer that one thread gives and another waits for.
package final class Promise<Value: Sendable>: Sendable {
  private let value = LockedValue<Value?>(nil)
  private let answers = EventCount()

  package init() {}

  /// The lock, for code that acquires it around a fork.
  package var lock: ForkSafeMutex { value.lock }

  /// Gives the answer. Only the first one counts.
  package func fulfill(_ new: Value) {
    value.withLock { $0 = $0 ?? new }
    answers.advance()
  }

  /// The answer; nil if there is none after `nanoseconds`.
  package func wait(atMost nanoseconds: Int64) -> Value? {
    let deadline = Deadline(after: nanoseconds)
    while true {
      if let value = value.withLock({ $0 }) { return value }
      let left = deadline.left
      if left == 0 { return nil }
      answers.wait(since: 0, atMost: left)
    }
  }
}
