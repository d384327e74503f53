import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Applies the levels that somebody outside asks for in the ring's control page, for as long as the
/// request says.
///
/// For one thread at a time: the drainer's.
final class LevelControl {
  private let ring: Ring
  private let labels: LabelTable
  private let events: EventHub
  /// The request that holds, and when the next of its rules ends, in nanoseconds since the machine
  /// was started.
  private var request: LevelRequest
  private var nextExpiry = UInt64.max
  /// Statements of the request whose limit is reached.
  private var usedUp: [LevelOverride] = []
  private var knownHeaders: (UInt64, UInt64)?
  private var lastPublishing: UInt64 = 0

  /// Takes along the rules that hold already, into the ring of a session that replaces another.
  init(_ ring: Ring, _ labels: LabelTable, _ events: EventHub) {
    (self.ring, self.labels, self.events) = (ring, labels, events)
    let present = labels.overrides
    request = LevelRequest(ordinal: present.isEmpty ? 0 : 1, present)
    if !present.isEmpty { ring.write(request) }
    ring.acknowledge(levelRequest: request.ordinal)
    nextExpiry = Self.nextExpiry(of: present)
  }

  /// Applies a new request, and ends rules whose time is over. Costs some loads if there is nothing
  /// to do.
  func poll() {
    let fileHeaders = ring.levelRequestHeaders
    let isKnown = knownHeaders.map { $0 == fileHeaders } ?? false
    if !isKnown, let newest = ring.newestLevelRequest(), newest.ordinal != request.ordinal {
      request = newest
      apply()
      knownHeaders = fileHeaders
    } else if !isKnown, fileHeaders.0 | fileHeaders.1 == 0 {
      knownHeaders = fileHeaders
    }
    if Clock.sinceBoot() >= nextExpiry || isAnyUsedUp { apply() }
    publishIfDue()
  }

  private func apply() {
    let now = Clock.sinceBoot()
    usedUp = request.overrides.filter { usedUp.contains($0) || isUsedUp($0) }
    let active = request.overrides.filter { $0.holds(at: now) && !usedUp.contains($0) }
    let isNews = labels.override(active)
    nextExpiry = Self.nextExpiry(of: active)
    labels.publishLevels(in: ring)
    publishCounts()
    // Last: whoever waits for the acknowledgment inspects the levels next.
    ring.acknowledge(levelRequest: request.ordinal)
    if isNews { events.send(.levelsSet(rules: active.map(\.rule))) }
  }

  private static func nextExpiry(of overrides: [LevelOverride]) -> UInt64 {
    overrides.map(\.expiry).filter { $0 > 0 }.min() ?? .max
  }

  /// Publishes once a second: programs change levels without notice.
  private func publishIfDue() {
    let now = Clock.monotonic()
    guard now &- lastPublishing >= 1_000_000_000 else { return }
    lastPublishing = now
    labels.publishLevels(in: ring)
    ring.publish(suppressed: labels.suppressed.values.reduce(0, &+))
    publishCounts()
  }

  // MARK: - Statements

  private func isUsedUp(_ override: LevelOverride) -> Bool {
    guard override.limit > 0, let passed = labels.passed(override) else { return false }
    return passed >= override.limit
  }

  private var isAnyUsedUp: Bool {
    request.overrides.contains { $0.limit > 0 && !usedUp.contains($0) && isUsedUp($0) }
  }

  /// Publishes how many records of the request's statements have passed.
  private func publishCounts() {
    let statements = request.overrides.filter { $0.rule.statement != nil }
    for (index, override) in statements.prefix(ControlLayout.switchCount).enumerated() {
      let limit = UInt64(override.limit)
      let passed = usedUp.contains(override) ? limit : labels.passed(override) ?? 0
      ring.publish(passed: limit > 0 ? min(passed, limit) : passed, ofStatement: index)
    }
  }
}
