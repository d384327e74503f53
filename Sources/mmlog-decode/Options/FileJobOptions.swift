import CommandLineTool
import MMLogReader

/// What is done with files instead of printing their records.
enum FileJobOptions {
  static let all = [Option.sessions, .info, .verify, .repair, .recover]

  /// Nil where records are printed.
  static func job(_ arguments: Arguments, _ zone: LogTimeZone) throws(UsageError) -> FileJob? {
    let given = all.filter { arguments.isSet($0) }
    guard let option = given.first else {
      if arguments.operands.isEmpty { throw UsageError("PATH is missing; name one") }
      return nil
    }
    if given.count > 1 {
      throw UsageError(
        "--\(option.long) and --\(given[1].long) contradict each other; give one of them")
    }
    try checkOthers(than: option, arguments)
    if option.long == Option.recover.long {
      guard arguments.operands.count <= 1 else {
        throw UsageError(
          "'\(arguments.operands[1])' is one PATH too many for --recover; give at most 1")
      }
      return .recover(arguments.required(.recover), archives: arguments.operands.first)
    }
    if arguments.operands.isEmpty { throw UsageError("PATH is missing; name one") }
    switch option.long {
    case Option.sessions.long: return .sessions(zone)
    case Option.info.long: return .info(zone)
    case Option.verify.long: return .verify
    default: return .repair(arguments.required(.repair))
    }
  }

  /// Refuses what would have no effect.
  private static func checkOthers(
    than option: Option, _ arguments: Arguments
  ) throws(UsageError) {
    let records = InputOptions.all + FilterOptions.all + OutputOptions.all
    let useful =
      ["recursive"] + (option.long == Option.sessions.long ? ["session", "process"] : [])
    for other in records where arguments.isSet(other) && !useful.contains(other.long) {
      throw UsageError(
        "--\(option.long) prints no records, so that --\(other.long) has no meaning; leave it away")
    }
  }
}

extension Option {
  fileprivate static let sessions = Option(
    "sessions", "List sessions instead: process, start, last record, how it ended, records, losses."
  )
  fileprivate static let info = Option(
    "info", "Describe files instead: their file headers, and each frame or segment.")
  fileprivate static let verify = Option(
    "verify",
    "Check every checksum, order and count instead, and print a line for each file.")
  fileprivate static let repair = Option(
    "repair", value: "OUT",
    """
    Write clean archives of everything that can be read into the directory OUT instead. What is \
    corrupted has a record in its place there, with the label mmlog.repair.
    """)
  fileprivate static let recover = Option(
    "recover", value: "DIR",
    """
    Move what is left in rings of dead processes in DIR into the archives there, or in PATH, as \
    the next start of their service would.
    """)
}
