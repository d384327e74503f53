import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

@Suite("Times as people write them") struct TimeArgumentTests {
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
