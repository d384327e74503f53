import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogFormat
import MMLogReader

/// Says why a query may have found nothing: how many records there are, when they were logged, and
/// which labels and fields there are instead of those that were asked for.
struct NothingFound {
  /// So many records are inspected for labels and fields.
  private static let maximumRecords = 300_000
  /// So many names are listed.
  private static let maximumNames = 6

  private let filter: LogReader.Filter
  private let zone: LogTimeZone
  private let overview: [SessionOverview]
  private var labels: Set<String> = []
  private var fields: Set<String> = []
  private var levels: Set<Level> = []
  private var first: Timestamp?
  private var isComplete = true

  init(_ query: Query, _ files: LogFiles) {
    (filter, zone) = (query.filter, query.zone)
    overview = files.overview(filter: LogReader.Filter())
    var count = 0
    for case .record(let record) in LogReader(files) {
      first = first ?? record.time
      labels.insert(record.label)
      levels.insert(record.level)
      if !filter.conditions.isEmpty { fields.formUnion(record.fields.map(\.name)) }
      count += 1
      guard count < Self.maximumRecords else {
        isComplete = false
        break
      }
    }
  }

  /// One line.
  var sentence: String {
    let count = overview.reduce(0) { $0 + $1.recordCount }
    if count == 0 { return "there are no records" }
    var time = TimeFormatter(zone)
    var parts = ["nothing matched; there are \(LogCommands.count(count, "record"))"]
    if let first, let last = overview.compactMap(\.lastTime).max() {
      parts[0] += " from \(time.text(of: first)) to \(time.text(of: last))"
    }
    if !filter.labels.isEmpty { parts.append(list("label", labels, asked: filter.labels)) }
    let wanted = filter.conditions.flatMap(\.fieldNames).filter { !fields.contains($0) }
    if !wanted.isEmpty {
      parts.append("no record has \(wanted.joined(separator: ", "))")
      let own = FieldCondition.RecordField.allCases.filter { wanted.contains($0.rawValue) }
      if own.isEmpty {
        parts.append(list("field", fields, asked: wanted))
      } else {
        parts.append("the record's own is \(own.map(\.name).joined(separator: ", "))")
      }
    }
    if let highest = levels.max(), highest < filter.minimumLevel {
      parts.append("none is above \(highest)")
    }
    return parts.joined(separator: "; ")
  }

  /// `labels are a, b; did you mean 'b'?`
  private func list(_ noun: String, _ names: Set<String>, asked: [String]) -> String {
    let all = names.filter { !$0.isEmpty }.sorted()
    if all.isEmpty { return "there are no \(noun)s" }
    let rest = all.count - Self.maximumNames
    var text = "\(noun)s are " + all.prefix(Self.maximumNames).joined(separator: ", ")
    if rest > 0 { text += " and \(rest) more" }
    if !isComplete { text += " (of the first records)" }
    let near = asked.filter { !names.contains($0) }.compactMap { nearest(to: $0, among: all) }
    return near.isEmpty
      ? text : text + "; did you mean \(near.map { "'\($0)'" }.joined(separator: ", "))?"
  }
}
