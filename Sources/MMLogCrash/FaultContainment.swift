import CMMLogSignals
package import MMLogSystem

/// Keeps faults in a mapping from ending the process: SIGBUS, which the kernel raises for a page
/// that the file does not reach any more because somebody has cut it, or that the disk cannot give.
///
/// Such a page becomes private memory, full of zeros. Whoever touched it goes on; what was in it is
/// lost.
package struct FaultContainment: ~Copyable, @unchecked Sendable {
  // Never freed; what changes in it is atomic.
  private let range: OpaquePointer

  /// Has the process's SIGBUS handled from now on, if it is not yet: sigaction(2).
  ///
  /// The handler that was set before is called for all other faults. One that is set later must do
  /// the same. Not from two threads at once.
  package static func start() throws(SystemError) {
    _ = try retrying(.sigaction, "") { mmlog_containment_start() }
  }

  /// Handles SIGBUS again if its default action, which somebody's signal was to take a second ago,
  /// has not ended the process. Any thread, but not in a handler.
  package static func restore() { mmlog_containment_restore() }

  /// Contains faults in `count` bytes from `base`, whole pages, until it goes away: before they are
  /// unmapped. After ``start()``.
  ///
  /// - Parameter wake: A futex that is counted up and woken at each fault.
  /// - Returns: nil if there is no memory.
  package init?(
    _ base: UnsafeMutableRawPointer, count: Int, waking wake: UnsafeMutablePointer<UInt32>? = nil
  ) {
    guard let range = mmlog_contain(base, count, wake) else { return nil }
    self.range = range
  }

  deinit { mmlog_end_containment(range) }

  /// How many pages were lost so far. Any thread.
  package var lostPages: Int { Int(clamping: mmlog_lost_pages(range)) }
}
