import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

@Suite("Times as people write them") struct TimeArgumentTests {
  /// 2026-11-22T10:00:00Z
  private let now = Timestamp(nanosecondsSince1970: 1_795_341_600_000_000_000)

  @Test(
    "each form is read",
    arguments: [
      ("now", "2026-11-22T10:00:00"), ("today", "2026-11-22T00:00:00"),
      ("yesterday", "2026-11-21T00:00:00"),
      ("15m", "2026-11-22T09:45:00"), ("-15m", "2026-11-22T09:45:00"),
      ("15 min", "2026-11-22T09:45:00"), ("10 min ago", "2026-11-22T09:50:00"),
      ("10minutes ago", "2026-11-22T09:50:00"), ("1h 30min", "2026-11-22T08:30:00"),
      ("1h30m", "2026-11-22T08:30:00"), ("1 hour 1 sec ago", "2026-11-22T08:59:59"),
      ("2d", "2026-11-20T10:00:00"), ("1w", "2026-11-15T10:00:00"), ("0s", "2026-11-22T10:00:00"),
      ("15:00", "2026-11-22T15:00:00"), ("9:05:30", "2026-11-22T09:05:30"),
      ("9:05:30.25", "2026-11-22T09:05:30.25"), ("today 09:00", "2026-11-22T09:00:00"),
      ("yesterday 15:00", "2026-11-21T15:00:00"),
      ("@1795361907", "2026-11-22T15:38:27"), ("@1795361907.25", "2026-11-22T15:38:27.25"),
      ("@0", "1970-01-01T00:00:00"), ("2026-11-21", "2026-11-21T00:00:00"),
      ("2026-11-21 09:00", "2026-11-21T09:00:00"), ("2026-11-21T09:00:30", "2026-11-21T09:00:30"),
      ("2026-11-21T09:00:30,5", "2026-11-21T09:00:30.5"),
      ("2026-11-21T09:00:00.123456789Z", "2026-11-21T09:00:00.123456789"),
      ("2026-11-21t09:00z", "2026-11-21T09:00:00"),
      ("2026-11-21T09:00+01:00", "2026-11-21T08:00:00"),
      ("2026-11-21T09:00-0530", "2026-11-21T14:30:00"),
      ("2026-11-21T09:00+01", "2026-11-21T08:00:00"), ("2024-02-29", "2024-02-29T00:00:00"),
    ])
  func forms(text: String, expected: String) throws {
    let time = try #require(timeArgument(text, zone: .utc, now: now))
    let parts = expected.split(separator: ".")
    let fraction = (parts.count > 1 ? String(parts[1]) : "")
    let digits = fraction + String(repeating: "0", count: 9 - fraction.count)
    #expect("\(time)" == "\(parts[0]).\(digits)Z")
  }

  @Test(
    "what is no time is refused",
    arguments: [
      "", " ", "-", "ago", "15", "15 parsecs", "15m 3", "m", "24:00", "23:60", "12", "12:5",
      "tomorrow", "yesterday 24:00", "yesterday15:00", "2026-02-30", "2026-13-01", "2026-00-01",
      "2025-02-29", "26-11-21", "2026-11-21T", "2026-11-21T9", "2026-11-21T24:00",
      "2026-11-21T09:00:00.", "2026-11-21T09:00+24", "2026-11-21T09:00+01:60",
      "2026-11-21T09:00ZZ", "2026-11-21 09:00 ", "@", "@1.", "@99999999999", "@-1", "9999-12-31",
      "1000000001s", "999999999w",
    ])
  func noTimes(text: String) { #expect(timeArgument(text, zone: .utc, now: now) == nil) }

  @Test("the time when the machine was started is known") func boot() throws {
    let boot = try #require(timeArgument("boot", zone: .utc, now: now))
    #expect(boot > Timestamp(nanosecondsSince1970: 0) && boot < .now)
  }

  /// 2025-10-26, when clocks were set back from 1:00 to 0:00 in the night.
  @Test("a day begins at the first of two midnights") func firstOfTwoMidnights() async {
    await #expect(processExitsWith: .success) {
      require(LocalTime.setZone("Atlantic/Azores"))
      let midnight = Timestamp(nanosecondsSince1970: 1_761_436_800_000_000_000)
      for (text, hours) in [
        ("today", 1), ("today", 20), ("today 00:00", 20), ("yesterday", 30),
        ("yesterday 00:00", 30),
      ] {
        let now = midnight + .seconds(hours * 3600)
        require(timeArgument(text, zone: .local, now: now) == midnight)
      }
    }
  }
}
