import MMLogFormat
import MMLogStorage
import TestSupport
import Testing

@Suite struct FileNameTests {
  private let session = SessionID(words: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
  private let digits = "000102030405060708090a0b0c0d0e0f"
  private static let stores = [
    "orders", "a", "with.dot", "with-dash", "a-b-c", "20251121T090000Z", "größe", "a b", "x.ring",
    "-", "-a",
    // These form one character with a slash before them, or with a dot behind them.
    "\u{301}x", "\u{200D}x", "x\u{600}",
    String(repeating: "n", count: 100),
  ]

  @Test("a name is taken apart as it was made", arguments: stores)
  func aNameIsTakenApartAsItWasMade(store: String) throws {
    let ring = FileNames.Ring(store: store, session: session)
    #expect(ring.fileName == "\(store).\(digits).ring")
    takeApart(store)
  }

  @Test(
    "what does not suit a file name is escaped",
    arguments: [
      (".", "%2E"), ("..", "%2E."), (".a", "%2Ea"), ("a\nb", "a%0Ab"), ("\u{7F}", "%7F"),
      ("a\u{9B}", "a%C2%9B"), ("100%", "100%25"), ("%41", "%2541"),
    ])
  func whatDoesNotSuitAFileNameIsEscaped(store: String, escaped: String) {
    let ring = FileNames.Ring(store: store, session: session)
    #expect(ring.fileName == "\(escaped).\(digits).ring")
    #expect(FileNames.problem(withStoreName: store) == nil)
    takeApart(store)
  }

  @Test(
    "an escape that we would not write is not ours",
    arguments: ["%", "%4", "%41", "%2e", "%0a", "a%FFb", "%GG", "%+1", "a%2E"])
  func anEscapeThatWeWouldNotWriteIsNotOurs(store: String) {
    #expect(FileNames.Ring(fileName: "\(store).\(digits).ring") == nil)
    let archive = "\(store)-20251121T090000Z-\(digits)-000001.mmlog"
    #expect(FileNames.Archive(fileName: archive) == nil)
  }

  private func takeApart(_ store: String) {
    let ring = FileNames.Ring(store: store, session: session)
    #expect(FileNames.Ring(fileName: ring.fileName) == ring)
    for number in [1, 999_999, 1_000_000, .max] as [UInt32] {
      let archive = FileNames.Archive(
        store: store, created: 1_763_715_600_999_999_999, session: session, number: number)
      #expect(FileNames.Archive(fileName: archive.fileName) == archive)
    }
  }

  @Test("an archives name is as the format says") func anArchivesNameIsAsTheFormatSays() {
    let archive = FileNames.Archive(
      store: "orders", created: 1_763_715_600_000_000_000, session: session, number: 7)
    #expect(archive.fileName == "orders-20251121T090000Z-\(digits)-000007.mmlog")
  }

  @Test("others names are not ours") func othersNamesAreNotOurs() {
    for name in [
      "", ".ring", "orders.ring", "orders.\(digits)", "orders.\(digits).ring.new",
      ".\(digits).ring",
      "orders.\(digits.uppercased()).ring", "orders\(digits).ring", "orders.\(digits)0.ring",
    ] {
      #expect(FileNames.Ring(fileName: name) == nil, "\(name)")
    }
    for name in [
      "", ".mmlog", "orders.mmlog", "-20251121T090000Z-\(digits)-000001.mmlog",
      "orders-20251121T090000-\(digits)-000001.mmlog", "orders-20251121T090000Z-\(digits).mmlog",
      "orders-20251121T090000Z-\(digits)-.mmlog",
      "orders-20251121T090000Z-\(digits)-4294967296.mmlog",
      "orders-20251121T090000Z-\(digits)-000001.mmlog.new",
      "orders-20251121T090000Z-\(digits)-00000x.mmlog", "orders-x-\(digits)-000001.mmlog",
    ] {
      #expect(FileNames.Archive(fileName: name) == nil, "\(name)")
    }
  }

  @Test("good store names have no problem", arguments: stores)
  func goodStoreNamesHaveNoProblem(name: String) {
    #expect(FileNames.problem(withStoreName: name) == nil)
  }

  @Test("bad store names have one") func badStoreNamesHaveOne() {
    for name in [
      "", "a/b", "/", "a\0", String(repeating: "é", count: 51), String(repeating: "\n", count: 54),
    ] {
      #expect(FileNames.problem(withStoreName: name) != nil, "\(name.debugDescription)")
    }
  }
}

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
