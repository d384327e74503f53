import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Reports of fatal signals that the process has survived, and that are to become records when
/// there is room for them. As long as they are here, the ring counts them, so that none is lost
/// silently.
final class SurvivedSignals: Sendable {
  private let ring: Ring
  private let reports = Guarded([CrashReport]())

  init(_ ring: Ring) { self.ring = ring }

  /// Takes over the report that is in the ring, if there is one.
  func collect() {
    guard let report = ring.takeSurvivedSignal() else { return }
    reports.withLock { $0.append(report) }
  }

  /// The oldest report, which stays here; nil if there is none.
  var first: CrashReport? { reports.withLock { $0.first } }

  /// Takes out the oldest report, unless another thread has. The ring counts it until
  /// ``Ring/noteSurvival()``.
  func take(_ report: CrashReport) -> Bool {
    reports.withLock { reports in
      guard reports.first == report else { return false }
      reports.removeFirst()
      return true
    }
  }

  /// Counts the reports that are left as losses: no record is made of them any more.
  func giveUp() {
    while let report = first, take(report) {
      ring.countLoss(.ringFull, .critical)
      ring.noteSurvival()
    }
  }
}
