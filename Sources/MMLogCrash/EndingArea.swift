import CMMLogCore
import CMMLogSignals

/// A place in a mapped ring, to which the process's end is written: that it exits, or which signal
/// ends it.
///
/// It goes away before the ring is unmapped.
package struct EndingArea: ~Copyable, @unchecked Sendable {
  // What changes in it is written by C, under a lock of its own.
  private let place: UnsafeMutablePointer<mmlog_ending>

  /// Has SIGTERM, SIGINT and SIGHUP noted from now on, those of them whose action is the default
  /// one: sigaction(2). They end the process all the same.
  package static func handleSignals() { mmlog_ending_handle_signals() }

  /// Takes back what was noted a second ago: the process lives. Any thread, but not in a handler.
  package static func deny() { mmlog_ending_deny() }

  /// In a child of fork(2), before anything else of this type. Async-signal-safe.
  package static func reinitialize() { mmlog_ending_forked() }

  /// Has the end written to an address.
  ///
  /// - Parameter address: Where there are 32 bytes, aligned to 8.
  /// - Returns: nil where there is no memory.
  package init?(at address: UnsafeMutableRawPointer) {
    place = address.bindMemory(to: mmlog_ending.self, capacity: 1)
    guard mmlog_ending_add(place) else { return nil }
  }

  /// Ends it without giving anything back. Async-signal-safe.
  package borrowing func detach() { mmlog_ending_remove(place) }

  deinit { mmlog_ending_remove(place) }
}
