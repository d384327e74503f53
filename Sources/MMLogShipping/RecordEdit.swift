import MMLogFormat
public import MMLogReader
import MMLogSystem

/// A change that is made to each record on its way to a destination.
public enum RecordEdit: Sendable {
  /// A field is added; one that is there under this name stays.
  case add(String, LogReader.Value)
  /// The fields of this name are dropped. Where one stands in the message, `<private>` stands
  /// then.
  case drop(String)
  /// The fields of the first name get the second.
  case rename(String, to: String)
  /// The values of the fields of this name become a hash of 64 bits: equal for equal values, in all
  /// sessions. Whoever knows all values that there may be can find out which it was. Values that
  /// are sealed, and that nobody here opens, stay as they are.
  case hash(String)

  func apply(to record: inout EditableRecord) {
    switch self {
    case .add(let name, let value):
      if record[name] == nil { record[name] = value }
    case .drop(let name): record.fields.removeAll { $0.name == name }
    case .rename(let name, let other):
      for index in record.fields.indices where record.fields[index].name == name {
        record.fields[index].name = other
      }
    case .hash(let name):
      for index in record.fields.indices where record.fields[index].name == name {
        // What is encrypted differs each time.
        if case .sealed = record.fields[index].value { continue }
        record.fields[index].value = .hash(record.fields[index].value.stableHash)
      }
    }
  }
}

extension LogReader.Value {
  /// FNV-1a of the value's description.
  fileprivate var stableHash: UInt64 {
    let bytes: [UInt8]
    switch self {
    case .string(let text): bytes = text
    default: bytes = Array("\(self)".utf8)
    }
    return bytes.fnv1a
  }
}
