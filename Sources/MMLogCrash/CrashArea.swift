import CMMLogCore
import CMMLogSignals
package import MMLogFormat
package import MMLogSystem

/// A place in a mapped ring, to which the process's handlers of fatal signals write what happened:
/// signal, address, registers, and return addresses with the build ids of the programs that they
/// are in.
///
/// It goes away before the ring is unmapped.
package struct CrashArea: ~Copyable, @unchecked Sendable {
  // What changes in it, a handler changes.
  private let place: UnsafeMutablePointer<mmlog_crash_report>

  /// Has SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS handled from now on, if they
  /// are not yet: sigaction(2).
  ///
  /// The handlers that were set before are called after that. Not from two threads at once.
  package static func start() throws(SystemError) {
    _ = try retrying(.sigaction, "") { mmlog_crash_start() }
    readModules()
  }

  /// Notes which programs and libraries are loaded: dl_iterate_phdr(3). Any thread, but not in a
  /// handler; does nothing before ``start()``.
  ///
  /// - Complexity: O(1) if they are those of the last time, else O(their number).
  package static func readModules() { mmlog_crash_read_modules() }

  /// The calling thread's stack: a report of which nothing is set but frames and modules. All
  /// frames are return addresses; the first one is in this function. Not in a handler.
  ///
  /// Not inlined, so that one frame always is its own.
  @inline(never)
  package static func backtrace() -> CrashReport? {
    var report = mmlog_crash_report()
    mmlog_backtrace(&report)
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Before fork(2): waits until none of mmlog's threads reads what is loaded. The loader's lock
  /// would stay taken in the child.
  package static func prepareForFork() { mmlog_crash_before_fork() }

  /// After that, in the parent, by the same thread.
  package static func resumeAfterFork() { mmlog_crash_after_fork() }

  /// In a child of fork(2), before anything else of this type. Async-signal-safe.
  package static func reinitialize() { mmlog_crash_forked() }

  /// Gives the calling thread a stack for handlers, if it has none: sigaltstack(2). Without, an
  /// overflow of its own stack is not recorded. Async-signal-safe; does nothing before ``start()``.
  package static func guardThread() { mmlog_crash_guard_thread() }

  /// Takes that away, at the thread's end.
  package static func leaveThread() { mmlog_crash_leave_thread() }

  /// Has crashes written to an address. After ``start()``.
  ///
  /// - Parameters:
  ///   - address: Where there are 4 KiB.
  ///   - stream: What reports are encrypted with, of ``CrashReport/streamSize`` bytes, for as long
  ///     as this is there; nil: they are not.
  /// - Returns: nil where there are too many already.
  package init?(at address: UnsafeMutableRawPointer, stream: UnsafeRawPointer? = nil) {
    place = address.bindMemory(to: mmlog_crash_report.self, capacity: 1)
    let stream = stream?.assumingMemoryBound(to: UInt8.self)
    guard mmlog_crash_add(place, stream) else { return nil }
  }

  /// Whether it has a report whose handler has returned, or was left by its thread: unless the
  /// process ends now, it has survived. Any thread, but not in a handler; some system calls while
  /// one runs.
  package borrowing func hasReturned() -> Bool { mmlog_crash_has_returned(place) }

  /// Takes such a report, frees the place for the next, and counts a survival; nil if there is
  /// none, or too many are counted.
  package borrowing func take() -> CrashReport? {
    var report = mmlog_crash_report()
    guard mmlog_crash_take(place, &report) else { return nil }
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Whether a signal's handler has written its report, or begun to, and is still under way: unless
  /// the process survives that, it is dying.
  package borrowing func isDying() -> Bool { mmlog_crash_is_running(place) }

  /// A copy of the report of such a handler, when all of it is there; nil if there is none. Waits
  /// for a handler that writes it, a second at most.
  package borrowing func copy() -> CrashReport? {
    var report = mmlog_crash_report()
    guard mmlog_crash_copy(place, &report) else { return nil }
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Says that a report which was taken has become a record, or is counted as a loss.
  package borrowing func noteSurvival() { mmlog_crash_noted(place) }

  /// Ends it without giving anything back, and waits for a handler that writes to it, a second at
  /// most. Async-signal-safe.
  ///
  /// - Returns: False if a handler still may, and may read the stream.
  @discardableResult
  package borrowing func detach() -> Bool { mmlog_crash_remove(place) }

  deinit { _ = mmlog_crash_remove(place) }
}
