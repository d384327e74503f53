import Glibc
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct ConsumerFileTests {
  private let fixture = Fixture()

  #if DEBUG
    @Test("an error of a file that was made larger has the path of the file")
    func anErrorHasThePathOfTheFile() throws {
      let directory = try fixture.directory()
      var consumer = try ConsumerFile("ship", in: directory)
      ForcedFault.force(.pwrite, errno: EIO, under: fixture.folder.path)
      var path = ""
      do { try consumer?.write("state", isSafe: false, in: directory) } catch { path = error.path }
      #expect(path == fixture.folder("ship.consumer"))
    }
  #endif
}
