import CrashRecords
package import MMLogReader
import MMLogSystem

/// What a reader finds in a store, compared with what was logged and acknowledged.
package struct Findings {
  /// How many records there are.
  package private(set) var count = 0
  /// How the sessions of processes that logged ended, by the process's number.
  package private(set) var endings: [Int: SessionEnding] = [:]
  /// What is wrong.
  package private(set) var problems: [String] = []
  /// How many records have which context.
  package private(set) var contexts: [CrashRound.Event: Int] = [:]
  private var lanes: [LaneFindings]
  /// How many records each process says that it lost.
  private var counted: [Int: Int] = [:]
  /// How many records of each process are missing, as the numbers of its records say.
  private var numberedMissing: [Int: Int] = [:]
  /// The ticks of each session's last record.
  private var ticks: [SessionID: UInt64] = [:]
  /// The numbers of each session's spans.
  private var spans: [SessionID: Set<UInt64>] = [:]
  /// What processes died of, as they themselves say.
  private var reports: [Int: CrashReport] = [:]
  /// How many records of each process say that it has survived a fatal signal.
  private var survivals: [Int: Int] = [:]
  private let settings: Settings
  private let pages: [Int: CountPage]

  /// What was found of a lane.
  private struct LaneFindings {
    var newest = 0
    var missing = 0
    /// How many flight records, and records whose level may have been off, are not there; and how
    /// many of them are younger than a flight record that is there.
    var forgotten = 0
    var gaps = 0
    var hasFlight = false
    /// The span that the last record began.
    var span: UInt64?
    var spanName: String?
    /// The record that began the last span.
    var lastSpan: (sequence: Int, number: UInt64)?
  }

  /// - Parameters:
  ///   - pages: The pages of the processes that logged, by their numbers. All are dead.
  ///   - crashes: The signals that the processes died of, if they were to record them.
  ///   - ends: How the processes ended, if they were not killed.
  ///   - survivors: The processes that have survived a fatal signal before.
  init(
    in paths: [String], _ settings: Settings, _ pages: [Int: CountPage], crashes: [Int: CInt],
    ends: [Int: SessionEnd.How], survivors: Set<Int>, isRecovered: Bool
  ) {
    (self.settings, self.pages) = (settings, pages)
    lanes = Array(
      repeating: LaneFindings(), count: ((pages.keys.max() ?? -1) + 1) * CountPage.laneCount)
    let files = CampaignIdentity.files(paths)
    let reader = LogReader(files)
    problems = reader.unreadable.map(\.message)
    for item in reader { take(item) }
    for (process, page) in pages.sorted(by: { $0.key < $1.key }) {
      compareLanes(process, page)
      compareLosses(process, page)
      compareNumbers(process)
      compareCrash(process, page, crashes[process])
      if isRecovered { compareEnding(process, page, ends[process] ?? .killed) }
      compareSurvivals(process, survivors.contains(process) ? 1 : 0)
    }
    if settings.hasStates { compareStates(files) }
  }

  /// Checks that the last state of each thread that logged is known, unless its process has closed
  /// its store.
  private mutating func compareStates(_ files: LogFiles) {
    let check = StateCheck(in: files, pages)
    for problem in check.problems { note(problem) }
    for (process, page) in pages where endings[process]?.how ?? .closed != .closed {
      for thread in 0..<(process % (1 + settings.forks) == 0 ? settings.threads : 1)
      where page[2 * thread] > 0 {
        if check.lanes.contains(process * CountPage.laneCount + 2 * thread) { continue }
        note("nothing is known of the state of thread \(thread) of process \(process)")
      }
    }
  }

  private mutating func compareSurvivals(_ process: Int, _ expected: Int) {
    let found = survivals[process, default: 0]
    if found == expected { return }
    note("process \(process) says \(found) times that it survived, and not \(expected)")
  }

  private mutating func take(_ item: LogReader.Item) {
    switch item {
    case .record(let record): take(record)
    case .corruption(let corruption): note("corruption: \(corruption)")
    case .losses(let session, let ledger): take(ledger, of: session)
    case .sessionEnded(let session, let ending, _):
      guard let process = process(of: session) else { return }
      if endings.updateValue(ending, forKey: process) != nil {
        note("process \(process) has two sessions, or ended twice")
      }
    case .crashed(let session, let report):
      guard let process = process(of: session),
        reports.updateValue(report, forKey: process) == nil
      else {
        return note("a crash of no process, or of one that crashed before: \(report.summary)")
      }
    case .gap(let gap): take(gap)
    case .sessionStarted, .unfinished: break
    }
  }

  /// The number of the session's process; nil for a process that only recovered.
  private func process(of session: LogReader.Session) -> Int? {
    pages.first { $0.value.processID == session.identity.processID }?.key
  }

  /// Whether a record is the store's own, about a fatal signal that its process has survived. The
  /// record's label may have found no room.
  static func isSurvival(_ record: LogReader.Record) -> Bool {
    record.level == .critical && record.message.hasPrefix("survived ")
  }

  private mutating func take(_ gap: LogReader.Gap) {
    switch gap.cause {
    case .archivesNotHere: break
    case .newestArchiveNotHere: note("session \(gap.session.id): \(gap.summary)")
    case .recordsMissing(let records):
      guard let process = process(of: gap.session) else {
        return note("of a process that logged nothing: \(gap.summary)")
      }
      numberedMissing[process, default: 0] += Int(clamping: records.count)
    }
  }

  private mutating func take(_ record: LogReader.Record) {
    count += 1
    if Self.isSurvival(record), let process = process(of: record.session) {
      survivals[process, default: 0] += 1
      return
    }
    let message = record.messageBytes
    guard let (lane, sequence) = Lane.position(of: message), lane < lanes.count,
      let page = pages[lane / CountPage.laneCount]
    else { return note("a record that nobody logged: \(record.message.prefix(80))") }
    if page.processID != record.session.identity.processID {
      note("record \(sequence) of lane \(lane) is in another process's session")
    }
    // The number, too, may be anything.
    if !settings.lane(lane).logged(message, as: sequence) {
      return note(
        "record \(sequence) of lane \(lane) is not as it was logged: \(record.message.prefix(80))")
    }
    if record.ticks < ticks[record.session.id, default: 0] {
      note("record \(sequence) of lane \(lane) comes after a later one")
    }
    let newest = lanes[lane].newest
    if sequence <= newest {
      return note("record \(sequence) of lane \(lane) comes after \(newest), or twice")
    }
    if record.isFlight != settings.isFlight(lane, sequence) {
      note("record \(sequence) of lane \(lane) is marked wrong: \(record.isFlight)")
    }
    if settings.spansDecide, record.isFlight, !settings.lane(lane).fails(sequence),
      page.counts[lane % CountPage.laneCount] > sequence
    {
      note("record \(sequence) of lane \(lane) is there, whose span has ended well")
    }
    countMissing(lane, newest + 1..<sequence)
    checkContext(record, lane, sequence)
    checkSpan(record, lane, sequence)
    lanes[lane].newest = sequence
    lanes[lane].hasFlight = lanes[lane].hasFlight || record.isFlight
    ticks[record.session.id] = record.ticks
  }

  private mutating func checkContext(_ record: LogReader.Record, _ lane: Int, _ sequence: Int) {
    let isOfHandler = settings.isHandler(lane)
    let context =
      isOfHandler
      ? LaneContext.interrupted(by: record, settings.context) : settings.context(lane, sequence)
    if !context.isThat(of: record) {
      note(
        "record \(sequence) of lane \(lane) has another context: "
          + LaneContext.description(of: record))
    }
    let span = Self.contextSpan(of: record)
    if !mayHave(span, context, lane, sequence) {
      note("record \(sequence) of lane \(lane) is in another span: \(span ?? 0)")
    }
    count(context, span, isOfHandler)
  }

  /// The span that a record is a part of, or the parent of the span that begins with the record.
  private static func contextSpan(of record: LogReader.Record) -> UInt64? {
    switch record.span?.event {
    case nil: record.spanNumber
    case .begin(let parent): parent
    default: nil
    }
  }

  /// Whether the span may be the one that the thread began last. The span's beginning may be
  /// missing.
  private func mayHave(
    _ span: UInt64?, _ context: LaneContext, _ lane: Int, _ sequence: Int
  ) -> Bool {
    guard context.hasSpan || settings.lane(lane).isInSpan(sequence),
      let beginning = settings.lastSpan(lane, before: sequence)
    else {
      return span == nil
    }
    let last = lanes[lane].lastSpan
    return last?.sequence != beginning || last?.number == span
  }

  private mutating func count(_ context: LaneContext, _ span: UInt64?, _ isOfHandler: Bool) {
    let events: [(CrashRound.Event, Bool)] = [
      (.recordsOfBoundLoggers, context.logger != nil && context.task == nil),
      (.recordsOfTasks, context.task != nil && context.logger == nil && !isOfHandler),
      (.recordsOfBoth, context.logger != nil && context.task != nil),
      (.recordsOfHandlersInTasks, isOfHandler && context.task != nil),
      (.recordsInTraces, context.trace != nil), (.recordsInSpans, span != nil),
    ]
    for (event, isSo) in events where isSo { contexts[event, default: 0] += 1 }
  }

  private mutating func checkSpan(_ record: LogReader.Record, _ lane: Int, _ sequence: Int) {
    let isNext =
      settings.spansDecide
      ? lanes[lane].lastSpan?.sequence == sequence - 2 : lanes[lane].newest == sequence - 1
    let begun = settings.spansDecide ? lanes[lane].lastSpan?.number : lanes[lane].span
    lanes[lane].span = nil
    switch (settings.spanEdge(lane, sequence), record.span?.event) {
    case (nil, nil): break
    // The parent of the span is the context's span.
    case (.begins, .begin):
      let number = record.span?.number ?? 0
      lanes[lane].span = number
      lanes[lane].spanName = record.span?.name
      lanes[lane].lastSpan = (sequence, number)
      if !spans[record.session.id, default: []].insert(number).inserted {
        note("record \(sequence) of lane \(lane) begins span \(number), as another does")
      }
    case (.ends, .end):
      // The span's beginning may be missing.
      if isNext && record.span?.number != begun {
        note("record \(sequence) of lane \(lane) ends another span than was begun")
      }
      // The end has no name if the statement of the beginning found no room in the dictionary.
      if isNext, let name = record.span?.name, name != lanes[lane].spanName {
        note("record \(sequence) of lane \(lane) ends a span of another name than was begun")
      }
    case let (edge, event):
      note(
        "record \(sequence) of lane \(lane) should have been to a span: \(edge.map { "\($0)" } ?? "nothing"), and is: "
          + (event.map { "\($0)" } ?? "nothing"))
    }
  }

  private mutating func countMissing(_ lane: Int, _ sequences: Range<Int>) {
    let mayBeAway = settings.flight != nil || settings.changesLevels
    let forgotten =
      mayBeAway
      ? sequences.count { settings.isFlight(lane, $0) || settings.mayBeOff(lane, $0) } : 0
    if settings.spansDecide {
      for sequence in sequences
      where settings.isFlight(lane, sequence) && settings.lane(lane).fails(sequence) {
        note("record \(sequence) of lane \(lane) is missing, whose span failed or was open")
      }
    }
    lanes[lane].missing += sequences.count - forgotten
    lanes[lane].forgotten += forgotten
    if lanes[lane].hasFlight { lanes[lane].gaps += forgotten }
  }

  /// How many flight records of a lane are not there although an older one is, and how many are
  /// there at all.
  package func flight(ofLane lane: Int) -> (gaps: Int, isThere: Bool) {
    (lanes[lane].gaps, lanes[lane].hasFlight)
  }

  private mutating func take(_ ledger: LossLedger, of session: LogReader.Session) {
    let total = LossLedger.Cause.allCases.reduce(0) { $0 + Int(clamping: ledger.total($1)) }
    guard let process = process(of: session) else {
      return note("\(total) losses of a process that logged nothing")
    }
    if counted.updateValue(total, forKey: process) != nil {
      note("the losses of process \(process) are reported twice")
    }
    let expected: Set<LossLedger.Cause> =
      settings.policy == .overwrite ? [.overwritten, .ringFull] : [.ringFull]
    for cause in LossLedger.Cause.allCases
    where ledger.total(cause) > 0 && !expected.contains(cause) {
      note("process \(process) lost \(ledger.total(cause)) records for this cause: \(cause)")
    }
  }

  private mutating func compareLanes(_ process: Int, _ page: CountPage) {
    for (index, acknowledged) in page.counts.enumerated() {
      let lane = process * CountPage.laneCount + index
      countMissing(lane, lanes[lane].newest + 1..<max(acknowledged, lanes[lane].newest) + 1)
      let (newest, missing) = (lanes[lane].newest, lanes[lane].missing)
      if newest > acknowledged + (page.isQuiet ? 0 : 1) {
        note("lane \(lane) has \(newest) records, and acknowledged \(acknowledged)")
      }
      if missing > 0 && !settings.mayDrop(lane) {
        note("\(missing) of \(acknowledged) records of lane \(lane) are missing")
      }
    }
  }

  /// Checks that exactly what is missing was counted as lost, if no thread was in the middle of a
  /// log call.
  private mutating func compareLosses(_ process: Int, _ page: CountPage) {
    let first = process * CountPage.laneCount
    let missing = lanes[first..<first + CountPage.laneCount].reduce(0) { $0 + $1.missing }
    let counted = counted[process] ?? 0
    // Forgotten records that found no place in the ring are losses, too.
    let forgotten = lanes[first..<first + CountPage.laneCount].reduce(0) { $0 + $1.forgotten }
    let maximum = missing + forgotten + (page.isQuiet ? 0 : settings.maximumUncertain)
    if !(missing...maximum).contains(counted) {
      note(
        "\(missing) records of process \(process) are missing, and \(counted) counted as lost; "
          + (page.isQuiet ? "none was under way" : "at most \(maximum) may be"))
    }
  }

  /// Checks that each record that is missing, as numbers say, was counted as lost before the next
  /// one was logged. Each piece of an overwritten record has a number, but the record counts once.
  private mutating func compareNumbers(_ process: Int) {
    if settings.policy == .overwrite { return }
    let (missing, counted) = (numberedMissing[process] ?? 0, counted[process] ?? 0)
    if missing > counted {
      note(
        "\(missing) records of process \(process) are missing, as numbers say, and \(counted) "
          + "counted as lost")
    }
  }

  /// Checks that the signal that a process died of is reported once, if the process was to record
  /// it. While a process closes its store, it may no longer record a signal.
  private mutating func compareCrash(_ process: Int, _ page: CountPage, _ signal: CInt?) {
    let report = reports[process]
    guard let signal else {
      if let report { note("process \(process) did not crash, and says: \(report.summary)") }
      return
    }
    if let report {
      if report.signal != signal || report.sender != UInt32(bitPattern: CurrentProcess.id) {
        note("process \(process) died of signal \(signal), and says: \(report.summary)")
      }
    } else if !page.isQuiet {
      note("process \(process) died of signal \(signal), and does not say so")
    }
  }

  /// Checks that a process ended as it was made to. A process that was just closing its store may
  /// have closed it first, or may no longer have noted anything.
  private mutating func compareEnding(
    _ process: Int, _ page: CountPage, _ expected: SessionEnd.How
  ) {
    switch endings[process] {
    case .ended(let end) where end.how == .closed:
      if !page.isQuiet { note("process \(process) has closed its log while logging") }
    case .ended(let end):
      if page.isClosed { note("process \(process) has closed its log, and not: \(end.summary)") }
      // A process that leaves its store open may be killed while it exits.
      let mayExit = settings.leavesOpen && expected == .killed && end.how == .exited
      if end.how != expected, !mayExit, !page.isQuiet || end.how != .killed {
        note("process \(process) ended otherwise, \(expected), than it says: \(end.summary)")
      }
    // A child by fork has no session before its first record.
    case nil where page.counts.allSatisfy { $0 == 0 } && !page.isClosed: break
    case let ending: note("process \(process) ended so: \(ending.map { "\($0)" } ?? "not at all")")
    }
  }

  mutating func note(_ problem: String) {
    // A few are enough.
    if problems.count < 10 { problems.append(problem) }
  }
}
