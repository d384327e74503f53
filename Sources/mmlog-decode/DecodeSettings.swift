import CommandLineTool
import MMLogReader

/// What the command line asks for.
struct DecodeSettings {
  let inputs: [LogInput]
  let filter: LogFilter
  let sink: any ItemSink

  init(_ arguments: Arguments, _ output: StandardOutput) throws(UsageError) {
    let zone = try ZoneOptions.zone(arguments)
    inputs = InputOptions.inputs(arguments)
    filter = try FilterOptions.filter(arguments, zone)
    sink = try OutputOptions.sink(arguments, zone, output)
  }
}
