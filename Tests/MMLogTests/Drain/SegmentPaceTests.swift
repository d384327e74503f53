import Testing

@testable import MMLog

@Suite("How long threads take to fill a segment") struct SegmentPaceTests {
  private let start: UInt64 = 1_000_000_000_000
  private let millisecond: UInt64 = 1_000_000

  @Test("nobody is waited for who has filled none") func idle() {
    var pace = SegmentPace(now: start)
    #expect(pace.time(for: 8) == nil)
    pace.note(opened: 8, at: start + 8 * millisecond)
    #expect(pace.time(for: 8) == 8 * millisecond)
    pace.note(opened: 8, at: start + 108 * millisecond)
    #expect(pace.time(for: 8) == nil)
  }

  @Test("a moment in which few were filled says nothing") func moment() {
    var pace = SegmentPace(now: start)
    pace.note(opened: 8, at: start + 8 * millisecond)
    pace.note(opened: 9, at: start + 8 * millisecond + 1)
    pace.note(opened: 9, at: start + 9 * millisecond)
    #expect(pace.time(for: 4) == 4 * millisecond)
    pace.note(opened: 12, at: start + 10 * millisecond)
    #expect(pace.time(for: 4) == 2 * millisecond)
  }

  @Test("the time is neither too short to sleep nor ever too long to count") func bounds() {
    var pace = SegmentPace(now: start)
    pace.note(opened: 1000, at: start + 1000)
    #expect(pace.time(for: 1) == 100_000)
    pace.note(opened: 1001, at: .max)
    #expect(pace.time(for: .max) == .max)
  }
}
