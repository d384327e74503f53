import CommandLineTool
import MMLogReader

/// What is done with files instead of printing their records.
let fileJobOptions: [Option] = [.sessions, .info, .verify, .repair, .recover]

extension Arguments {
  /// Nil where records are printed.
  func fileJob(_ zone: LogTimeZone) throws(UsageError) -> FileJob? {
    let given = fileJobOptions.filter { isSet($0) }
    guard let option = given.first else {
      if operands.isEmpty { throw UsageError("PATH is missing; name one") }
      return nil
    }
    if given.count > 1 {
      throw UsageError(
        "--\(option.long) and --\(given[1].long) contradict each other; give one of them")
    }
    try checkOthers(than: option)
    if option.long == Option.recover.long {
      guard operands.count <= 1 else {
        throw UsageError(
          "'\(operands[1])' is one PATH too many for --recover; give at most 1")
      }
      return .recover(required(.recover), archives: operands.first)
    }
    if operands.isEmpty { throw UsageError("PATH is missing; name one") }
    switch option.long {
    case Option.sessions.long: return .sessions(zone)
    case Option.info.long: return .info(zone)
    case Option.verify.long: return .verify
    default: return .repair(required(.repair))
    }
  }

  /// Refuses what would have no effect.
  private func checkOthers(than option: Option) throws(UsageError) {
    let records = inputOptions + filterOptions + outputOptions
    let useful =
      ["recursive"] + (option.long == Option.sessions.long ? ["session", "process"] : [])
    for other in records where isSet(other) && !useful.contains(other.long) {
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
    "info",
    "Describe files instead: their file headers, what is noted about archives, and each frame or "
      + "segment.")
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
