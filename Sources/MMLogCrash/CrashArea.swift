import CMMLogCore
import CMMLogSignals
package import MMLogFormat
package import MMLogSystem

/// A place in a mapped ring where the process's handlers of fatal signals write what happened:
/// signal, address, registers, and return addresses with the build ids of their programs.
///
/// Must be destroyed before the ring is unmapped.
package struct CrashArea: ~Copyable, @unchecked Sendable {
  // A handler changes the memory. All others change only its state, by atomic operations.
  private let place: UnsafeMutablePointer<mmlog_crash_report>

  /// Sets handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP and SIGSYS, if that has
  /// not been done: sigaction(2).
  ///
  /// After these handlers, those that were set before are called. Not from two threads at once.
  package static func start() throws(SystemError) {
    _ = try retrying(.sigaction, "") { mmlog_crash_start() }
    readModules()
  }

  /// Notes which programs and libraries are loaded: dl_iterate_phdr(3). Any thread, but not in a
  /// handler; does nothing before ``start()``.
  ///
  /// - Complexity: O(1) if nothing was loaded or unloaded since the last call, else O(programs and
  ///   libraries).
  package static func readModules() { mmlog_crash_read_modules() }

  /// The calling thread's stack: a report in which only frames and modules are set. All frames are
  /// return addresses; the first one is in this function. Not in a handler.
  ///
  /// Not inlined, so that exactly one frame is in this function.
  @inline(never)
  package static func backtrace() -> CrashReport? {
    var report = mmlog_crash_report()
    mmlog_backtrace(&report)
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Called before fork(2): waits until none of mmlog's threads reads which programs are loaded.
  /// Otherwise the loader's lock would stay taken in the child.
  package static func prepareForFork() { mmlog_crash_before_fork() }

  /// Called after fork(2), in the parent, by the same thread.
  package static func resumeAfterFork() { mmlog_crash_after_fork() }

  /// Called in a child of fork(2), before anything else of this type. Async-signal-safe.
  package static func reinitialize() { mmlog_crash_forked() }

  /// Gives the calling thread a stack for handlers, if it has none: sigaltstack(2). Without such a
  /// stack, an overflow of the thread's own stack is not recorded. Async-signal-safe; does nothing
  /// before ``start()``.
  package static func guardThread() { mmlog_crash_guard_thread() }

  /// Takes that stack away, at the thread's end.
  package static func leaveThread() { mmlog_crash_leave_thread() }

  /// Makes handlers write crashes to an address. Call ``start()`` before.
  ///
  /// - Parameters:
  ///   - address: The address of 4 KiB.
  ///   - stream: The ``CrashReport/streamSize`` bytes that reports are encrypted with, valid for as
  ///     long as this value exists; nil: reports are not encrypted.
  /// - Returns: nil if there are too many areas already.
  package init?(at address: UnsafeMutableRawPointer, stream: UnsafeRawPointer? = nil) {
    place = address.bindMemory(to: mmlog_crash_report.self, capacity: 1)
    let stream = stream?.assumingMemoryBound(to: UInt8.self)
    guard mmlog_crash_add(place, stream) else { return nil }
  }

  /// Whether there is a report whose handler has returned, or was left by its thread: unless the
  /// process ends now, it has survived. Any thread, but not in a handler. Makes some system calls
  /// while a handler runs.
  package borrowing func hasReturned() -> Bool { mmlog_crash_has_returned(place) }

  /// Takes such a report, frees the place for the next one, and counts a survival. Nil if there is
  /// no report, or too many survivals are counted.
  package borrowing func take() -> CrashReport? {
    var report = mmlog_crash_report()
    guard mmlog_crash_take(place, &report) else { return nil }
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Whether a handler that has written its report, or begun to, is still under way: unless the
  /// process survives the signal, it is dying.
  package borrowing func isDying() -> Bool { mmlog_crash_is_running(place) }

  /// A complete copy of the report of such a handler; nil if there is none. Waits for a handler
  /// that is writing its report, a second at most.
  package borrowing func copy() -> CrashReport? {
    var report = mmlog_crash_report()
    guard mmlog_crash_copy(place, &report) else { return nil }
    return withUnsafeBytes(of: report) { CrashReport($0) }
  }

  /// Notes that a taken report has become a record, or is counted as a loss.
  package borrowing func noteSurvival() { mmlog_crash_noted(place) }

  /// Ends the area without freeing anything, and waits for a handler that writes to it, a second at
  /// most. Async-signal-safe.
  ///
  /// - Returns: False if a handler may still write, and may read the stream.
  @discardableResult
  package borrowing func detach() -> Bool { mmlog_crash_remove(place) }

  deinit { _ = mmlog_crash_remove(place) }
}
