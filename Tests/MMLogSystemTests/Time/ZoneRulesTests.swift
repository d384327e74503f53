import Foundation
import MMLogSystem
import Testing

@Suite struct ZoneRulesTests {
  private static let zones = [
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Europe/Dublin",
    "Africa/Casablanca", "America/Santiago", "Pacific/Apia", "Asia/Tokyo",
  ]

  /// Another implementation answers the same, at the hour of every day for forty years, past the
  /// last that is listed.
  @Test("offsets are those of foundation", arguments: zones)
  func offsetsAreThoseOfFoundation(name: String) throws {
    let rules = try #require(ZoneRules(named: name))
    let zone = try #require(TimeZone(identifier: name))
    for day in 0..<(60 * 366) {
      let moment = Int64(631_152_000 + day * 86400 + day % 24 * 3600)
      // Foundation's own data ends in 2037.
      if moment > 2_145_916_800 { break }
      let date = Date(timeIntervalSince1970: Double(moment))
      #expect(
        rules.offset(at: moment) == Int64(zone.secondsFromGMT(for: date)), "\(name) at \(moment)")
    }
  }

  @Test("the yearly rule holds for ever") func theYearlyRuleHoldsForEver() throws {
    let berlin = try #require(ZoneRules(named: "Europe/Berlin"))
    // 1 July and 1 January 2490.
    #expect(berlin.offset(at: 16_425_374_400) == 7200)
    #expect(berlin.offset(at: 16_409_692_800) == 3600)
    // 5 July and 1 January 9999, and 1 July 12490: 25 times 400 years later.
    #expect(berlin.offset(at: 253_386_748_800) == 7200)
    #expect(berlin.offset(at: 253_370_764_800) == 3600)
    #expect(berlin.offset(at: 16_425_374_400 + 25 * 146_097 * 86400) == 7200)
    #expect(berlin.offset(at: .max) == 3600 || berlin.offset(at: .max) == 7200)
  }

  @Test("a time is shown once twice or skipped") func aTimeIsShownOnceTwiceOrSkipped() throws {
    let berlin = try #require(ZoneRules(named: "Europe/Berlin"))
    // 2026-07-01 02:30; 2026-10-25 02:30, twice; 2026-03-29 02:30, not at all: at 01:00 UTC clocks
    // go forward.
    #expect(berlin.moments(showing: 1_782_873_000) == [1_782_865_800])
    #expect(berlin.moments(showing: 1_792_895_400) == [1_792_888_200, 1_792_891_800])
    #expect(berlin.moments(showing: 1_774_751_400) == [1_774_746_000])
  }

  @Test("a whole day can be skipped") func aWholeDayCanBeSkipped() throws {
    let apia = try #require(ZoneRules(named: "Pacific/Apia"))
    // There was no 30 December 2011 in Samoa: at 10:00 UTC it was the 31st.
    #expect(apia.moments(showing: 1_325_246_400) == [1_325_239_200])
  }

  @Test("what is no zone is refused") func whatIsNoZoneIsRefused() throws {
    #expect(ZoneRules(named: "UTC") == .utc)
    for name in ["", "Nowhere/Land", "../../etc/passwd", "Europe", "zone.tab"] {
      #expect(ZoneRules(named: name) == nil, "\(name)")
    }
  }

  @Test("a corrupted file is refused or read and never a trap")
  func aCorruptedFileIsRefusedOrReadAndNeverATrap() throws {
    let whole = Array(
      try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/Europe/Berlin")))
    #expect(ZoneRules(file: whole) != nil)
    for count in 0..<whole.count - 1 {
      _ = ZoneRules(file: Array(whole.prefix(count)))?.offset(at: 4_000_000_000)
    }
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 1 << (index % 8)
      let moments = ZoneRules(file: bytes)?.moments(showing: 1_774_751_400)
      #expect(moments?.isEmpty != true, "bit of byte \(index)")
    }
  }
}
