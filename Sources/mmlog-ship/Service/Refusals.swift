import CommandLineTool
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// Reports the records that a destination has refused. The first refusal is printed at once, later
/// ones as sums by reason.
final class Refusals: Sendable {
  private let name: String
  /// How many were refused since the last sum, by reason.
  private let counts = LockedValue<[String: Int]>([:])
  private let isAnySaid = LockedValue(false)
  private static let maximumReasons = 10

  /// - Parameter name: The route's name.
  init(of name: String) { self.name = name }

  func add(_ count: Int, _ reason: String) {
    let isFirst = isAnySaid.withLock { isSaid in
      defer { isSaid = true }
      return !isSaid
    }
    if isFirst { return say(count, reason) }
    // The reasons are limited: a destination may name the record in its reason.
    counts.withLock { counts in
      let isNamed = counts[reason] != nil || counts.count < Self.maximumReasons
      counts[isNamed ? reason : "other reasons", default: 0] += count
    }
  }

  func saySum() {
    let sums = counts.withLock { counts in
      defer { counts = [:] }
      return counts
    }
    for (reason, count) in sums.sorted(by: { $0.key < $1.key }) { say(count, reason) }
  }

  private func say(_ count: Int, _ reason: String) {
    let what = "\(name): \(count) record\(count == 1 ? " was" : "s were") refused"
    if reason.hasSuffix(RefusedRecords.unnamedSuffix) {
      return Command.complain("\(what), and cannot be sent again: \(reason)")
    }
    Command.complain(
      "\(what) and put aside; 'mmlog-ship retry' sends \(count == 1 ? "it" : "them") again: "
        + reason)
  }
}
