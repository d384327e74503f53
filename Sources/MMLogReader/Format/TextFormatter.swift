import MMLogFormat

/// One line for each record, for people:
///
///     2026-11-21T09:00:00.123456789+01:00 INFO     orders: order 7 accepted venue=XETR (Orders/Book.swift:42)
///
/// Time, level, label, message, metadata, place. Named arguments stand in the message and are not
/// repeated. Whatever could move a terminal's cursor or end the line is escaped as `\n`, `\t`,
/// `\u{1b}`; bytes that are not UTF-8 as `\xff`.
public struct TextFormatter: LogFormatter {
  private var timestamp: Timestamp
  private var scratch: [UInt8] = []
  private static let levels = Level.allCases.map { level in
    // As wide as the longest, CRITICAL.
    let name = level.description.uppercased()
    return Array(" \(name)\(String(repeating: " ", count: 9 - name.utf8.count))".utf8)
  }

  /// Makes a formatter that shows times in a zone.
  public init(zone: LogTimeZone = .local) { timestamp = Timestamp(zone) }

  /// Appends the record's line.
  public mutating func append(_ record: LogRecord, to output: inout [UInt8]) {
    timestamp.append(record.time, to: &output)
    output.append(contentsOf: Self.levels[Int(record.level.rawValue)])
    if !record.label.isEmpty {
      output.append(escaping: record.label)
      output.append(": ")
    }
    appendMessage(record, to: &output)
    if record.content.flags.contains(.metadata) { appendMetadata(record, to: &output) }
    appendPlace(record, to: &output)
    output.append(UInt8(ascii: "\n"))
  }

  private mutating func appendMessage(_ record: LogRecord, to output: inout [UInt8]) {
    scratch.removeAll(keepingCapacity: scratch.capacity < 1 << 20)
    record.content.appendMessage(to: &scratch)
    scratch.withUnsafeBytes { output.append(escaping: $0) }
    if record.isCut { output.append(" <cut>") }
  }

  private mutating func appendMetadata(_ record: LogRecord, to output: inout [UInt8]) {
    var scratch = scratch
    record.content.forEachField(names: false) { (name, value, reader) throws(FormatError) in
      output.append(UInt8(ascii: " "))
      name.withBytes { output.append(quoting: $0) }
      output.append(UInt8(ascii: "="))
      scratch.removeAll(keepingCapacity: true)
      try scratch.append(value, from: &reader)
      scratch.withUnsafeBytes { output.append(quoting: $0) }
    }
  }

  private func appendPlace(_ record: LogRecord, to output: inout [UInt8]) {
    guard !record.file.isEmpty else { return }
    output.append(" (")
    output.append(escaping: record.file)
    output.append(UInt8(ascii: ":"))
    output.append(digits: UInt(record.line))
    output.append(UInt8(ascii: ")"))
  }
}

extension [UInt8] {
  /// Appends a name or a value, in quotes if it would not be told from what is beside it.
  fileprivate mutating func append(quoting bytes: UnsafeRawBufferPointer) {
    let isPlain = bytes.allSatisfy {
      $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "\\")
    }
    if isPlain && !bytes.isEmpty { return append(escaping: bytes) }
    append(UInt8(ascii: "\""))
    append(escaping: bytes, quote: true)
    append(UInt8(ascii: "\""))
  }
}
