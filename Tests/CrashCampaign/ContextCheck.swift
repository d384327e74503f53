import CrashRecords
import MMLogFormat
package import MMLogReader

extension LaneContext {
  /// Whether a record has these fields behind those of its statement, this trace, and the session
  /// fields of campaigns.
  package func isThat(of record: LogReader.Record) -> Bool {
    let found = record.fields.drop { !Self.isName($0.name) }
    return record.trace == trace && Self.areThere(of: record.session)
      && found.count == fields.count
      && zip(found, fields).allSatisfy { $0.name == $1.name && $1.value.isSame(as: $0.value) }
  }

  private static func areThere(of session: LogReader.Session) -> Bool {
    let value = Value.array([.string(Array("lanes".utf8)), .int(7)])
    return session.fields.contains { $0.name == "campaign" && $0.value == value }
  }

  /// The context that a record of a signal handler should have: that of the task which the handler
  /// interrupted, or none.
  static func interrupted(
    by record: LogReader.Record, _ context: (_ lane: Int, _ sequence: Int) -> LaneContext
  ) -> LaneContext {
    guard case .int(let lane)? = record.fields.first(where: { $0.name == "task.lane" })?.value,
      case .int(let sequence)? = record.fields.first(where: { $0.name == "task.sequence" })?.value
    else { return LaneContext() }
    return context(Int(lane), Int(sequence)).ofTask
  }

  /// The context that a record has, for a message.
  package static func description(of record: LogReader.Record) -> String {
    let fields = record.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    let session = record.session.fields.map(\.name)
    return "\(fields.prefix(200)) \(session) \(record.trace.map { "\($0)" } ?? "no trace")"
  }
}

extension LaneContext.FieldValue {
  fileprivate func isSame(as value: Value) -> Bool {
    switch self {
    case .number(let number): value == .int(Int64(number))
    case .text(let text): value == .string(text)
    }
  }
}
