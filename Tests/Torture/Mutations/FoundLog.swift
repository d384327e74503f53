import MMLogFormat
import MMLogReader

/// What reading a directory gives: records in their order, and what is reported.
struct FoundLog {
  private(set) var records: [(record: LoggedRecord, time: Int64)] = []
  private(set) var reports = Reports()
  private(set) var endings: [SessionID: SessionEnding] = [:]
  /// Whether it came to its end before there were more items than any directory of this size can
  /// give.
  private(set) var isBounded = true

  /// - Parameters:
  ///   - paths: What is read.
  ///   - most: How many items there may be.
  init(_ paths: [String], most: Int = .max) {
    let reader = LogReader(paths: paths)
    for error in reader.unreadable { reports.add(path: error.path, "\(error)", isSevere: true) }
    var count = 0
    for item in reader {
      take(item)
      count += 1
      if count > most {
        isBounded = false
        return
      }
    }
  }

  private mutating func take(_ item: LogItem) {
    switch item {
    case .record(let record): records.append((LoggedRecord(record), record.time))
    case .damage(let damage):
      reports.add(path: damage.path, "\(damage)", isSevere: true)
    case .losses(let session, let ledger):
      reports.add(session.id, "losses: \(ledger)", isSevere: true)
    case .sessionEnded(let session, let ending, _): endings[session.id] = ending
    case .unfinished(let record):
      reports.add(record.session.id, record.summary, isSevere: false)
    case .sessionStarted, .crashed: break
    }
  }
}

/// What somebody who reads is told beside the records.
struct Reports {
  private(set) var texts: [String] = []
  private(set) var paths: Set<String> = []
  private(set) var sessions: Set<SessionID> = []
  /// Whether something was found damaged or lost: what an exit status tells.
  private(set) var isSevere = false

  var isEmpty: Bool { texts.isEmpty }

  /// Adds what is said about a file.
  mutating func add(path: String, _ text: String, isSevere: Bool) {
    paths.insert(path)
    add(text, isSevere)
  }

  /// Adds what is said about a session.
  mutating func add(_ session: SessionID, _ text: String, isSevere: Bool) {
    sessions.insert(session)
    add(text, isSevere)
  }

  private mutating func add(_ text: String, _ isSevere: Bool) {
    texts.append(text)
    if isSevere { self.isSevere = true }
  }
}
