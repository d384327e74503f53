import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogReader
import MMLogShipping

extension Command {
  static let retry = Command(
    "retry",
    description: [
      "Sends records or whole archives again that destinations have refused, after somebody has "
        + "removed the cause.",
      "Records and archives that are refused again stay put aside. The command fails while another "
        + "mmlog-ship sends to the destination.",
    ],
    options: Option.plan, operands: shippedOperands
  ) { arguments, output in
    var status = Program.Status.success
    for route in try arguments.routes() {
      let route = try route.open()
      let result = try waiting {
        let result = try await route.retry()
        await route.stop()
        return result
      }
      try output.append("\(route.name): \(result.text)\n".escapedControls)
      if !result.isWhole { status = .corruptionOrLoss }
    }
    return status
  }

  static let reconcile = Command(
    "reconcile",
    description: [
      """
      Proves that nothing is missing: of each session, what was logged is archived or was counted \
      as lost, and what is archived was acknowledged, refused, or waits. Anything else is an error.
      """,
      "Reads all archives. Run it while no process logs and nothing is sent.",
    ],
    options: Option.plan, operands: shippedOperands
  ) { arguments, output in
    var status = Program.Status.success
    for route in try arguments.recordRoutes() {
      let balance = try Reconciliation(
        of: route.directory, consumer: route.target.name, filter: route.target.shipping.filter,
        ringDirectory: route.rings, identities: route.identities)
      for session in balance.sessions {
        let numbered = session.threads.reduce(0) { $0 &+ $1.numbered }
        let line =
          "\(route.directory) to \(route.target.name), session \(session.id): \(numbered) "
          + "numbered, \(session.archived) archived; \(session.acknowledged) acknowledged, "
          + "\(session.refused) refused, \(session.dropped) left out by edits, "
          + "\(session.waiting) waiting, \(session.missed) deleted before\n"
        try output.append(line.escapedControls)
      }
      for problem in balance.problems {
        Command.complain("\(route.target.name): \(problem)")
        status = .corruptionOrLoss
      }
    }
    return status
  }

  static let schema = Command(
    "schema",
    description: ["Prints the statement that makes a destination's table."],
    options: [.table, .days],
    operands: Operands("KIND", count: 1...1, "clickhouse.")
  ) { arguments, output in
    guard arguments.operands == ["clickhouse"] else {
      throw UsageError(
        "'\(arguments.operands[0])' has no schema; the only KIND is clickhouse")
    }
    let days = try arguments.integer(of: .days, in: 0...36_500) ?? 30
    try output.append(
      ClickHouseSchema.statement(
        table: arguments.required(.table), days: days == 0 ? nil : days))
    return .success
  }
}

extension Option {
  static let table = Option(
    "table", value: "NAME", default: "logs", "The table, with its database before it.")
  static let days = Option(
    "days", value: "N", default: "30", "How many days rows are kept; 0: for ever.")
}

extension Arguments {
  /// Returns what is to be shipped where, from the command line.
  func routes() throws -> [Plan.Route] {
    do { return try Plan(self).routes } catch let error as SettingError {
      throw UsageError("\(error)")
    }
  }

  /// As ``routes()``, for commands that need the numbers of records.
  func recordRoutes() throws -> [Plan.Route] {
    let routes = try routes()
    for route in routes where route.target.settings.url.takesArchives {
      throw UsageError(
        "'\(route.target.name)' takes whole archives, and their records are not counted; "
          + "'mmlog-ship status' says which archives are sent")
    }
    return routes
  }
}
