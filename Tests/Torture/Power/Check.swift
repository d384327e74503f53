import CrashCampaign
import MMLog
import MMLogAnalysis
import MMLogReader

/// Reads a folder as a machine would after a power cut: as it is, and after recovery.
struct Check {
  private(set) var problems: [String] = []
  private(set) var hasSilentHole = false
  private(set) var hasCorruption = false
  private let folder: String
  private let plan: Plan
  private let expected: Expectation

  init(_ folder: String, _ expected: Expectation) {
    (self.folder, self.expected) = (folder, expected)
    plan = Plan(seed: expected.seed)
    let found = read("before recovery")
    (hasSilentHole, hasCorruption) = (found.hasSilentHole, found.corruptionCount > 0)
    recover()
    let kept = read("after recovery")
    if plan.configuration.hashChain && kept.corruptionCount == 0 { checkChains() }
    if found.lanes != kept.lanes {
      let counts = [found, kept].map { $0.lanes.reduce(0) { $0 + $1.count } }
      problems.append(
        "recovery changed what is read: \(counts[0]) records before, \(counts[1]) after")
    }
    if expected.seed.isMultiple(of: 4) {
      recover()
      if read("after another").lanes != kept.lanes {
        problems.append("another recovery changed what is read")
      }
    }
  }

  private mutating func read(_ when: String) -> Findings {
    let findings = Findings(in: folder, plan, expected)
    problems += findings.problems.map { "\(when): \($0)" }
    return findings
  }

  /// Where nothing else is wrong, no hash may be wrong, except those of file headers: images have
  /// another boot id there. A cut may take the ring's dictionary. The archive that the ring became
  /// then lacks entries, which readers find in the session's other archives.
  private mutating func checkChains() {
    for report in CampaignIdentity.files([folder]).verify() where !report.isRing {
      if let problem = report.unchecked { problems.append("chain: \(problem)") }
      problems += report.corruption
        .filter { $0.offset > 0 && !$0.what.hasSuffix("is unknown)") }
        .map { "chain: \($0.path): \($0.summary)" }
    }
  }

  private mutating func recover() {
    do {
      try Self.recover(folder, plan)
    } catch {
      problems.append("recovery: \(error)")
    }
  }

  /// Opens the store, which recovers what is left of others, and closes it.
  ///
  /// - Parameter whenRecovered: Called between recovery and closing.
  static func recover(
    _ folder: String, _ plan: Plan, whenRecovered: () -> Void = {}
  ) throws {
    var configuration = plan.configuration
    configuration.fullRing = .wait(upTo: .seconds(1))
    let store = try LogStore(directory: folder, name: "torture", configuration: configuration)
    // A ring without a file header is left: nothing of it can be read.
    for problem in store.recoveryFailures where problem.systemErrorNumber != 0 { throw problem }
    whenRecovered()
    try store.close()
  }
}
