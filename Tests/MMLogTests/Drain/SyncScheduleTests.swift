import MMLogFormat
import Testing

@testable import MMLog

@Suite struct SyncScheduleTests {
  private let start: UInt64 = 1_000_000_000_000
  private let second: UInt64 = 1_000_000_000
  private let info: UInt8 = 1 << 2
  private let error: UInt8 = 1 << 5

  private func schedule(
    every interval: Duration? = nil, at level: Level? = nil
  ) -> SyncSchedule {
    var configuration = LogStore.Configuration()
    (configuration.syncInterval, configuration.syncLevel) = (interval, level)
    var schedule = SyncSchedule(configuration)
    schedule.noteSynced(at: start)
    return schedule
  }

  @Test("nothing is due where nothing was written") func nothingIsDueWhereNothingWasWritten() {
    #expect(!schedule(every: .seconds(1)).isDue(at: start + 100 * second))
  }

  @Test("a sync is due when the interval is over and not before")
  func aSyncIsDueWhenTheIntervalIsOverAndNotBefore() {
    var schedule = schedule(every: .seconds(5))
    schedule.noteWritten(levels: info)
    #expect(!schedule.isDue(at: start + 5 * second - 1))
    #expect(schedule.isDue(at: start + 5 * second))
  }

  @Test("a record of the level makes a sync due at once")
  func aRecordOfTheLevelMakesASyncDueAtOnce() {
    var schedule = schedule(at: .error)
    schedule.noteWritten(levels: info)
    #expect(!schedule.isDue(at: start))
    schedule.noteWritten(levels: info | error)
    #expect(schedule.isDue(at: start))
  }

  @Test("a sync serves what was written before") func aSyncServesWhatWasWrittenBefore() {
    var schedule = schedule(every: .seconds(1), at: .error)
    schedule.noteWritten(levels: error)
    schedule.noteSynced(at: start + second)
    #expect(!schedule.isDue(at: start + 100 * second))
  }

  @Test("without interval and level nothing is due") func withoutIntervalAndLevelNothingIsDue() {
    var schedule = schedule()
    schedule.noteWritten(levels: .max)
    #expect(!schedule.isDue(at: start + 1_000_000 * second))
  }
}
