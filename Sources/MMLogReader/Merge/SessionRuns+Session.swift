import MMLogFormat
import MMLogStorage

extension SessionRuns {
  /// All that a ring has which is in no archive, unfiltered; also what nobody here can decrypt.
  package init(_ ring: RingView) {
    let filter = SessionFilter(
      LogReader.Filter(), SiteTable(), of: ring.image.fileHeader.identity)
    self.init(ThreadTable(), filter, givesSealed: true)
    _ = add(ring, ring.image.segments, corruption: ring.image.corruption, emitted: nil)
    start()
  }

  /// How many records of a ring are in no archive, and when the last was logged.
  package static func segments(of ring: RingView) -> (count: Int, lastTime: Timestamp?) {
    let identity = ring.image.fileHeader.identity
    let filter = SessionFilter(LogReader.Filter(), SiteTable(), of: identity)
    var runs = SessionRuns(ThreadTable(), filter, givesSealed: true)
    _ = runs.add(ring, ring.image.segments, corruption: [], emitted: nil)
    runs.start()
    var (count, last) = (0, Timestamp?.none)
    while let step = runs.step() {
      guard case .record(_, let ticks, _) = step, let run = runs.current else { continue }
      count += 1
      last = max(last ?? .distantPast, run.clock.wall(at: ticks))
    }
    return (count, last)
  }
}
