import Glibc
import MMLog
import MMLogStorage
import MMLogSystem
import MMLogTaps
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
      let (events, other) = (test.store.events, TemporaryDirectory())
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
      let archives = try Catalog(of: test.folder.path, store: nil).scan()
      require(archives.count == 2 && archives.allSatisfy(\.isSealed), "\(archives)")
      var sealed: [UInt32] = []
      for await event in events {
        if case .sealed(let archive) = event { sealed.append(archive.number) }
      }
      require(sealed == [1, 2], "\(sealed)")
      require(other.contents("own") == Array("my own file".utf8))
      if isReused { require(numbers.allSatisfy { fcntl($0, F_GETFD) != -1 }) }
    }
  }

  @Test(
    "the ring is gone on with, and grows into no other file that has its number by now",
    arguments: [false, true])
  func ring(isReused: Bool) async {
    await #expect(processExitsWith: .success) { [isReused = isReused as Bool] in
      let test = try TestStore {
        $0.ringSize = 1 << 20
        $0.dictionarySize = 8192
      }
      let (events, other) = (test.store.events, TemporaryDirectory())
      other.put("own", "my own file")
      let own = open(other("own"), O_RDWR)
      for number in Self.descriptors(in: test.folder.path) {
        if isReused { require(dup2(own, number) == number) } else { close(number) }
      }
      var texts: [String] = []
      func log(_ count: Int) throws {
        for _ in 0..<count {
          let text = "text \(texts.count)"
          let place = Logger.SourceLocation(
            file: "\(text).swift", function: "", line: UInt32(texts.count))
          test.log.log(level: .info, text: text, at: place)
          texts.append(text)
        }
        try test.store.blockingFlush(.archive)
      }
      // More than the dictionary has space for, and for longer than the ring goes unchecked.
      for _ in 0..<10 { try log(30) }
      let begun = Clock.monotonic()
      while Clock.monotonic() - begun < 2_000_000_000 { try log(1) }
      try test.store.blockingClose()

      for await event in events {
        if case .failed(let error) = event { require(false, "\(error)") }
      }
      let contents = Contents(test.folder.path)
      require(contents.messages == texts, "\(contents)")
      require(other.contents("own") == Array("my own file".utf8))
      require(try test.folder.names(ending: ".ring").isEmpty)
    }
  }

  @Test(
    "a child of fork keeps another file that has a number of the store's by now",
    .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
  func child() async {
    await #expect(processExitsWith: .success) {
      let (test, other) = (try TestStore(), TemporaryDirectory())
      test.log.info("first")
      try test.store.blockingFlush(.archive)
      other.put("own", "")
      let own = open(other("own"), O_RDWR)
      let numbers = Self.descriptors(in: test.folder.path)
      for number in numbers { require(dup2(own, number) == number) }
      let child = forkProcess()
      if child == 0 {
        for number in numbers { if write(number, "x", 1) != 1 { _exit(1) } }
        _exit(0)
      }
      require(waitFor(child) == 0)
      require(other.contents("own")?.count == numbers.count)
    }
  }

  @Test("taps open theirs anew, and another file that has a number by now stays as it is")
  func taps() async {
    await #expect(processExitsWith: .success) {
      let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
      let receiver = try TestReceiver(path: folder("socket"))
      let used = Set((0..<1024).filter { fcntl($0, F_GETFD) != -1 })
      var file = TextFile(folder("log.txt"))
      var syslog = Syslog(to: .local(path: folder("socket")))
      try file.write(missing: 1)
      try syslog.write(missing: 1)
      let numbers = (3..<1024).filter { !used.contains($0) && fcntl($0, F_GETFD) != -1 }
      require(numbers.count >= 2, "\(numbers)")
      other.put("own", "my own file")
      let own = open(other("own"), O_RDWR)
      for number in numbers { require(dup2(own, number) == number) }
      try file.write(missing: 2)
      try syslog.write(missing: 2)

      require(other.contents("own") == Array("my own file".utf8))
      require(numbers.allSatisfy { fcntl($0, F_GETFD) != -1 })
      let lines = try folder.bytes("log.txt").split(separator: UInt8(ascii: "\n"))
      require(lines.count == 2 && receiver.stop().count == 2, "\(lines.count)")
    }
  }
}
