import MMLogFormat
import MMLogReader

/// What reading a directory gives: records in their order, and what is reported.
struct FoundLog {
  private(set) var records: [(record: LoggedRecord, time: Timestamp)] = []
  private(set) var reports = Reports()
  private(set) var endings: [SessionID: SessionEnding] = [:]
  /// The paths of files of which nothing is read.
  private(set) var unreadable: Set<String> = []
  /// Whether reading ended before there were more items than any directory of this size can give.
  private(set) var isBounded = true

  /// - Parameters:
  ///   - paths: What is read.
  ///   - maximum: How many items there may be.
  init(_ paths: [String], maximum: Int = .max) {
    let reader = LogReader(paths: paths)
    for error in reader.unreadable { reports.add(path: error.path, "\(error)") }
    unreadable = Set(reader.unreadable.map(\.path))
    var count = 0
    for item in reader {
      take(item)
      count += 1
      if count > maximum {
        isBounded = false
        return
      }
    }
  }

  private mutating func take(_ item: LogReader.Item) {
    switch item {
    case .record(let record): records.append((LoggedRecord(record), record.time))
    case .corruption(let corruption):
      reports.add(path: corruption.path, "\(corruption)")
    case .losses(let session, let ledger):
      reports.add(session.id, "losses: \(ledger)", isSevere: true)
    case .sessionEnded(let session, let ending, _): endings[session.id] = ending
    case .gap(let gap): reports.add(gap.session.id, gap.summary, isSevere: gap.isLoss)
    case .unfinished(let record):
      reports.add(record.session.id, record.summary, isSevere: false)
    case .sessionStarted, .crashed: break
    }
  }
}

/// What reading reports beside the records.
struct Reports {
  /// One thing that is reported, about a file or about a session.
  private struct Report {
    let text: String
    var path: String?
    var session: SessionID?
    let isSevere: Bool
  }

  private var reports: [Report] = []

  var texts: [String] { reports.map(\.text) }
  var isEmpty: Bool { reports.isEmpty }
  var paths: Set<String> { Set(reports.compactMap(\.path)) }
  var sessions: Set<SessionID> { Set(reports.compactMap(\.session)) }
  /// Whether something was found corrupted or lost: what an exit status reports.
  var isSevere: Bool { reports.contains(where: \.isSevere) }

  /// Adds what is said about a file.
  mutating func add(path: String, _ text: String) {
    reports.append(Report(text: text, path: path, isSevere: true))
  }

  /// Adds what is said about a session.
  mutating func add(_ session: SessionID, _ text: String, isSevere: Bool) {
    reports.append(Report(text: text, session: session, isSevere: isSevere))
  }

  /// The reports that are not among others.
  func subtracting(_ others: Reports) -> Reports {
    var left = Reports()
    // The same may be said of several sessions.
    left.reports = reports.filter { report in
      !others.reports.contains { $0.text == report.text && $0.session == report.session }
    }
    return left
  }
}
