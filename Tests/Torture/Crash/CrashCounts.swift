import CrashCampaign
import MMLogStorage

/// What came of many rounds.
struct CrashCounts {
  private(set) var rounds = 0
  private(set) var failed = 0
  private var records = 0
  private var crashes = 0
  private var events: [CrashRound.Event: Int] = [:]
  private var deaths: [TestPoint: Int] = [:]

  init() {}

  /// The events that could have happened and never did.
  var idle: [CrashRound.Event] {
    CrashRound.Event.allCases.filter { $0.isReachable && events[$0, default: 0] == 0 }
  }

  /// Test points at which a process could have died, and none did.
  var missed: [TestPoint] {
    TestPoint.allCases.filter { $0.isReachable && deaths[$0, default: 0] == 0 }
  }

  mutating func add(_ outcome: CrashRound.Outcome) {
    rounds += 1
    if !outcome.problems.isEmpty { failed += 1 }
    records += outcome.records
    crashes += outcome.crashes
    events.merge(outcome.events, uniquingKeysWith: +)
    deaths.merge(outcome.deaths, uniquingKeysWith: +)
  }

  mutating func add(_ other: CrashCounts) {
    rounds += other.rounds
    failed += other.failed
    records += other.records
    crashes += other.crashes
    events.merge(other.events, uniquingKeysWith: +)
    deaths.merge(other.deaths, uniquingKeysWith: +)
  }

  /// For the process that started this one: all numbers on one line.
  var text: String {
    ([rounds, failed, records, crashes]
      + CrashRound.Event.allCases.map { events[$0, default: 0] }
      + TestPoint.allCases.map { deaths[$0, default: 0] })
      .map(String.init).joined(separator: " ")
  }

  /// Reads the last line that a process printed. All counts are 0 if the process did not come to
  /// its end.
  init(report: String) {
    let (events, points) = (CrashRound.Event.allCases, TestPoint.allCases)
    let line = report.split(separator: "\n").last ?? ""
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 4 + events.count + points.count else { return }
    (rounds, failed, records, crashes) = (numbers[0], numbers[1], numbers[2], numbers[3])
    self.events = Dictionary(uniqueKeysWithValues: zip(events, numbers[4...]))
    deaths = Dictionary(uniqueKeysWithValues: zip(points, numbers[(4 + events.count)...]))
  }

  func summary(seconds: Double) -> String {
    let rate = (Double(rounds) / max(seconds, 0.001) * 100).rounded() / 100
    let points = TestPoint.allCases.map { "  \($0): \(deaths[$0, default: 0])\n" }.joined()
    let endings = CrashRound.Event.allCases.map { "  \($0): \(events[$0, default: 0])\n" }.joined()
    return """
      \(rounds) rounds in \(Int(seconds)) s, \(rate) a second: \(failed) failed
      \(records) records were acknowledged; \(crashes) processes died of a signal that was recorded
      how sessions ended, and what else was drawn:
      \(endings)processes that died at test points:
      \(points)
      """
  }
}
