import CommandLineTool
import MMLogReader

/// What the command line asks for.
struct DecodeSettings {
  let inputs: [LogInput]
  let filter: LogFilter
  let part: InputOptions.Part
  /// How many records around each that is found.
  let context: Int
  let sink: any ItemSink

  init(_ arguments: Arguments, _ output: StandardOutput) throws {
    let zone = try ZoneOptions.zone(arguments)
    inputs = InputOptions.inputs(arguments)
    filter = try FilterOptions.filter(arguments, zone)
    part = try InputOptions.part(arguments)
    context = try FilterOptions.context(arguments)
    sink = try OutputOptions.sink(arguments, zone, output)
    switch part {
    case .last, .beforeCrash:
      if context > 0 {
        throw UsageError(
          "--context goes with neither --tail nor --last-crash: it would take what they leave out")
      }
    case .all, .first: break
    }
  }
}
