import CommandLineTool
import LogCommands
import MMLogReader

/// What is said on standard error about what is not a record: a line for each loss and each place
/// that is corrupted, as far as there are not too many, and one line for sessions that ended badly.
struct Attention {
  /// Of what is missing, so many lines are printed; then only how many there are. While a log is
  /// followed, all are printed, and what was said is remembered for so many lines.
  private static let maximumLines = 50

  private let query: Query
  private var time: TimeFormatter
  private(set) var status = Program.Status.success
  /// The hashes of what there was to say: files that are read more than once have the same to say
  /// again.
  private var said: Set<Int> = []
  private var crashes: [SessionID: SessionEnd.How] = [:]
  private var unknownEnds: Set<SessionID> = []
  /// Whether all is reported as it is met, because there is no end at which it is counted.
  var isEndless = false
  /// Whether reading goes on behind a cursor: then something is missing that was there.
  var isResumed = false

  init(_ query: Query) {
    self.query = query
    time = TimeFormatter(query.zone)
  }

  /// Reports a file that could not be read.
  mutating func add(_ error: LogError) {
    status = .corruptionOrLoss
    if let sentence = bounded(error.message) { Command.complain(sentence) }
  }

  /// Reports that the reading was interrupted, and what comes is of a part.
  ///
  /// - Parameter last: When the last record of that part was logged; nil if it has none.
  mutating func addInterruption(at last: Timestamp?) {
    status = .corruptionOrLoss
    let part = last.map { "what was read up to \(time.text(of: $0))" } ?? "nothing"
    Command.complain("interrupted: this is of \(part)")
  }

  /// What is to be said now about an item; nil if it is counted, or as it should be.
  mutating func sentence(for item: LogReader.Item) -> String? {
    switch item {
    case .corruption(let corruption):
      return missing("\(corruption.path): corrupted: \(corruption.summary)")
    case .gap(let gap):
      // What retention may have deleted needs no attention, unless it did so before that was read.
      guard gap.isLoss || isResumed || isEndless else { return nil }
      return missing("\(gap.session.title): \(gap.summary(&time))")
    case .losses(let session, let ledger): return missing("\(session.title): \(ledger)")
    case .sessionEnded(let session, let ending, let last):
      guard session.isWithin(query.filter, last) else { return nil }
      return count(session, ending)
    case .record, .sessionStarted, .crashed, .unfinished: return nil
    }
  }

  private mutating func missing(_ sentence: String) -> String? {
    status = .corruptionOrLoss
    return bounded(sentence)
  }

  private mutating func bounded(_ sentence: String) -> String? {
    if isEndless, said.count == Self.maximumLines { said = [] }
    guard said.insert(sentence.hashValue).inserted else { return nil }
    return said.count <= Self.maximumLines ? sentence : nil
  }

  private mutating func count(_ session: LogReader.Session, _ ending: SessionEnding) -> String? {
    if case .unknown = ending { unknownEnds.insert(session.id) }
    guard let how = ending.how, how.isCrash else { return nil }
    crashes[session.id] = how
    guard isEndless, !query.isQuiet else { return nil }
    let id = session.id.description.prefix(8)
    return "\(session.title) \(how.verb); \(command("crash", "--session \(id)"))"
  }

  /// Says what was counted.
  func end() {
    let left = said.count - Self.maximumLines
    if left > 0 {
      Command.complain(
        "\(left) more such lines, \(said.count) in all; \(command("verify")) has each")
    }
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

  /// A command line that says more.
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
  /// As a shell takes it for one word: without quotes, if it needs none.
  fileprivate var shellWord: String {
    let plain: Set<Character> = Set("/._-+=:@%,")
    if !isEmpty, allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) || plain.contains($0) }) {
      return self
    }
    return quotedForShell
  }
}
