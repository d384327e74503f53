import CommandLineTool
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

// What running processes are asked for, through their rings.

extension Command {
  static let levels = Command(
    "levels",
    description: ["Lists the labels of running processes, with their levels."],
    options: [], operands: storeOperands
  ) { arguments, output in
    try Control(arguments.directories(), output).run { control, rings, complain in
      try control.forEach(rings, complain) { try control.list($0) }
    }
  }

  static let setLevel = Command(
    "set-level",
    description: [
      "Sets levels in the processes that log into PATH now.",
      """
      RULES are such as 'db.*=debug,orders=info', in which * and ? stand for any characters; a \
      level alone is for all labels, and the level 'off' lets no record pass. The most particular \
      pattern counts. A process does it within a second. 'db.*=default' takes the rule of a \
      pattern back, 'default' all of them.
      """,
    ],
    options: [.duration],
    operands: Operands("RULES PATH", count: 1...Int.max, "What to set, and where."),
    examples: [
      Example(
        "More of the database in a running service, for ten minutes",
        "mmlogctl set-level 'db.*=debug' --for 10m /var/log/orders")
    ]
  ) { arguments, output in
    let duration = try arguments.value(
      of: .duration, expected: "a time such as 30s, 10m or 2h", durationArgument)
    let change = try LevelChange(arguments.operands[0])
    let paths = try arguments.directories(behind: 1)
    return try Control(paths, output).run { control, rings, complain in
      try control.set(change, for: duration, rings, complain)
    }
  }

  static let capture = Command(
    "capture",
    description: [
      """
      Has running processes move the flight records of the last time into their archives, as a \
      record of their captureLevel does.
      """
    ],
    options: [], operands: storeOperands
  ) { arguments, output in
    try Control(arguments.directories(), output).run { try $0.capture($1, $2) }
  }
}

/// Asks running processes for something, through their rings.
private struct Control {
  private let paths: [String]
  private let output: StandardOutput

  init(_ paths: [String], _ output: StandardOutput) { (self.paths, self.output) = (paths, output) }

  /// How long a process may take to answer, in nanoseconds: it checks once a second.
  private static let timeout: Int64 = 10_000_000_000

  /// - Parameter body: Asks the processes that log there; says what failed.
  /// - Returns: `nothingReadable` if no process runs there, `corruptionOrLoss` if something failed.
  func run(
    _ body: (Control, [LiveRing], (LogError) -> Void) throws -> Void
  ) throws -> Program.Status {
    var isComplete = true
    let complain = { (error: LogError) in
      isComplete = false
      Command.complain(error.message)
    }
    var rings: [LiveRing] = []
    for path in paths {
      do { rings += try LiveRing.all(in: path, problem: complain) } catch { complain(error) }
    }
    if rings.isEmpty {
      if isComplete { Command.complain("no process logs into \(paths.joined(separator: ", "))") }
      return .nothingReadable
    }
    try body(self, rings, complain)
    return isComplete ? .success : .corruptionOrLoss
  }

  func forEach(
    _ rings: [LiveRing], _ complain: (LogError) -> Void, _ body: (LiveRing) throws -> Void
  ) throws {
    for ring in rings {
      do { try body(ring) } catch let error as LogError { complain(error) }
    }
  }

  // MARK: - Setting levels

  func set(
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

  func capture(_ rings: [LiveRing], _ complain: (LogError) -> Void) throws {
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

  func list(_ ring: LiveRing) throws {
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
