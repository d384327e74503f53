import MMLogFormat
import MMLogReader
import MMLogShipping

/// A gap for a receiver that knows only records: a warning in the place of the missing records.
struct GapRecord {
  let time: Timestamp
  let text: String
  /// The gap's name, which is the same at every try.
  let id: String
  let count: UInt64?
  let archives: ClosedRange<Int>?
  let levels: [(name: String, count: UInt64)]
  let mayBeSent: Bool
  let session: SessionID

  /// The label, or scope, of all gaps.
  static let label: StaticString = "mmlog.ship"

  /// All gaps of a batch.
  static func all(of batch: LogBatch) -> [GapRecord] {
    let next = batch.records.first?.first?.time
    return batch.gaps.enumerated().map { index, gap in
      GapRecord(
        time: gap.times?.upperBound ?? next ?? batch.session.identity.startTime,
        text: "records are missing: \(gap.description)", id: "\(batch.id).gap.\(index)",
        count: gap.count, archives: gap.archives,
        levels: gap.levels.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value) },
        mayBeSent: gap.mayBeSent, session: gap.session)
    }
  }

  /// What is known of the gap, by name.
  var attributes: [(name: String, value: AttributeValue)] {
    var all: [(name: String, value: AttributeValue)] = [
      ("mmlog.gap.session", .text(session.description)),
      ("mmlog.gap.may_be_sent", .text(mayBeSent ? "true" : "false")),
    ]
    if let count { all.append(("mmlog.gap.records", .number(Int64(clamping: count)))) }
    if let archives {
      all.append(("mmlog.gap.first_archive", .number(Int64(archives.lowerBound))))
      all.append(("mmlog.gap.last_archive", .number(Int64(archives.upperBound))))
    }
    for (name, count) in levels {
      all.append(("mmlog.gap.\(name)", .number(Int64(clamping: count))))
    }
    return all
  }

  /// The ``attributes`` as the text of a JSON object.
  var jsonAttributes: String {
    var object = JSONObject()
    for (name, value) in attributes {
      switch value {
      case .text(let text): object.add(name, text)
      case .number(let number): object.add(name, number)
      }
    }
    return object.text
  }

  enum AttributeValue {
    case text(String)
    case number(Int64)

    var text: String {
      switch self {
      case .text(let text): text
      case .number(let number): "\(number)"
      }
    }
  }
}
