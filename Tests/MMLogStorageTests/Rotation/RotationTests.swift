import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct RotationTests {
  /// 2026-03-28 12:00:00 UTC, a Saturday; Berlin's clocks go forward in the coming night, at 01:00
  /// UTC.
  private static let noon: Int64 = 1_774_699_200
  /// 2026-10-24 12:00:00 UTC; Berlin's clocks go back in the coming night, at 01:00 UTC.
  private static let autumnNoon: Int64 = 1_792_843_200
  private static let second: Int64 = 1_000_000_000

  private func rules(_ calendar: Rotation.Calendar) throws -> ZoneRules {
    try #require(ZoneRules(named: calendar.zone))
  }

  /// The next `count` times after `moment`, as seconds after it.
  private func times(
    _ calendar: Rotation.Calendar, after moment: Int64, _ count: Int
  ) throws -> [Int64] {
    let rules = try rules(calendar)
    var (last, times) = (moment, [Int64]())
    for _ in 0..<count {
      last = calendar.next(after: last, rules)
      times.append(last - moment)
    }
    return times
  }

  // MARK: - The calendar

  @Test("every hour means every hour also when clocks change")
  func everyHourMeansEveryHourAlsoWhenClocksChange() throws {
    for start in [Self.noon, Self.autumnNoon] {
      for zone in ["UTC", "Europe/Berlin"] {
        let calendar = Rotation.Calendar.hourly(minute: 15, in: zone)
        let expected = (0..<30).map { Int64($0 * 3600 + 900) }
        #expect(try times(calendar, after: start, 30) == expected, "\(zone) from \(start)")
      }
    }
    // Where clocks differ by half an hour, and change by half an hour: on 4 April 2026 at 15:00
    // UTC, from +11 to +10:30.
    let lord = Rotation.Calendar.hourly(in: "Australia/Lord_Howe")
    let times = try times(lord, after: 1_775_311_200, 3)
    #expect(times == [5400, 9000, 12600], "\(times)")
  }

  @Test("every day means the same time by the zones clocks")
  func everyDayMeansTheSameTimeByTheZonesClocks() throws {
    let daily = Rotation.Calendar.daily(hour: 4, minute: 30, in: "Europe/Berlin")
    // 03:30 UTC in winter, 02:30 UTC in summer.
    #expect(try times(daily, after: Self.noon, 2) == [52200, 52200 + 86400])
    #expect(try times(daily, after: Self.autumnNoon, 2) == [55800, 55800 + 86400])
    #expect(try times(.daily(), after: Self.noon, 2) == [43200, 43200 + 86400])
  }

  @Test("a time that clocks skip is the moment at which they do")
  func aTimeThatClocksSkipIsTheMomentAtWhichTheyDo() throws {
    let daily = Rotation.Calendar.daily(hour: 2, minute: 30, in: "Europe/Berlin")
    // At 01:00 UTC; the day after at 00:30 UTC.
    #expect(try times(daily, after: Self.noon, 2) == [46800, 46800 + 84600])
  }

  @Test("a time that clocks show twice counts once")
  func aTimeThatClocksShowTwiceCountsOnce() throws {
    let daily = Rotation.Calendar.daily(hour: 2, minute: 30, in: "Europe/Berlin")
    // 00:30 UTC in summer; the day after 01:30 UTC.
    #expect(try times(daily, after: Self.autumnNoon, 2) == [45000, 45000 + 90000])
  }

  @Test("every week means its day") func everyWeekMeansItsDay() throws {
    let weekly = Rotation.Calendar.weekly(on: .monday, hour: 0, in: "Europe/Berlin")
    // Sunday 22:00 UTC.
    #expect(try times(weekly, after: Self.noon, 2) == [122400, 122400 + 604800])
    #expect(try times(.weekly(on: .saturday, hour: 12), after: Self.noon, 1) == [604800])
    #expect(try times(.weekly(on: .thursday), after: -1, 1) == [1], "1970 began on a Thursday")
  }

  // MARK: - The timer

  private func moment(_ wall: Int64, _ elapsed: Int64) -> Moment {
    Moment(wall: Timestamp(seconds: wall), elapsed: UInt64(elapsed * Self.second))
  }

  @Test("size and age whichever comes first and nil turns them off")
  func sizeAndAgeWhicheverComesFirstAndNilTurnsThemOff() {
    var timer = RotationTimer(created: Timestamp(seconds: 1000), now: moment(1000, 50))
    let rotation = Rotation(size: 4096, age: .seconds(60))
    #expect(timer.reason(rotation, size: 4095, now: moment(1059, 109)) == nil)
    #expect(timer.reason(rotation, size: 4096, now: moment(1059, 109)) == .size)
    #expect(timer.reason(rotation, size: 4095, now: moment(1060, 110)) == .age)
    let off = Rotation(size: nil, age: nil)
    #expect(timer.reason(off, size: .max, now: moment(.max / Self.second, 1 << 33)) == nil)
  }

  @Test("a roll resets size and age") func aRollResetsSizeAndAge() {
    let rotation = Rotation(size: 4096, age: .seconds(60))
    var first = RotationTimer(created: Timestamp(seconds: 1000), now: moment(1000, 0))
    #expect(first.reason(rotation, size: 4096, now: moment(1050, 50)) == .size)
    // The timer of the next archive, which is begun then.
    var second = RotationTimer(created: Timestamp(seconds: 1050), now: moment(1050, 50))
    #expect(second.reason(rotation, size: 0, now: moment(1109, 109)) == nil)
    #expect(second.reason(rotation, size: 0, now: moment(1110, 110)) == .age)
  }

  @Test("time in suspend counts and its boundaries are made up for once")
  func timeInSuspendCountsAndItsBoundariesAreMadeUpForOnce() {
    var timer = RotationTimer(created: Timestamp(seconds: Self.noon), now: moment(Self.noon, 0))
    // The machine is suspended for three days: both clocks go on, but the processor's clocks do
    // not.
    let after = moment(Self.noon + 3 * 86400, 3 * 86400)
    #expect(timer.reason(Rotation(size: nil, age: .seconds(86400)), size: 1, now: after) == .age)
    let daily = Rotation(size: nil, age: nil, calendar: .daily())
    #expect(timer.reason(daily, size: 1, now: after) == .calendar)
    // The archive that is begun then is closed at the next midnight only.
    var next = RotationTimer(created: after.wall, now: after)
    #expect(next.reason(daily, size: 1, now: after) == nil)
    let midnight = moment(Self.noon + 3 * 86400 + 43200, 3 * 86400 + 43200)
    #expect(next.reason(daily, size: 1, now: midnight) == .calendar)
  }

  @Test("age counts from the file header across a restart")
  func ageCountsFromTheFileHeaderAcrossARestart() {
    var timer = RotationTimer(created: Timestamp(seconds: 1000), now: moment(1050, 5))
    let rotation = Rotation(size: nil, age: .seconds(60))
    #expect(timer.reason(rotation, size: 1, now: moment(1059, 14)) == nil)
    #expect(timer.reason(rotation, size: 1, now: moment(1060, 15)) == .age)
  }

  @Test("age does not follow a wall clock that is set")
  func ageDoesNotFollowAWallClockThatIsSet() {
    let rotation = Rotation(size: nil, age: .seconds(60))
    let year: Int64 = 31_536_000
    for step in [-year, year] {
      var timer = RotationTimer(created: Timestamp(seconds: 1000), now: moment(1000, 50))
      #expect(timer.reason(rotation, size: 1, now: moment(1000 + step, 109)) == nil, "\(step)")
      #expect(timer.reason(rotation, size: 1, now: moment(1000 + step, 110)) == .age, "\(step)")
    }
    // An archive from the future, after a restart.
    var timer = RotationTimer(created: Timestamp(seconds: year), now: moment(1000, 50))
    #expect(timer.reason(rotation, size: 1, now: moment(1059, 109)) == nil)
    #expect(timer.reason(rotation, size: 1, now: moment(1060, 110)) == .age)
  }

  @Test("a calendar follows the wall clock and a stepped one makes no archive of a year")
  func aCalendarFollowsTheWallClockAndASteppedOneMakesNoArchiveOfAYear() {
    let rotation = Rotation(size: nil, age: nil, calendar: .daily())
    var timer = RotationTimer(created: Timestamp(seconds: Self.noon), now: moment(Self.noon, 0))
    #expect(timer.reason(rotation, size: 1, now: moment(Self.noon + 43199, 43199)) == nil)
    #expect(timer.reason(rotation, size: 1, now: moment(Self.noon + 43200, 43200)) == .calendar)
    // If the clock is set back a year, the archive is closed at the next midnight there.
    let past = Self.noon - 365 * 86400
    #expect(timer.reason(rotation, size: 1, now: moment(past, 1)) == nil)
    #expect(timer.reason(rotation, size: 1, now: moment(past + 43199, 43200)) == nil)
    #expect(timer.reason(rotation, size: 1, now: moment(past + 43200, 43201)) == .calendar)
    // If the clock is set forward a year, it is past midnight.
    let future = Self.noon + 365 * 86400
    #expect(timer.reason(rotation, size: 1, now: moment(future, 1)) == .calendar)
  }

  @Test("a changed limit counts at once") func aChangedLimitCountsAtOnce() {
    var timer = RotationTimer(created: Timestamp(seconds: Self.noon), now: moment(Self.noon, 0))
    let now = moment(Self.noon + 3600, 3600)
    #expect(timer.reason(Rotation(calendar: .daily()), size: 1, now: now) == nil)
    #expect(timer.reason(Rotation(calendar: .hourly()), size: 1, now: now) == .calendar)
    #expect(timer.reason(Rotation(age: .seconds(3600)), size: 1, now: now) == .age)
  }

  // MARK: - Settings

  @Test("limits that cannot be are named") func limitsThatCannotBeAreNamed() {
    #expect(Rotation().problem == nil)
    let wrong: [(Rotation, String)] = [
      (Rotation(size: 0), "4 KiB"), (Rotation(size: 4095), "4 KiB"), (Rotation(size: -1), "4 KiB"),
      (Rotation(age: .milliseconds(999)), "1 second"), (Rotation(age: .seconds(-1)), "1 second"),
      (Rotation(calendar: .daily(hour: 24)), "24:0"),
      (Rotation(calendar: .hourly(minute: 60)), "0:60"),
      (Rotation(calendar: .daily(in: "Atlantis/Capital")), "tzdata"),
    ]
    for (rotation, words) in wrong {
      #expect(rotation.problem?.contains(words) == true, "\(rotation): \(rotation.problem ?? "")")
    }
  }
}
