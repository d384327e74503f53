import CommandLineTool
import LogCommands
import MMLogReader

/// Which records of which files a command is about.
struct Query {
  /// The options of all commands that read records.
  static let options = inputOptions + filterOptions + zoneOptions + [.quiet, .exitCode]

  let paths: [String]
  let inputs: [LogReader.Input]
  let identities: LogIdentities
  /// Whether directories below are read, too.
  let isRecursive: Bool
  var filter: LogReader.Filter
  let zone: LogTimeZone
  /// Whether to report only what is missing.
  let isQuiet: Bool
  /// Whether it is a failure if nothing matches.
  let mustMatch: Bool
  /// The places where nothing may be written.
  var places: InputPaths

  /// - Parameter others: How many operands come before the paths.
  init(_ arguments: Arguments, behind others: Int = 0) throws {
    zone = try arguments.zone()
    // Before PATH is found to be missing: an option without its value has taken PATH.
    filter = try arguments.filter(zone)
    paths = try arguments.paths(behind: others)
    inputs = arguments.inputs(paths)
    identities = try arguments.identities()
    isRecursive = arguments.isSet(.recursive)
    (isQuiet, mustMatch) = (arguments.isSet(.quiet), arguments.isSet(.exitCode))
    places = InputPaths(inputs)
    try places.checkStandardOutput()
  }
}
