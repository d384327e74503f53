import TestSupport
import Testing

@testable import MMLogFormat

@Suite struct UTCTimeTests {
  private let known: [(Int64, String)] = [
    (0, "19700101T000000Z"), (951_782_399, "20000228T235959Z"), (951_782_400, "20000229T000000Z"),
    (951_868_800, "20000301T000000Z"), (1_763_715_600, "20251121T090000Z"),
    (4_107_542_399, "21000228T235959Z"), (4_107_542_400, "21000301T000000Z"),
    (2_147_483_647, "20380119T031407Z"), (-1, "19691231T235959Z"),
    (-2_208_988_800, "19000101T000000Z"),
    (1_709_251_199, "20240229T235959Z"), (1_735_689_599, "20241231T235959Z"),
    (9_223_372_036, "22620411T234716Z"), (-9_223_372_036, "16770921T001244Z"),
  ]

  @Test("known moments have their dates") func knownMomentsHaveTheirDates() {
    for (seconds, text) in known {
      #expect(UTCTime(Timestamp(seconds * 1_000_000_000)).compact == text, "\(seconds)")
    }
  }

  @Test("nanoseconds are counted up also before 1970")
  func nanosecondsAreCountedUpAlsoBefore1970() {
    let before = UTCTime(-1)
    #expect(before.second == 59 && before.nanosecond == 999_999_999 && before.year == 1969)
    let after = UTCTime(1_000_000_001)
    #expect(after.second == 1 && after.nanosecond == 1)
    for extreme in [Int64.min, .max] {
      #expect((0..<1_000_000_000).contains(UTCTime(Timestamp(extreme)).nanosecond))
    }
  }

  @Test("every day follows the one before") func everyDayFollowsTheOneBefore() {
    var (year, month, day) = (1900 as Int64, 1 as Int64, 1 as Int64)
    var wrong: [Int64] = []
    for number in -25567..<62091 as Range<Int64> {
      let time = UTCTime(Timestamp(number * 86_400_000_000_000))
      if (time.year, time.month, time.day) != (year, month, day) { wrong.append(number) }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > days[Int(month) - 1] { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(wrong == [] && (year, month, day) == (2140, 1, 1))
  }

  @Test("quotients are rounded down") func quotientsAreRoundedDown() {
    #expect((7 as Int64).flooredQuotient(by: 2) == 3 && (-7 as Int64).flooredQuotient(by: 2) == -4)
    #expect((-8 as Int64).flooredQuotient(by: 2) == -4 && (0 as Int64).flooredQuotient(by: 5) == 0)
  }
}
