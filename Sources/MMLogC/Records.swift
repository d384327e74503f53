import CMMLogWriter
import CMMLogC
import MMLog

// What the functions in C call for each record, with the arguments that they have collected.

/// Records a message with fields.
@_cdecl("mmlog_swift_record")
func record(
  _ label: UnsafeMutablePointer<mmlog_label>, _ level: UInt32,
  _ statement: UnsafePointer<mmlog_statement>, _ values: UnsafePointer<mmlog_value>?, _ count: Int,
  _ fields: UnsafePointer<mmlog_field>?, _ fieldCount: Int
) {
  let values = UnsafeBufferPointer(start: values, count: count)
  let (log, level) = (Logger(label), Level(fromC: level))
  if fieldCount == 0 { return log.record(level, statement, values, metadata: nil) }
  log.record(level, statement, values) { cursor in
    cursor.append(UnsafeBufferPointer(start: fields, count: fieldCount))
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
  /// A record's level as files number it. What is none, is the most important one.
  init(fromC level: UInt32) { self.init(fromFile: UInt8(truncatingIfNeeded: level)) }
}

extension RecordCursor {
  /// Adds fields as the record's metadata.
  fileprivate mutating func append(_ fields: UnsafeBufferPointer<mmlog_field>) {
    beginMetadata(pairs: fields.count)
    // Not `for in`: where nothing is optimized, an iterator allocates, and this may be a signal
    // handler.
    var index = 0
    while index < fields.count {
      append(fields[index])
      index += 1
    }
  }

  private mutating func append(_ field: mmlog_field) {
    append(key: field.nameBytes)
    switch field.kind {
    case MMLOG_FIELD_INT: append(.int, UInt64(bitPattern: field.value.integer))
    case MMLOG_FIELD_UINT: append(.uint, field.value.unsigned_integer)
    case MMLOG_FIELD_DOUBLE: append(.double, field.value.number.bitPattern)
    case MMLOG_FIELD_BOOL: append(.bool, field.value.integer == 0 ? 0 : 1)
    case MMLOG_FIELD_TEXT: append(string: field.bytes)
    case MMLOG_FIELD_HASH: append(private: String(decoding: field.bytes, as: UTF8.self), .hash)
    default: append(private: "", .private)
    }
  }
}

extension mmlog_field {
  /// `(null)` for a name that is NULL, as for a text.
  fileprivate var nameBytes: UnsafeRawBufferPointer {
    let none: StaticString = "(null)"
    guard let name else {
      return UnsafeRawBufferPointer(start: none.utf8Start, count: none.utf8CodeUnitCount)
    }
    return UnsafeRawBufferPointer(start: name, count: mmlog_text_length(name))
  }

  fileprivate var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: value.text, count: length)
  }
}
