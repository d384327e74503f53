import CommandLineTool
import MMLogReader

/// What the command line asks for.
struct DecodeSettings {
  /// What is done instead of printing records, if anything.
  let job: FileJob?
  let inputs: [LogReader.Input]
  let filter: LogReader.Filter
  let zone: LogTimeZone
  let part: WantedPart
  /// Whether to go on with what is logged from now on.
  let follows: Bool
  /// How many records around each that is found.
  let context: Int
  let sink: any ItemSink

  init(_ arguments: Arguments, _ output: StandardOutput) throws {
    zone = try arguments.zone()
    // Before PATH is missed: a number that was forgotten has taken it.
    part = try arguments.wantedPart()
    job = try arguments.fileJob(zone)
    inputs = arguments.inputs
    let places = InputPaths(inputs)
    try places.checkStandardOutput()
    if case .repair(let directory) = job { try places.check(directory: directory) }
    filter = try arguments.filter(zone)
    follows = try arguments.follows()
    context = try arguments.context()
    sink = try arguments.sink(zone, output, besides: places)
    switch part {
    case .last, .beforeCrash:
      // With --follow alone, the last records are but where it begins.
      if context > 0 && !(follows && !arguments.isSet(.tail)) {
        throw UsageError(
          "--context goes with neither --tail nor --last-crash: it would take what they leave out")
      }
    case .all, .first: break
    }
  }
}
