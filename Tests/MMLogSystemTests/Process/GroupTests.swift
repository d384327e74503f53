import Glibc
import MMLogSystem
import Testing

/// Groups of users, by name and by number.
@Suite struct GroupTests {
  @Test("a group is found by its name and by its number") func groupIsFound() throws {
    #expect(Groups.number(of: "root") == 0)
    #expect(Groups.number(of: "0") == 0)
    #expect(Groups.number(of: "12345678") == 12_345_678)
  }

  @Test(
    "what no group is called has no number",
    arguments: ["", "no such group", "-1", "4294967295", "4294967296", "root\u{0}"])
  func noGroup(name: String) { #expect(Groups.number(of: name) == nil) }
}
