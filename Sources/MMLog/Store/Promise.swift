import CMMLogCore
import MMLogSystem

/// An answer that one thread gives and another waits for.
///
/// Proof of `@unchecked Sendable`: the word is touched by atomic operations only, the rest never
/// changes.
final class Promise<Value: Sendable>: @unchecked Sendable {
  private let value = Guarded<Value?>(nil)
  /// 1 when there is one.
  private let word: UnsafeMutablePointer<UInt32>

  init() {
    word = .allocate(capacity: 1)
    word.initialize(to: 0)
  }

  deinit { word.deallocate() }

  func fulfill(_ new: Value) {
    value.withLock { $0 = new }
    mmlog_store_release_u32(word, 1)
    Futex.wake(word)
  }

  /// The answer; nil if there is none after so many nanoseconds, or, now and then, earlier.
  func wait(atMost nanoseconds: Int64) -> Value? {
    _ = Futex.wait(word, expected: 0, timeout: nanoseconds)
    return value.withLock { $0 }
  }
}
