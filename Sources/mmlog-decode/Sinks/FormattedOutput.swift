import CommandLineTool
import MMLogReader

/// Prints records in a format on standard output.
struct FormattedOutput: ItemSink {
  private var formatter: any LogFormatter
  private let output: StandardOutput
  private var buffer: [UInt8] = []

  init(_ formatter: any LogFormatter, to output: StandardOutput) {
    self.formatter = formatter
    self.output = output
  }

  var hasReader: Bool { output.hasReader }

  mutating func take(_ item: LogItem) throws {
    guard case .record(let record) = item else { return }
    formatter.append(record, to: &buffer)
    if buffer.count >= StandardOutput.capacity { try write() }
  }

  mutating func flush() throws {
    try write()
    try output.flush()
  }

  mutating func finish() throws { try flush() }

  private mutating func write() throws {
    try output.append(buffer.span.bytes)
    // A record of 16 MiB need not be remembered.
    buffer.removeAll(keepingCapacity: buffer.count < 16 * StandardOutput.capacity)
  }
}
