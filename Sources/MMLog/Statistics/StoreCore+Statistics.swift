import MMLogFormat
import MMLogSystem

extension StoreCore {
  /// All numbers at this moment.
  func statistics() -> LogStore.Statistics {
    var statistics = counters.snapshot
    statistics.losses = losses
    statistics.suppressed = labels.suppressed
    statistics.drainerSilence = counters.silence
    statistics.missedEvents = events.missedCount
    let totals = catalog.totals
    statistics.archives = totals.count
    statistics.archiveBytes = totals.size
    statistics.pendingBytes = totals.pending
    statistics.uploadedBytes = totals.uploaded
    let geometry = geometry
    lock.withLock {
      guard let pool = open?.session.ring.pool else { return }
      statistics.ringBytes = geometry.segmentCount * geometry.segmentSize
      (statistics.segments, statistics.usedSegments) = (pool.count, pool.busyCount)
      statistics.waitingShare = pool.waitingShare
    }
    let waiting = waitingRecords()
    statistics.waiting = waiting.records
    statistics.oldestWaiting = waiting.oldestAge
    return statistics
  }

  /// Reads the ring segment by segment, each under the lock: the ring must not go away meanwhile,
  /// and nobody is to wait for more than one segment.
  private func waitingRecords() -> WaitingRecords {
    var waiting = WaitingRecords(archiveLevel: configuration.archiveLevel)
    let size = geometry.segmentSize
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: wordSize)
    defer { copy.deallocate() }
    for index in 0..<geometry.segmentCount {
      let source = lock.withLock { () -> (session: SessionID, clock: TickClock)? in
        // What is retained in a segment are flight records: most of the ring of a flight recorder.
        guard let ring = open?.session.ring, ring.pool.status(index).mayHoldUnarchived,
          ring.copy(segment: index, into: copy)
        else { return nil }
        return (ring.identity.session, ring.clocks.current)
      }
      if let source { waiting.add(UnsafeRawBufferPointer(copy), of: source.session, source.clock) }
    }
    return waiting
  }
}
