package import MMLogFormat
import MMLogSystem

/// Reports of fatal signals that the process has survived. They become records when there is room.
/// As long as they are here, the ring counts them, so that none is lost silently.
package final class SurvivedSignals: Sendable {
  private let reports = LockedValue([CrashReport]())

  package init() {}

  /// Adds a report that was taken out of the ring.
  package func add(_ report: CrashReport) { reports.withLock { $0.append(report) } }

  /// The oldest report, which stays here; nil if there is none.
  package var first: CrashReport? { reports.withLock { $0.first } }

  /// Removes the oldest report, unless another thread has removed it. The ring counts the report
  /// until ``CrashArea/noteSurvival()``.
  package func take(_ report: CrashReport) -> Bool {
    reports.withLock { reports in
      guard reports.first == report else { return false }
      reports.removeFirst()
      return true
    }
  }
}
