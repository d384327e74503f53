import CommandLineTool
import MMLogReader

/// Prints records in a format, on standard output or into a file.
final class FormattedOutput: ItemSink {
  /// Bytes that are collected before they are written: a system call for each few hundred records.
  private static let capacity = 4 * StandardOutput.capacity

  private var formatter: any LogFormatter
  private let target: any OutputTarget
  private var buffer = TextBuffer(capacity: 2 * capacity)
  private var hasBegun = false

  init(_ formatter: any LogFormatter, to target: any OutputTarget) {
    self.formatter = formatter
    self.target = target
  }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogReader.Item) throws {
    guard case .record(let record) = item else { return }
    begin()
    formatter.append(record, to: &buffer)
    if buffer.count >= Self.capacity { try write() }
  }

  func take(_ records: LogReader.Records) throws {
    begin()
    formatter.append(records, to: &buffer)
    if buffer.count >= Self.capacity { try write() }
  }

  func separate() throws {
    // Only lines for people have a place for it.
    guard
      formatter is TextFormatter || formatter is TemplateFormatter
        || formatter is TerminalFormatter
    else { return }
    buffer.append("--\n")
  }

  func flush() throws {
    formatter.pause(&buffer)
    try write()
    try target.flush()
  }

  func finish() throws {
    begin()
    formatter.end(&buffer)
    try write()
    try target.finish()
  }

  private func begin() {
    if hasBegun { return }
    hasBegun = true
    formatter.begin(&buffer)
  }

  private func write() throws {
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    // A record of 16 MiB need not be remembered.
    buffer.removeAll(keeping: 4 * Self.capacity)
  }
}
