public import MMLogFormat

/// A record that may be changed on its way to a destination or a tap.
///
/// Its id, times, thread, label, span and trace stay. Records that come of one have its id.
public struct EditableRecord: Sendable {
  /// A field: a named argument of the message, a pair of metadata, or a field of its context.
  public struct Field: Sendable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: LogReader.Value
    /// Which of the message's arguments it is, from 0; nil for metadata and fields of a context.
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
  /// What stands in place of the message; nil: the message as it was logged, with the arguments as
  /// ``fields`` has them.
  public var message: String?
  /// The named arguments, and then metadata and the context's fields.
  public var fields: [Field]

  /// Makes one that is not changed yet.
  public init(_ record: LogReader.Record) {
    original = record
    level = record.level
    fields = record.rewritableFields
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
  package var records: LogReader.Records? { records(of: nil) }

  /// The same as of another session; nil: of the one that it is of.
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
