import CMMLogCore
import Glibc

/// Waiting for a word in this process's memory to change: futex(2), private form.
///
/// Async-signal-safe; errno stays as it was.
package enum Futex {
  /// How a wait ended. None of them says what the word is now: check again.
  package enum WaitResult: Equatable, Sendable {
    /// Someone called ``Futex/wake(_:count:)``, or the kernel woke the thread for no reason.
    case woken
    /// The word was not the expected one: nothing to wait for.
    case changed
    /// The time was up.
    case timedOut
    /// A signal handler ran.
    case interrupted
  }

  /// Blocks the thread while the word is `expected` and nobody wakes the thread.
  ///
  /// - Parameter timeout: in nanoseconds from now; nil for none.
  package static func wait(
    _ word: UnsafeMutablePointer<UInt32>, expected: UInt32, timeout: Int64? = nil
  ) -> WaitResult {
    // In C, a negative timeout stands for none.
    let code = mmlog_futex_wait(word, expected, timeout.map { max($0, 0) } ?? -1)
    switch code {
    case 0: return .woken
    case EAGAIN: return .changed
    case ETIMEDOUT: return .timedOut
    default: return .interrupted
    }
  }

  /// Wakes up to `count` of the threads that wait for the word. Change the word first.
  ///
  /// - Returns: how many were woken.
  @discardableResult
  package static func wake(_ word: UnsafeMutablePointer<UInt32>, count: Int32 = .max) -> Int {
    Int(mmlog_futex_wake(word, count))
  }
}
