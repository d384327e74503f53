import CommandLineTool
import MMLogReader
import MMLogSystem

/// Prints records on standard output, and on standard error what else there is to know.
struct Decoder {
  private let reader: LogReader
  private let filter: LogFilter
  private let output: StandardOutput
  private var formatter: any LogFormatter
  private var buffer: [UInt8] = []
  private var status = Program.Status.success

  init(_ settings: DecodeSettings, _ output: StandardOutput) {
    // A directory may have more archives than the usual limit of open files.
    File.raiseOpenLimit()
    reader = LogReader(settings.inputs, filter: settings.filter)
    filter = settings.filter
    formatter = settings.formatter
    self.output = output
  }

  /// - Throws: what prevents printing.
  consuming func run() throws -> Program.Status {
    for error in reader.unreadable {
      Command.decode.report(error.message.escapedForTerminal)
      status = .damageOrLoss
    }
    if reader.fileCount == 0 { return .nothingReadable }
    while output.hasReader, let item = reader.next() { try take(item) }
    try write()
    return status
  }

  private mutating func take(_ item: LogItem) throws {
    guard case .record(let record) = item else { return try report(item) }
    formatter.append(record, to: &buffer)
    if buffer.count >= StandardOutput.capacity { try write() }
  }

  private mutating func write() throws {
    try output.append(buffer.span.bytes)
    // A record of 16 MiB need not be remembered.
    buffer.removeAll(keepingCapacity: buffer.count < 16 * StandardOutput.capacity)
  }

  private mutating func report(_ item: LogItem) throws {
    guard let report = Report(item, filter) else { return }
    if report.isDamageOrLoss { status = .damageOrLoss }
    // What was read before it is to be seen before it.
    try write()
    try output.flush()
    Command.decode.report(report.sentence.escapedForTerminal)
  }
}
