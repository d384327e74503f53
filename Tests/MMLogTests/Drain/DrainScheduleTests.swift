import Testing

@testable import MMLog

@Suite struct DrainScheduleTests {
  private typealias Counts = DrainSchedule.Counts

  private let start: UInt64 = 1_000_000_000_000
  private let millisecond: UInt64 = 1_000_000
  private let interval: Int64 = 200_000_000
  private let counts = Counts(requests: 3, urgentRequests: 2)

  /// A schedule whose last pass began with `counts` and ended at `start`.
  private func schedule(failures: Int = 0, interval: Int64? = nil) -> DrainSchedule {
    var schedule = DrainSchedule(interval: interval ?? self.interval, now: start)
    schedule.passEnded(at: start, .everything, counts, failed: failures > 0)
    for _ in 1..<max(1, failures) {
      schedule.passEnded(at: start, .everything, counts, failed: true)
    }
    return schedule
  }

  @Test("a pass is due when the interval is over and not before")
  func aPassIsDueWhenTheIntervalIsOverAndNotBefore() {
    let schedule = schedule()
    #expect(schedule.duePass(at: start + 199 * millisecond, counts, or: false) == nil)
    #expect(schedule.duePass(at: start + 200 * millisecond, counts, or: false) == .everything)
  }

  @Test("a request has full frames moved, and an urgent one everything")
  func aRequestHasFullFramesMovedAndAnUrgentOneEverything() {
    let schedule = schedule()
    let request = Counts(requests: 4, urgentRequests: 2)
    #expect(schedule.duePass(at: start, request, or: false) == .fullFrames)
    #expect(schedule.duePass(at: start, request, or: true) == .everything)
    let urgent = Counts(requests: 3, urgentRequests: 3)
    #expect(schedule.duePass(at: start, urgent, or: false) == .everything)
  }

  @Test("what a pass leaves waits no longer than the interval all the same")
  func whatAPassLeavesWaitsNoLongerThanTheIntervalAllTheSame() {
    var schedule = schedule()
    schedule.passEnded(at: start + 199 * millisecond, .fullFrames, counts, failed: false)
    #expect(schedule.duePass(at: start + 199 * millisecond, counts, or: false) == nil)
    #expect(schedule.duePass(at: start + 200 * millisecond, counts, or: false) == .everything)
  }

  @Test("requests from before the start count") func requestsFromBeforeTheStartCount() {
    let schedule = DrainSchedule(interval: interval, now: start)
    #expect(schedule.duePass(at: start, Counts(requests: 1), or: false) == .fullFrames)
    #expect(schedule.duePass(at: start, Counts(), or: false) == nil)
  }

  @Test("a pass is due for work that nobody asks for") func aPassIsDueForWorkThatNobodyAsksFor() {
    #expect(schedule().duePass(at: start, counts, or: true) == .everything)
  }

  @Test("a full frame is moved without a request, and not while the disk fails")
  func aFullFrameIsMovedWithoutARequest() {
    let due = schedule().duePass(at: start, counts, or: false, hasFullFrame: true)
    #expect(due == .fullFrames)
    let failed = schedule(failures: 1)
    #expect(failed.duePass(at: start, counts, or: false, hasFullFrame: true) == nil)
  }

  @Test("after a failure only calls and time make a pass due")
  func afterAFailureOnlyCallsAndTimeMakeAPassDue() {
    let schedule = schedule(failures: 1)
    let more = Counts(requests: 9, urgentRequests: counts.urgentRequests)
    #expect(schedule.isRetrying)
    #expect(schedule.duePass(at: start + 49 * millisecond, more, or: true) == nil)
    #expect(schedule.duePass(at: start + 50 * millisecond, more, or: false) == .everything)
    let urgent = Counts(requests: 3, urgentRequests: 3)
    #expect(schedule.duePass(at: start, urgent, or: false) == .everything)
  }

  @Test(
    "the pause doubles with each failure up to a second",
    arguments: [(1, 50), (2, 100), (3, 200), (4, 400), (5, 800), (6, 1000), (60, 1000)])
  func thePauseDoublesWithEachFailureUpToASecond(failures: Int, milliseconds: UInt64) {
    let schedule = schedule(failures: failures, interval: 60_000_000_000)
    let end = start + milliseconds * millisecond
    #expect(schedule.duePass(at: end - 1, counts, or: true) == nil)
    #expect(schedule.duePass(at: end, counts, or: false) == .everything)
  }

  @Test("the interval bounds the pause") func theIntervalBoundsThePause() {
    let schedule = schedule(failures: 10, interval: 70_000_000)
    #expect(schedule.duePass(at: start + 70 * millisecond, counts, or: false) == .everything)
  }

  @Test("a pass that succeeds ends the pause") func aPassThatSucceedsEndsThePause() {
    var schedule = schedule(failures: 3)
    schedule.passEnded(at: start, .everything, counts, failed: false)
    #expect(!schedule.isRetrying)
    #expect(schedule.duePass(at: start + 199 * millisecond, counts, or: false) == nil)
  }

  @Test("it sleeps until the next pass or a request") func itSleepsUntilTheNextPassOrARequest() {
    let sleep = schedule().sleep(at: start + 150 * millisecond, until: .max)
    #expect(sleep == .untilRequested(since: 3, 50_000_000))
  }

  @Test("after a failure it sleeps until a call") func afterAFailureItSleepsUntilACall() {
    let sleep = schedule(failures: 1).sleep(at: start, until: .max)
    #expect(sleep == .untilUrgentlyRequested(since: 2, 50_000_000))
  }

  @Test("it sleeps no longer than until the next check")
  func itSleepsNoLongerThanUntilTheNextCheck() {
    let sleep = schedule().sleep(at: start, until: start + millisecond)
    #expect(sleep == .untilRequested(since: 3, 1_000_000))
  }

  @Test("it never sleeps longer than a second or less than nothing")
  func itNeverSleepsLongerThanASecondOrLessThanNothing() {
    let schedule = schedule(interval: 3_600_000_000_000)
    #expect(schedule.sleep(at: start, until: .max) == .untilRequested(since: 3, 1_000_000_000))
    #expect(schedule.sleep(at: .max, until: .max) == .untilRequested(since: 3, 0))
  }
}
