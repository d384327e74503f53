import MMLogFormat
import MMLogStorage

/// Gives what the files of one session hold, one by one.
final class SessionReader {
  /// Where the next item belongs among those of other sessions, in nanoseconds since 1970.
  private(set) var time: Int64
  /// Whether there is a next item.
  var hasNext: Bool { head != nil }

  let session: LogSession
  private var head: LogItem?
  private let filter: SessionFilter
  private let sites = SiteTable()
  private let threads = ThreadTable()
  /// What is to be opened when the merge arrives at the session.
  private var files: SessionFiles?
  private var runs: SessionRuns?
  private var segments: [SegmentRun] = []
  private var fragments = FragmentTable()
  private var summary = SessionSummary()
  private let given: GivenSegments?
  /// What comes before anything else of the runs, last first.
  private var queue: [LogItem] = []
  /// What comes after everything of the runs, last first.
  private var closing: [LogItem] = []
  /// When the session logged last, as far as is known.
  private var lastTime: Int64

  /// - Parameter files: All that there is to read.
  convenience init(_ files: SessionFiles, _ filter: LogFilter) {
    self.init(files.identity, filter, nil)
    self.files = files
  }

  /// For a session that is followed: it is told what to read by ``load(_:)``, and that it has ended by ``end(_:)``.
  ///
  /// - Parameter given: Where what was given from the ring is noted.
  convenience init(
    following identity: SessionIdentity, _ filter: LogFilter, _ given: GivenSegments
  ) {
    self.init(identity, filter, given)
  }

  private init(_ identity: SessionIdentity, _ filter: LogFilter, _ given: GivenSegments?) {
    self.filter = SessionFilter(filter, sites)
    self.given = given
    session = LogSession(identity)
    time = identity.startTime
    lastTime = time
    head = .sessionStarted(session)
  }

  /// Takes the next item, and finds the one after it.
  func next() -> LogItem? {
    let item = head.take()
    if item != nil { advance() }
    return item
  }

  private func advance() {
    if let files { open(files) }
    head = nextOfRuns() ?? nextOfEnd()
  }

  private func open(_ files: SessionFiles) {
    self.files = nil
    summary.read(files)
    sites.add(summary.dictionary)
    var runs = SessionRuns(threads, filter)
    for (index, archive) in files.archives.enumerated() {
      runs.add(
        archive, archive.frames[...], summary.damage[index] ?? [],
        besides: summary.replaced[index] ?? []
      ) { _ in .nothing }
      for frame in archive.frames { lastTime = max(lastTime, frame.header.summary.lastWall) }
    }
    if let ring = summary.ring {
      segments = runs.add(ring, ring.image.segments, damage: ring.image.damage, given: nil)
    }
    runs.start()
    self.runs = runs
    closing = [.sessionEnded(session, files.ending(summary.end), lastTime: lastTime)]
    if !summary.losses.isEmpty { closing.append(.losses(session, summary.losses)) }
  }

  private func nextOfRuns() -> LogItem? {
    if let item = queue.popLast() { return item }
    while let step = runs?.step(), let run = runs?.current {
      switch step {
      case .record(let view, let ticks, let offset):
        if let item = take(view, ticks: ticks, offset: offset, of: run) { return item }
      case .damage:
        if let damage = run.damage { return .damage(damage) }
      case .nothing, .end: continue
      }
    }
    return nil
  }

  private func nextOfEnd() -> LogItem? {
    if runs != nil { endRuns() }
    guard let item = closing.popLast() else { return nil }
    guard case .sessionEnded(let session, let ending, _) = item else { return item }
    return .sessionEnded(session, ending, lastTime: lastTime)
  }

  // MARK: - Following

  /// Takes what is new. Everything that was loaded before has been taken.
  func load(_ batch: SessionBatch) {
    guard let given else { return }
    var notes: [[LogDamage]] = []
    for part in batch.frames {
      notes.append(summary.read(part.archive, frames: part.range, damage: part.damage))
    }
    if let ring = batch.ring { sites.add(ring.image.dictionary) }
    if !batch.frames.isEmpty { sites.add(summary.dictionary) }
    var runs = SessionRuns(threads, filter)
    for (part, notes) in zip(batch.frames, notes) {
      runs.add(part.archive, part.archive.frames[part.range], notes) {
        given.takeShare(of: $0.header)
      }
      for frame in part.archive.frames[part.range] {
        lastTime = max(lastTime, frame.header.summary.lastWall)
      }
    }
    if let ring = batch.ring {
      let view = RingView(
        image: ring.image, coverage: summary.coverage, isOfThisBoot: ring.isOfThisBoot,
        isRunning: ring.isRunning)
      // Of a ring in use, parts may be about to be written.
      let damage = ring.isRunning ? [] : ring.image.damage
      segments = runs.add(view, ring.image.segments, damage: damage, given: given)
    }
    runs.start()
    self.runs = runs
    if head == nil { advance() }
  }

  /// How the session ended, if an archive says so.
  var endMark: SessionEnd? { summary.end }

  /// After the last ``load(_:)``: tells of the session's end.
  ///
  /// - Parameter image: Its ring, if it has one.
  func end(_ image: RingImage?) {
    let losses = image?.losses ?? summary.losses
    let ending = SessionEnding(mark: summary.end, isClosedCleanly: image?.isClosedCleanly)
    closing = [.sessionEnded(session, ending, lastTime: lastTime)]
    if !losses.isEmpty { closing.append(.losses(session, losses)) }
    if head == nil { advance() }
  }

  private func endRuns() {
    runs = nil
    for segment in segments {
      lastTime = max(lastTime, segment.clock.wall(at: segment.lastTicks))
    }
    segments = []
    // The rest of a record may come later.
    if given != nil && closing.isEmpty { return }
    for (thread, size) in fragments.unfinished.reversed() {
      closing.append(unfinished(thread, size))
    }
  }

  // MARK: - Records

  private func take(_ view: RecordView, ticks: UInt64, offset: Int, of run: Run) -> LogItem? {
    let start = FragmentTable.Start(ticks: ticks, wall: run.clock.wall(at: ticks))
    let thread = run.thread(of: view)
    if view.isFragment { return takeFragment(view, thread, offset, start, of: run) }
    var item: LogItem?
    if filter.passes(time: start.wall), filter.passes(thread) {
      let words = view.bytes
      let first = RecordLayout.identityWord * wordSize
      let body = words.slice(first, words.count - first)
      item = self.item(body, run.owner, view, thread, offset, start, of: run)
    }
    guard let size = fragments.end(thread.ordinal) else { return item }
    if let item { queue.append(item) }
    return unfinished(thread.ordinal, size)
  }

  private func takeFragment(
    _ view: RecordView, _ thread: LogThread, _ offset: Int, _ start: FragmentTable.Start,
    of run: Run
  ) -> LogItem? {
    switch fragments.add(view, thread: thread.ordinal, start: start) {
    case .incomplete: return nil
    case .unfinished(let size): return unfinished(thread.ordinal, size)
    case .whole(let body, let start):
      guard filter.passes(time: start.wall), filter.passes(thread) else { return nil }
      let payload = Payload(body)
      return item(payload.bytes, payload, view, thread, offset, start, of: run)
    }
  }

  /// - Returns: nil for a record that does not pass.
  private func item(
    _ body: UnsafeRawBufferPointer, _ owner: AnyObject, _ view: RecordView, _ thread: LogThread,
    _ offset: Int, _ start: FragmentTable.Start, of run: Run
  ) -> LogItem? {
    do {
      let content = try RecordContent(body, owner: owner) { sites[$0] }
      let label = sites.label(content.label)
      guard filter.passes(content, label: label.string, thread: thread) else { return nil }
      time = start.wall
      return .record(
        LogRecord(
          session: session, thread: thread, time: start.wall, ticks: start.ticks,
          labelText: label, content: content))
    } catch {
      time = start.wall
      return .damage(run.damage(offset, view.bytes.count, "a record: \(error)"))
    }
  }

  private func unfinished(_ thread: UInt32, _ size: Int) -> LogItem {
    .unfinished(UnfinishedRecord(session: session, threadOrdinal: thread, size: size))
  }
}
