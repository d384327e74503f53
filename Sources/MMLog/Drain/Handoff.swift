import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// Moves committed records from the ring to the archives, frame by frame, exactly once. It writes a
/// frame, then notes in the ring how far the frame's segments are archived, then frees the empty
/// segments. If another thread encodes frames, the handoff collects the next frame meanwhile; the
/// rest is in the same order. Models/Handoff.pml models it.
///
/// For one thread at a time: the drainer's, or, after that has ended, the thread that closes the
/// store.
struct Handoff: ~Copyable {
  private let session: Session
  private let series: ArchiveSeries
  private let counters: DrainCounters
  private let taps: [any RecordTap]
  /// Nil if everything is archived.
  private let flight: FlightRecorder?
  /// Nil if the thread of the handoff encodes frames, too.
  private var encoder: EncodingThread?
  /// Used in turn. There are two if another thread encodes: one is collected while the other is
  /// encoded.
  private let frames: [PendingFrame]
  /// How far the present use of each segment is taken, by generation: the end offset, the greatest
  /// ticks, and the number of the next entry.
  private var progress: [UInt64: (end: Int, ticks: UInt64, number: UInt64)] = [:]
  private var lowestGeneration: UInt64 = 0
  /// Segments that were opened later are left for the next time.
  private var newestGeneration: UInt64 = 0
  private var writtenLevels: UInt8 = 0
  /// Whether text is compressed less while many segments wait.
  var reducesCompression = false
  /// Whether the store is closing. Then no thread logs, so none waits for a segment.
  var isClosing = false

  init(
    _ session: Session, _ series: ArchiveSeries, _ counters: DrainCounters,
    _ taps: [any RecordTap], _ flight: FlightRecorder?, _ encoder: EncodingThread?
  ) {
    (self.session, self.series, self.counters) = (session, series, counters)
    (self.taps, self.flight, self.encoder) = (taps, flight, encoder)
    frames = (0..<(encoder == nil ? 1 : 2)).map { _ in PendingFrame() }
  }

  /// Makes the thread of the handoff encode frames from now on.
  mutating func encodeHere() { encoder = nil }

  /// Returns the levels of the records written since the last call, a bit each; 0 if none were.
  mutating func takeWrittenLevels() -> UInt8 {
    defer { writtenLevels = 0 }
    return writtenLevels
  }

  /// Moves records that are committed now, frame by frame.
  ///
  /// - Parameters:
  ///   - pass: Whether to move all of them, or only frames that are worth writing.
  ///   - cutoff: Later records are left in the ring, so that frames overlap as little as possible.
  ///     Otherwise a frame could have a record and miss an earlier one of the same thread that was
  ///     committed just after its segment was inspected.
  mutating func move(_ pass: DrainSchedule.Pass, until cutoff: UInt64) throws(SystemError) {
    // The counter may have gone back by too little to be noticed. Then further records of these
    // segments have the ticks of the segment's last one.
    let cutoff = progress.values.reduce(cutoff) { max($0, $1.ticks) }
    try move(pass, in: 0...cutoff)
  }

  /// Moves everything after the counter has begun anew: first the records logged since, which are
  /// in segments of their own, and then the rest, so that each frame has one clock. Later records
  /// in the same segments have their own ticks again.
  mutating func moveAroundBeginning() throws(SystemError) {
    try move(.everything, in: 0...mmlog_ticks())
    try move(.everything, in: mmlog_ticks()...(.max))
    for generation in progress.keys { progress[generation]?.ticks = 0 }
  }

  /// Moves records that are committed now and whose ticks are in the range. A segment whose next
  /// record has lower ticks is passed over.
  private mutating func move(
    _ pass: DrainSchedule.Pass, in ticks: ClosedRange<UInt64>
  ) throws(SystemError) {
    // Segments are inspected one after the other. Meanwhile a thread may continue in a segment that
    // was passed over as free, and then in one that is still to be inspected. The fragments of a
    // record have the same ticks: only this limit keeps their order.
    newestGeneration = session.ring.generationsStarted.load(ordering: .acquiring)
    let limit = session.policy == .overwriteOldest ? session.ring.pool.count / 4 : .max
    // Sealed segments only: what threads still write is left for a later frame.
    var waiting = session.ring.pool.sealedCount * session.ring.geometry.segmentSize
    settleUnreadable()
    while isFrameDue(pass, waiting, acquired: 0) {
      if try moveFrames(pass, ticks, &waiting, maximumAcquired: limit) { continue }
      if limit == .max { break }
      // What is left may be in younger segments.
      if try !moveFrames(pass, ticks, &waiting, maximumAcquired: .max) { break }
    }
    // Discarded segments are not freed here, so their progress is left over.
    if progress.count > 2 * session.ring.pool.count {
      progress = progress.filter { $0.key >= lowestGeneration }
    }
  }

  /// Corrects the headers of sealed segments that something has overwritten in memory. A segment
  /// whose header cannot be corrected counts as one loss: nobody knows how many records it held.
  private func settleUnreadable() {
    let ring = session.ring
    for index in 0..<ring.pool.count
    where ring.pool.status(index) == .sealed && ring.openHeader(ofSegment: index) == nil {
      guard ring.pool.acquireInTurn(index) else { continue }
      if ring.correctHeader(ofSegment: index) {
        ring.pool.release(index)
      } else {
        ring.countLoss(.corrupted, .critical)
        ring.free(segment: index)
      }
    }
  }

  /// Whether another frame is worth writing. If threads may soon need segments, even a small frame
  /// is.
  ///
  /// - Parameters:
  ///   - waiting: How much there is to move, in bytes.
  ///   - acquired: How many segments are acquired for frames.
  private func isFrameDue(_ pass: DrainSchedule.Pass, _ waiting: Int, acquired: Int) -> Bool {
    pass == .everything || waiting >= session.ring.frameSize
      || session.ring.pool.waitingShare(with: acquired) > 0.5
  }

  /// Moves frames as long as they are due and there are records for them, and frees the segments
  /// that this empties.
  ///
  /// - Parameters:
  ///   - waiting: How much there is to move, in bytes; what was moved is subtracted.
  ///   - maximumAcquired: How many sealed segments it may keep from being discarded meanwhile.
  /// - Returns: Whether it moved any.
  private mutating func moveFrames(
    _ pass: DrainSchedule.Pass, _ ticks: ClosedRange<UInt64>, _ waiting: inout Int,
    maximumAcquired: Int
  ) throws(SystemError) -> Bool {
    var batch = Batch(ticks)
    defer {
      // The encoding thread may have a frame that is given up.
      encoder?.wait()
      for index in batch.pinned { session.ring.pool.unpin(index) }
      for index in batch.acquired { session.ring.pool.release(index) }
    }
    var pending: [PendingFrame] = []
    var isAny = false
    var isLast = false
    repeat {
      counters.giveSign()
      let frame = frames.first { frame in !pending.contains { $0 === frame } } ?? frames[0]
      // Before the batch acquires segments: the pool does not count acquired ones as waiting.
      let share = session.ring.pool.waitingShare(with: batch.acquired.count)
      if !isAny { acquire(for: &batch, atMost: maximumAcquired) }
      collect(from: &batch, into: frame, share)
      isAny = isAny || !frame.rows.isEmpty
      waiting -= frame.rows.size
      isLast = frame.rows.isEmpty || !isFrameDue(pass, waiting, acquired: batch.acquired.count)
      encode(frame)
      pending.append(frame)
      while pending.count > (isLast || encoder == nil ? 0 : 1) {
        if isLast { encoder?.wait() }
        try write(pending.removeFirst(), of: &batch)
      }
    } while !isLast
    return isAny
  }

  /// Gives a frame to the encoding thread once that has encoded the frame before. If there is no
  /// such thread, encodes the frame here.
  private func encode(_ frame: PendingFrame) {
    encoder?.wait()
    if frame.rows.isEmpty { return }
    if let encoder { encoder.begin(frame, series.encoder) } else { frame.encode(series.encoder) }
  }

  /// Collects the next frame.
  ///
  /// - Parameter waiting: Which part of the segments that no thread has waits to be archived, from
  ///   0 to 1.
  private func collect(
    from batch: inout Batch, into frame: PendingFrame, _ waiting: Double
  ) {
    frame.begin()
    frame.fields.ranges = batch.collector.fill(&frame.rows, size: session.ring.frameSize)
    frame.parts = batch.takeParts()
    let finished = finished(batch.unfinishedRuns).filter { batch.acquired.contains($0.index) }
    batch.finished.formUnion(finished.map(\.index))
    frame.finished = finished
    frame.fields.clock = session.ring.clocks.clock(upTo: frame.rows.summary.lastTicks)
    frame.fields.effort = effort(waiting, frame)
    frame.dictionary = session.ring.dictionary
  }

  /// Appends a frame to the archive, and takes the frame's records out of the ring.
  private mutating func write(
    _ frame: PendingFrame, of batch: inout Batch
  ) throws(SystemError) {
    let emptied = Set(frame.finished.map(\.index))
    if var encoded = frame.encoded {
      lowestGeneration =
        session.ring.lowestGeneration { emptied.contains($0) } ?? lowestGeneration
      encoded.header.lowestGeneration = lowestGeneration
      // What cannot be read stays in the ring.
      if frame.rows.isUnreadable { throw .refusedByLibcrypto(session.ring.path) }
      TestPoint.reach(.drainerBeforeFrame)
      let size = try append(encoded, corrupted: frame.corrupted)
      counters.add(frame.rows, written: size, encoded.header.effort)
      for tap in taps {
        tap.take(
          frame.rows, dictionary: session.ring.dictionary, frame.fields.clock, areFlight: false)
      }
      TestPoint.reach(.drainerAfterFrame)
      writtenLevels |= frame.rows.summary.levels
    } else {
      countCorruption(frame.corrupted)
    }
    for part in frame.parts { publish(part) }
    TestPoint.reach(.drainerPublished)
    flight?.eraseEnded { batch.acquired.contains($0) || batch.pinned.contains($0) }
    batch.acquired.subtract(emptied)
    for run in frame.finished { free(run) }
    TestPoint.reach(.drainerFreed)
    try series.rotateIfDue(dictionary: session.ring.dictionary)
  }

  /// Appends a frame to the archive.
  ///
  /// - Parameter corrupted: How many places in the frame's ranges are corrupted. They are counted
  ///   before the frame is appended: whoever recovers the ring considers everything in the ranges
  ///   archived.
  /// - Returns: How many bytes the archive grew by.
  private func append(_ frame: EncodedFrame, corrupted: Int) throws(SystemError) -> Int {
    countCorruption(corrupted)
    do throws(SystemError) {
      return try series.append(frame, dictionary: session.ring.dictionary)
    } catch {
      // Whoever archives or discards what is left in the ring finds the places again.
      session.ring.uncount(.corrupted, .critical, UInt64(corrupted))
      throw error
    }
  }

  /// How much effort the frame is worth, so that no thread has to wait for a segment.
  ///
  /// - Parameter waiting: Which part of the segments that no thread has waits to be archived, from
  ///   0 to 1.
  private func effort(_ waiting: Double, _ frame: PendingFrame) -> TextEffort {
    // One frame has everything that a short process has logged. Encoding it takes some 20 ms at
    // most.
    if isClosing { return frame.rows.size <= session.ring.frameSize / 2 ? .thorough : .full }
    if reducesCompression, waiting > 0.5 { return waiting <= 0.75 ? .reduced : .none }
    let (rows, clock) = (frame.rows.summary, frame.fields.clock)
    return waiting <= 0.25 && Self.cameSlowly(rows, size: frame.rows.size, clock)
      ? .thorough : .full
  }

  /// Whether compressing records as well as possible takes at most a hundredth of the time in which
  /// they were logged. Such compression takes some 40 ms for a MiB of text.
  static func cameSlowly(_ records: RecordSummary, size: Int, _ clock: TickClock) -> Bool {
    let (first, last) = (clock.wall(at: records.firstTicks), clock.wall(at: records.lastTicks))
    let (time, overflow) = last.nanosecondsSince1970.subtractingReportingOverflow(
      first.nanosecondsSince1970)
    return !overflow && time / nanosecondsOfPiece > size / pieceSize
  }

  /// Records come slowly if 64 KiB of them take 250 ms or more.
  private static let (pieceSize, nanosecondsOfPiece) = (64 << 10, 250_000_000 as Int64)

  /// The empty ones of runs that are in the order of their generations, and so the oldest first:
  /// threads may take the oldest segment that is retained for flight records at any moment. A run
  /// that follows a run of the same thread that is not empty waits for that run.
  private func finished(_ runs: [CollectedSegment]) -> [CollectedSegment] {
    var unfinished: Set<UInt32> = []
    return runs.filter { run in
      if !run.isEmpty { unfinished.insert(run.header.thread.ordinal) }
      return !unfinished.contains(run.header.thread.ordinal)
    }
  }

  /// Finds what to move, from where the last frame ended. Acquires sealed segments, so that nobody
  /// discards them meanwhile. Pins open segments, because they may be sealed meanwhile.
  private func acquire(for batch: inout Batch, atMost limit: Int) {
    let ring = session.ring
    let newest = generationLimit(limit)
    var runs: [CollectedSegment] = []
    for index in 0..<ring.pool.count where ring.pool.generation(index) <= newest {
      if ring.pool.pinOpen(index) {
        batch.pinned.append(index)
      } else {
        guard ring.pool.acquireInTurn(index) else { continue }
        batch.acquired.insert(index)
      }
      let run = run(index, isSealed: batch.acquired.contains(index))
      if let run, run.header.generation <= newest, run.lastTicks >= batch.ticks.lowerBound {
        runs.append(run)
      }
    }
    // Here, and not for each frame: the order does not change.
    batch.begin(runs.sorted { $0.header.generation < $1.header.generation })
  }

  /// The newest generation that a frame may have if it acquires at most `limit` sealed segments.
  /// Threads need the other ones to discard, however long the disk stands still.
  private func generationLimit(_ limit: Int) -> UInt64 {
    let ring = session.ring
    if limit >= ring.pool.count { return newestGeneration }
    let sealed = (0..<ring.pool.count).filter { ring.pool.status($0) == .sealed }
    let generations = sealed.map { ring.pool.generation($0) }.sorted()
    return generations.count > limit ? min(generations[limit], newestGeneration) : newestGeneration
  }

  private func run(_ index: Int, isSealed: Bool) -> CollectedSegment? {
    guard var header = session.ring.openHeader(ofSegment: index) else { return nil }
    let progress = progress[header.generation]
    // Something may have overwritten the header's word.
    if let end = progress?.end, end != header.archived {
      header.archived = end
      session.ring.publish(archived: end, ofSegment: index)
    }
    let isWhole = isSealed && header.end > 0
    let end = isWhole ? header.end : session.ring.geometry.segmentSize
    let content = session.ring.content(of: header)
    return CollectedSegment(
      index: index, header: header,
      scanner: session.ring.scanner(
        ofSegment: index, header, from: header.archived, to: end, isWhole: isWhole),
      number: progress?.number ?? header.firstNumber, lastTicks: progress?.ticks ?? 0,
      content: content,
      disposition: flight.map { flight in
        { flight.disposition(of: $0, at: $1, content, in: header.generation) }
      })
  }

  private mutating func publish(_ part: PendingFrame.Part) {
    // Before the ring says that the records are archived. A crash in between then leaves flight
    // records that are counted and still in the ring; in the other order, some would be evicted
    // uncounted.
    flight?.note(part)
    session.ring.publish(archived: part.end, ofSegment: part.index)
    progress[part.generation] = (part.end, part.lastTicks, part.number)
  }

  private mutating func free(_ run: CollectedSegment) {
    progress[run.header.generation] = nil
    // Corruption behind the last record. Corruption before a record is counted by now.
    if let last = run.corruption.last, run.corruptedCount < run.corruption.count {
      countCorruption(run.corruption.count - run.corruptedCount)
      // The segment may be retained.
      session.ring.publish(archived: last.upperBound, ofSegment: run.index)
    }
    if flight?.retain(run.index) != true { session.ring.free(segment: run.index) }
  }

  private func countCorruption(_ count: Int) {
    if count > 0 { session.ring.countLoss(.corrupted, .critical, UInt64(count)) }
  }
}

/// What frames are collected from, one after the other, until all segments are released. A segment
/// is inspected once, however many frames it is in.
private struct Batch {
  /// Which records are taken: see `Handoff.move`.
  let ticks: ClosedRange<UInt64>
  var collector: FrameCollector
  /// The sealed segments that the batch has acquired and not freed yet.
  var acquired: Set<Int> = []
  /// Open segments that are pinned: nobody may discard them if they are sealed.
  var pinned: [Int] = []
  /// Segments that have nothing left for a further frame.
  var finished: Set<Int> = []
  /// Where the last part of each run ended, and how much the run had passed over by then.
  private var ends: [(end: Int, passed: Int, corrupted: Int)] = []

  init(_ ticks: ClosedRange<UInt64>) {
    self.ticks = ticks
    collector = FrameCollector([], cutoff: ticks.upperBound)
  }

  mutating func begin(_ runs: [CollectedSegment]) {
    collector = FrameCollector(runs, cutoff: ticks.upperBound)
    ends = runs.map { ($0.header.archived, 0, 0) }
  }

  var unfinishedRuns: [CollectedSegment] { collector.runs.filter { !finished.contains($0.index) } }

  /// What was taken since the last call.
  mutating func takeParts() -> [PendingFrame.Part] {
    var parts: [PendingFrame.Part] = []
    for (place, run) in collector.runs.enumerated() where run.taken > ends[place].end {
      let (corrupted, last) = (run.corruptedCount, ends[place])
      parts.append(
        PendingFrame.Part(
          run, passed: run.passedCount - last.passed, corrupted: corrupted - last.corrupted))
      ends[place] = (run.taken, run.passedCount, corrupted)
    }
    return parts
  }
}
