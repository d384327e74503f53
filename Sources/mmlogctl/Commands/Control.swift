import CommandLineTool
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

// Requests to running processes, through their rings.

extension Command {
  static let levels = Command(
    "levels",
    description: [
      "Lists the labels of running processes, with their levels, and rate limits from outside."
    ],
    options: [.silent], operands: storeOperands
  ) { arguments, output in
    try Control(arguments, output).run { control in
      try control.forEach { try control.list($0) }
    }
  }

  static let setLevel = Command(
    "set-level",
    description: [
      "Sets levels and rate limits in the processes that log into PATH now.",
      """
      An example of RULES is 'db.*=debug,orders=info'. In a pattern, * and ? stand for any \
      characters. A level without a pattern is for all labels. The levels are trace, debug, info, \
      notice, warning, error and critical, in any case and also by names of other loggers, such as \
      warn, err and fatal; 'off' lets no record pass. The most specific pattern applies. A process \
      follows the rules within a second. 'db.*=default' ends the rules of a pattern, and 'default' \
      ends all rules.
      """,
      """
      With 'db.*=100/1s', each log statement is recorded at most 100 times a second. With \
      'db.*=100/1s/1000', every 1000th further time is recorded, too. Intervals have the units ms, \
      s, m and h. 'db.*=unlimited' ends a limit that the program has set. 'mmlogctl status' says \
      how many records were suppressed.
      """,
    ],
    options: [.duration, .timeout, .silent],
    operands: Operands("RULES", then: "PATH", "What to set, and where; else in MMLOG_DIR."),
    examples: [
      Example(
        "More of the database in a running service, for ten minutes",
        "mmlogctl set-level 'db.*=debug' --for 10m /var/log/orders")
    ]
  ) { arguments, output in
    let expiry = try arguments.expiry()
    let change = try LevelChange(arguments.operands[0])
    return try Control(arguments, behind: 1, output).run { try $0.set(change, until: expiry) }
  }

  static let capture = Command(
    "capture",
    description: [
      """
      Makes running processes archive the records that only their rings have (records below \
      archiveLevel), as far back as captureTime: a minute unless set.
      """
    ],
    options: [.timeout, .silent], operands: storeOperands
  ) { arguments, output in
    try Control(arguments, output).run { try $0.capture() }
  }

  static let flush = Command(
    "flush",
    description: [
      """
      Makes running processes move all records that they have logged by now into their archives, \
      and waits until that is done.
      """
    ],
    options: [.disk, .timeout, .silent], operands: storeOperands
  ) { arguments, output in
    let isSyncing = arguments.isSet(.disk)
    return try Control(arguments, output).run { control in
      try control.ask(
        for: isSyncing ? .sync : [], before: { _ in () },
        after: { _, _ in
          "everything is in archives\(isSyncing ? ", and safe from a power cut" : "")"
        })
    }
  }

  static let rotate = Command(
    "rotate",
    description: [
      """
      Makes running processes seal their archives, with all records that they have logged by now, \
      and prints the names of these archives.
      """
    ],
    options: [.timeout, .silent], operands: storeOperands
  ) { arguments, output in
    try Control(arguments, output).run { control in
      try control.ask(
        for: .rotate, before: { try $0.newestSealedArchive() },
        after: { ring, before in
          let newest = try ring.newestSealedArchive()
          if newest <= before { return "nothing was logged since its last archive was sealed" }
          return "sealed \(ring.path(ofArchive: newest) ?? "archive \(newest)")"
        })
    }
  }
}

/// Asks running processes for something, through their rings.
final class Control {
  private let paths: [String]
  private let output: StandardOutput
  /// How long all processes together may take to answer, in nanoseconds: they check once a second.
  private let timeout: Int64
  private let isSilent: Bool
  private var rings: [LiveRing] = []
  private var isComplete = true

  /// - Parameter others: How many operands stand before the paths.
  init(_ arguments: Arguments, behind others: Int = 0, _ output: StandardOutput) throws(UsageError)
  {
    paths = try arguments.directories(behind: others)
    timeout = try arguments.timeout()
    isSilent = arguments.isSet(.silent)
    self.output = output
  }

  /// - Parameter body: Asks the processes that log into the paths.
  /// - Returns: `nothingReadable` if no process runs there, `corruptionOrLoss` if one cannot be
  ///   asked, or something failed.
  func run(_ body: (Control) throws -> Void) throws -> Program.Status {
    var hasUnusable = false
    for path in paths {
      do throws(LogError) {
        rings += try LiveRing.all(in: path) { problem in
          hasUnusable = true
          complain(problem)
        }
      } catch {
        hasUnusable = hasUnusable || !error.isNotFound
        complain(error)
      }
    }
    if rings.isEmpty, hasUnusable { return .corruptionOrLoss }
    if rings.isEmpty {
      if isComplete { Command.complain("no process logs into \(paths.joined(separator: ", "))") }
      return .nothingReadable
    }
    try body(self)
    return isComplete ? .success : .corruptionOrLoss
  }

  private func complain(_ error: LogError) {
    isComplete = false
    Command.complain(error.message)
  }

  /// Does something for each ring, even if it fails for another one.
  func forEach(_ body: (LiveRing) throws -> Void) throws {
    for ring in rings { try reporting { try body(ring) } }
  }

  /// Runs `body`, and reports a failure of one process.
  private func reporting(_ body: () throws -> Void) throws {
    do { try body() } catch let error as LogError { complain(error) }
  }

  /// Asks all processes, so that they act at the same time, and then prints the outcome of each.
  ///
  /// - Parameters:
  ///   - before: Finds out what has to be known of a process before; nil: it is not asked.
  ///   - after: Says what the outcome is.
  func ask<Before>(
    for actions: ControlRequest.Actions, before: (LiveRing) throws -> Before?,
    after: (LiveRing, Before) throws -> String
  ) throws {
    try ask(
      ask: { ring in try before(ring).map { ($0, try ring.ask(for: actions)) } },
      answer: { ring, asked, left in
        let (before, request) = asked
        try ring.waitForAnswer(to: request, within: left)
        try say("\(ring.title)  \(try after(ring, before))")
      })
  }

  /// - Parameters:
  ///   - ask: Asks a process, and returns what has to be known for the answer; nil: it is not
  ///     asked.
  ///   - answer: Waits for at most the given nanoseconds, and prints the outcome.
  private func ask<Asked>(
    ask: (LiveRing) throws -> Asked?, answer: (LiveRing, Asked, Int64) throws -> Void
  ) throws {
    var all: [(ring: LiveRing, asked: Asked)] = []
    try forEach { ring in
      if let asked = try ask(ring) { all.append((ring, asked)) }
    }
    let deadline = Deadline(after: timeout)
    for (ring, asked) in all { try reporting { try answer(ring, asked, deadline.left) } }
  }

  // MARK: - Setting levels

  /// - Parameter expiry: See ``Arguments/expiry()``.
  func set(_ change: LevelChange, until expiry: UInt64) throws {
    try askForRules(
      before: { try $0.labels() }, change: { change.applied(to: $0, expiry) },
      after: { ring, before, _ in try reportChanges(ring, before) })
  }

  /// Asks all processes for other rules, so that they act at the same time, and then prints the
  /// outcome of each.
  ///
  /// - Parameters:
  ///   - before: Finds out what has to be known of a process before.
  ///   - change: Makes the new rules from the present ones.
  ///   - after: Prints the outcome; it is also given the rules that held before.
  func askForRules<Before>(
    before: (LiveRing) throws -> Before, change: ([LevelOverride]) -> [LevelOverride],
    after: (LiveRing, Before, [LevelOverride]) throws -> Void
  ) throws {
    try ask(
      ask: { ring in
        let known = try before(ring)
        var rules: [LevelOverride] = []
        let ordinal = try ring.askForLevels { present in
          rules = present
          return change(present)
        }
        return (ordinal, known, rules)
      },
      answer: { ring, asked, left in
        let (ordinal, known, rules) = asked
        try ring.waitForLevels(ordinal, within: left)
        try after(ring, known, rules)
      })
  }

  private func reportChanges(_ ring: LiveRing, _ before: [ControlPage.Label]) throws {
    let old = Dictionary(before.map { ($0.name, $0) }) { $1 }
    var isAny = false
    for label in try ring.labels() {
      guard let former = old[label.name] else { continue }
      for change in label.changes(since: former) {
        isAny = true
        try say("\(ring.title)  \(label.shownName): \(change)")
      }
    }
    if !isAny { try say("\(ring.title)  no level or limit of a present label changed") }
  }

  // MARK: - Capturing

  func capture() throws {
    try ask(
      for: .capture,
      before: { ring in
        if let count = try ring.capturedCount() { return count }
        try self.say("\(ring.title)  keeps no flight records: all go into archives")
        return UInt64?.none
      },
      after: { ring, before in
        let now = try ring.capturedCount() ?? before
        return "\(count(Int(clamping: now &- before), "flight record")) captured"
      })
  }

  // MARK: - Listing levels

  func list(_ ring: LiveRing) throws {
    let now = Clock.sinceBoot()
    for label in try ring.labels() {
      let level = (label.level?.description ?? "unknown").padded(to: 8)
      try say(
        "\(ring.title)  \(level)  "
          + "\(label.shownName)\(label.isOverridden ? "  set from outside" : "")"
          + (label.limit.map { "  limit \($0) from outside" } ?? "")
      )
    }
    for (override, count) in try ring.overridesWithCounts() {
      let rest =
        override.expiry == 0
        ? "until it is taken back"
        : "for \((max(override.expiry, now) - now) / 1_000_000_000 + 1) s more"
      let limit = override.limit > 0 ? " of \(override.limit)" : ""
      let passed = count.map { ", \($0)\(limit) records so far" } ?? ""
      try say("\(ring.title)  rule \(override.rule) holds \(rest)\(passed)")
    }
  }

  func say(_ line: String) throws {
    if !isSilent { try output.append(line.escapedForTerminal + "\n") }
  }
}

extension LevelChange {
  /// Returns the new rules, made from the present ones.
  fileprivate func applied(to present: [LevelOverride], _ expiry: UInt64) -> [LevelOverride] {
    func isReplaced(_ rule: LevelRule) -> Bool {
      rules.contains { $0.takesPlace(of: rule) }
    }
    // Another command takes back the rules that turn on single statements.
    let kept = present.filter {
      let isTakenBack = takesBackAll || takenBack.contains($0.rule.pattern)
      return $0.rule.statement != nil || !isTakenBack && !isReplaced($0.rule)
    }
    return kept + rules.map { LevelOverride($0, expiry: expiry) }
  }
}

extension LiveRing {
  var title: String { identity.processTitle }
}

extension SessionIdentity {
  /// `orders[4711]`
  var processTitle: String { "\(processName)[\(processID)]" }
}

extension ControlPage.Label {
  var shownName: String { name.isEmpty ? "(no label)" : name }

  /// `info to debug`, `limit 2/1s to the program's own limit`: what differs from before.
  fileprivate func changes(since former: Self) -> [String] {
    var changes: [String] = []
    if let level, let old = former.level, level != old { changes.append("\(old) to \(level)") }
    if limit != former.limit {
      let own = "the program's own limit"
      let (old, new) = (former.limit.map { "limit \($0)" }, limit.map { "limit \($0)" })
      changes.append("\(old ?? own) to \(new ?? own)")
    }
    return changes
  }
}

extension Arguments {
  /// When a rule ends, in nanoseconds since the machine's start; 0: never.
  func expiry() throws(UsageError) -> UInt64 {
    let expected = "a time such as 30s, 10m or 2h"
    let span = try value(of: .duration, expected: expected, durationArgument)
    return span.map { Clock.sinceBoot() &+ UInt64($0.nanoseconds) } ?? 0
  }

  /// How long to wait for an answer, in nanoseconds.
  fileprivate func timeout() throws(UsageError) -> Int64 {
    let expected = "a time such as 10s or 1m"
    let span = try value(of: .timeout, expected: expected, durationArgument)
    return (span ?? .seconds(10)).nanoseconds
  }
}

extension Option {
  static let timeout = Option(
    "timeout", value: "DURATION", default: "10s",
    "How long to wait for answers. A process that answers too late still does what was asked.")
  fileprivate static let disk = Option(
    "disk", "Also make the archives safe from a power cut: fdatasync(2).")
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
