import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// Moves committed records from the ring to the archives, frame by frame, exactly once: a frame is
/// written, then the ring says how far its segments are archived, then those that are empty are
/// freed. Models/Handoff.pml is its model.
///
/// For one thread at a time: the drainer's, or that of whoever closes the store after its end.
struct Handoff: ~Copyable {
  private let session: Session
  private let series: ArchiveSeries
  private let counters: DrainCounters
  private let echo: (any RecordEcho)?
  /// Nil if everything is archived.
  private let flight: FlightRecorder?
  private var rows = RowBuilder()
  /// How far each segment's present use is taken: the greatest ticks, and the number of the next
  /// entry.
  private var progress: [UInt64: (ticks: UInt64, number: UInt64)] = [:]
  private var lowestGeneration: UInt64 = 0
  /// Segments that were opened later are left for the next time.
  private var newestGeneration: UInt64 = 0
  private var writtenLevels: UInt8 = 0
  /// Whether text is compressed less while many segments wait.
  var reducesCompression = false

  init(
    _ session: Session, _ series: ArchiveSeries, _ counters: DrainCounters,
    _ echo: (any RecordEcho)?, _ flight: FlightRecorder?
  ) {
    (self.session, self.series, self.counters) = (session, series, counters)
    (self.echo, self.flight) = (echo, flight)
  }

  /// The levels of the records that were written since this was last called, a bit each; 0 if none
  /// were.
  mutating func takeWrittenLevels() -> UInt8 {
    defer { writtenLevels = 0 }
    return writtenLevels
  }

  /// Moves records that are committed now, frame by frame.
  ///
  /// - Parameters:
  ///   - pass: Whether all of them are moved.
  ///   - cutoff: Later ones are left, so that frames overlap as little as possible, and no record is
  ///     taken whose thread has an earlier one that was committed just after its segment was
  ///     inspected.
  mutating func move(_ pass: DrainSchedule.Pass, until cutoff: UInt64) throws(SystemError) {
    // Segments are inspected one after the other, and meanwhile a thread may go on in one that was
    // passed over as free, and then in one that is still to come. The fragments of a record have
    // the same ticks: only this keeps their order.
    newestGeneration = session.ring.generationsStarted.load(ordering: .acquiring)
    let limit = session.policy == .overwriteOldest ? session.ring.pool.count / 4 : .max
    // Sealed segments only: what threads go on with is left for a later frame.
    var waiting = session.ring.pool.sealedCount.load(ordering: .relaxed)
    waiting *= session.ring.geometry.segmentSize
    while pass == .everything || waiting >= session.ring.frameSize || isRingHalfFull {
      defer { waiting -= rows.size }
      if try moveFrame(cutoff, maximumAcquired: limit) { continue }
      if limit == .max { break }
      // What is left may be in younger segments.
      if try !moveFrame(cutoff, maximumAcquired: .max) { break }
    }
    // What was discarded is not freed here.
    if progress.count > 2 * session.ring.pool.count {
      progress = progress.filter { $0.key >= lowestGeneration }
    }
  }

  /// Whether threads may soon need segments, however small the frames are that make them free.
  private var isRingHalfFull: Bool { session.ring.pool.busyCount > session.ring.pool.count / 2 }

  /// Moves one frame's worth of records, and frees the segments that are then empty.
  ///
  /// - Parameter maximumAcquired: How many sealed segments it may keep from being discarded
  ///   meanwhile.
  /// - Returns: Whether it moved any.
  private mutating func moveFrame(
    _ cutoff: UInt64, maximumAcquired: Int
  ) throws(SystemError) -> Bool {
    counters.giveSign()
    var fields = FrameHeader(.records)
    // Before segments are acquired, which do not count as waiting then.
    let waiting = session.ring.pool.waitingShare
    var acquired: Set<Int> = []
    var pinned: [Int] = []
    defer {
      for index in pinned { session.ring.pool.unpin(index) }
      for index in acquired { session.ring.pool.release(index) }
    }
    var collector = FrameCollector(
      runs(&acquired, &pinned, atMost: maximumAcquired), cutoff: cutoff)
    rows.removeAll()
    fields.ranges = collector.fill(&rows, size: session.ring.frameSize)
    let finished = finished(collector.runs).filter { acquired.contains($0.index) }
    let emptied = Set(finished.map(\.index))
    if !rows.isEmpty {
      lowestGeneration =
        session.ring.lowestGeneration { emptied.contains($0) } ?? lowestGeneration
      fields.clock = session.ring.clock
      fields.effort = effort(waiting, fields.clock)
      fields.lowestGeneration = lowestGeneration
      TestPoint.reach(.drainerBeforeFrame)
      let written = try series.append(rows, dictionary: session.ring.dictionary, fields)
      counters.add(rows, written: written.size, written.effort)
      echo?.take(rows, dictionary: session.ring.dictionary, fields.clock)
      TestPoint.reach(.drainerAfterFrame)
      writtenLevels |= rows.summary.levels
    }
    publish(collector)
    TestPoint.reach(.drainerPublished)
    acquired.subtract(emptied)
    for run in finished { free(run) }
    TestPoint.reach(.drainerFreed)
    try series.rotateIfDue(dictionary: session.ring.dictionary)
    return !rows.isEmpty
  }

  /// How much effort the frame is worth, so that no thread has to wait for a segment.
  ///
  /// - Parameter waiting: How many of the segments that no thread has are waiting to be archived.
  private func effort(_ waiting: Double, _ clock: TickClock) -> TextEffort {
    if reducesCompression, waiting > 0.5 { return waiting <= 0.75 ? .reduced : .none }
    return waiting <= 0.25 && Self.cameSlowly(rows.summary, size: rows.size, clock)
      ? .thorough : .full
  }

  /// Whether compressing records as well as can be takes a hundredth of the time at most in which
  /// they came: that takes some 40 ms for a MiB of text.
  static func cameSlowly(_ records: RecordSummary, size: Int, _ clock: TickClock) -> Bool {
    let (first, last) = (clock.wall(at: records.firstTicks), clock.wall(at: records.lastTicks))
    let (time, overflow) = last.nanosecondsSince1970.subtractingReportingOverflow(
      first.nanosecondsSince1970)
    return !overflow && time / nanosecondsOfPiece > size / pieceSize
  }

  /// Records come slowly if each piece of so many bytes takes so much time, or more.
  private static let (pieceSize, nanosecondsOfPiece) = (64 << 10, 250_000_000 as Int64)

  /// What is empty, the oldest first: of those that are retained for flight records, threads may
  /// take the oldest at any moment. What follows a run of the same thread that is not empty waits
  /// for that one.
  private func finished(_ runs: [SegmentRun]) -> [SegmentRun] {
    var unfinished: Set<UInt32> = []
    return runs.sorted { $0.header.generation < $1.header.generation }.filter { run in
      if !run.isEmpty { unfinished.insert(run.header.thread.ordinal) }
      return !unfinished.contains(run.header.thread.ordinal)
    }
  }

  /// What is to be moved, from where the last frame ended. Sealed segments are acquired, so that
  /// nobody discards them meanwhile; open ones are pinned, should they be sealed meanwhile.
  private func runs(
    _ acquired: inout Set<Int>, _ pinned: inout [Int], atMost limit: Int
  ) -> [SegmentRun] {
    let ring = session.ring
    let newest = generationLimit(limit)
    var runs: [SegmentRun] = []
    for index in 0..<ring.pool.count where ring.generation(ofSegment: index) <= newest {
      if ring.pool.pinOpen(index) {
        pinned.append(index)
      } else {
        guard ring.pool.acquireInTurn(index) else { continue }
        acquired.insert(index)
      }
      let run = run(index, isSealed: acquired.contains(index))
      if let run, run.header.generation <= newest { runs.append(run) }
    }
    return runs
  }

  /// The newest generation that may be in a frame that acquires so many sealed segments at most: a
  /// flight recorder needs others that it can discard, however long the disk stands still.
  private func generationLimit(_ limit: Int) -> UInt64 {
    let ring = session.ring
    if limit >= ring.pool.count { return newestGeneration }
    let sealed = (0..<ring.pool.count).filter { ring.pool.status($0) == .sealed }
    let generations = sealed.map { ring.generation(ofSegment: $0) }.sorted()
    return generations.count > limit ? min(generations[limit], newestGeneration) : newestGeneration
  }

  private func run(_ index: Int, isSealed: Bool) -> SegmentRun? {
    guard let header = session.ring.openHeader(ofSegment: index) else { return nil }
    let end = isSealed && header.end > 0 ? header.end : session.ring.geometry.segmentSize
    return SegmentRun(
      index: index, header: header,
      scanner: session.ring.scanner(ofSegment: index, header, from: header.archived, to: end),
      number: progress[header.generation]?.number ?? header.firstNumber,
      lastTicks: progress[header.generation]?.ticks ?? 0,
      disposition: flight.map { flight in { record, _ in flight.disposition(of: record) } })
  }

  private mutating func publish(_ collector: borrowing FrameCollector) {
    for run in collector.runs where run.taken > run.header.archived {
      // Before a crash could leave them to be forgotten without being counted: it is the other way
      // round that is none.
      flight?.note(run)
      session.ring.publish(archived: run.taken, ofSegment: run.index)
      progress[run.header.generation] = (run.lastTicks, run.number ?? 0)
    }
  }

  private mutating func free(_ run: SegmentRun) {
    progress[run.header.generation] = nil
    if !run.corruption.isEmpty {
      session.ring.countLoss(.corrupted, .critical, UInt64(run.corruption.count))
    }
    if flight?.retain(run.index) != true { session.ring.free(segment: run.index) }
  }
}
