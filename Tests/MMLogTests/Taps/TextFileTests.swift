import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import MMLogTaps
import Testing
import TestSupport

@Suite("Records in a text file")
struct TextFileTests {
  /// The files of a folder whose names begin as given, the oldest first.
  private func files(_ folder: TemporaryDirectory, _ prefix: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix(prefix) }.sorted {
        ($0 == "log.txt" ? "~" : $0) < ($1 == "log.txt" ? "~" : $1)
      }
  }

  @Test("files are rotated by size, the oldest are removed, and no record is missing in the others")
  func size() throws {
    let folder = TemporaryDirectory()
    let path = folder("log.txt")
    try Data("mine\n".utf8).write(to: URL(fileURLWithPath: folder("log-notes.txt")))
    let test = try TestStore {
      $0.taps = [LogTap(TextFile(path, rotation: .init(size: 4 << 10, age: nil), count: 3))]
    }
    for number in 0..<1000 {
      test.log.info("number \(number)")
      if number % 10 == 0 { try test.store.flush(.archive) }
    }
    try test.store.close()
    let names = try files(folder, "log").filter { $0 != "log-notes.txt" }
    #expect(names.count == 3 && names.last == "log.txt", "\(names)")
    var text = ""
    for name in names {
      let bytes = try folder.bytes(name)
      #expect(bytes.count < 5 << 10)
      text += String(decoding: bytes, as: UTF8.self)
    }
    let numbers = text.split(separator: "\n").compactMap { line in
      line.split(separator: " ").firstIndex(of: "number").flatMap {
        Int(line.split(separator: " ")[$0 + 1])
      }
    }
    #expect(numbers == Array((1000 - numbers.count)..<1000) && numbers.count > 20)
    #expect(try folder.bytes("log-notes.txt") == Array("mine\n".utf8))
  }

  @Test("a file with a relative path stays where it was, wherever the process goes")
  func relativePath() async {
    await #expect(processExitsWith: .success) {
      let (folder, other) = (TemporaryDirectory(), TemporaryDirectory())
      require(chdir(folder.path) == 0)
      var file = TextFile("logs/log.txt", rotation: .init(size: 1, age: nil))
      require(chdir(other.path) == 0)
      for count in 1...2 as ClosedRange<UInt64> { try file.write(missing: count) }
      require(try folder.names("logs").count == 2)
      require(try other.names().isEmpty)
    }
  }

  @Test("a file that is rotated after the clock was set back is the newest, and the oldest goes")
  func clockSetBack() throws {
    let folder = TemporaryDirectory()
    let future = ["29991231T235958.000000000Z", "29991231T235959.999999999Z"]
    for stamp in future { folder.put("log-\(stamp).txt", "from the future") }
    var file = TextFile(folder("log.txt"), rotation: .init(size: 1, age: nil), count: 3)
    for count in 1...3 as ClosedRange<UInt64> { try file.write(missing: count) }
    let names = try files(folder, "log")
    #expect(names.count == 3 && names.last == "log.txt")
    let texts = names.map { Folder.text(folder($0)) }
    #expect(zip(texts, 1...3).allSatisfy { $0.contains("\($1) ") }, "\(names) \(texts)")
  }

  @Test("a rotation that cannot be used is said, and nothing is written")
  func unusableRotation() throws {
    let folder = TemporaryDirectory()
    let unusable: [(Rotation, String)] = [
      (Rotation(size: 0), "rotation.size is 0: it must be at least 1, or nil"),
      (Rotation(age: .zero), "rotation.age is 0.0 seconds: it must be more than zero, or nil"),
      (Rotation(calendar: .hourly(minute: .max)), "there is no time of day 0:\(Int.max)"),
      (
        Rotation(calendar: .daily(in: "No/Where")),
        "there is no time zone \"No/Where\" in the system's database: correct the name, or install "
          + "tzdata"
      ),
    ]
    for (rotation, problem) in unusable {
      var file = TextFile(folder("log.txt"), rotation: rotation)
      let error = #expect(throws: LogError.self) { try file.write(missing: 1) }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.message == "TextFile cannot write: \(problem)")
    }
    #expect(try folder.names().isEmpty)
  }

  @Test("a rotated file that cannot be removed keeps no other")
  func irremovable() throws {
    let folder = TemporaryDirectory()
    let oldest = "log-20200101T000000.000000000Z.txt"
    try FileManager.default.createDirectory(
      atPath: folder(oldest), withIntermediateDirectories: false)
    let test = try TestStore {
      $0.taps = [
        LogTap(TextFile(folder("log.txt"), rotation: .init(size: 1 << 10, age: nil), count: 2))
      ]
    }
    for number in 0..<200 {
      test.log.info("number \(number)")
      if number % 10 == 0 { try test.store.flush(.archive) }
    }
    try test.store.close()
    let names = try files(folder, "log")
    #expect(names.count == 3 && names.contains(oldest) && names.contains("log.txt"), "\(names)")
  }

  @Test("a line that was cut before a restart does not run into the next one")
  func cutBefore() throws {
    let folder = TemporaryDirectory()
    folder.put("log.txt", "whole\ncut")
    for message in ["first", "second"] {
      let test = try TestStore { $0.taps = [LogTap(TextFile(folder("log.txt")))] }
      test.log.info("\(message)")
      try test.store.close()
    }
    let lines = String(decoding: try folder.bytes("log.txt"), as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 5 && lines[..<2] == ["whole", "cut"], "\(lines)")
    #expect(lines[2].contains("first") && lines[3].contains("second") && lines[4].isEmpty)
  }

  @Test("what others append to the file counts to its size")
  func sharedSize() throws {
    let folder = TemporaryDirectory()
    let path = folder("log.txt")
    var file = TextFile(path, rotation: .init(size: 4 << 10, age: nil))
    try file.write(missing: 1)
    let other = try FileHandle(forWritingTo: URL(filePath: path))
    try other.seekToEnd()
    try other.write(contentsOf: Data((String(repeating: "x", count: 5 << 10) + "\n").utf8))
    try file.write(missing: 2)
    let names = try files(folder, "log")
    #expect(names.count == 2)
    #expect(try folder.bytes("log.txt").count < 1000)
  }

  @Test("a file that cannot be renamed goes on, and says so once")
  func unrotated() throws {
    let folder = TemporaryDirectory()
    // With a time in it, the name would be longer than a name may be.
    let name = String(repeating: "n", count: 240)
    for format in [LineFormat.text(colors: .never), .json] {
      var file = TextFile(
        folder(name), as: format, rotation: .init(size: 100, age: nil), mode: 0o600)
      for count in 1...10 as ClosedRange<UInt64> { try file.write(missing: count) }
      let text = String(decoding: try folder.bytes(name), as: UTF8.self)
      let notices = text.split(separator: "\n").filter { $0.contains("ENAMETOOLONG") }
      #expect(text.contains(LogTap.notice(ofMissing: 10)) && notices.count == 1, "\(text)")
      unlink(folder(name))
    }
  }

  @Test("of those that share a file, one rotates it")
  func rotatedOnce() throws {
    let folder = TemporaryDirectory()
    let path = folder("log.txt")
    let rotation = Rotation(size: 100, age: nil)
    var file = TextFile(path, rotation: rotation)
    for count in 1...3 as ClosedRange<UInt64> { try file.write(missing: count) }
    let other = try MMLogSystem.File.open(path, [.read, .write])
    #expect(try other.tryLock())
    let before = try files(folder, "log").count
    for count in 4...9 as ClosedRange<UInt64> { try file.write(missing: count) }
    #expect(try files(folder, "log").count == before)
    try other.unlock()
    try file.write(missing: 10)
    #expect(try files(folder, "log").count == before + 1)
  }

  @Test("a file goes on after a restart, until it is as old as it may be")
  func age() throws {
    let folder = TemporaryDirectory()
    let path = folder("log.txt")
    func log(_ text: String) throws {
      let test = try TestStore {
        $0.taps = [LogTap(TextFile(path, rotation: .init(size: nil, age: .seconds(3600))))]
      }
      test.log.info("\(text, privacy: .public)")
      try test.store.close()
    }
    try log("first")
    try log("second")
    #expect(try files(folder, "log") == ["log.txt"])
    let file = try MMLogSystem.File.open(path, .read)
    let noted = try #require(try file.attribute("user.mmlog.begun"))
    let begun = try #require(Int64(String(decoding: noted, as: UTF8.self)))
    try file.setAttribute("user.mmlog.begun", Array("\(begun - 3_600_000_000_000)".utf8))
    try log("third")
    let names = try files(folder, "log")
    try #require(names.count == 2)
    let texts = try names.map { String(decoding: try folder.bytes($0), as: UTF8.self) }
    #expect(texts[0].contains("first") && texts[0].contains("second") && texts[1].contains("third"))
  }

  @Test("a file that somebody moves away is begun anew, in a directory that was removed, too")
  func moved() throws {
    let folder = TemporaryDirectory()
    let path = folder("logs/log.txt")
    let test = try TestStore { $0.taps = [LogTap(TextFile(path))] }
    func logged(_ text: String) throws -> String {
      test.log.info("\(text, privacy: .public)")
      try test.store.flush(.archive)
      while true {
        let bytes = (try? folder.bytes("logs/log.txt")) ?? []
        let contents = String(decoding: bytes, as: UTF8.self)
        if contents.contains(text) { return contents }
        usleep(1000)
      }
    }
    _ = try logged("first")
    try FileManager.default.moveItem(atPath: path, toPath: folder("logs/log.txt.1"))
    #expect(try !logged("second").contains("first"))
    try FileManager.default.moveItem(atPath: folder("logs"), toPath: folder("moved"))
    #expect(try !logged("third").contains("second"))
    try test.store.close()
  }

  #if DEBUG
    @Test("what a full disk has cut is written again, once there is room, and nothing is missing")
    func fullDisk() async throws {
      let folder = TemporaryDirectory()
      let path = folder("log.txt")
      let test = try TestStore { $0.taps = [LogTap(TextFile(path))] }
      var events = test.store.events.makeAsyncIterator()
      ForcedFault.force(.write, errno: ENOSPC, times: 3, under: path)
      test.log.info("first")
      test.log.info("second")
      try await test.store.flush(.archive)
      while let event = await events.next() { if case .tapFailed = event { break } }
      while let event = await events.next() { if case .tapResumed = event { break } }
      try await test.store.close()
      let lines = String(decoding: try folder.bytes("log.txt"), as: UTF8.self).split(
        separator: "\n")
      #expect(lines.count == 2 && lines[0].contains("first") && lines[1].contains("second"))
    }
  #endif
}
