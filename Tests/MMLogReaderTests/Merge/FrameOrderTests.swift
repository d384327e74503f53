import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// Frames that are missing, repeated, swapped or overwritten.
@Suite struct FrameOrderTests {
  let log = TestLog()

  /// Writes pairs of frames: one of call sites, and one of one record. Their ordinals are 0 and 1,
  /// 2 and 3, and so on.
  init() {
    log.writesRing = false
    for (index, text) in ["a", "b", "c", "d"].enumerated() {
      log.write(text, ticks: UInt64(index + 1) * 100)
      log.archive()
    }
  }

  private func frames() throws -> [Range<Int>] {
    try ArchiveFileFrame.all(log.archives[0]).map { $0.offset..<$0.offset + $0.size }
  }

  private func remove(_ ordinals: ClosedRange<Int>) throws {
    let frames = try frames()
    log.archives[0].removeSubrange(
      frames[ordinals.lowerBound].lowerBound..<frames[ordinals.upperBound].upperBound)
  }

  private func replace(_ ordinal: Int, by other: [UInt8]) throws {
    log.archives[0].replaceSubrange(try frames()[ordinal], with: other)
  }

  private func bytes(of ordinal: Int) throws -> [UInt8] {
    Array(log.archives[0][try frames()[ordinal]])
  }

  /// What reading and verifying found. Both have to find the same.
  private func read() -> Reading {
    let reading = log.read()
    let verified = LogFiles([.path(log.folder.path)]).verify().flatMap(\.corruption)
    #expect(verified == reading.corruption)
    return reading
  }

  @Test(
    "missing frames are reported",
    arguments: [
      (3...3, ["a", "c", "d"], "frame 3 is missing"),
      (3...5, ["a", "d"], "frames 3 to 5 are missing"),
      (0...1, ["b", "c", "d"], "frames 0 to 1 are missing"),
    ])
  func missingFramesAreReported(
    ordinals: ClosedRange<Int>, left: [String], what: String
  ) throws {
    let place = try frames()[ordinals.lowerBound].lowerBound
    try remove(ordinals)
    let reading = read()
    #expect(reading.messages == left)
    #expect(reading.corruption.map(\.what) == [what])
    #expect(reading.corruption.map(\.offset) == [place] && reading.corruption.map(\.size) == [0])
  }

  @Test("frames that are missing before the trailer are reported")
  func framesThatAreMissingBeforeTheTrailerAreReported() throws {
    let frames = try frames()
    log.close()
    log.archives[0].removeSubrange(frames[6].lowerBound..<frames[7].upperBound)
    #expect(!read().corruption.isEmpty)
  }

  @Test("a repeated frame is printed once") func aRepeatedFrameIsPrintedOnce() throws {
    let copy = try bytes(of: 3)
    let place = try frames()[4].lowerBound
    log.archives[0].insert(contentsOf: copy, at: place)
    let reading = read()
    #expect(reading.messages == ["a", "b", "c", "d"])
    #expect(
      reading.corruption.map(\.offset) == [place] && reading.corruption.map(\.size) == [copy.count])
  }

  @Test("of a repeated frame the intact one counts")
  func ofARepeatedFrameTheIntactOneCounts() throws {
    let frames = try frames()
    log.archives[0].insert(contentsOf: try bytes(of: 3), at: frames[4].lowerBound)
    log.corruptArchive(at: frames[3].upperBound - 12)
    let reading = read()
    #expect(reading.messages == ["a", "b", "c", "d"])
    #expect(reading.corruption.map(\.offset) == [frames[3].lowerBound])
  }

  @Test("swapped frames are read in their order and reported")
  func swappedFramesAreReadInTheirOrderAndReported() throws {
    let (third, fifth) = (try bytes(of: 3), try bytes(of: 5))
    try replace(3, by: fifth)
    try replace(5, by: third)
    let reading = read()
    #expect(reading.messages == ["a", "b", "c", "d"])
    #expect(
      reading.corruption.map(\.what) == [4, 3].map { "frame \($0) stands behind later ones" })
  }

  @Test("a frame under a copy of another is missing and the other is printed once")
  func aFrameUnderACopyOfAnotherIsMissingAndTheOtherIsPrintedOnce() throws {
    try replace(5, by: try bytes(of: 3))
    let reading = read()
    #expect(reading.messages == ["a", "b", "d"])
    #expect(reading.corruption.contains { $0.what.contains("frame 5 is missing") })
  }

  /// A block is in the wrong place: the size that its header claims is not true here.
  @Test("what stands behind the beginning of a repeated frame is read")
  func whatStandsBehindTheBeginningOfARepeatedFrameIsRead() throws {
    let frames = try frames()
    log.write(String(repeating: "long", count: 500), ticks: 500)
    log.archive()
    let long = try ArchiveFileFrame.all(log.archives[0])[9].offset
    let header = log.archives[0][long..<long + frames[5].count]
    log.archives[0].replaceSubrange(frames[5], with: header)
    let reading = read()
    #expect(reading.messages.map(\.first) == ["a", "b", "d", "l"])
    #expect(reading.corruption.count == 1)
  }

  @Test("the same part of the ring is printed once")
  func theSamePartOfTheRingIsPrintedOnce() throws {
    let start = log.archives[0].count
    log.archives[0] += try bytes(of: 3)
    log.archives[0].withUnsafeMutableBytes { $0.store(UInt64(8), start + FrameLayout.ordinal) }
    ArchiveFileFrame.resign(&log.archives[0], at: start)
    let reading = read()
    #expect(reading.messages == ["a", "b", "c", "d"])
    #expect(reading.corruption.map(\.offset) == [start])
  }

  @Test("a follower reports them too") func aFollowerReportsThemToo() throws {
    try remove(3...3)
    log.save()
    let follower = LogFollower(paths: [log.folder.path])
    var (messages, corruption) = ([String](), [LogReader.Corruption]())
    for item in follower.newItems() {
      if case .record(let record) = item { messages.append(record.message) }
      if case .corruption(let found) = item { corruption.append(found) }
    }
    #expect(messages == ["a", "c", "d"] && corruption.map(\.what) == ["frame 3 is missing"])
  }
}
