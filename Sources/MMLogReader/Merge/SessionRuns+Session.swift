import MMLogFormat
import MMLogStorage

extension SessionRuns {
  /// All records of a ring that are in no archive, unfiltered, with those that no identity
  /// decrypts.
  package init(_ ring: RingView) {
    let filter = SessionFilter(
      LogReader.Filter(), SiteTable(), of: ring.image.fileHeader.identity)
    self.init(ThreadTable(), filter, givesSealed: true)
    _ = add(ring, ring.image.segments, corruption: ring.image.corruption, emitted: nil)
    start()
  }

  /// How many records of a ring are in no archive, when the last was logged, and what of the ring
  /// cannot be read.
  package static func segments(of ring: RingView) -> (
    count: Int, lastTime: Timestamp?, corruption: [LogReader.Corruption]
  ) {
    var runs = SessionRuns(ring)
    var (count, last, corruption) = (0, Timestamp?.none, [LogReader.Corruption]())
    while let step = runs.step(), let run = runs.current {
      switch step {
      case .record(let record, let ticks, _):
        if record.isCounted { count += 1 }
        last = max(last ?? .distantPast, run.clock.wall(at: ticks))
      case .corruption: if let found = run.corruption { corruption.append(found) }
      case .nothing, .end: continue
      }
    }
    return (count, last, corruption)
  }
}
