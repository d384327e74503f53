import CommandLineTool
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogSystem

// Single log statements that are turned on in running processes.

extension Command {
  static let enable = Command(
    "enable",
    description: [
      "Turns on a single log statement below its label's level, in the processes that log into "
        + "PATH.",
      """
      STATEMENT is a file, or the end of its path, and a line, such as 'Book.swift:42' or \
      'Orders/Book.swift:42'. The statement is then on, whatever its label and level are, even if \
      it has not run yet. A process turns it on within a second. The command says how many \
      statements there are at that line: those that have had a record, and if the program contains \
      its debug information, all others. While a statement is on, other statements that are off \
      cost some nanoseconds more.
      """,
    ],
    options: [.duration, .limit, .timeout, .silent],
    operands: Operands("STATEMENT", then: "PATH", "What to turn on, and where; else in MMLOG_DIR."),
    examples: [
      Example(
        "A statement of a running service, for five minutes, a thousand times at most",
        "mmlogctl enable Book.swift:42 --for 5m --limit 1000 /var/log/orders")
    ]
  ) { arguments, output in
    let limit = try arguments.integer(of: .limit, in: 1...Int(UInt32.max)) ?? 0
    let statement = try statement(arguments)
    let rule = try LevelOverride(
      LevelRule(statement), expiry: arguments.expiry(), limit: UInt32(limit))
    return try Control(arguments, behind: 1, output).run { control in
      try control.askForRules(
        before: { _ in }, change: { $0.filter { $0.rule != rule.rule } + [rule] },
        after: { ring, _, _ in try control.say("\(ring.title)  \(ring.answer(to: statement))") })
    }
  }

  static let disable = Command(
    "disable",
    description: ["Turns off again what enable has turned on: a STATEMENT, or 'all' of them."],
    options: [.timeout, .silent],
    operands: Operands("STATEMENT", then: "PATH", "What to turn off, and where; else in MMLOG_DIR.")
  ) { arguments, output in
    let statement = arguments.operands[0] == "all" ? nil : try statement(arguments)
    func isMeant(_ override: LevelOverride) -> Bool {
      guard let found = override.rule.statement else { return false }
      return statement == nil || found == statement
    }
    return try Control(arguments, behind: 1, output).run { control in
      try control.askForRules(
        before: { _ in }, change: { $0.filter { !isMeant($0) } },
        after: { ring, _, rules in
          let what = statement.map { "\($0)" } ?? "all"
          let answer = rules.contains(where: isMeant) ? "\(what) off" : "nothing of it was on"
          try control.say("\(ring.title)  \(answer)")
        })
    }
  }
}

private func statement(_ arguments: Arguments) throws(UsageError) -> LevelRule.Statement {
  let text = arguments.operands[0]
  if let statement = LevelRule.Statement(text) { return statement }
  throw UsageError("'\(text)' is no statement; a file and a line are one, such as Book.swift:42")
}

extension LiveRing {
  /// Says how many statements a rule is about: the process knows those that have had a record, and
  /// its program knows all of them.
  fileprivate func answer(to statement: LevelRule.Statement) throws -> String {
    let known = try count(of: statement)
    let all = statementsInProgram(at: statement)
    let count = max(known, all ?? 0)
    if count == 0 {
      return "\(statement) on; no statement there has had a record yet"
        + (all == nil ? "" : ", and the program's debug information has none there")
    }
    let text = "\(statement) on: \(LogCommands.count(count, "statement"))"
    if known == count { return text }
    return known == 0
      ? "\(text), without a record so far" : "\(text), \(known) of which had a record so far"
  }

  /// Nil if that cannot be found out: the process may be in another container, or its program may
  /// have no debug information.
  private func statementsInProgram(at statement: LevelRule.Statement) -> Int? {
    guard ProcessState(of: identity.processID, name: identity.processName) != nil,
      let statements = SourceStatements(ofProgram: "/proc/\(identity.processID)/exe")
    else { return nil }
    return statements.count(file: statement.file, line: statement.line)
  }
}

extension Option {
  fileprivate static let limit = Option(
    "limit", value: "N", "Turn it off again after N records of it in a process.")
}
