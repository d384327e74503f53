public import MMLogReader
import MMLogFormat
import MMLogSystem

/// Sends records to systemd's journal, in its native protocol, so that each field is one of the
/// journal's.
///
/// ```swift
/// import MMLog
/// import MMLogTaps
///
/// var configuration = LogStore.Configuration()
/// configuration.taps = [LogTap(Journal(), from: .info)]
/// ```
///
/// | field | value |
/// | - | - |
/// | `MESSAGE` | the message with its arguments in it, byte for byte |
/// | `PRIORITY` | syslog's severity: from 7, `trace` and `debug`, to 2, `critical` |
/// | `SYSLOG_IDENTIFIER` | the store's name, or ``init(identifier:path:)``'s |
/// | `SYSLOG_PID`, `TID` | process and thread |
/// | `CODE_FILE`, `CODE_LINE`, `CODE_FUNC` | the log statement |
/// | `MMLOG_TIME` | when it was logged, as RFC 3339 has it |
/// | `MMLOG_LABEL`, `MMLOG_LEVEL`, `MMLOG_SESSION` | label, level and session |
/// | `TRACE_ID`, `SPAN_ID` | trace and span, in hexadecimal digits |
///
/// Other fields have their names in capitals, with `_` for what is neither a letter nor a digit;
/// `FIELD_` stands before one that begins with a digit or `_`, or that is a name of the table.
///
/// Entries that are too large for a datagram go as a sealed file in memory: memfd_create(2). If the
/// journal is not there, the tap tries again, see ``LogTap``; each try waits for a second at most.
/// The protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL
public struct Journal: LogTap.Output {
  private let identifier: String?
  /// The store whose records were written last.
  private var storeName: String?
  private let connection: Connection
  private var time = TimeFormatter(.utc)

  /// Makes an output to the journal.
  ///
  /// - Parameters:
  ///   - identifier: `SYSLOG_IDENTIFIER`; nil: the store's name.
  ///   - path: The journal's socket.
  public init(identifier: String? = nil, path: String = "/run/systemd/journal/socket") {
    self.identifier = identifier
    connection = Connection(.local(path: path, .datagrams))
  }

  /// Sends the first record: sendmsg(2).
  ///
  /// - Throws: The system's error of connecting or sending. The journal has nothing of the record
  ///   then.
  public mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    guard let record = records.first else { return 0 }
    storeName = record.session.identity.storeName
    try send(entry(record))
    return 1
  }

  /// Sends an entry that says how many records are missing.
  ///
  /// - Throws: As for records.
  public mutating func write(missing count: UInt64) throws {
    var entry = JournalEntry()
    entry.append("MESSAGE", LogTap.notice(ofMissing: count))
    entry.append("PRIORITY", "4")
    entry.append("SYSLOG_IDENTIFIER", identifier ?? storeName ?? CurrentProcess.name)
    try send(entry)
  }

  private func send(_ entry: JournalEntry) throws(SystemError) {
    let bytes = entry.bytes
    try connection.send { (socket) throws(SystemError) in
      try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
        do throws(SystemError) {
          try socket.send(bytes)
        } catch let error where error.isMessageTooLong {
          try socket.sendAsFile(bytes)
        }
      }
    }
  }

  private mutating func entry(_ record: LogReader.Record) -> JournalEntry {
    let session = record.session
    var entry = JournalEntry()
    var text = TextBuffer()
    time.append(record.time, to: &text)
    entry.append("MESSAGE", record.messageBytes)
    entry.append("PRIORITY", "\(record.level.syslogSeverity)")
    entry.append("SYSLOG_IDENTIFIER", identifier ?? session.identity.storeName)
    entry.append("SYSLOG_PID", "\(session.identity.processID)")
    entry.append("TID", "\(record.thread.id)")
    if !record.file.isEmpty {
      entry.append("CODE_FILE", record.file)
      entry.append("CODE_LINE", "\(record.line)")
      entry.append("CODE_FUNC", record.function)
    }
    entry.append("MMLOG_TIME", text.text())
    entry.append("MMLOG_LABEL", record.label)
    entry.append("MMLOG_LEVEL", record.level.description)
    entry.append("MMLOG_SESSION", session.id.description)
    if let trace = record.trace { entry.append("TRACE_ID", trace.traceID) }
    if let span = record.spanNumber { entry.append("SPAN_ID", LogReader.Span.text(of: span)) }
    record.forEachFieldText { entry.append(field: $0, $1) }
    return entry
  }
}

/// The bytes of an entry of the journal.
struct JournalEntry {
  /// Names that have a meaning of their own.
  private static let ownNames: Set<String> = [
    "MESSAGE", "MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_PID", "SYSLOG_FACILITY",
    "SYSLOG_TIMESTAMP", "SYSLOG_RAW", "TID", "CODE_FILE", "CODE_LINE", "CODE_FUNC", "MMLOG_TIME",
    "MMLOG_LABEL", "MMLOG_LEVEL", "MMLOG_SESSION", "TRACE_ID", "SPAN_ID", "UNIT", "USER_UNIT",
    "OBJECT_PID", "DOCUMENTATION", "INVOCATION_ID", "USER_INVOCATION_ID", "COREDUMP_UNIT",
    "COREDUMP_USER_UNIT",
  ]
  /// The maximum length of a name in the journal.
  private static let longestName = 64

  private(set) var bytes: [UInt8] = []

  /// Appends a field of a name that the journal takes.
  mutating func append(_ name: String, _ value: String) { append(name, Array(value.utf8)) }

  /// Appends a field with any bytes: if there is a line end among them, their length stands before
  /// them.
  mutating func append(_ name: String, _ value: [UInt8]) {
    bytes += name.utf8
    if value.contains(UInt8(ascii: "\n")) {
      bytes.append(UInt8(ascii: "\n"))
      withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
    } else {
      bytes.append(UInt8(ascii: "="))
    }
    bytes += value
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Appends a record's field, whatever its name is.
  mutating func append(field name: String, _ value: [UInt8]) {
    append(Self.journalName(of: name), value)
  }

  static func journalName(of name: String) -> String {
    let bytes = name.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
      default: UInt8(ascii: "_")
      }
    }
    let capitals = String(decoding: bytes, as: UTF8.self)
    let isUsable = bytes.first.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") } ?? false
    let whole = isUsable && !ownNames.contains(capitals) ? capitals : "FIELD_\(capitals)"
    return String(whole.prefix(longestName))
  }
}
