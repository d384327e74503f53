import MMLogFormat
import MMLogSystem

/// One line of `key=value` for each record: what logfmt tools, Loki and lnav read.
///
///     time=2026-11-21T09:00:00.123456789Z level=info label=orders msg="order 7 accepted" id=7
///     source=Orders/Book.swift:42 thread=worker1 service=orders pid=42 session=0123…
///
/// The session's fields stand at the end of the line. A record that belongs to a span or a trace
/// has `span=NUMBER` or `trace=ID`. A record that begins a span has `span_event=begin`, and
/// `parent_span` if the span is a part of another. A record that ends a span has `span_event=end`,
/// `duration_ns`, and `span_failed=true` if the span failed. Both have `span_name`. Keys are those
/// that logfmt is usually written with. Values that have a space, `=`, a quote, a backslash or a
/// control character in them stand between quotes, with the escapes of JSON: parsers of logfmt
/// refuse other escapes. Keys consist of letters, digits and `_ - . / # @`; anything else in a
/// field's name becomes `_`. No key comes twice: a field with the name of one of the record's own
/// keys, or of a field before it, gets the first of `#2`, `#3` … that is free.
public struct LogfmtFormatter: LogFormatter {
  private var timestamp: TimeFormatter
  private var ends = ObjectTexts<LogReader.Session>()
  /// The keys of a session's fields, for records that have no field with the same key.
  private var sessionKeys = ObjectValues<LogReader.Session, FieldNames>()
  private static let levels = Level.allCases.map { Array(" level=\($0) label=".utf8) }
  private static let keys: Set<String> = [
    "time", "time_ns", "level", "label", "msg", "source", "thread", "service", "pid", "session",
    "span",
    "trace",
    "span_event", "span_name", "parent_span", "duration_ns", "span_failed",
  ]
  /// The record's own keys, as names that fields must not have.
  private static let ownNames = UniqueNames(Array(keys))

  /// Makes a formatter that shows times in a zone.
  public init(zone: LogTimeZone = .local) { timestamp = TimeFormatter(zone) }

  /// Appends the record's line.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    output.append("time=")
    timestamp.append(record.time, to: &output)
    output.append(" time_ns=")
    output.append(decimal: record.time.nanosecondsSince1970)
    output.append(Self.levels[Int(record.level.rawValue)])
    output.appendQuoting { record.content.appendLabel(.json, to: &$0) }
    output.append(" msg=")
    output.appendQuoting { record.content.appendMessage(.json, to: &$0) }
    let names = appendFields(record, to: &output)
    if record.content.hasContext { Self.appendContext(record, to: &output) }
    if record.content.hasPlace {
      output.append(" source=")
      output.appendQuoting { record.content.appendPlace(.json, to: &$0) }
    }
    output.append(" thread=")
    output.appendQuoting { Self.append(record.thread, to: &$0) }
    if var names {
      Self.append(record.session, &names, to: &output)
    } else {
      ends.append(record.session, to: &output) {
        var names = Self.ownNames
        Self.append(record.session, &names, to: &$0)
      }
    }
    output.append(UInt8(ascii: "\n"))
  }

  /// Appends the record's fields.
  ///
  /// - Returns: The keys so far, if one of these or of the session's fields would come twice; nil
  ///   if all of them stay as they are.
  private mutating func appendFields(
    _ record: LogReader.Record, to output: inout TextBuffer
  ) -> UniqueNames? {
    guard record.content.hasFields else { return nil }
    let start = output.count
    var keys = sessionKeys.value(of: record.session) { Self.keys(of: record.session) }
    record.content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      output.append(UInt8(ascii: " "))
      let start = output.count
      name.append(.raw, to: &output)
      Self.cleanKey(&output, from: start)
      if Self.isOwn(&output, from: start) { output.append("#2") }
      output.withBytes(from: start) { keys.add(UnsafeRawBufferPointer($0)) }
      output.append(UInt8(ascii: "="))
      try output.append(quoting: value, .json, from: &reader)
    }
    if !keys.isDoubtful { return nil }
    output.cut(to: start)
    var names = Self.ownNames
    record.content.forEachField(.raw) { (name, value, reader) throws(FormatError) in
      try Self.append(name.string, value, &reader, &names, to: &output)
    }
    return names
  }

  /// Appends a field with a key that no field before it has.
  private static func append(
    _ name: String, _ value: ValueView, _ reader: inout WordReader, _ names: inout UniqueNames,
    to output: inout TextBuffer
  ) throws(FormatError) {
    output.append(UInt8(ascii: " "))
    output.append(text: key(name, &names))
    output.append(UInt8(ascii: "="))
    try output.append(quoting: value, .json, from: &reader)
  }

  /// A key that differs from all keys before it.
  static func key(_ name: String, _ names: inout UniqueNames) -> String {
    var key = TextBuffer(capacity: 64)
    key.append(text: name)
    cleanKey(&key, from: 0)
    return names.unique(key.text())
  }

  private static func keys(of session: LogReader.Session) -> FieldNames {
    var (keys, names) = (FieldNames(), ownNames)
    session.forEachField { (name, value, reader) throws(FormatError) in
      var key = key(name, &names)
      key.withUTF8 { keys.add(UnsafeRawBufferPointer($0)) }
      try reader.skipElements(of: value)
    }
    return keys
  }

  /// Whether what was appended from `start` on is one of the record's own keys.
  private static func isOwn(_ output: inout TextBuffer, from start: Int) -> Bool {
    output.withBytes(from: start) { bytes in
      // The length of the longest key.
      bytes.count <= 11 && keys.contains(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Turns what was appended from `start` on into a key: each character that a key cannot have
  /// becomes `_`.
  private static func cleanKey(_ output: inout TextBuffer, from start: Int) {
    let count = output.withBytes(from: start) { bytes in
      var count = 0
      // Other bytes only continue a character.
      for byte in bytes where byte & 0xC0 != 0x80 {
        bytes[count] = byte.isOfKey ? byte : UInt8(ascii: "_")
        count += 1
      }
      return count
    }
    output.cut(to: start + count)
    if count == 0 { output.append(UInt8(ascii: "_")) }
  }

  private static func appendContext(_ record: LogReader.Record, to output: inout TextBuffer) {
    func append(_ key: StaticString, _ text: String?) {
      guard let text else { return }
      output.append(key)
      output.append(text: text)
    }
    append(" trace=", record.trace?.traceID)
    append(" span=", record.spanNumber.map(LogReader.Span.text))
    guard let span = record.span else { return }
    output.append(" span_event=")
    output.append(span.event.name)
    if let name = span.name {
      output.append(" span_name=")
      output.appendQuoting { $0.append(name, .json) }
    }
    append(" parent_span=", span.event.parent.map(LogReader.Span.text))
    guard case .end(_, let duration, let failed) = span.event else { return }
    output.append(" duration_ns=")
    output.append(decimal: duration.nanoseconds)
    if failed { output.append(" span_failed=true") }
  }

  private static func append(_ thread: LogReader.Thread, to output: inout TextBuffer) {
    if thread.name.isEmpty {
      output.append(decimal: UInt64(thread.id))
    } else {
      output.append(thread.name, .json)
    }
  }

  /// - Parameter names: The keys before the session's fields.
  private static func append(
    _ session: LogReader.Session, _ names: inout UniqueNames, to output: inout TextBuffer
  ) {
    output.append(" service=")
    output.appendQuoting { $0.append(session.identity.storeName, .json) }
    output.append(" pid=")
    output.append(text: "\(session.identity.processID) session=\(session.id)")
    session.forEachField { (name, value, reader) throws(FormatError) in
      try append(name, value, &reader, &names, to: &output)
    }
  }
}

extension UInt8 {
  fileprivate var isOfKey: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "."),
      UInt8(ascii: "/"), UInt8(ascii: "#"), UInt8(ascii: "@"):
      true
    default: false
    }
  }
}
