import CommandLineTool
import MMLogReader

/// Prints records in a format on standard output.
final class FormattedOutput: ItemSink {
  private var formatter: any LogFormatter
  private let output: StandardOutput
  private var buffer = TextBuffer(capacity: 2 * StandardOutput.capacity)
  private var hasBegun = false

  init(_ formatter: any LogFormatter, to output: StandardOutput) {
    self.formatter = formatter
    self.output = output
  }

  var hasReader: Bool { output.hasReader }

  func take(_ item: LogItem) throws {
    guard case .record(let record) = item else { return }
    begin()
    formatter.append(record, to: &buffer)
    if buffer.count >= StandardOutput.capacity { try write() }
  }

  func flush() throws {
    formatter.pause(&buffer)
    try write()
    try output.flush()
  }

  func finish() throws {
    begin()
    formatter.end(&buffer)
    try flush()
  }

  private func begin() {
    if hasBegun { return }
    hasBegun = true
    formatter.begin(&buffer)
  }

  private func write() throws {
    try buffer.withUnsafeBytes { try output.append($0.bytes) }
    // A record of 16 MiB need not be remembered.
    buffer.removeAll(keeping: 16 * StandardOutput.capacity)
  }
}
