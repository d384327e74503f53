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
