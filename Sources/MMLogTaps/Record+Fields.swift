import MMLogFormat
import MMLogReader

extension LogReader.Record {
  /// Calls `body` with the named arguments, the metadata and the context's fields, each value as
  /// messages show it.
  func forEachFieldText(_ body: (String, [UInt8]) -> Void) {
    withExtendedLifetime(self) {
      content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
        var text = TextBuffer(capacity: 64)
        try text.append(text: value, from: &reader)
        body(name.string, text.withUnsafeBytes { Array($0) })
      }
    }
  }
}

extension Level {
  /// The severity that syslog and the journal have for it: RFC 5424, 6.2.1.
  var syslogSeverity: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical, .off: 2
    }
  }
}
