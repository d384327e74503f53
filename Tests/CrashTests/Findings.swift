import CrashRecords
import MMLogReader

/// What a reader finds in a folder, compared with what was logged and acknowledged.
struct Findings {
  /// How many records there are.
  private(set) var count = 0
  /// How the session ended that logged.
  private(set) var ending: SessionEnding?
  /// What is wrong.
  private(set) var problems: [String] = []
  private var newest = [Int](repeating: 0, count: CountPage.laneCount)
  private var missing = [Int](repeating: 0, count: CountPage.laneCount)
  private var counted: UInt64 = 0
  private var ticks: UInt64 = 0
  private let settings: Settings

  /// - Parameter acknowledged: How many records of each lane are; at most one more was under way.
  init(in directory: String, _ settings: Settings, acknowledged: [Int]) {
    self.settings = settings
    let reader = LogReader(paths: [directory])
    problems = reader.unreadable.map(\.message)
    for item in reader { take(item) }
    for lane in 0..<CountPage.laneCount { compare(lane, acknowledged[lane]) }
    compareLosses(acknowledged)
  }

  private mutating func take(_ item: LogItem) {
    switch item {
    case .record(let record): take(record)
    case .damage(let damage): note("damage: \(damage)")
    case .losses(_, let ledger):
      counted += LossCause.allCases.reduce(0) { $0 + ledger.total($1) }
      if !settings.mayDrop(1) { note("losses: \(ledger)") }
    case .sessionEnded(let session, let ending, _):
      // Those of processes that only recovered have no record.
      if session.id == logging || logging == nil { self.ending = ending }
    case .sessionStarted, .unfinished: break
    }
  }

  private var logging: SessionID?

  private mutating func take(_ record: LogRecord) {
    count += 1
    logging = record.session.id
    let message = record.messageBytes
    guard let (lane, sequence) = Lane.position(of: message), lane < CountPage.laneCount else {
      return note("a record that nobody logged: \(record.message.prefix(80))")
    }
    if !settings.lane(lane).logged(message, as: sequence) {
      note(
        "record \(sequence) of lane \(lane) is not as it was logged: \(record.message.prefix(80))")
    }
    if record.ticks < ticks { note("record \(sequence) of lane \(lane) comes after a later one") }
    if sequence <= newest[lane] {
      return note("record \(sequence) of lane \(lane) comes after \(newest[lane]), or twice")
    }
    missing[lane] += sequence - newest[lane] - 1
    (newest[lane], ticks) = (sequence, record.ticks)
  }

  private mutating func compare(_ lane: Int, _ acknowledged: Int) {
    missing[lane] += max(0, acknowledged - newest[lane])
    if newest[lane] > acknowledged + 1 {
      note("lane \(lane) has logged \(newest[lane]) records, and acknowledged \(acknowledged)")
    }
    if missing[lane] > 0 && !settings.mayDrop(lane) {
      note("\(missing[lane]) of \(acknowledged) records of lane \(lane) are missing")
    }
  }

  private mutating func compareLosses(_ acknowledged: [Int]) {
    let missing = missing.reduce(0, +)
    if counted < missing { note("\(missing) records are missing, and \(counted) counted as lost") }
    // A discarded segment is counted before it is emptied; a dropped record before its call returns.
    let more =
      settings.policy == "overwrite" ? Int.max : acknowledged.count { $0 > 0 } + settings.threads
    if counted > missing.addingReportingOverflow(more).partialValue && more != .max {
      note("\(missing) records are missing, and \(counted) counted as lost")
    }
  }

  private mutating func note(_ problem: String) {
    // Some will do.
    if problems.count < 10 { problems.append(problem) }
  }
}
