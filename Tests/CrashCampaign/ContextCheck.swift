import CrashRecords
import MMLogFormat
package import MMLogReader

extension LaneContext {
  /// Whether a record has these fields, behind those of its statement, and this trace.
  package func isThat(of record: LogReader.Record) -> Bool {
    let found = record.fields.drop { !Self.isName($0.name) }
    return record.trace == trace && found.count == fields.count
      && zip(found, fields).allSatisfy { $0.name == $1.name && $1.value.isSame(as: $0.value) }
  }

  /// Which context a record should have that was logged in a signal handler: that of the task which
  /// it interrupted, or none.
  static func interrupted(
    by record: LogReader.Record, _ context: (_ lane: Int, _ sequence: Int) -> LaneContext
  ) -> LaneContext {
    guard case .int(let lane)? = record.fields.first(where: { $0.name == "task.lane" })?.value,
      case .int(let sequence)? = record.fields.first(where: { $0.name == "task.sequence" })?.value
    else { return LaneContext() }
    return context(Int(lane), Int(sequence)).ofTask
  }

  /// What it was, for a message.
  package static func description(of record: LogReader.Record) -> String {
    let fields = record.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    return "\(fields.prefix(200)) \(record.trace.map { "\($0)" } ?? "no trace")"
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
