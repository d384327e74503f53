import Glibc
@testable import MMLog
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// A stray write of the process, or a memory fault, may hit a segment's header.
@Suite("Segments whose header is overwritten")
struct OverwrittenSegmentTests {
  /// A store with `count` records, which wait to be archived. Default: so many that the first
  /// segment and others are sealed.
  private func store(
    logging count: Int = Self.count,
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> TestStore {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
      change(&$0)
    }
    Self.log(0..<count, to: test)
    return test
  }

  private static func log(_ numbers: Range<Int>, to test: TestStore) {
    for number in numbers { test.log.info("\(number) \(text, privacy: .public)") }
  }

  private static let count = 200
  private static let text = String(repeating: "t", count: 50)
  private static let messages = (0..<count).map { "\($0) \(text)" }

  /// Changes the segment that was used first.
  ///
  /// - Parameter state: The state that the segment has to have.
  private func changeSegment(
    _ test: TestStore, state: UInt32 = SegmentLayout.stateSealed,
    _ change: (UnsafeMutableRawBufferPointer) -> Void
  ) throws {
    try Self.changeSegment(in: test.folder.path, state: state, change)
  }

  private static func changeSegment(
    in path: String, state: UInt32, _ change: (UnsafeMutableRawBufferPointer) -> Void
  ) throws {
    let name = try #require(try Folder.names(path).first { $0.hasSuffix(".ring") })
    let file = try File.open("\(path)/\(name)", [.read, .write])
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
    defer { memory.deallocate() }
    _ = try file.readFully(into: memory, at: 0)
    let start = try RingHeader(UnsafeRawBufferPointer(memory)).geometry.offset(ofSegment: 0)
    // A segment of the smallest ring has this size.
    _ = try file.readFully(into: memory, at: start)
    let bytes = UnsafeRawBufferPointer(memory)
    try #require(bytes.load(SegmentLayout.generation, as: UInt64.self) == 1)
    try #require(bytes.load(SegmentLayout.state, as: UInt32.self) == state)
    change(memory)
    try file.writeFully(bytes, at: start)
  }

  @Test(
    "one wrong bit costs nothing",
    arguments: [
      // The generation: none, and one that no segment has yet.
      0, 63,
      // The state: free.
      SegmentLayout.state * 8 + 1,
      SegmentLayout.threadID * 8 + 3, SegmentLayout.checksum * 8 + 7,
    ])
  func oneBit(bit: Int) throws {
    let test = try store()
    try changeSegment(test) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.messages == Self.messages)
  }

  @Test(
    "a header that is overwritten costs its segment's records, which are counted as one loss",
    arguments: [
      (0..<8, 170), (0..<8, 255), (SegmentLayout.threadID..<SegmentLayout.end, 170),
      (0..<SegmentLayout.size, 0), (0..<SegmentLayout.size, 255),
    ] as [(Range<Int>, UInt8)])
  func overwritten(place: Range<Int>, byte: UInt8) throws {
    let test = try store()
    try changeSegment(test) { segment in for offset in place { segment[offset] = byte } }
    let contents = try test.closeAndRead()
    #expect(contents.isWhole)
    #expect(contents.losses.map { $0.total(.corrupted) } == [1])
    // All records of the other segments are there.
    #expect((100..<Self.count).contains(contents.records.count))
    #expect(contents.messages[...] == Self.messages.suffix(contents.records.count))
  }

  @Test("zeros in a segment cost the records that stood there, and those behind them are kept")
  func zeros() throws {
    let test = try store()
    try changeSegment(test) { segment in for offset in 1024..<1536 { segment[offset] = 0 } }
    let contents = try test.closeAndRead()
    #expect(contents.losses.map { $0.total(.corrupted) } == [1])
    let missing = Self.messages.filter { !contents.messages.contains($0) }
    #expect((1...12).contains(missing.count))
    let first = try #require(Self.messages.firstIndex { $0 == missing.first })
    #expect(missing[...] == Self.messages[first..<first + missing.count])
  }

  @Test("an overwritten record counts once, in however many parts its segment is archived")
  func archivedInParts() throws {
    let test = try store(logging: 20)
    try changeSegment(test, state: SegmentLayout.stateOpen) { $0[1024] ^= 1 }
    try test.store.blockingFlush(.archive)
    #expect(test.store.losses.total(.corrupted) == 1)
    Self.log(20..<40, to: test)
    try test.store.blockingFlush(.archive)
    let contents = try test.closeAndRead()
    #expect(contents.losses.last?.total(.corrupted) == 1)
    #expect(contents.records.count == 39)
  }

  @Test(
    "a wrong bit in what says how far a segment is archived has nothing archived twice",
    arguments: [SegmentLayout.archived, SegmentLayout.archivedChecksum])
  func archivedOnce(word: Int) throws {
    let test = try store(logging: 20)
    try test.store.flush(.archive)
    try changeSegment(test, state: SegmentLayout.stateOpen) { $0[word] ^= 16 }
    Self.log(20..<40, to: test)
    try test.store.flush(.archive)
    let contents = try test.closeAndRead()
    #expect(contents.messages[...] == Self.messages.prefix(40))
    #expect(contents.isClean)
  }

  /// Overwrites the eleventh record with zeros.
  private static func zeroRecord(_ segment: UnsafeMutableRawBufferPointer) {
    func behind(_ offset: Int) -> Int {
      offset + (framedLength(UnsafeRawBufferPointer(segment), offset) ?? 0)
    }
    var start = SegmentLayout.size
    for _ in 0..<10 { start = behind(start) }
    for offset in start..<behind(start) { segment[offset] = 0 }
  }

  @Test("flight records behind zeros are captured, and only the one that stood there is evicted")
  func captured() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
      $0.archiveLevel = .info
    }
    for number in 0..<20 { test.log.debug("\(number) \(Self.text, privacy: .public)") }
    try test.store.flush(.archive)
    try changeSegment(test, state: SegmentLayout.stateOpen, Self.zeroRecord)
    try test.store.capture(reason: "a test")
    let counts = test.store.flightCounts
    let contents = try test.closeAndRead()
    #expect(contents.messages.dropLast() == Self.messages[..<10] + Self.messages[11..<20])
    #expect(counts.captured == 19 && counts.forgotten == 1)
  }

  @Test(
    "flight records of a span behind zeros leave the ring when it ends, and are archived if it failed",
    arguments: [false, true])
  func endedSpan(failed: Bool) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
      ($0.archiveLevel, $0.captureLevel, $0.spanCapture) = (.info, nil, SpanCapture())
    }
    let span = test.log.begin("span")
    let log = test.log.with(span: span)
    for message in Self.messages.prefix(20) { log.debug("\(message, privacy: .public)") }
    try test.store.flush(.archive)
    try changeSegment(test, state: SegmentLayout.stateOpen, Self.zeroRecord)
    span.end(failed: failed)
    try test.store.flush(.archive)
    let ring = try #require(try test.folder.names(ending: ".ring").first)
    let bytes = try test.folder.bytes(ring)
    #expect(!bytes.contains(Array(Self.messages[19].utf8)))
    let archived = try test.closeAndRead().records.filter(\.isFlight).map(\.message)
    // The first record is the span's beginning.
    let expected = Self.messages[..<9] + Self.messages[10..<20]
    #expect(archived[...] == (failed ? expected : []))
  }

  @Test("an urgent record behind zeros is found")
  func urgent() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
    }
    for number in 0..<Self.count {
      test.log.log(
        level: number == 25 ? .notice : .info, "\(number) \(Self.text, privacy: .public)")
    }
    try changeSegment(test, Self.zeroRecord)
    let ring = try #require(test.store.core.openSession?.ring)
    var survey = RingSurvey(ring, urgentLevels: 1 << Level.notice.rawValue)
    let isFound = survey.inspect()
    #expect(isFound)
    try test.store.close()
  }

  @Test("a loss that is found while the store is closed is an event, too")
  func whileClosing() async throws {
    let test = try store()
    let events = test.store.events
    try changeSegment(test) { segment in for offset in 0..<8 { segment[offset] = 255 } }
    try test.store.blockingClose()
    var reported: [UInt64] = []
    for await case .dropped(let losses) in events { reported.append(losses.total(.corrupted)) }
    #expect(reported == [1])
  }

  @Test(
    "recovery does not count again what the drainer has, though flight records stay in the ring",
    arguments: [SegmentLayout.stateOpen, SegmentLayout.stateSealed])
  func countedByTheDrainer(state: UInt32) throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
      ($0.archiveLevel, $0.captureLevel) = (.info, nil)
    }
    let isOpen = state == SegmentLayout.stateOpen
    for number in 0..<(isOpen ? 10 : 40) {
      test.log.debug("\(number) \(Self.text, privacy: .public)")
      test.log.info("\(number) \(Self.text, privacy: .public)")
    }
    try changeSegment(test, state: state) { segment in
      // In a sealed segment, the last record: nothing is archived behind it.
      let end = UnsafeRawBufferPointer(segment).load(SegmentLayout.end, as: UInt32.self)
      segment[isOpen ? 1024 : Int(end) - 8] ^= 1
    }
    try test.store.blockingFlush(.archive)
    #expect(test.store.losses.total(.corrupted) == 1)
    let dead = try test.copy()
    let sessions = try LogRecovery.recover(dead.path) { Issue.record("\($0)") }
    #expect(sessions.map { $0.losses.total(.corrupted) } == [1])
    #expect(sessions.map(\.corruption.count) == [1])
    #expect(Contents(dead.path).losses.map { $0.total(.corrupted) } == [1])
    try test.store.close()
  }

  @Test("while the store is open, the loss is an event, and the segment is used again")
  func whileOpen() async throws {
    let test = try store()
    let events = test.store.events
    try changeSegment(test) { segment in for offset in 0..<8 { segment[offset] = 255 } }
    try test.store.blockingFlush(.archive)
    #expect(test.store.statistics.usedSegments == 1)
    // Several times what the ring holds.
    for number in 0..<10_000 { test.log.info("\(number)") }
    let contents = try test.closeAndRead()
    #expect(contents.messages.suffix(10_000) == (0..<10_000).map { "\($0)" }[...])
    var reported: [UInt64] = []
    for await case .dropped(let losses) in events { reported.append(losses.total(.corrupted)) }
    #expect(reported == [1])
  }

  #if DEBUG
    @Test("a segment that has to give way to newer records is counted, too")
    func discarded() throws {
      let test = try store { $0.fullRing = .overwriteOldest }
      try changeSegment(test) { $0[SegmentLayout.threadID] ^= 5 }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for number in 0..<10_000 { test.log.info("\(number)") }
      ForcedFault.clear(under: test.folder.path)
      let contents = try test.closeAndRead()
      #expect(contents.corruption.isEmpty)
      #expect(contents.losses.map { $0.total(.corrupted) } == [1])
    }

    @Test("of a segment that has to give way, corrupted records are counted, and those behind them")
    func discardedBehindZeros() throws {
      let test = try store { $0.fullRing = .overwriteOldest }
      try changeSegment(test, Self.zeroRecord)
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for number in 0..<10_000 { test.log.info("\(number)") }
      ForcedFault.clear(under: test.folder.path)
      let contents = try test.closeAndRead()
      #expect(contents.corruption.isEmpty && contents.losses.count == 1)
      let losses = try #require(contents.losses.first)
      #expect(losses.total(.corrupted) == 1)
      let counted = contents.records.count + Int(losses.total(.overwritten))
      #expect(counted == Self.count + 10_000 - 1)
    }

    @Test(
      "what is archived of a segment does not count as overwritten, though a bit there is wrong")
    func discardedInPart() throws {
      let test = try store(logging: 20) { $0.fullRing = .overwriteOldest }
      try test.store.flush(.archive)
      try changeSegment(test, state: SegmentLayout.stateOpen) { $0[SegmentLayout.archived] ^= 16 }
      // This pass finds the corruption.
      try test.store.flush(.archive)
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for number in 0..<10_000 { test.log.info("\(number)") }
      ForcedFault.clear(under: test.folder.path)
      let contents = try test.closeAndRead()
      #expect(contents.isWhole && contents.messages.starts(with: Self.messages.prefix(20)))
      let overwritten = contents.losses.map { Int($0.total(.overwritten)) }
      #expect(overwritten == [20 + 10_000 - contents.records.count])
    }

    @Test("an overwritten record counts once, however often its frame cannot be written")
    func archivedLater() throws {
      let test = try store(logging: 20)
      try changeSegment(test, state: SegmentLayout.stateOpen) { $0[1024] ^= 1 }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      for _ in 0..<3 { #expect(logError { try test.store.flush(.archive) } != nil) }
      #expect(test.store.losses.isEmpty)
      ForcedFault.clear(under: test.folder.path)
      try test.store.flush(.archive)
      #expect(test.store.losses.total(.corrupted) == 1)
      #expect(try test.closeAndRead().losses.map { $0.total(.corrupted) } == [1])
    }

    @Test(
      "an overwritten record counts once, though the process dies between the frame around it and the ring's note of that",
      arguments: [TestPoint.drainerBeforeFrame, .drainerAfterFrame, .drainerPublished])
    func death(at point: TestPoint) async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = folder.path as String, point = point.rawValue as UInt8] in
        var configuration = LogStore.Configuration()
        configuration.makeTiny()
        configuration.drainInterval = .seconds(3600)
        let store = try LogStore(directory: path, name: "test", configuration: configuration)
        let log = store.logger(label: "test")
        for number in 0..<20 {
          log.info("\(number) \(OverwrittenSegmentTests.text, privacy: .public)")
        }
        try OverwrittenSegmentTests.changeSegment(in: path, state: SegmentLayout.stateOpen) {
          $0[1024] ^= 1
        }
        TestPoint.handler = { if $0.rawValue == point { kill(getpid(), SIGKILL) } }
        try store.blockingFlush(.archive)
      }
      _ = try LogRecovery.recover(folder.path) { _ in }
      let contents = Contents(folder.path)
      #expect(contents.records.count == 19 && contents.corruption.isEmpty)
      #expect(contents.losses.last?.total(.corrupted) == 1)
    }
  #endif
}
