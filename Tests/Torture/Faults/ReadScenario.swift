import CrashRecords
import Glibc
import MMLogSystem

/// A folder with archives, and with a ring and archives of a session that died, is read while a
/// system call fails.
enum ReadScenario {
  static func run(_ combination: Combination?, _ folder: String) -> Scenario.Outcome {
    let whole = Reading(folder, Scenario.lanes, plain: Scenario.flightLanes)
    let before = OpenThings(in: folder)
    if let combination { combination.arm() } else { CallCounts.begin() }
    let reading = Reading(folder, Scenario.lanes, plain: Scenario.flightLanes)
    var outcome = Scenario.Outcome()
    for _ in CallCounts.Moment.allCases { outcome.counts.note() }
    #if DEBUG
      outcome.isStruck = !ForcedFault.struckPaths.isEmpty
      ForcedFault.clear(under: nil)
    #endif
    outcome.problems =
      reading.problems + OpenThings(in: folder).beyond(before).map { "still open: \($0)" }
    let missing = zip(whole.counts, reading.counts).map { $0 - $1 }
    // A file that is gone before it is opened was moved or deleted: there is nothing to report.
    let isGone =
      combination?.code == ENOENT && [.fstatat, .openat].contains(combination?.call)
    let isReported = isGone || !reading.complaints.isEmpty
    if missing.contains(where: { $0 != 0 }) && !isReported {
      outcome.problems.append(
        "\(missing) records of the lanes are missing, and nothing reports it")
    }
    if whole.crashCount != reading.crashCount && !isReported {
      outcome.problems.append("what a session died of is not reported")
    }
    return outcome
  }
}
