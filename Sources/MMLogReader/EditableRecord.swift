public import MMLogFormat

/// A record that may be changed on its way to a destination or a tap.
///
/// Its id, times, thread, label, span and trace stay. Records that are made of it have its id.
public struct EditableRecord: Sendable {
  /// A field: a named argument of the message, a pair of metadata, or a field of its context.
  public struct Field: Sendable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: LogReader.Value
    /// The index of the message's argument, from 0; nil for metadata and fields of a context.
    var argument: Int?

    /// Makes a field that is added to the record as metadata.
    public init(name: String, value: LogReader.Value) { (self.name, self.value) = (name, value) }

    init(name: String, value: LogReader.Value, argument: Int) {
      (self.name, self.value, self.argument) = (name, value, argument)
    }
  }

  /// The record as it was logged.
  public let original: LogReader.Record
  /// How much it matters.
  public var level: Level
  /// The text in place of the message; nil for the message as it was logged, with the arguments of
  /// ``fields``.
  public var message: String?
  /// The named arguments, followed by metadata and the context's fields.
  public var fields: [Field]

  /// Makes an editable record without changes.
  public init(_ record: LogReader.Record) {
    original = record
    level = record.level
    fields = record.rewritableFields
  }

  /// The value of the first field with that name; nil if there is none. Setting it adds a field if
  /// there is none.
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

  /// The record with its changes; nil if it cannot be written because a value is nested too deep.
  package var records: LogReader.Records? { records(of: nil) }

  /// The same for a record of another session; nil: of its own session.
  package func records(of session: LogReader.Session?) -> LogReader.Records? {
    original.rewritten(level: level, message: message, fields: fields, session: session)
  }

  /// Redacts the values that are nested too deep to be written.
  package mutating func redactDeepValues() {
    for index in fields.indices where fields[index].value.isTooDeep() {
      fields[index].value = .redacted
    }
  }
}
