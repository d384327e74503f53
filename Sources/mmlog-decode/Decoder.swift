import CommandLineTool
import MMLogReader
import MMLogSystem

/// Gives what is read to a sink, and tells on standard error what else there is to know.
struct Decoder {
  private let reader: LogReader
  private let filter: LogFilter
  private var sink: any ItemSink
  private var status = Program.Status.success

  init(_ settings: DecodeSettings) {
    // A directory may have more archives than the usual limit of open files.
    File.raiseOpenLimit()
    reader = LogReader(settings.inputs, filter: settings.filter)
    filter = settings.filter
    sink = settings.sink
  }

  /// - Throws: what prevents printing.
  consuming func run() throws -> Program.Status {
    for error in reader.unreadable {
      Command.decode.report(error.message.escapedForTerminal)
      status = .damageOrLoss
    }
    if reader.fileCount == 0 { return .nothingReadable }
    while sink.hasReader, let item = reader.next() { try take(item) }
    try sink.finish()
    return status
  }

  private mutating func take(_ item: LogItem) throws {
    try sink.take(item)
    if case .record = item { return }
    guard let report = Report(item, filter) else { return }
    if report.isDamageOrLoss { status = .damageOrLoss }
    // What was read before it is to be seen before it.
    try sink.flush()
    Command.decode.report(report.sentence.escapedForTerminal)
  }
}
