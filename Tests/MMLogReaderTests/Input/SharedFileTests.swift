import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import TestSupport
import Testing

/// Files with archives of several sessions, with corruption where an archive begins.
@Suite struct SharedFileTests {
  private let folder = TemporaryDirectory()
  private let logs = (1...3).map { TestLog(session: UInt64($0)) }
  private var file: [UInt8]
  /// Where each archive begins, and where the last one ends.
  private let starts: [Int]

  /// The records of the sessions are `1a`, `1b`, `1c`, `2a` and so on.
  init() {
    var starts = [0]
    for (index, log) in logs.enumerated() {
      log.identity.processName = "service\(index + 1)"
      for (place, letter) in ["a", "b", "c"].enumerated() {
        log.write("\(index + 1)\(letter)", ticks: UInt64(index * 1000 + place))
        log.archive()
      }
      log.close()
      starts.append(starts[index] + log.archives[0].count)
    }
    file = logs.flatMap { $0.archives[0] }
    self.starts = starts
  }

  private func read() -> Reading {
    folder.put("shared.mmlog", file)
    return Reading([folder.path])
  }

  private static func messages(_ session: Int) -> [String] {
    ["a", "b", "c"].map { "\(session)\($0)" }
  }
  private let all = (1...3).flatMap(Self.messages)

  private func isRightlyAttributed(_ reading: Reading) -> Bool {
    reading.records.allSatisfy {
      $0.session.id == logs[Int($0.message.prefix(1)).map { $0 - 1 } ?? 0].identity.session
    }
  }

  @Test("an intact file has no corruption") func anIntactFileHasNoCorruption() {
    let reading = read()
    #expect(reading.messages == all && reading.corruption.isEmpty && isRightlyAttributed(reading))
  }

  @Test("a bad sector over trailer and file header costs no record")
  mutating func aBadSectorOverTrailerAndFileHeaderCostsNoRecord() {
    file.replaceSubrange(
      starts[1] - 100..<starts[1] + 412, with: [UInt8](repeating: 0xA5, count: 512))
    let reading = read()
    #expect(reading.messages == all && isRightlyAttributed(reading))
    #expect(reading.corruption.contains { ($0.offset..<$0.offset + $0.size).contains(starts[1]) })
    #expect(reading.unreadable.isEmpty)
  }

  @Test("eight bad bytes in a file header hide no session")
  mutating func eightBadBytesInAFileHeaderHideNoSession() {
    for offset in 0..<8 { file[starts[1] + 40 + offset] ^= 0xFF }
    let reading = read()
    #expect(reading.messages == all && isRightlyAttributed(reading))
    #expect(
      reading.corruption.map(\.offset) == [starts[1]] && reading.corruption.map(\.size) == [512])
    #expect(reading.corruption.first?.what.contains("file header") == true)
    #expect(reading.records.dropFirst(3).first?.session.identity.processName == "")
  }

  @Test("the identity behind a lost file header is taken from other files of its session")
  mutating func theIdentityBehindALostFileHeaderIsTakenFromOtherFilesOfItsSession() {
    for offset in 0..<8 { file[starts[1] + offset] = 0 }
    folder.put("test.\(logs[1].identity.session).ring", logs[1].ring)
    let reading = read()
    #expect(reading.messages == all)
    #expect(reading.records.dropFirst(3).first?.session.identity.processName == "orders")
  }

  @Test("one wrong bit in a file header is corrected")
  mutating func oneWrongBitInAFileHeaderIsCorrected() {
    file[starts[1] + 2] ^= 4
    let reading = read()
    #expect(reading.messages == all && isRightlyAttributed(reading))
    #expect(reading.records.dropFirst(3).first?.session.identity.processName == "service2")
    #expect(reading.corruption.map(\.offset) == [starts[1]])
  }

  @Test(
    "frames behind an unreadable first file header are read", arguments: [0..<8, 40..<48, 0..<512])
  mutating func framesBehindAnUnreadableFirstFileHeaderAreRead(bad: Range<Int>) {
    for offset in bad { file[offset] ^= 0x3C }
    let reading = read()
    #expect(reading.unreadable.isEmpty && reading.messages == all && isRightlyAttributed(reading))
    #expect(reading.corruption.map(\.offset) == [0] && reading.corruption.map(\.size) == [512])
  }

  @Test("what follows the last trailer and is no file header is reported")
  mutating func whatFollowsTheLastTrailerAndIsNoFileHeaderIsReported() {
    let end = file.count
    file += [UInt8](repeating: 0x77, count: 600)
    let reading = read()
    #expect(reading.messages == all)
    #expect(reading.corruption.map(\.offset) == [end] && reading.corruption.map(\.size) == [600])
  }

  @Test("a block of another archive in the middle costs what it covers")
  mutating func aBlockOfAnotherArchiveInTheMiddleCostsWhatItCovers() {
    // Copies the second archive's beginning, with the file header, over frames of the third
    // archive.
    let block = file[starts[1]..<starts[1] + 512 + 400]
    let place = starts[2] + 512 + 64
    file.replaceSubrange(place..<place + block.count, with: block)
    let reading = read()
    #expect(Set(reading.messages).count == reading.messages.count && isRightlyAttributed(reading))
    #expect(Set(all).subtracting(reading.messages).allSatisfy { $0.hasPrefix("3") })
    #expect(reading.messages.contains("3c"))
    #expect(!reading.corruption.isEmpty)
  }

  /// The frames of the archive of a session.
  private func frames(_ session: Int) throws -> [ArchiveFileFrame] {
    try ArchiveFileFrame.all(logs[session - 1].archives[0].dropLast(TrailerLayout.size))
  }

  @Test("a block of frames of another archive hides no frame behind it")
  mutating func aBlockOfFramesOfAnotherArchiveHidesNoFrameBehindIt() throws {
    let (copied, covered) = (try frames(2).suffix(3).map(\.offset), try frames(3).map(\.offset))
    // Two whole frames, and the beginning of the index, which says that it is longer.
    let block = file[starts[1] + copied[0]..<starts[1] + copied[2] + FrameLayout.size]
    let place = starts[2] + covered[0]
    file.replaceSubrange(place..<place + block.count, with: block)
    let reading = read()
    // Every second frame has a record.
    let left = zip(Self.messages(3), [1, 3, 5]).filter { covered[$1] >= covered[0] + block.count }
    #expect(!left.isEmpty && reading.messages == Array(all.prefix(6)) + left.map(\.0))
    #expect(isRightlyAttributed(reading))
  }

  @Test("a trailer in a wrong place ends no archive")
  mutating func aTrailerInAWrongPlaceEndsNoArchive() throws {
    let place = starts[2] + (try frames(3)[2].offset)
    let trailer = file.suffix(TrailerLayout.size)
    // Its own place has never been written.
    file.replaceSubrange(file.count - trailer.count..<file.count, with: repeatElement(0, count: 80))
    file.insert(contentsOf: trailer, at: place)
    let reading = read()
    #expect(reading.messages == all && isRightlyAttributed(reading))
    #expect(reading.corruption.contains { ($0.offset..<$0.offset + $0.size).contains(place) })
  }

  @Test("a repair has each record in its session")
  mutating func aRepairHasEachRecordInItsSession() throws {
    file.replaceSubrange(
      starts[1] - 100..<starts[1] + 412, with: [UInt8](repeating: 0xA5, count: 512))
    folder.put("shared.mmlog", file)
    let out = folder("out")
    _ = try LogRepair.write(LogFiles([.path(folder.path)]), to: out)
    let reading = Reading([out])
    let own = reading.records.filter { $0.label != "mmlog.repair" }
    #expect(own.map(\.message) == all && reading.corruption.isEmpty)
    #expect(own.allSatisfy { $0.session.id.description.hasPrefix("0\($0.message.prefix(1))") })
  }

  @Test("verifying agrees") mutating func verifyingAgrees() {
    for offset in 0..<8 { file[starts[1] + 40 + offset] ^= 0xFF }
    let reading = read()
    let verified = LogFiles([.path(folder.path)]).verify().flatMap(\.corruption)
    #expect(verified == reading.corruption)
  }
}
