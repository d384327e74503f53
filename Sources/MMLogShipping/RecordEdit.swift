import MMLogFormat
public import MMLogReader
import MMLogSystem

/// A change that is made to each record on its way to a destination. An edit that drops, renames or
/// hashes fields also changes the session's fields, which go with each record.
public enum RecordEdit: Sendable {
  /// Adds a field, unless the record has a field of this name.
  case add(String, LogReader.Value)
  /// Drops the fields of this name. Where one of them stands in the message, `<private>` replaces
  /// it.
  case drop(String)
  /// Gives the fields of the first name the second name.
  case rename(String, to: String)
  /// Replaces the values of the fields of this name with a hash of 64 bits, which is equal for
  /// equal values in all sessions. Whoever knows all possible values can find out which value was
  /// hashed. Sealed values that nobody here opens stay as they are.
  case hash(String)

  func apply(to record: inout EditableRecord) {
    switch self {
    case .add(let name, let value):
      if record[name] == nil { record[name] = value }
    case .drop, .rename, .hash: apply(to: &record.fields)
    }
  }

  /// Changes fields that exist.
  private func apply(to fields: inout [EditableRecord.Field]) {
    switch self {
    case .add: return
    case .drop(let name): fields.removeAll { $0.name == name }
    case .rename(let name, let other):
      for index in fields.indices where fields[index].name == name { fields[index].name = other }
    case .hash(let name):
      for index in fields.indices where fields[index].name == name {
        // An encrypted value differs each time, and so would its hash.
        if case .sealed = fields[index].value { continue }
        fields[index].value = .hash(fields[index].value.stableHash)
      }
    }
  }

  /// The name of the fields that the edit changes; nil if it changes no existing field.
  private var subject: String? {
    switch self {
    case .add: nil
    case .drop(let name), .rename(let name, to: _), .hash(let name): name
    }
  }

  /// Returns a session with edited fields: the same session if the edits change none.
  static func session(
    _ session: LogReader.Session, after edits: [RecordEdit]
  ) -> LogReader.Session {
    var fields = session.fields.map { EditableRecord.Field(name: $0.name, value: $0.value) }
    // An edit may refer to a name that an earlier edit has given.
    var isChanged = false
    for edit in edits where fields.contains(where: { $0.name == edit.subject }) {
      edit.apply(to: &fields)
      isChanged = true
    }
    if !isChanged { return session }
    // Fields that were read can be written.
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
