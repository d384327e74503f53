import CMMLogCore
import Glibc
import Synchronization

/// The system's clocks: clock_gettime(2). Async-signal-safe; no system call where the vDSO has it.
package enum Clock {
  /// Nanoseconds since 1970 in UTC; an administrator or NTP may set it back.
  package static func realtime() -> Int64 {
    let time = Int64(bitPattern: nanoseconds(CLOCK_REALTIME))
    #if DEBUG
      return time - setBack.load(ordering: .relaxed)
    #else
      return time
    #endif
  }

  #if DEBUG
    /// Makes this process see the wall clock set back by `span` nanoseconds.
    package static func setRealtime(back span: Int64) { setBack.store(span, ordering: .relaxed) }

    private static let setBack = Atomic<Int64>(0)
  #endif

  /// Nanoseconds since some time in this boot; never goes back, stands still in suspension.
  package static func monotonic() -> UInt64 {
    nanoseconds(CLOCK_MONOTONIC)
  }

  /// The counter that records are stamped with: the same for all processes of a machine until the
  /// machine is started anew.
  package static func ticks() -> UInt64 { mmlog_ticks() }

  /// Makes ``ticks()`` advance in steps of about a microsecond from now on, which take fewer bits
  /// in archives: for a process that does not know more exactly when something happened.
  ///
  /// - Precondition: No other thread runs yet.
  package static func coarsenTicks() { mmlog_coarsen_ticks() }

  /// When the machine was started, in nanoseconds since 1970 by the present ``realtime()``:
  /// CLOCK_BOOTTIME.
  package static func bootTime() -> Int64 {
    realtime() &- Int64(bitPattern: sinceBoot())
  }

  /// Nanoseconds since the machine was started, suspension included; never goes back:
  /// CLOCK_BOOTTIME.
  package static func sinceBoot() -> UInt64 {
    nanoseconds(CLOCK_BOOTTIME)
  }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(bitPattern: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

/// Waiting for time to pass.
package enum Sleep {
  /// Blocks the thread for `span` nanoseconds, however many signals arrive: clock_nanosleep(2).
  package static func nanoseconds(_ span: Int64) {
    if span <= 0 { return }
    let deadline = Clock.monotonic() &+ UInt64(span)
    // The call fails only for a wrong time, which this is not.
    _ = try? retrying(.clockNanosleep, "") { mmlog_sleep_until(deadline) }
  }
}

extension Duration {
  /// Whole nanoseconds; for a duration that is too long for the type, the greatest or the least
  /// number.
  package var nanoseconds: Int64 {
    // `components` traps for the longest durations.
    let bounded = Swift.min(Swift.max(self, .seconds(-1 << 40)), .seconds(1 << 40))
    let (seconds, attoseconds) = bounded.components
    let scaled = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let sum = scaled.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000)
    return scaled.overflow || sum.overflow ? seconds < 0 ? .min : .max : sum.partialValue
  }
}
