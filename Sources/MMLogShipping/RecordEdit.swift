import MMLogFormat
public import MMLogReader
import MMLogSystem

/// A change that is made to each record on its way to a destination. What drops, renames or hashes
/// fields does so to those of the session, too, which go with each record.
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
    case .drop, .rename, .hash: apply(to: &record.fields)
    }
  }

  /// Changes fields that are there.
  private func apply(to fields: inout [EditableRecord.Field]) {
    switch self {
    case .add: return
    case .drop(let name): fields.removeAll { $0.name == name }
    case .rename(let name, let other):
      for index in fields.indices where fields[index].name == name { fields[index].name = other }
    case .hash(let name):
      for index in fields.indices where fields[index].name == name {
        // What is encrypted differs each time.
        if case .sealed = fields[index].value { continue }
        fields[index].value = .hash(fields[index].value.stableHash)
      }
    }
  }

  /// The name of fields that it changes; nil: it changes none.
  private var subject: String? {
    switch self {
    case .add: nil
    case .drop(let name), .rename(let name, to: _), .hash(let name): name
    }
  }

  /// A session with what edits make of its fields: itself, if they change none.
  static func session(
    _ session: LogReader.Session, after edits: [RecordEdit]
  ) -> LogReader.Session {
    var fields = session.fields.map { EditableRecord.Field(name: $0.name, value: $0.value) }
    // A name may be another one's new name.
    var isChanged = false
    for edit in edits where fields.contains(where: { $0.name == edit.subject }) {
      edit.apply(to: &fields)
      isChanged = true
    }
    if !isChanged { return session }
    // What was read can be written.
    return session.with(fields: fields) ?? LogReader.Session(session.identity)
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
