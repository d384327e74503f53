import Glibc
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite("The settings that a store notes in its directory")
struct StoreSettingsTests {
  private let folder = TemporaryDirectory()

  @Test("what is noted is read back, whatever is set")
  func roundTrip() throws {
    let directory = try Directory.open(folder.path)
    #expect(try StoreSettings(of: "a", in: directory) == nil)
    let calendars: [Rotation.Calendar?] = [
      nil, .hourly(minute: 5), .daily(hour: 3, minute: 30, in: "Europe/Berlin"),
      .weekly(on: .saturday, hour: 23, minute: 59),
    ]
    for (number, calendar) in calendars.enumerated() {
      var settings = StoreSettings(
        rotation: Rotation(
          size: number == 0 ? nil : 4096 * number,
          age: number == 1 ? nil : .seconds(60 * number + 1),
          calendar: calendar))
      settings.retention.count = number == 2 ? 7 : nil
      settings.retention.totalSize = number == 2 ? nil : 1 << 40
      settings.retention.age = number == 3 ? .milliseconds(1500) : nil
      settings.retention.freeSpace = [nil, .bytes(1 << 30), .fraction(0.125), .fraction(1)][number]
      settings.retention.minimumSize = number
      settings.retention.crashes = number
      for store in ["a", "%\u{1}", ".b"] {
        try settings.note(for: store, in: directory)
        #expect(try StoreSettings(of: store, in: directory) == settings)
      }
    }
    #expect(try folder.names() == ["%25%01.settings", "%2Eb.settings", "a.settings"])
  }

  @Test(
    "what cannot be is as if nothing was noted, and what is not known is passed over",
    arguments: [
      ("retention.count 0", nil), ("rotation.size 5", nil), ("retention.crashes -1", nil),
      ("rotation.calendar 3 30 day No/Where", nil), ("retention.freeSpace 1.5", nil),
      ("retention.count 3\nof.later 1\n\u{0}", 3), ("retention.count x", nil),
      ("retention.count 3\nretention.age soon", nil), ("", nil), ("of.later 1", nil),
    ] as [(String, Int??)])
  func hostile(text: String, count: Int??) throws {
    folder.put("a.settings", Array(text.utf8))
    let settings = try StoreSettings(of: "a", in: Directory.open(folder.path))
    #expect(settings.map(\.retention.count) == count)
  }

  @Test("what is no file, or is a link, is not followed")
  func noFile() throws {
    folder.put("elsewhere", Array("retention.count 3".utf8))
    #expect(symlink("elsewhere", folder("a.settings")) == 0)
    try Directory.create(folder("b.settings"))
    let directory = try Directory.open(folder.path)
    for store in ["a", "b"] { #expect(try StoreSettings(of: store, in: directory) == nil) }
  }
}
