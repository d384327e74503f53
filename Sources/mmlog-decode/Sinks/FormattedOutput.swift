import CommandLineTool
import MMLogReader

/// Prints records in a format, to standard output or into a file.
final class FormattedOutput: ItemSink {
  /// How many bytes are collected before they are written: one system call for some hundred
  /// records.
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
    try print(record)
  }

  func take(_ records: LogReader.Records) throws {
    begin()
    try records.forEach { try print($0) }
  }

  /// A record of some bytes may have a message of megabytes. Therefore at most one record is in the
  /// buffer beyond its capacity.
  private func print(_ record: LogReader.Record) throws {
    formatter.append(record, to: &buffer)
    if buffer.count >= Self.capacity { try write() }
  }

  func separate() throws { formatter.appendSeparator(to: &buffer) }

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

  func sync() throws { try target.sync() }

  /// Puts what comes before all records into the buffer, once.
  func begin() {
    if hasBegun { return }
    hasBegun = true
    formatter.begin(&buffer)
  }

  /// Writes what is in the buffer.
  func write() throws {
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    // The memory for a record of 16 MiB need not be kept.
    buffer.removeAll(keeping: 4 * Self.capacity)
  }
}

extension LogFormatter {
  /// Appends a line between records that do not follow one another. Only formats for people have
  /// one.
  func appendSeparator(to output: inout TextBuffer) {
    let isForPeople =
      self is TextFormatter || self is TemplateFormatter || self is TerminalFormatter
      || (self as? FieldsFormatter)?.kind == .text
    if isForPeople { output.append("--\n") }
  }
}
