import Glibc
import MMLog
import MMLogSystem
import TestSupport
import Testing

@Suite("A program that closes all descriptors")
struct ClosedDescriptorTests {
  /// The descriptors of this process that open something in a folder, or the folder.
  private static func descriptors(in folder: String) -> [CInt] {
    (3..<1024).filter { number in
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlink("/proc/self/fd/\(number)", &target, target.count)
      let path = target.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
      return String(decoding: path, as: UTF8.self).hasPrefix(folder)
    }
  }

  @Test(
    "records go on, and another file that has a number by now stays as it is",
    arguments: [false, true])
  func archives(isReused: Bool) async {
    await #expect(processExitsWith: .success) { [isReused = isReused as Bool] in
      let test = try TestStore()
      let other = TemporaryDirectory()
      other.put("own", "my own file")
      let own = open(other("own"), O_RDWR)
      test.log.info("first")
      try test.store.blockingFlush(.archive)
      let numbers = Self.descriptors(in: test.folder.path)
      require(numbers.count >= 2, "\(numbers)")
      for number in numbers {
        if isReused { require(dup2(own, number) == number) } else { close(number) }
      }

      #if DEBUG
        let first = test.folder(try test.folder.names(ending: ".mmlog")[0])
        ForcedFault.force(.fdatasync, errno: EIO, onCall: .max, under: first)
      #endif
      test.log.info("second")
      try test.store.blockingFlush(.disk)
      #if DEBUG
        require(ForcedFault.passed(.fdatasync, under: first) == 1)
      #endif
      test.log.info("third")
      try test.store.blockingClose()

      let contents = Contents(test.folder.path)
      require(contents.messages == ["first", "second", "third"], "\(contents)")
      require(other.contents("own") == Array("my own file".utf8))
      if isReused { require(numbers.allSatisfy { fcntl($0, F_GETFD) != -1 }) }
    }
  }
}
