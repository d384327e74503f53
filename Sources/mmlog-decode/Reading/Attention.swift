import CommandLineTool
import LogCommands
import MMLogReader

/// Reports on standard error what is not a record: a line for each loss and each corrupted place,
/// up to a maximum, and one line for sessions that ended badly.
struct Attention {
  private let query: Query
  private var time: TimeFormatter
  private(set) var status = Program.Status.success
  private let complaints = Complaints(Command.complain)
  private var crashes: [SessionID: SessionEnd.How] = [:]
  private var unknownEnds: Set<SessionID> = []
  /// Whether everything is reported at once, because there is no end at which it could be counted.
  var isEndless: Bool {
    get { complaints.isEndless }
    nonmutating set { complaints.isEndless = newValue }
  }
  /// Whether reading goes on behind a cursor. Then archives that are gone were there before.
  var isResumed = false

  init(_ query: Query) {
    self.query = query
    time = TimeFormatter(query.zone)
  }

  /// Reports a file that could not be read.
  mutating func add(_ error: LogError) {
    status = .corruptionOrLoss
    complaints.add(error.message)
  }

  /// Reports that reading was interrupted, and that the output is about a part.
  ///
  /// - Parameter last: When the last record of that part was logged; nil if it has none.
  mutating func addInterruption(at last: Timestamp?) {
    status = .corruptionOrLoss
    let part = last.map { "what was read up to \(time.text(of: $0))" } ?? "nothing"
    Command.complain("interrupted: this is of \(part)")
  }

  /// The sentence to report now about an item; nil if the item is only counted, or is as expected.
  mutating func sentence(for item: LogReader.Item) -> String? {
    switch item {
    case .corruption(let corruption):
      return missing("\(corruption.path): corrupted: \(corruption.summary)")
    case .gap(let gap):
      // Archives that retention may have deleted need no attention, unless they were still to be
      // read.
      guard gap.isLoss || isResumed || isEndless else { return nil }
      return missing("\(gap.session.title): \(gap.summary(&time))")
    case .losses(let session, let ledger): return missing("\(session.title): \(ledger)")
    case .sessionEnded(let session, let ending, let last):
      let end = ending.time(lastRecord: last)
      guard session.isWithin(query.filter, until: end) else { return nil }
      return count(session, ending)
    case .record, .sessionStarted, .crashed, .unfinished: return nil
    }
  }

  /// The sentence to report now if records are missing that were wanted before a found one.
  mutating func sentence(forMissing count: Int, before found: LogReader.Record) -> String? {
    missing(
      "\(count) of the records before the one of \(time.text(of: found.time)) are left out: they "
        + "are too large")
  }

  private mutating func missing(_ sentence: String) -> String? {
    status = .corruptionOrLoss
    return complaints.counted(sentence)
  }

  private mutating func count(_ session: LogReader.Session, _ ending: SessionEnding) -> String? {
    if case .unknown = ending { unknownEnds.insert(session.id) }
    guard let how = ending.how, how.isCrash else { return nil }
    crashes[session.id] = how
    guard isEndless, !query.isQuiet else { return nil }
    let id = session.id.description.prefix(8)
    return "\(session.title) \(how.verb); \(command("crash", "--session \(id)"))"
  }

  /// Reports what was counted.
  func end() {
    complaints.end(verify: command("verify"))
    if query.isQuiet { return }
    if let sentence = crashSentence { Command.complain(sentence) }
    if !unknownEnds.isEmpty {
      Command.complain(
        "the end of \(LogCommands.count(unknownEnds.count, "session")) is not among these files; "
          + command("sessions"))
    }
  }

  /// `2 sessions crashed, 1 was killed; mmlog-decode crash`
  private var crashSentence: String? {
    if crashes.isEmpty { return nil }
    var parts: [String] = []
    for how in [SessionEnd.How.crashed, .killed, .powerLost] {
      let number = crashes.values.count { $0 == how }
      if number == 0 { continue }
      let noun = parts.isEmpty ? LogCommands.count(number, "session") : "\(number)"
      parts.append("\(noun) \(number == 1 ? how.verb : how.verbOfMany)")
    }
    return "\(parts.joined(separator: ", ")); \(command("crash"))"
  }

  /// A command line that shows more.
  private func command(_ word: String, _ options: String = "") -> String {
    let paths = query.paths.count > 3 ? ["..."] : query.paths.map(\.shellWord)
    let tree = query.isRecursive ? ["-R"] : []
    return (["mmlog-decode", word] + tree + (options.isEmpty ? [] : [options]) + paths)
      .joined(separator: " ")
  }
}

extension SessionEnd.How {
  fileprivate var verb: String {
    switch self {
    case .killed: "was killed"
    case .powerLost: "was killed, or went down with its machine"
    default: "crashed"
    }
  }

  fileprivate var verbOfMany: String {
    switch self {
    case .killed: "were killed"
    case .powerLost: "were killed, or went down with their machine"
    default: "crashed"
    }
  }
}

extension String {
  /// The text as one word for a shell: without quotes, if it needs none.
  fileprivate var shellWord: String {
    let plain: Set<Character> = Set("/._-+=:@%,")
    if !isEmpty, allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || plain.contains($0) }) {
      return self
    }
    return quotedForShell
  }
}
