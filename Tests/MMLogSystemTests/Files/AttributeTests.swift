import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Extended attributes", .enabled(if: attributesAreSupported()))
struct AttributeTests {
  let folder = TemporaryDirectory()

  @Test("an attribute is set, replaced, read and removed")
  func roundTrip() throws {
    let file = try File.open(folder.put("file"), .write)
    #expect(try file.attribute("user.mmlog.state") == nil)
    try file.setAttribute("user.mmlog.state", Array("sealed".utf8))
    #expect(try file.attribute("user.mmlog.state") == Array("sealed".utf8))
    try file.setAttribute("user.mmlog.state", [])
    #expect(try file.attribute("user.mmlog.state") == [])
    try file.removeAttribute("user.mmlog.state")
    #expect(try file.attribute("user.mmlog.state") == nil)
  }

  @Test("removing an attribute that is not there is fine")
  func removeAbsent() throws {
    let file = try File.open(folder.put("file"), .write)
    try file.removeAttribute("user.mmlog.state")
    #expect(try file.attribute("user.mmlog.state") == nil)
  }

  #if DEBUG
    @Test("an attribute that grows between its two calls is read again")
    func grows() throws {
      let file = try File.open(folder.put("file"), .write)
      try file.setAttribute("user.mmlog.state", [1, 2, 3])
      ForcedFault.force(.fgetxattr, errno: ERANGE, onCall: 2, under: folder.path)
      #expect(try file.attribute("user.mmlog.state") == [1, 2, 3])
    }
  #endif
}

/// Whether the file system that holds temporary files has extended attributes for users.
private func attributesAreSupported() -> Bool {
  let folder = TemporaryDirectory()
  return failure {
    try File.open(folder.put("file"), .write).setAttribute("user.mmlog.x", [1])
  } == nil
}
