/// How long threads take to fill a segment, so that the drainer wakes by itself when a frame is
/// full: then no log call has to make the system call that would wake it. A plain value: it reads
/// no clock.
///
/// Times are monotonic, in nanoseconds.
struct SegmentPace {
  private var opened: UInt64 = 0
  private var time: UInt64
  /// How long threads take to fill a segment; nil if no thread fills any.
  private var pace: UInt64?

  /// The pace is measured again after so many opened segments, or after so many nanoseconds.
  private static let (measuredCount, measuredTime): (UInt64, UInt64) = (4, 100_000_000)
  /// The shortest sleep: falling asleep and waking take half of that.
  private static let shortest: UInt64 = 100_000

  init(now: UInt64) { time = now }

  /// Takes in how many segments have been opened by now.
  mutating func note(opened: UInt64, at now: UInt64) {
    let (count, passed) = (opened &- self.opened, now &- time)
    guard count >= Self.measuredCount || passed >= Self.measuredTime else { return }
    (self.opened, time) = (opened, now)
    pace = count == 0 ? nil : passed / count
  }

  /// How long threads take to fill `count` segments; nil if no thread fills any.
  func time(for count: Int) -> UInt64? {
    pace.map { pace in
      let (time, overflow) = pace.multipliedReportingOverflow(by: UInt64(count))
      return overflow ? .max : max(Self.shortest, time)
    }
  }
}
