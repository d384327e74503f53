import CMMLogSignals
package import MMLogSystem

/// Keeps faults in a mapping from ending the process. The kernel raises SIGBUS for a page behind
/// the end of a file that somebody has cut, or for a page that the disk cannot read.
///
/// Such a page becomes private memory, full of zeros. The thread that touched it goes on. What was
/// in the page is lost.
package struct FaultContainment: ~Copyable, @unchecked Sendable {
  // Never freed; what changes in it is atomic.
  private let range: OpaquePointer

  /// Sets a handler for the process's SIGBUS, if that has not been done: sigaction(2).
  ///
  /// For all other faults, it calls the handler that was set before. A handler that is set later
  /// must do the same. Not from two threads at once.
  package static func start() throws(SystemError) {
    _ = try retrying(.sigaction, "") { mmlog_containment_start() }
  }

  /// Sets the handler again after a SIGBUS that somebody sent. A second ago, that signal's default
  /// action should have ended the process, but has not. Any thread, but not in a handler.
  package static func restore() { mmlog_containment_restore() }

  /// Contains faults in `count` bytes from `base`, whole pages, until this value is destroyed,
  /// which must be before the pages are unmapped. Call ``start()`` before.
  ///
  /// - Parameter wake: A futex that each fault increments and wakes.
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
