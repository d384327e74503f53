import CMMLogCore
import CMMLogSignals

/// A place in a mapped ring where the process's end is noted: that it exits, or which signal ends
/// it.
///
/// Must be destroyed before the ring is unmapped.
package struct EndingArea: ~Copyable, @unchecked Sendable {
  // Only code in C changes the memory, under a lock of its own.
  private let place: UnsafeMutablePointer<mmlog_ending>

  /// Sets handlers for those of SIGTERM, SIGINT and SIGHUP whose action is the default one:
  /// sigaction(2). The handlers note the signals, which still end the process.
  package static func handleSignals() { mmlog_ending_handle_signals() }

  /// Takes back what was noted a second ago: the process lives. Any thread, but not in a handler.
  package static func deny() { mmlog_ending_deny() }

  /// Called in a child of fork(2), before anything else of this type. Async-signal-safe.
  package static func reinitialize() { mmlog_ending_forked() }

  /// Makes the process's end be written to an address.
  ///
  /// - Parameter address: The address of 32 bytes, aligned to 8.
  /// - Returns: nil if there is no memory.
  package init?(at address: UnsafeMutableRawPointer) {
    place = address.bindMemory(to: mmlog_ending.self, capacity: 1)
    guard mmlog_ending_add(place) else { return nil }
  }

  /// Ends the area without freeing anything. Async-signal-safe.
  package borrowing func detach() { mmlog_ending_remove(place) }

  deinit { mmlog_ending_remove(place) }
}
