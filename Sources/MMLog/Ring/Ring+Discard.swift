import MMLogFormat
import MMLogStorage

extension Ring {
  /// A segment that may be emptied.
  typealias Candidate = (segment: SegmentPool.Snapshot, generation: UInt64)

  /// Discards the oldest sealed segment that nobody drains, and counts its records as lost.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  func discardOldest() -> Bool {
    var youngerThan: UInt64 = 0
    while let candidate = oldest(.sealed, youngerThan: youngerThan) {
      if pool.acquireUnpinned(candidate.segment) {
        TestPoint.reach(.discardAcquired)
        countRecordsAsOverwritten(candidate.segment.index)
        TestPoint.reach(.discardCounted)
        free(segment: candidate.segment.index)
        return true
      }
      youngerThan = candidate.generation
    }
    return false
  }

  /// Evicts the oldest segment that has only flight records left: see ``evict(_:)``.
  /// Async-signal-safe.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  func evictOldest() -> Bool {
    var youngerThan: UInt64 = 0
    while let candidate = oldest(.retained, youngerThan: youngerThan) {
      if evict(candidate) { return true }
      youngerThan = candidate.generation
    }
    return false
  }

  /// The segments that have only flight records left, the oldest first. Those that are retained
  /// later are younger. Only the drainer, which retains segments, calls this.
  var retainedSegments: [Candidate] {
    (0..<pool.count).compactMap { candidate($0, .retained) }
      .sorted { $0.generation < $1.generation }
  }

  /// Frees a segment that has only flight records left. They do not count as losses.
  /// Async-signal-safe.
  ///
  /// - Returns: False if another thread has done so, or is doing so.
  func evict(_ candidate: Candidate) -> Bool {
    guard pool.acquire(candidate.segment, as: .evicting) else {
      noteIfEvicting(candidate.segment.index)
      return false
    }
    TestPoint.reach(.segmentEvicting)
    free(segment: candidate.segment.index)
    return true
  }

  /// Notes that a segment's records are evicted, if a thread is evicting them.
  ///
  /// The system may have stopped that thread. If the process were killed then, the ring would have
  /// the segment's records, but not younger ones that are evicted meanwhile.
  private func noteIfEvicting(_ index: Int) {
    // Read before the status: then both are of the use that has the status, or of an earlier one.
    let generation = pool.generation(index)
    let captured = capturedWord(ofSegment: index)
    if pool.status(index) == .evicting {
      noteEvicted(segment: index, generation: generation, replacing: captured)
    }
  }

  /// The oldest segment with a status, of those younger than `limit`.
  ///
  /// Threads go on meanwhile. Only a segment that two scans in a row find was the oldest when the
  /// second one began. The first scan may have passed over a segment before that got the status,
  /// and then have seen a younger one of the same thread.
  private func oldest(_ status: SegmentPool.Status, youngerThan limit: UInt64) -> Candidate? {
    var found = scan(status, youngerThan: limit)
    while let first = found {
      found = scan(status, youngerThan: limit)
      if found?.segment == first.segment { break }
    }
    return found
  }

  private func scan(_ status: SegmentPool.Status, youngerThan limit: UInt64) -> Candidate? {
    var oldest: Candidate?
    for index in 0..<pool.count {
      guard let candidate = candidate(index, status) else { continue }
      if candidate.generation > limit, candidate.generation < oldest?.generation ?? .max {
        oldest = candidate
      }
    }
    return oldest
  }

  /// A segment as it is now; nil if it does not have the status.
  private func candidate(_ index: Int, _ status: SegmentPool.Status) -> Candidate? {
    // Read before the status: then it is of the use that has the status, or of an earlier one.
    let generation = pool.generation(index)
    let segment = pool.snapshot(index)
    if segment.status == .evicting { noteIfEvicting(index) }
    return segment.status == status ? (segment, generation) : nil
  }

  /// Called before the segment is emptied. After a crash in between, records are counted although
  /// they are still there, which is better than the other way round.
  private func countRecordsAsOverwritten(_ index: Int) {
    guard let header = header(ofSegment: index) else { return countLoss(.corrupted, .critical) }
    var scanner = scanner(ofSegment: index, header, from: header.archived)
    while let item = scanner.next() {
      guard case .record(let record, _) = item else {
        countLoss(.corrupted, .critical)
        continue
      }
      if record.level < archiveLevel {
        forget(1)
        continue
      }
      countLoss(.overwritten, record.level)
      guard record.isFragment else { continue }
      TestPoint.reach(.discardFragmentCounted)
      // A record is lost with any of its fragments, and counts once. It is counted before it is
      // settled: another thread that finds it settled may empty the next segment of the record.
      // Then the record has to be counted, even if this thread does nothing more.
      let ordinal = record.sharedThread?.ordinal ?? header.thread.ordinal
      if !settledFragments.insert(thread: ordinal, ticks: record.ticks) {
        uncount(.overwritten, record.level)
      }
    }
  }

  /// Notes that the fragments written so far make no record, because the rest of the record found
  /// no place. The caller counts the record, or writes it elsewhere.
  func abandonFragments(thread: UInt32, ticks: UInt64, _ level: Level) {
    if !settledFragments.insert(thread: thread, ticks: ticks) { uncount(.overwritten, level) }
  }
}
