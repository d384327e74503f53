import CommandLineTool
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Asks running processes for something, through their rings.
struct Control {
  private enum Job {
    case setLevels(LevelChange, for: Duration?)
    case listLevels
    case capture
  }

  private let job: Job
  private let paths: [String]
  private let output: StandardOutput

  /// Nil if the command line asks for something else.
  init?(_ arguments: Arguments, _ output: StandardOutput) throws(UsageError) {
    let given = [Option.setLevel, .levels, .capture]
      .filter { arguments.isSet($0) }
    let duration = try arguments.value(
      of: .duration, expected: "a time such as 30s, 10m or 2h", durationArgument)
    if duration != nil, !arguments.isSet(.setLevel) {
      throw UsageError("--for says how long --set-level holds; give --set-level too")
    }
    guard let option = given.first else { return nil }
    if given.count > 1 {
      throw UsageError(
        "--\(option.long) and --\(given[1].long) contradict each other; give one of them")
    }
    try arguments.checkAlone(option)
    if let rules = arguments.value(of: .setLevel) {
      job = .setLevels(try LevelChange(rules), for: duration)
    } else {
      job = arguments.isSet(.capture) ? .capture : .listLevels
    }
    paths = arguments.operands
    self.output = output
  }

  /// How long a process may take to answer, in nanoseconds: it checks once a second.
  private static let timeout: Int64 = 10_000_000_000

  /// - Returns: `nothingReadable` if no process runs there, `corruptionOrLoss` if something failed.
  func run() throws -> Program.Status {
    var isComplete = true
    let complain = { (error: LogError) in
      isComplete = false
      Command.decode.report(error.message.escapedForTerminal)
    }
    var rings: [LiveRing] = []
    for path in paths {
      do { rings += try LiveRing.all(in: path, problem: complain) } catch { complain(error) }
    }
    if rings.isEmpty {
      if isComplete {
        Command.decode.report("no process logs into \(paths.joined(separator: ", "))")
      }
      return .nothingReadable
    }
    switch job {
    case .setLevels(let change, let duration): try set(change, for: duration, rings, complain)
    case .listLevels: try forEach(rings, complain) { try list($0) }
    case .capture: try capture(rings, complain)
    }
    return isComplete ? .success : .corruptionOrLoss
  }

  private func forEach(
    _ rings: [LiveRing], _ complain: (LogError) -> Void, _ body: (LiveRing) throws -> Void
  ) throws {
    for ring in rings {
      do { try body(ring) } catch let error as LogError { complain(error) }
    }
  }

  // MARK: - Setting levels

  private func set(
    _ change: LevelChange, for duration: Duration?, _ rings: [LiveRing],
    _ complain: (LogError) -> Void
  ) throws {
    let expiry = duration.map { Clock.sinceBoot() &+ UInt64($0.nanoseconds) } ?? 0
    var asked: [(ring: LiveRing, ordinal: UInt32, before: [LiveRing.Label])] = []
    // All of them first, so that they do it at the same time.
    try forEach(rings, complain) { ring in
      let before = try ring.labels()
      asked.append((ring, try ring.askForLevels { change.applied(to: $0, expiry) }, before))
    }
    for (ring, ordinal, before) in asked {
      try forEach([ring], complain) { ring in
        try ring.waitForLevels(ordinal, within: Self.timeout)
        try reportChanges(ring, before)
      }
    }
  }

  private func reportChanges(_ ring: LiveRing, _ before: [LiveRing.Label]) throws {
    let old = Dictionary(before.map { ($0.name, $0.level) }) { $1 }
    var isAny = false
    for label in try ring.labels() {
      guard let level = label.level, let former = old[label.name] ?? nil, former != level else {
        continue
      }
      isAny = true
      try say("\(ring.title)  \(label.shownName): \(former) to \(level)")
    }
    if !isAny { try say("\(ring.title)  no level of a present label changed") }
  }

  // MARK: - Capturing

  private func capture(_ rings: [LiveRing], _ complain: (LogError) -> Void) throws {
    var asked: [(ring: LiveRing, request: UInt32, before: UInt64)] = []
    try forEach(rings, complain) { ring in
      guard let before = try ring.capturedCount() else {
        return try say("\(ring.title)  keeps no flight records: all go into archives")
      }
      asked.append((ring, try ring.askForCapture(), before))
    }
    for (ring, request, before) in asked {
      try forEach([ring], complain) { ring in
        try ring.waitForCapture(request, within: Self.timeout)
        let now = try ring.capturedCount() ?? before
        try say("\(ring.title)  \(count(Int(clamping: now &- before), "flight record")) captured")
      }
    }
  }

  // MARK: - Listing levels

  private func list(_ ring: LiveRing) throws {
    let now = Clock.sinceBoot()
    for label in try ring.labels() {
      let level = (label.level?.description ?? "unknown").padded(to: 8)
      try say(
        "\(ring.title)  \(level)  "
          + "\(label.shownName)\(label.isOverridden ? "  set from outside" : "")"
      )
    }
    for override in try ring.overrides() {
      let rest =
        override.expiry == 0
        ? "until it is taken back" : "for \((override.expiry - now) / 1_000_000_000 + 1) s more"
      try say("\(ring.title)  rule \(override.rule) holds \(rest)")
    }
  }

  private func say(_ line: String) throws { try output.append(line.escapedForTerminal + "\n") }
}

extension LevelChange {
  /// The rules that are to hold, made of those that do.
  fileprivate func applied(to present: [LevelOverride], _ expiry: UInt64) -> [LevelOverride] {
    let replaced = takenBack.union(rules.map(\.pattern))
    let kept = takesBackAll ? [] : present.filter { !replaced.contains($0.rule.pattern) }
    return kept + rules.map { LevelOverride($0, expiry: expiry) }
  }
}

extension LiveRing {
  /// `orders[4711]`
  fileprivate var title: String { "\(identity.processName)[\(identity.processID)]" }
}

extension LiveRing.Label {
  fileprivate var shownName: String { name.isEmpty ? "(no label)" : name }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
