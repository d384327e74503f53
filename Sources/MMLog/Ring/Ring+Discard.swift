import MMLogFormat
import MMLogStorage

extension Ring {
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

  /// Frees the oldest segment that has only flight records left. They do not count as losses.
  /// Async-signal-safe.
  ///
  /// - Parameter isWanted: Whether a segment of that generation is freed. Default: any is.
  /// - Returns: False if there is none.
  @discardableResult
  func recycleOldest(if isWanted: (_ generation: UInt64) -> Bool = { _ in true }) -> Bool {
    var youngerThan: UInt64 = 0
    while let candidate = oldest(.retained, youngerThan: youngerThan),
      isWanted(candidate.generation)
    {
      if pool.acquire(candidate.segment, as: .evicting) {
        TestPoint.reach(.segmentEvicting)
        free(segment: candidate.segment.index)
        return true
      }
      youngerThan = candidate.generation
    }
    return false
  }

  /// The oldest segment with a status, of those younger than `limit`.
  ///
  /// Threads go on meanwhile. Only a segment that two scans in a row find was the oldest when the
  /// second one began. The first scan may have passed over a segment before that got the status,
  /// and then have seen a younger one of the same thread.
  private func oldest(
    _ status: SegmentPool.Status, youngerThan limit: UInt64
  ) -> (segment: SegmentPool.Snapshot, generation: UInt64)? {
    var found = scan(status, youngerThan: limit)
    while let first = found {
      found = scan(status, youngerThan: limit)
      if found?.segment == first.segment { break }
    }
    return found
  }

  private func scan(
    _ status: SegmentPool.Status, youngerThan limit: UInt64
  ) -> (segment: SegmentPool.Snapshot, generation: UInt64)? {
    var oldest: (segment: SegmentPool.Snapshot, generation: UInt64)?
    for index in 0..<pool.count {
      // Read before the status: then both are of the use that has the status, or of an earlier one.
      let generation = self.generation(ofSegment: index)
      let captured = capturedWord(ofSegment: index)
      let segment = pool.snapshot(index)
      // The system may have stopped the thread that evicts the segment. If the process were killed
      // then, the ring would have the segment's records, but not younger ones that are evicted
      // meanwhile.
      if segment.status == .evicting {
        noteEvicted(segment: index, generation: generation, replacing: captured)
      }
      guard segment.status == status else { continue }
      if generation > limit, generation < oldest?.generation ?? .max {
        oldest = (segment, generation)
      }
    }
    return oldest
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
