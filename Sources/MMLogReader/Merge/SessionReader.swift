import MMLogFormat
import MMLogStorage

/// Gives what the files of one session hold, item by item or many records at once.
// Some properties are unchecked, as in `Run`: each record that is given takes an access, and no
// access to a property happens within another one.
final class SessionReader {
  /// Whether there may be a next item.
  private(set) var hasNext = true

  let session: LogReader.Session
  /// The next items: records that were read ahead.
  @exclusivity(unchecked)
  private var records: ArraySlice<RecordContent> = []
  /// Keeps what ``records`` refer to.
  private var owner: RecordOwner
  private let noOwner: RecordOwner
  /// The items after ``records``, the last one first.
  @exclusivity(unchecked)
  private var queue: [LogReader.Item] = []
  /// Where an item that is no record belongs among the items of other sessions.
  private var itemTime: Timestamp
  private let filter: SessionFilter
  private let sites: SiteTable
  private let threads: ThreadTable
  private let memory: FrameMemory
  /// The files to open when the merge arrives at the session.
  private var files: SessionFiles?
  private var runs: SessionRuns?
  private var segments: [SegmentRun] = []
  @exclusivity(unchecked)
  private var fragments: FragmentTable
  private(set) var summary = SessionSummary()
  private let emitted: EmittedSegments?
  /// Nothing later than these ticks is given: in a session that is followed, earlier records may
  /// not have been seen yet.
  private var horizon = UInt64.max
  /// The items after all runs, the last one first.
  private var closing: [LogReader.Item] = []
  /// How far archives have been read, if only archives are read.
  @exclusivity(unchecked)
  private var progress: CursorProgress?
  /// Why reading ended before the archives' end, if only archives are read. The next reader may go
  /// on.
  private(set) var readingError: LogError?
  /// Corruption behind the last frame of records that was loaded, as long as more of its archive
  /// may come. It is given before the next frame.
  private var held: [LogReader.Corruption] = []
  /// Whether the records that are read may have been given before.
  private var isPassingGiven = false
  /// When the session logged last, as far as is known.
  private var lastTime: Timestamp

  /// How many records, and bytes of them, are read ahead. They stay in the processor's caches. If
  /// many sessions take turns, few records are read ahead.
  private var ahead = aheads.lowerBound
  private static let aheads = 16...256
  private static let maximumBytes = 64 << 10

  /// - Parameters:
  ///   - files: All files to read.
  ///   - memory: The memory that all sessions share that are read at the same time.
  ///   - cursor: Where to go on, in archives only; nil to read everything.
  convenience init(
    _ files: SessionFiles, _ filter: LogReader.Filter, _ memory: FrameMemory,
    after cursor: LogReader.Cursor?, threads: ThreadTable = ThreadTable()
  ) {
    self.init(files.identity, filter, memory, nil, threads)
    self.files = files
    guard let cursor else { return }
    let known = cursor.sessions[files.identity.session]
    if known != nil { queue = [] }
    progress = CursorProgress(after: known)
    isPassingGiven = known != nil
  }

  /// For a session whose archives are given to ``load(_:from:isOver:)``, one after the other. The
  /// caller has to find out everything else about the session.
  ///
  /// - Parameter known: Where to go on; nil for the beginning.
  convenience init(
    archivesOf identity: SessionIdentity, _ filter: LogReader.Filter, _ memory: FrameMemory,
    after known: LogReader.Cursor.Progress?
  ) {
    self.init(identity, filter, memory, nil)
    queue = []
    progress = CursorProgress(after: known)
    isPassingGiven = known != nil
    hasNext = false
  }

  /// For a session that is followed: ``load(_:)`` gives it what to read, and ``end(_:)`` says that
  /// it has ended.
  ///
  /// - Parameter emitted: Notes what was given from the ring.
  convenience init(
    following identity: SessionIdentity, _ filter: LogReader.Filter, _ memory: FrameMemory,
    _ emitted: EmittedSegments
  ) {
    self.init(identity, filter, memory, emitted)
  }

  private init(
    _ identity: SessionIdentity, _ filter: LogReader.Filter, _ memory: FrameMemory,
    _ emitted: EmittedSegments?, _ threads: ThreadTable = ThreadTable()
  ) {
    (self.memory, self.threads) = (memory, threads)
    sites = SiteTable(opening: memory.slots)
    self.filter = SessionFilter(filter, sites, of: identity)
    self.emitted = emitted
    session = LogReader.Session(identity, opening: memory.slots)
    fragments = FragmentTable(of: session)
    noOwner = RecordOwner(session, TickClock(ticks: 0, wall: .zero, rate: 0), keeping: [])
    owner = noOwner
    itemTime = identity.startTime
    lastTime = itemTime
    queue = [.sessionStarted(session)]
  }

  /// Where the next item belongs among those of other sessions.
  var time: Timestamp { records.first?.time ?? itemTime }

  /// How many bytes of the archives are still to be read. Before the archives are opened, the
  /// number is greater.
  var laterBytes: Int { files?.recordBytes ?? runs?.laterBytes ?? 0 }

  /// Returns the next item; nil if none was found this time.
  func next() -> LogReader.Item? {
    let item: LogReader.Item?
    if let record = records.popFirst() {
      item = .record(LogReader.Record(owner: owner, content: record))
    } else {
      item = queue.popLast()
    }
    if let item { progress?.give(item, isWhole: fragments.isSettled) }
    return item
  }

  /// The progress behind what has been given, if only archives are read; nil if nothing was given.
  var given: LogReader.Cursor.Progress? { progress?.given }

  /// Returns the next records up to a time, or another item. The first record comes in any case.
  ///
  /// - Returns: No records if none were found this time.
  func nextChunk(until limit: Timestamp) -> LogReader.Chunk {
    if records.isEmpty, let item = queue.popLast() {
      progress?.give(item, isWhole: fragments.isSettled)
      return .item(item)
    }
    var end = records.endIndex
    if limit < .distantFuture {
      end = records.dropFirst().firstIndex { $0.time > limit } ?? records.endIndex
    }
    let isWhole = end == records.endIndex
    ahead = isWhole ? min(2 * ahead, Self.aheads.upperBound) : Self.aheads.lowerBound
    return .records(takeRecords(until: end))
  }

  /// Takes some of the records that were read ahead.
  private func takeRecords(until end: Int) -> LogReader.Records {
    let taken = LogReader.Records(owner: owner, contents: records[..<end])
    records = records[end...]
    if let last = taken.contents.last {
      let item = LogReader.Item.record(LogReader.Record(owner: owner, content: last))
      progress?.give(item, isWhole: fragments.isSettled)
    }
    return taken
  }

  /// Returns the next records of the archives that were loaded, or another item. Nil if there are
  /// none up to a place, or everything was given.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of records.
  ///   - textSize: The approximate maximum size of their text in bytes, if there are several
  ///     records.
  ///   - last: Nothing behind this place is given; nil: no limit.
  func nextChunk(
    atMost limit: Int, textSize: Int, until last: LogReader.Cursor.Place?
  ) -> LogReader.Chunk? {
    while records.isEmpty, queue.isEmpty {
      if !hasNext { return nil }
      ahead = Self.aheads.upperBound
      readAhead()
    }
    if !records.isEmpty {
      var wanted = records.prefix(limit)
      if let last, let frame = owner.frame {
        wanted = wanted.prefix { LogReader.Cursor.Place(frame, row: $0.row) < last }
        if wanted.isEmpty { return nil }
      }
      if textSize < .max {
        let all = LogReader.Records(owner: owner, contents: wanted)
        wanted = wanted.prefix(all.count(ofTextSize: textSize))
      }
      return .records(takeRecords(until: wanted.endIndex))
    }
    if let last, case .record(let record) = queue.last, let frame = record.owner.frame,
      LogReader.Cursor.Place(frame, row: record.content.row) >= last
    {
      return nil
    }
    if let last, case .corruption = queue.last, progress?.isCorruption(before: last) == false {
      return nil
    }
    guard let item = queue.popLast() else { return nil }
    progress?.give(item, isWhole: fragments.isSettled)
    return .item(item)
  }

  /// Reads a part of one run, if everything that was read before has been taken.
  func readAhead() {
    guard records.isEmpty, queue.isEmpty else { return }
    progress?.giveAll(isWhole: fragments.isSettled)
    // A frame that was read to its end need not be in memory beside the next one.
    (records, owner) = ([], noOwner)
    if let files { open(files) }
    if !queue.isEmpty { return }
    if let run = runs?.front() {
      if run.ticks > horizon { return hasNext = false }
      return read(run)
    }
    if runs != nil { endRuns() }
    guard let item = closing.popLast() else { return hasNext = false }
    queue = [item]
    if case .sessionEnded(let session, let ending, _) = item {
      queue = [.sessionEnded(session: session, ending: ending, lastTime: lastTime)]
    }
  }

  private func open(_ files: SessionFiles) {
    self.files = nil
    summary = SessionSummary(files)
    learn(summary.dictionary)
    if progress != nil { return openArchives(files) }
    var runs = SessionRuns(threads, filter, memory)
    for (index, archive) in files.archives.enumerated() {
      runs.add(
        archive, archive.frames[...], summary.corruption[index] ?? [],
        besides: summary.skipped[index] ?? [])
      for frame in archive.frames { lastTime = max(lastTime, frame.header.summary.lastWall) }
    }
    if let ring = summary.ring {
      segments = runs.add(
        ring, ring.image.segments, corruption: ring.image.corruption, emitted: nil)
    }
    runs.start()
    self.runs = runs
    close(files)
    let gaps = SessionGaps(files, summary, of: session).gaps
    closing += gaps.reversed().filter(concerns).map { .gap($0) }
  }

  private func close(_ files: SessionFiles) {
    closing = LogReader.Item.closing(
      session, files.ending(summary.end), lastTime, summary.losses, summary.crash)
  }

  /// Prepares for reading archives from a place on, one frame after the other.
  private func openArchives(_ files: SessionFiles) {
    // A reader that went on behind an archive that cannot be opened now would never read it.
    if let error = summary.readingError ?? files.problem(from: given?.start.archive ?? 0) {
      readingError = error
      return queue = [.corruption(LogReader.Corruption(0..<0, error.message, in: error.path))]
    }
    var isEnded = false
    if files.ring == nil, case .ended = files.ending(summary.end) { isEnded = true }
    guard let start = progress?.open(files, isEnded: isEnded) else { return }
    var runs = SessionRuns(threads, filter, memory, isInOrder: true)
    for (index, archive) in files.archives.enumerated()
    where archive.fileHeader.number >= start.archive {
      let number = archive.fileHeader.number
      let isOver = archive.isClosed || index < files.archives.count - 1
      // Behind the last frame of records, the cursor has a place only if nothing more is to come.
      let last = isOver ? Int.max : archive.lastRecords
      runs.add(
        archive, archive.frames[...],
        summary.corruption[index]?.filter { $0.offset <= last } ?? [],
        end: isOver ? .behind(number) : nil, besides: summary.skipped[index] ?? [],
        from: number == start.archive ? (start.frame, start.row) : (0, 0),
        passing: progress?.given?.next)
    }
    for archive in files.archives {
      for frame in archive.frames { lastTime = max(lastTime, frame.header.summary.lastWall) }
    }
    runs.start()
    self.runs = runs
    if isEnded { close(files) }
    // Gaps come first, because a reader that goes on may never come to the end.
    let isResumed = progress?.resumed != nil
    let gaps = SessionGaps(archivesOf: files, summary, of: session, after: progress?.given).gaps
    queue = gaps.reversed().filter { isResumed || concerns($0) }.map { .gap($0) }
  }

  /// Loads frames of an archive, after everything that was loaded before has been taken.
  ///
  /// - Parameters:
  ///   - archive: The archive whose frames were loaded last, or the one that follows it.
  ///   - first: The first frame, and the first corruption, that were not loaded.
  ///   - isOver: Whether nothing more of the archive is to come. Only then is corruption behind its
  ///     last frame of records given: the cursor has a place behind it.
  /// - Throws: `LogError` if frames cannot be read. The reader is of no more use then.
  func load(
    _ archive: ArchiveFile, from first: (frame: Int, corruption: Int), isOver: Bool
  ) throws(LogError) {
    guard let start = progress?.open(archive, isOver: isOver) else { return }
    let range = first.frame..<archive.frames.count
    let notes = summary.read(
      archive, frames: range,
      corruption: archive.corruption[first.corruption...] + (isOver ? archive.endCorruption : []))
    if let error = summary.readingError { throw error }
    learn(summary.dictionary)
    let corruption = (first == (0, 0) ? [] : held) + notes.corruption
    let last = isOver ? Int.max : archive.lastRecords
    held = corruption.filter { $0.offset > last }
    var runs = SessionRuns(threads, filter, memory, isInOrder: true)
    let number = archive.fileHeader.number
    runs.add(
      archive, archive.frames[range], corruption.filter { $0.offset <= last },
      end: isOver ? .behind(number) : nil, besides: notes.repeats,
      from: number == start.archive ? (start.frame, start.row) : (0, 0),
      passing: progress?.given?.next)
    runs.start()
    self.runs = runs
    hasNext = true
  }

  /// Whether everything that was loaded has been given.
  var isExhausted: Bool { records.isEmpty && queue.isEmpty && !hasNext }

  private func learn(_ dictionary: LogDictionary) {
    sites.add(dictionary)
    session.learn(dictionary)
  }

  /// Whether to report a gap to a reader with this filter.
  private func concerns(_ gap: LogReader.Gap) -> Bool {
    switch gap.cause {
    // It is the purpose of retention that the oldest archives are gone, and later ones are here.
    case .archivesNotHere(let numbers): numbers.lowerBound > 1 || summary.missingArchive != nil
    case .newestArchiveNotHere: true
    case .recordsMissing(let records): records.times.map(filter.mayPass) ?? true
    }
  }

  // MARK: - Following

  /// The ticks of the first record that was held back; nil if none is.
  var heldTicks: UInt64? { runs?.front()?.ticks }

  /// Loads what is new. Everything that was loaded before has been taken, except what was held
  /// back.
  ///
  /// - Parameters:
  ///   - horizon: The ticks up to which every logged record was found; nothing later is given now.
  ///   - since: The time from which on records are wanted, from now on.
  func load(_ batch: SessionBatch, until horizon: UInt64, since: Timestamp?) {
    guard let emitted else { return }
    for cause in batch.gaps {
      queue.insert(.gap(LogReader.Gap(session: session, cause: cause)), at: 0)
    }
    self.horizon = horizon
    filter.setSince(since)
    let notes = batch.frames.map {
      summary.read($0.archive, frames: $0.range, corruption: $0.corruption)
    }
    if let ring = batch.ring { learn(ring.image.dictionary) }
    if !batch.frames.isEmpty { learn(summary.dictionary) }
    noteTimes()
    var runs = self.runs ?? SessionRuns(threads, filter, memory)
    self.runs = nil
    runs.makeRoom()
    for (part, notes) in zip(batch.frames, notes) {
      runs.add(
        part.archive, part.archive.frames[part.range], notes.corruption, besides: notes.repeats,
        given: emitted.take)
      for frame in part.archive.frames[part.range] {
        lastTime = max(lastTime, frame.header.summary.lastWall)
      }
    }
    if let ring = batch.ring {
      let view = ring.covered(by: summary.settledCoverage())
      // In a ring that is in use, parts may not be written yet.
      let corruption = ring.isRunning ? [] : ring.image.corruption
      segments = runs.add(view, ring.image.segments, corruption: corruption, emitted: emitted)
    }
    runs.start()
    self.runs = runs
    hasNext = true
  }

  /// Forgets what only segments matter for that the ring has no more.
  ///
  /// - Parameter generations: Those that the ring has.
  func forget(besides generations: Set<UInt64>) { summary.forget(besides: generations) }

  /// How the session ended, if an archive says so.
  var endMark: SessionEnd? { summary.end }

  /// Reports the session's end, after the last ``load(_:)``.
  ///
  /// - Parameter ring: The session's ring, if it has one.
  func end(_ ring: RingView?) {
    let image = ring?.image
    closing = LogReader.Item.closing(
      session, SessionEnding(summary.end, ring?.end), lastTime,
      image?.lossesAtDeath ?? summary.losses, image?.crash ?? summary.crash)
    hasNext = true
  }

  private func noteTimes() {
    for segment in segments {
      lastTime = max(lastTime, segment.clock.wall(at: segment.lastTicks))
    }
    segments = []
  }

  /// Ends reading before what cannot be read now, as if nothing followed.
  private func stop(_ error: LogError) {
    readingError = error
    (runs, closing) = (nil, [])
  }

  private func endRuns() {
    runs = nil
    noteTimes()
    progress?.giveEnd(isWhole: fragments.isSettled)
    // The rest of a record may come later.
    if (emitted != nil || progress != nil) && closing.isEmpty { return }
    for record in fragments.unfinished.reversed() { closing.append(.unfinished(record)) }
  }

  // MARK: - Records

  /// Reads a run as long as it comes before all others, up to the first item that is no record.
  private func read(_ run: Run) {
    let limit = min(runs?.limit ?? 0, horizon)
    var found: [RecordContent] = []
    var size = 0
    var owner = run.owner
    let frame = run.frameName
    defer { if let frame, run.hasStepped { progress?.read(frame, through: run.row) } }
    while run.ticks <= limit, found.count < ahead, size < Self.maximumBytes, queue.isEmpty {
      switch run.step() {
      case .record(let view, let ticks, let offset):
        guard let record = take(view, ticks: ticks, offset: offset, of: run) else { continue }
        if found.isEmpty { found.reserveCapacity(ahead) }
        found.append(record)
        // Until an item that has a time of its own is queued behind the record.
        itemTime = record.time
        size &+= view.bytes.count
        continue
      case .corruption:
        if let frame { summary.note(unreadable: frame) }
        if let corruption = run.corruption { queue.append(.corruption(corruption)) }
        if progress != nil, let error = run.readingError {
          progress?.readCorruption(before: nil)
          stop(error)
        } else {
          progress?.readCorruption(
            before: run.placeBehindCorruption, checksum: frame?.checksum ?? 0)
        }
      case .nothing where found.isEmpty:
        owner = run.owner
        continue
      case .nothing: break
      case .end:
        // A reader of everything has been told of the error. A cursor must not be behind what was
        // not read.
        if progress != nil, let error = run.readingError { stop(error) } else { runs?.end(run) }
      }
      break
    }
    if found.isEmpty {
      if queue.isEmpty { itemTime = run.clock.wall(at: run.ticks) }
      return
    }
    self.owner = RecordOwner(
      session, run.clock, of: run.frameName, keeping: [owner, sites, run.threadOwner])
    records = found[...]
  }

  /// - Returns: nil for a record that does not pass, or if ``queue`` has what comes in its place.
  @inline(__always)
  private func take(
    _ view: RecordView, ticks: UInt64, offset: Int, of run: Run
  ) -> RecordContent? {
    let time = run.clock.wall(at: ticks)
    let thread = run.thread(of: view)
    let start = FragmentTable.Start(ticks: ticks, wall: time, isFlight: run.isFlight(view))
    if isPassingGiven, passesGiven(view, of: run, start) { return nil }
    if view.isFragment || fragments.concerns(start) {
      takeSlowly(view, thread.takeUnretainedValue(), offset, start, of: run)
      return nil
    }
    guard filter.passes(time: time), filter.passes(thread) else { return nil }
    var kept: CallSiteInfo?
    do throws(FormatError) {
      var record = try sites.content(view.body, thread, start) { kept = $0 }
      guard filter.passes(record, run.clock) else { return nil }
      record.row = run.row
      if let kept {
        queueRecord(record, of: run, keeping: [run.owner, kept])
        return nil
      }
      return record
    } catch {
      queueCorruption(view, offset, time, run, error)
      return nil
    }
  }

  /// Of rows that an earlier reader has given, takes only fragments: their record may not be given
  /// yet.
  ///
  /// - Returns: Whether the row was given before.
  @inline(never)
  private func passesGiven(_ view: RecordView, of run: Run, _ start: FragmentTable.Start) -> Bool {
    guard let frame = run.frameName, progress?.wasGiven(frame, row: run.row) == true else {
      isPassingGiven = false
      return false
    }
    let thread = run.thread(of: view).takeUnretainedValue().ordinal
    if view.isFragment {
      if fragments.isSettled { progress?.startFragments(frame, row: run.row) }
      _ = fragments.add(view, thread: thread, start: start)
    } else {
      _ = fragments.end(thread, isFlight: start.isFlight)
    }
    return true
  }

  /// Takes a fragment, or a record while others are incomplete.
  @inline(never)
  private func takeSlowly(
    _ view: RecordView, _ thread: LogReader.Thread, _ offset: Int, _ start: FragmentTable.Start,
    of run: Run
  ) {
    var (payload, start): (Payload?, FragmentTable.Start) = (nil, start)
    if view.isFragment {
      if fragments.isSettled, let frame = run.frameName {
        progress?.startFragments(frame, row: run.row)
      }
      switch fragments.add(view, thread: thread.ordinal, start: start) {
      case .incomplete: return
      case .unfinished(let record): return queue.append(.unfinished(record))
      case .whole(let body, let first): (payload, start) = (Payload(body), first)
      }
    } else if let record = fragments.end(thread.ordinal, isFlight: start.isFlight) {
      queue.append(.unfinished(record))
    }
    let reference = Unmanaged.passUnretained(thread)
    guard filter.passes(time: start.wall), filter.passes(reference) else { return }
    var kept: [AnyObject] = [run.owner]
    if let payload { kept.append(payload) }
    do throws(FormatError) {
      let body = payload?.bytes ?? view.body
      let record = try sites.content(body, reference, start) { kept.append($0) }
      if filter.passes(record, run.clock) { queueRecord(record, of: run, keeping: kept) }
    } catch {
      queueCorruption(view, offset, start.wall, run, error)
    }
  }

  /// Queues a record behind all other items, and therefore first in ``queue``.
  private func queueRecord(
    _ record: RecordContent, of run: Run, keeping kept: [AnyObject]
  ) {
    var record = record
    record.row = run.row
    let owner = RecordOwner(
      session, run.clock, of: run.frameName, keeping: kept + [sites, run.threadOwner])
    queue.insert(.record(LogReader.Record(owner: owner, content: record)), at: 0)
    itemTime = record.time
  }

  private func queueCorruption(
    _ view: RecordView, _ offset: Int, _ time: Timestamp, _ run: Run, _ error: FormatError
  ) {
    itemTime = time
    if let frame = run.frameName {
      progress?.readCorruption(
        before: .init(frame, row: run.row &+ 1), checksum: frame.checksum)
    }
    queue.insert(.corruption(run.corruption(offset, view.bytes.count, "a record: \(error)")), at: 0)
  }
}

extension LogReader.Item {
  /// The items at the end of a session, the last one first.
  static func closing(
    _ session: LogReader.Session, _ ending: SessionEnding, _ lastTime: Timestamp,
    _ losses: LossLedger, _ crash: CrashReport?
  ) -> [LogReader.Item] {
    var items: [LogReader.Item] = [
      .sessionEnded(session: session, ending: ending, lastTime: lastTime)
    ]
    if !losses.isEmpty { items.append(.losses(session: session, ledger: losses)) }
    if let crash { items.append(.crashed(session: session, report: crash)) }
    return items
  }
}
