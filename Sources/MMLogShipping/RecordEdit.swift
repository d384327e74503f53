public import MMLogReader
import MMLogSystem

/// A change that is made to each record on its way to a destination.
public enum RecordEdit: Sendable {
  /// A field is added; one that is there under this name stays.
  case add(String, LogReader.Value)
  /// The fields of this name are dropped. Where one stands in the message, `<redacted>` stands
  /// then.
  case drop(String)
  /// The fields of the first name get the second.
  case rename(String, to: String)
  /// The values of the fields of this name become a hash of 64 bits: equal for equal values, in all
  /// sessions. Whoever knows all values that there may be can find out which it was.
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
        record.fields[index].value = .hash(record.fields[index].value.stableHash)
      }
    }
  }
}

/// A record that may be changed on its way to a destination.
///
/// Its id, times, thread, label, span and trace stay. Records that come of one have its id.
public struct EditableRecord: Sendable {
  /// A field: a named argument of the message, a pair of metadata, or a field of its context.
  public struct Field: Sendable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: LogReader.Value
    var argument: Int?

    /// Makes a field that is added to the record as metadata.
    public init(name: String, value: LogReader.Value) { (self.name, self.value) = (name, value) }
  }

  /// The record as it was logged.
  public let original: LogReader.Record
  /// How much it matters.
  public var level: Level
  /// What stands in place of the message; nil: the message as it was logged, with the arguments as
  /// ``fields`` has them.
  public var message: String?
  /// The named arguments, and then metadata and the context's fields.
  public var fields: [Field]

  /// Makes one that is not changed yet.
  public init(_ record: LogReader.Record) {
    original = record
    level = record.level
    fields = record.rewritableFields.map {
      var field = Field(name: $0.name, value: $0.value)
      field.argument = $0.argument
      return field
    }
  }

  /// The first field's value of that name; nil: there is none. To set it adds a field where there
  /// is none.
  public subscript(name: String) -> LogReader.Value? {
    get { fields.first { $0.name == name }?.value }
    set {
      guard let newValue else { return fields.removeAll { $0.name == name } }
      if let index = fields.firstIndex(where: { $0.name == name }) {
        fields[index].value = newValue
      } else {
        fields.append(Field(name: name, value: newValue))
      }
    }
  }

  /// The record with what was changed; nil if it cannot be written, since a value is nested too
  /// deep.
  var records: LogReader.Records? {
    original.rewritten(
      level: level, message: message,
      fields: fields.map { .init(name: $0.name, value: $0.value, argument: $0.argument) })
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
    return bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
