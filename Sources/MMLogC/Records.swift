import CMMLogWriter
import CMMLogC
import MMLog
import MMLogFormat

// The functions in C call these for each record, with the arguments that they have collected.

/// Records a message, with fields, or as the beginning or the end of a span.
@_cdecl("mmlog_swift_record")
func record(
  _ label: UnsafeMutablePointer<mmlog_label>, _ level: UInt32,
  _ statement: UnsafePointer<mmlog_statement>, _ values: UnsafePointer<mmlog_value>?, _ count: Int,
  _ more: UnsafePointer<mmlog_more>?
) {
  let values = UnsafeBufferPointer(start: values, count: count)
  let (log, level) = (Logger(label), Level(fromC: level))
  guard let more = more?.pointee else {
    return log.record(level, statement, values)
  }
  if let begun = more.begun {
    let span = log.begin(level, statement, values, in: Logger.Span(recorded: more.parent))
    begun.pointee = mmlog_span(span)
  } else if let ended = more.ended {
    Logger.Span(ended.pointee).end(statement, values, failed: more.has_failed)
  } else {
    let span = Logger.Span(recorded: more.within)
    if more.field_count <= 0 {
      return log.record(level, statement, values, in: span)
    }
    log.record(level, statement, values, in: span) { cursor in
      cursor.append(UnsafeBufferPointer(start: more.fields, count: more.field_count))
    }
  }
}

extension Logger.Span {
  /// Nil if there is no span, or one that is not recorded; then its other members are not set.
  fileprivate init?(recorded span: UnsafePointer<mmlog_span>?) {
    guard let span = span?.pointee, span.number != 0 else { return nil }
    self.init(span)
  }

  fileprivate init(_ span: mmlog_span) {
    self.init(
      Logger(inC: span.logger), span.session, span.number, span.ticks, Level(fromC: span.level),
      span.site)
  }
}

extension mmlog_span {
  fileprivate init(_ span: Logger.Span) {
    self.init(
      logger: Logger(span.label).inC, session: span.session, number: span.number,
      ticks: span.ticks, level: UInt32(span.level.rawValue), site: span.callSite)
  }
}

/// Records a message in a signal handler.
@_cdecl("mmlog_swift_signal_record")
func recordInSignalHandler(
  _ label: UnsafeMutablePointer<mmlog_label>, _ level: UInt32,
  _ statement: UnsafePointer<mmlog_statement>, _ values: UnsafePointer<mmlog_value>?, _ count: Int
) -> Bool {
  Logger(label).recordInSignalHandler(
    Level(fromC: level), statement, UnsafeBufferPointer(start: values, count: count))
}

extension Level {
  /// A record's level by its number in files. A number that is no level becomes the most important
  /// one.
  init(fromC level: UInt32) { self.init(fromFile: UInt8(truncatingIfNeeded: level)) }
}

extension RecordCursor {
  /// Adds fields as the record's metadata.
  fileprivate mutating func append(_ fields: UnsafeBufferPointer<mmlog_field>) {
    beginMetadata()
    // Not `for in`: without optimization, an iterator allocates, and this may be a signal handler.
    var index = 0
    while index < fields.count {
      append(fields[index])
      index += 1
    }
    self = endingMetadata()
  }

  private mutating func append(_ field: mmlog_field) {
    append(key: field.nameBytes, field.type)
    switch field.type {
    case .int, .uint: append(checked: field.value.unsigned_integer)
    case .double: append(checked: field.value.number.bitPattern)
    case .bool: append(checked: field.value.integer == 0 ? 0 : 1)
    case .string: append(field.bytes, reserving: 0)
    case .hash: append(checked: PrivateHash.of(String(decoding: field.bytes, as: UTF8.self)))
    default: break
    }
  }
}

extension mmlog_field {
  fileprivate var type: ValueType {
    switch kind {
    case MMLOG_FIELD_INT: .int
    case MMLOG_FIELD_UINT: .uint
    case MMLOG_FIELD_DOUBLE: .double
    case MMLOG_FIELD_BOOL: .bool
    case MMLOG_FIELD_TEXT: .string
    case MMLOG_FIELD_HASH: .hash
    default: .redacted
    }
  }

  /// The field as a session field, which is made only once.
  var pair: (name: String, value: Logger.MetadataValue) {
    let value: Logger.MetadataValue =
      switch type {
      case .int: .int(value.integer)
      case .uint: .uint(value.unsigned_integer)
      case .double: .double(value.number)
      case .bool: .bool(value.integer != 0)
      case .string: .string(String(decoding: bytes, as: UTF8.self))
      case .hash: .hash(PrivateHash.of(String(decoding: bytes, as: UTF8.self)))
      default: .redacted
      }
    return (String(decoding: nameBytes, as: UTF8.self), value)
  }

  /// `(null)` for a name that is NULL, as for a text.
  fileprivate var nameBytes: UnsafeRawBufferPointer {
    let none: StaticString = "(null)"
    guard let name else {
      return UnsafeRawBufferPointer(start: none.utf8Start, count: none.utf8CodeUnitCount)
    }
    return UnsafeRawBufferPointer(start: name, count: mmlog_text_length(name))
  }

  fileprivate var bytes: UnsafeRawBufferPointer {
    // A length of more than half of the address space is the caller's error.
    UnsafeRawBufferPointer(start: value.text, count: value.text == nil ? 0 : max(0, length))
  }
}
