import MMLogFormat
import MMLogStorage

/// Gives what the files of one session hold, one by one.
final class SessionReader {
  /// The item that is next; nil at the end.
  private(set) var head: LogItem?
  /// Where it belongs among those of other sessions, in nanoseconds since 1970.
  private(set) var time: Int64

  private let session: LogSession
  private let filter: LogFilter
  private var files: SessionFiles?
  private var runs: SessionRuns?
  private var fragments = FragmentTable()
  private var sites: [UInt32: CallSiteInfo] = [:]
  private var labels: [UInt32: PreparedText] = [:]
  /// What comes before anything else of the runs, last first.
  private var queue: [LogItem] = []
  /// What comes after everything of the runs, last first.
  private var closing: [LogItem] = []
  private var lastTime: Int64

  init(_ files: SessionFiles, _ filter: LogFilter) {
    self.files = files
    self.filter = filter
    session = LogSession(files.identity)
    time = files.identity.startTime
    lastTime = time
    head = .sessionStarted(session)
  }

  /// Goes on to the next item.
  func advance() {
    if let files { open(files) }
    head = nextOfRuns() ?? nextOfEnd()
  }

  private func open(_ files: SessionFiles) {
    let summary = SessionSummary(files)
    runs = SessionRuns(files, summary, filter)
    sites = summary.dictionary.callSites.mapValues(CallSiteInfo.init)
    labels = summary.dictionary.labels.mapValues(PreparedText.init)
    for archive in files.archives {
      for frame in archive.frames { lastTime = max(lastTime, frame.header.summary.lastWall) }
    }
    closing = [.sessionEnded(session, files.ending(summary.end), lastTime: lastTime)]
    if !summary.losses.isEmpty { closing.append(.losses(session, summary.losses)) }
    self.files = nil
  }

  private func nextOfRuns() -> LogItem? {
    if let item = queue.popLast() { return item }
    while let (item, run) = runs?.next() {
      switch item {
      case .nothing: continue
      case .damage(let damage): return .damage(damage)
      case .record(let record): if let item = take(record, of: run) { return item }
      }
    }
    return nil
  }

  private func nextOfEnd() -> LogItem? {
    if runs != nil {
      runs = nil
      for (thread, size) in fragments.unfinished.reversed() {
        closing.append(unfinished(thread, size))
      }
    }
    guard let item = closing.popLast() else { return nil }
    guard case .sessionEnded(let session, let ending, _) = item else { return item }
    return .sessionEnded(session, ending, lastTime: lastTime)
  }

  private func take(_ record: RunRecord, of run: Run) -> LogItem? {
    let wall = run.clock.wall(at: record.ticks)
    lastTime = max(lastTime, wall)
    guard filter.passes(level: record.view.level) else { return nil }
    if record.view.isFragment { return takeFragment(record, of: run, wall) }
    let item = filter.passes(time: wall) ? wholeRecord(record, of: run, wall) : nil
    guard let size = fragments.end(record.thread.ordinal) else { return item }
    if let item { queue.append(item) }
    return unfinished(record.thread.ordinal, size)
  }

  private func wholeRecord(_ record: RunRecord, of run: Run, _ wall: Int64) -> LogItem {
    let words = record.view.bytes
    let start = RecordLayout.identityWord * wordSize
    let body = words.slice(start, words.count - start)
    return item(body, record.owner, record, of: run, .init(ticks: record.ticks, wall: wall))
  }

  private func takeFragment(_ record: RunRecord, of run: Run, _ wall: Int64) -> LogItem? {
    let start = FragmentTable.Start(ticks: record.ticks, wall: wall)
    switch fragments.add(record.view, thread: record.thread.ordinal, start: start) {
    case .incomplete: return nil
    case .unfinished(let size): return unfinished(record.thread.ordinal, size)
    case .whole(let body, let start):
      guard filter.passes(time: start.wall) else { return nil }
      let payload = Payload(body)
      return item(payload.bytes, payload, record, of: run, start)
    }
  }

  private func item(
    _ body: UnsafeRawBufferPointer, _ owner: AnyObject, _ record: RunRecord, of run: Run,
    _ start: FragmentTable.Start
  ) -> LogItem {
    time = start.wall
    do {
      let content = try RecordContent(body, owner: owner) { sites[$0] }
      return .record(
        LogRecord(
          session: session, thread: record.thread, time: start.wall, ticks: start.ticks,
          labelText: labels[content.label] ?? .empty, content: content))
    } catch {
      return .damage(run.damage(record.offset, record.view.bytes.count, "a record: \(error)"))
    }
  }

  private func unfinished(_ thread: UInt32, _ size: Int) -> LogItem {
    .unfinished(UnfinishedRecord(session: session, threadOrdinal: thread, size: size))
  }
}

extension SessionFiles {
  /// How the session ended, as its ring and the last mark of its archives say.
  fileprivate func ending(_ mark: SessionEnd?) -> SessionEnding {
    if let ring, ring.isRunning { return .running }
    if let mark {
      return mark.how == .closed ? .closed(at: mark.time) : .diedAndWasRecovered(at: mark.time)
    }
    guard let ring else { return .unknown }
    return ring.image.isClosedCleanly ? .closed(at: nil) : .died
  }
}
