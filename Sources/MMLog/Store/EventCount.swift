import CMMLogCore
import MMLogSystem

/// Counts events, so that a thread can wait for the next one without missing any: an event count.
///
/// Proof of `@unchecked Sendable`: the word is touched by atomic operations only.
final class EventCount: @unchecked Sendable {
  private let word: UnsafeMutablePointer<UInt32>

  init() {
    word = .allocate(capacity: 1)
    word.initialize(to: 0)
  }

  deinit { word.deallocate() }

  /// To be read before one checks whether there is anything to do.
  var current: UInt32 { mmlog_load_acquire_u32(word) }

  /// Wakes those who wait.
  func advance() {
    _ = mmlog_fetch_add_u32(word, 1)
    Futex.wake(word)
  }

  /// Waits until there was another event since `seen`, for so many nanoseconds at most; now and
  /// then less.
  func wait(since seen: UInt32, atMost nanoseconds: Int64) {
    _ = Futex.wait(word, expected: seen, timeout: nanoseconds)
  }
}
