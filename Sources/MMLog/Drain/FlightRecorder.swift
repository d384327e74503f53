import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Leaves records below the archives' level in the ring, and captures them: moves those of the last
/// time into an archive, in frames of their own.
///
/// For one thread at a time: the drainer's.
final class FlightRecorder {
  private let ring: Ring
  /// How far back a capture goes, in nanoseconds.
  private let span: UInt64
  /// The levels whose records have everything captured, a bit each.
  let captureLevels: UInt8
  private var rows = RowBuilder()
  /// How old the newest record of a retained segment is, by generation.
  private var newestTicks: [UInt64: UInt64] = [:]
  /// Why a capture is due.
  private var reason: LogStore.CaptureReason?
  private var servedSignals = ProcessRequests.captures

  /// Nil if nothing stays in the ring.
  init?(_ ring: Ring, _ configuration: LogStore.Configuration) {
    if ring.archiveLevel == .trace { return nil }
    self.ring = ring
    span = UInt64(configuration.captureTime.nanoseconds)
    captureLevels = configuration.captureLevel.map { .max << $0.rawValue } ?? 0
  }

  // MARK: - What is left in the ring

  /// Whether a record goes into an archive at once.
  func disposition(of record: RecordView) -> SegmentRun.Disposition {
    record.level >= ring.archiveLevel ? .taken : .left
  }

  /// Takes in that the records of a segment up to some place are archived, or left.
  func note(_ part: PendingFrame.Part) {
    ring.pool.addFlight(part.passed, to: part.index)
    newestTicks[part.generation] = part.lastTicks
  }

  /// Keeps an acquired segment if there are flight records in it; false if it is to be freed.
  func retain(_ index: Int) -> Bool {
    guard ring.pool.flightCount(index) > 0 else { return false }
    ring.pool.retain(index)
    TestPoint.reach(.segmentRetained)
    return true
  }

  /// Gives up what is too old, and what takes the places that threads will need next.
  func trim() {
    let oldest = oldestTicks
    var reserve = ring.pool.count / 4 - ring.pool.freeCount
    for index in 0..<ring.pool.count where ring.pool.status(index) == .retained {
      let generation = ring.generation(ofSegment: index)
      if newestTicks[generation] ?? 0 < oldest, ring.pool.acquireRetained(index) {
        ring.free(segment: index)
        reserve -= 1
      }
    }
    while reserve > 0, ring.recycleOldest() { reserve -= 1 }
    let present = Set((0..<ring.pool.count).map { ring.generation(ofSegment: $0) })
    newestTicks = newestTicks.filter { present.contains($0.key) }
  }

  /// The ticks from which on records are captured.
  private var oldestTicks: UInt64 {
    let rate = max(1, ring.clock.rate)
    let ticks = span.multipliedFullWidth(by: 1 << 32)
    let back = ticks.high < rate ? rate.dividingFullWidth(ticks).quotient : .max
    let now = mmlog_ticks()
    return now > back ? now - back : 0
  }

  // MARK: - Why to capture

  /// Takes in which levels a frame has that was archived.
  func note(levels: UInt8) { if levels & captureLevels != 0 { ask(.record) } }

  /// Has a capture be due.
  func ask(_ new: LogStore.CaptureReason) { reason = reason ?? new }

  /// Whether a signal handler has asked.
  var isAsked: Bool { ProcessRequests.captures != servedSignals }

  // MARK: - Capturing

  /// Moves flight records of the last time into archives, if there is a reason to. All that they
  /// stand between is archived already.
  ///
  /// - Parameter servesSignals: Whether signal handlers are served, too: all is archived that was
  ///   logged before they asked.
  /// - Returns: Why it did, and how many records it were; nil if there was no reason.
  func captureIfDue(
    to series: ArchiveSeries, servesSignals: Bool
  ) throws(SystemError) -> (reason: LogStore.CaptureReason, count: Int)? {
    let signals = servesSignals ? ProcessRequests.captures : servedSignals
    if signals != servedSignals { ask(.signal) }
    guard let reason else { return nil }
    let count = try capture(to: series)
    (servedSignals, self.reason) = (signals, nil)
    return (reason, count)
  }

  /// The oldest first, a part of them at a time: threads may need the others' places meanwhile.
  private func capture(to series: ArchiveSeries) throws(SystemError) -> Int {
    let pool = ring.pool
    let oldest = oldestTicks
    let candidates = (0..<pool.count).filter { pool.flightCount($0) > 0 }
      .map { (index: $0, generation: ring.generation(ofSegment: $0)) }
      .sorted { $0.generation < $1.generation }
    let size = max(1, pool.count / 4)
    var count = 0
    for start in stride(from: 0, to: candidates.count, by: size) {
      let batch = candidates[start..<min(start + size, candidates.count)].map(\.index)
      count += try capture(batch, since: oldest, to: series)
    }
    return count
  }

  private func capture(
    _ batch: [Int], since oldest: UInt64, to series: ArchiveSeries
  ) throws(SystemError) -> Int {
    let pool = ring.pool
    var (open, sealed, retained) = ([Int](), [Int](), [Int]())
    defer {
      for index in retained { pool.retain(index) }
      for index in sealed { pool.release(index) }
      for index in open { pool.unpin(index) }
    }
    // In the order of what becomes of a segment, so that none is passed over while it does.
    for index in batch {
      if pool.pinOpen(index) {
        open.append(index)
      } else if pool.acquireInTurn(index) {
        sealed.append(index)
      } else if pool.acquireRetained(index) {
        retained.append(index)
      }
    }
    let indices = retained + sealed + open
    let count = try move(indices.compactMap { run($0, since: oldest) }, to: series)
    // Nobody needs these any more.
    for index in retained { ring.free(segment: index) }
    retained = []
    return count
  }

  /// What is to be captured of a segment: no more than what has been archived, so that what is
  /// archived of it is in an earlier frame.
  private func run(_ index: Int, since oldest: UInt64) -> SegmentRun? {
    guard let header = ring.openHeader(ofSegment: index), header.archived > SegmentLayout.size
    else { return nil }
    let scanner = ring.scanner(
      ofSegment: index, header, from: SegmentLayout.size, to: header.archived)
    let done = ring.captured(ofSegment: index, generation: header.generation)
    return SegmentRun(
      index: index, header: header, scanner: scanner, content: ring.content(of: header),
      disposition: { [archiveLevel = ring.archiveLevel] record, offset in
        record.level < archiveLevel && record.ticks >= oldest && offset >= done ? .taken : .left
      })
  }

  /// Archives runs, frame by frame. What they passed over is too old, and is evicted.
  private func move(
    _ runs: [SegmentRun], to series: ArchiveSeries
  ) throws(SystemError) -> Int {
    var collector = FrameCollector(runs)
    var fields = FrameHeader(.records)
    fields.isFlight = true
    repeat {
      let before = collector.runs
      rows.removeAll()
      fields.ranges = collector.fill(&rows, size: ring.frameSize)
      if !rows.isEmpty {
        fields.clock = ring.clock
        if rows.isUnreadable { throw .unsupported(.libcrypto, ring.path) }
        TestPoint.reach(.flightBeforeFrame)
        try series.append(rows, dictionary: ring.dictionary, fields)
        TestPoint.reach(.flightAfterFrame)
      }
      note(collector.runs, before: before)
      TestPoint.reach(.flightNoted)
      try series.rotateIfDue(dictionary: ring.dictionary)
    } while !rows.isEmpty
    for run in collector.runs { ring.forget(UInt64(ring.pool.takeFlightCount(run.index))) }
    return collector.runs.reduce(0) { $0 + $1.takenCount }
  }

  /// Notes what a frame has, and what was passed over on the way.
  ///
  /// - Parameter before: The same runs without that.
  private func note(_ runs: [SegmentRun], before: [SegmentRun]) {
    for (run, old) in zip(runs, before) {
      let count = run.takenCount - old.takenCount
      ring.pool.addFlight(-count, to: run.index)
      ring.countCaptured(UInt64(count))
      let (index, generation) = (run.index, run.header.generation)
      if run.taken > ring.captured(ofSegment: index, generation: generation) {
        ring.publish(captured: run.taken, ofSegment: index, generation: generation)
      }
    }
  }
}
