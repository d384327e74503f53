import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct RingImageTests {
  private let log = TestLog()
  private let folder = TemporaryDirectory()

  init() {
    for index in 0..<100 {
      log.write("record \(index)", ticks: UInt64(index), thread: UInt32(index % 2 + 1))
    }
  }

  private func image(_ bytes: [UInt8]) throws -> RingImage {
    try RingImage(File.open(folder.put("ring", bytes), .read))
  }

  /// Ticks of all records, by segment.
  private func ticks(_ image: RingImage) -> [[UInt64]] {
    image.segments.map { segment in
      var scanner = image.scanner(of: segment, zeros: .end)
      var ticks: [UInt64] = []
      while let item = scanner.next() {
        if case .record(let view, _) = item { ticks.append(view.ticks) }
      }
      return ticks
    }
  }

  @Test("a boot that is not known is not the same") func aBootThatIsNotKnownIsNotTheSame() throws {
    let boots = [[UInt8](repeating: 7, count: 16), [UInt8](repeating: 0, count: 16)]
    for (boot, isSame) in zip(boots, [true, false]) {
      let log = TestLog(bootID: boot)
      log.write("record", ticks: 1)
      let image = try image(log.ring)
      #expect(image.fileHeader.identity.isOfBoot(boot) == isSame)
      #expect(!image.fileHeader.identity.isOfBoot([UInt8](repeating: 8, count: 16)))
    }
  }

  @Test("a whole ring is read as it is") func aWholeRingIsReadAsItIs() throws {
    let image = try image(log.ring)
    #expect(image.fileHeader.identity == log.identity && image.fileHeader.geometry == log.geometry)
    #expect(image.corruption.isEmpty && !image.sessionState.isClosedCleanly && image.losses.isEmpty)
    #expect(image.dictionary.callSites.count == 1 && image.entries.count == 1)
    #expect(
      image.segments.map(\.header.generation) == (1...UInt64(image.segments.count)).map { $0 })
    #expect(ticks(image).flatMap { $0 }.sorted() == Array(0..<100))
  }

  /// A call site is in the dictionary before its first record is committed.
  @Test("the dictionary has what the segments refer to")
  func theDictionaryHasWhatTheSegmentsReferTo() throws {
    let path = folder.put("ring", log.ring)
    var known = false
    let image = try RingImage(File.open(path, .read)) { _ in
      // While it is copied, after its headers.
      if !known {
        known = true
        let site = log.site(.literal("new"))
        log.write(TestRecord(ticks: 1000, site: site))
        folder.put("ring", log.ring)
      }
      return nil
    }
    #expect(ticks(image).contains { $0.contains(1000) })
    #expect(image.dictionary.callSites.count == 2)
  }

  /// While one header is inspected, a thread goes on in a segment that was free when its header was
  /// inspected, and then in one whose header is still to be inspected.
  @Test("where a segment of a thread is there so are all before it")
  func whereASegmentOfAThreadIsThereSoAreAllBeforeIt() throws {
    let log = TestLog()
    for index in 1...3 {
      log.write("record", ticks: UInt64(index))
      log.seal(1)
    }
    let segments = (0..<3).map { index in
      let start = log.geometry.offset(ofSegment: index)
      return Array(log.ring[start..<start + log.geometry.segmentSize])
    }
    let free = [UInt8](repeating: 0, count: log.geometry.segmentSize)
    func ring(_ segments: [[UInt8]]) -> [UInt8] {
      let (start, whole) = (log.geometry.segmentsOffset, Array(segments.joined()))
      return Array(log.ring[..<start]) + whole + log.ring[(start + whole.count)...]
    }
    let path = folder.put("ring", ring([free, segments[0], free]))
    let image = try RingImage(File.open(path, .read)) { _ in
      folder.put("ring", ring([segments[1], segments[0], segments[2]]))
      return nil
    }
    #expect(ticks(image) == [[1]])
    #expect(try ticks(RingImage(File.open(path, .read))) == [[1], [2], [3]])
  }

  /// The bytes of a copy of an image's file.
  private func copy(_ image: RingImage, _ file: borrowing File) throws -> [UInt8] {
    let copy = try image.fileCopy(of: file)
    return withExtendedLifetime(copy) { Array(copy.bytes) }
  }

  @Test("a copy of a ring's file has all of it")
  func fileCopy() throws {
    let file = try File.open(folder.put("ring", log.ring), .read)
    #expect(try copy(RingImage(file), file) == log.ring)
  }

  @Test("in a copy of a ring's file that changes, each segment is whole or free")
  func fileCopyOfAChangingRing() throws {
    let log = TestLog(bootID: Host.bootID())
    for thread in 1...8 as ClosedRange<UInt32> {
      log.write("record", ticks: UInt64(thread), thread: thread)
      log.seal(thread)
    }
    let (geometry, whole) = (log.geometry, log.ring)
    for index in 3..<8 { log.free(segment: index) }
    let file = try File.open(folder.put("ring", log.ring), .read)
    var uses = 0
    let image = try RingImage(file) { _ in
      uses += 1
      // While it is copied, after its headers: one segment is freed, and one is used anew.
      if uses == 3 {
        log.free(segment: 0)
        let start = geometry.offset(ofSegment: 7)
        log.put(
          whole[start..<start + geometry.segmentSize], at: geometry.offset(ofSegment: 1))
        let use = geometry.use(ofSegment: 7)
        log.put(whole[use..<use + wordSize], at: geometry.use(ofSegment: 1))
        folder.put("ring", log.ring)
      }
      return nil
    }
    #expect(ticks(image) == [[3]] && image.corruption.isEmpty)
    let copied = try self.image(copy(image, file))
    #expect(ticks(copied) == [[3]] && copied.corruption.isEmpty, "\(copied.corruption)")
  }

  @Test("a truncated ring is read as far as it goes")
  func aTruncatedRingIsReadAsFarAsItGoes() throws {
    let whole = ticks(try image(log.ring))
    let step = 712
    for size in stride(from: 512, to: log.ring.count, by: step) {
      let image = try image(Array(log.ring.prefix(size)))
      #expect(image.corruption.map(\.range).contains(size..<log.ring.count), "\(size) bytes")
      for (segment, found) in zip(image.segments, ticks(image)) {
        let all = whole[Int(segment.header.generation) - 1]
        #expect(Array(all.prefix(found.count)) == found, "\(size) bytes")
      }
      let present = (size - log.geometry.segmentsOffset) / log.geometry.segmentSize
      #expect(image.segments.count >= min(present, whole.count), "\(size) bytes")
    }
  }

  /// A sealed segment's end may lie where the file does not reach.
  @Test("a segment cut in its middle gives what is there")
  func aSegmentCutInItsMiddleGivesWhatIsThere() throws {
    let whole = ticks(try image(log.ring))
    let (offset, size) = (log.geometry.offset(ofSegment: 0), log.geometry.segmentSize)
    log.seal(1)
    let image = try image(Array(log.ring.prefix(offset + size / 2)))
    #expect(image.segments.map(\.index) == [0])
    let found = ticks(image)[0]
    #expect(found.count > 10 && found == Array(whole[0].prefix(found.count)))
    #expect(image.corruption.count == 1)
  }

  @Test("a longer ring is read as it says, and what is behind it is reported")
  func aLongerRingIsReadAsItSays() throws {
    let image = try image(log.ring + [UInt8](repeating: 0xAA, count: 10_000))
    let size = log.ring.count
    #expect(image.corruption.map(\.range) == [size..<size + 10_000])
    #expect(ticks(image).flatMap { $0 }.count == 100)
  }

  @Test("a file that is no ring is refused with its reason")
  func aFileThatIsNoRingIsRefusedWithItsReason() throws {
    var (newer, hostile) = (log.ring, log.ring)
    newer[8] = 9
    hostile[450] ^= 3
    let cases: [([UInt8], LogError.Code)] = [
      ([], .foreignFile), (Array("garbage".utf8), .foreignFile), (newer, .newerFormat),
      (hostile, .corruptedFile), (Array(log.ring.prefix(511)), .corruptedFile),
      (
        ArchiveHeader(identity: log.identity, number: 1, created: 0).encoded(pageSize: 1),
        .foreignFile
      ),
    ]
    for (bytes, code) in cases {
      let error = #expect(throws: LogError.self) { try image(bytes) }
      #expect(error?.code == code, "\(bytes.count) bytes")
    }
  }

  @Test("a file header that claims more than is there costs no memory")
  func aFileHeaderThatClaimsMoreThanIsThereCostsNoMemory() throws {
    var geometry = log.geometry
    (geometry.segmentSize, geometry.segmentCount) = (16 << 20, 500)
    var bytes = log.ring
    bytes.replaceSubrange(
      0..<1024, with: RingHeader(identity: log.identity, geometry: geometry).encoded(pageSize: 4096)
    )
    let image = try image(bytes)
    #expect(image.corruption.count >= 1)
    geometry.segmentCount = 513
    bytes.replaceSubrange(
      0..<1024, with: RingHeader(identity: log.identity, geometry: geometry).encoded(pageSize: 4096)
    )
    #expect(throws: LogError.self) { try self.image(bytes) }
  }

  @Test("the newest valid clock pair counts") func theNewestValidClockPairCounts() throws {
    func pair(_ ticks: UInt64, _ ordinal: UInt32) -> ClockPair {
      ClockPair(ticks: ticks, wall: 5000, monotonic: ticks * 2, ordinal: ordinal)
    }
    let places = log.areas.clockPairs
    log.put(pair(100, 1).encoded, at: places[1])
    log.put(pair(200, 2).encoded, at: places[2])
    #expect(try image(log.ring).clock == TickClock(ticks: 200, wall: 5000, rate: 2 << 32))
    log.corruptRing(at: places[2])
    #expect(try image(log.ring).clock == TickClock(ticks: 100, wall: 5000, rate: 2 << 32))
    log.corruptRing(at: places[0])
    #expect(try image(log.ring).clock == TickClock(ticks: 100, wall: 5000, rate: 1 << 32))
    log.corruptRing(at: places[1])
    #expect(try image(log.ring).clock == TickClock(ticks: 0, wall: TestLog.epoch, rate: 0))
  }

  @Test("a corrupted entry and a corrupted segment are reported with their place")
  func aCorruptedEntryAndACorruptedSegmentAreReportedWithTheirPlace() throws {
    log.site(.literal("second"))
    let dictionary = log.geometry.dictionaryOffset
    log.corruptRing(at: dictionary + 9)
    log.corruptRing(at: log.geometry.offset(ofSegment: 1) + SegmentLayout.threadOrdinal)
    let image = try image(log.ring)
    #expect(image.corruption.count == 2)
    #expect(image.corruption.contains { $0.range.lowerBound == dictionary })
    let segment = log.geometry.offset(ofSegment: 1)
    #expect(image.corruption.contains { $0.range == segment..<segment + log.geometry.segmentSize })
    #expect(!image.segments.contains { $0.index == 1 } && image.dictionary.callSites.count == 1)
  }

  /// The ring notes outside of a segment that the segment is in use.
  @Test(
    "a segment in use whose header is lost is reported",
    arguments: ["zeros", "no header", "the header of another use"])
  func aSegmentInUseWhoseHeaderIsLostIsReported(header: String) throws {
    let log = TestLog(bootID: Host.bootID())
    for thread in 1...2 as ClosedRange<UInt32> { log.write("record", ticks: 1, thread: thread) }
    let lost = log.geometry.offset(ofSegment: 0)
    let other = log.geometry.offset(ofSegment: 1)
    let bytes: [UInt8] =
      switch header {
      case "zeros": [UInt8](repeating: 0, count: SegmentLayout.size)
      case "no header": [UInt8](repeating: 0x55, count: 8) + [UInt8](repeating: 0, count: 56)
      default: Array(log.ring[other..<other + SegmentLayout.size])
      }
    log.put(bytes, at: lost)
    #expect(try image(log.ring).corruption.map(\.range) == [lost..<lost + log.geometry.segmentSize])
    log.save()
    #expect(try readInPython([log.folder.path]).hasTrouble)
  }

  @Test("a segment that is being emptied when the process dies is no corruption")
  func aSegmentThatIsBeingEmptiedIsNoCorruption() throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("record", ticks: 1)
    let size = log.geometry.segmentSize
    let word = SegmentUse.word(size, seed: 7)
    log.put(withUnsafeBytes(of: word) { Array($0) }, at: log.geometry.use(ofSegment: 0))
    // Zeros the generation and the state.
    log.put([UInt8](repeating: 0, count: 12), at: log.geometry.offset(ofSegment: 0))
    #expect(try image(log.ring).corruption.isEmpty && image(log.ring).segments.isEmpty)
    log.save()
    #expect(try !readInPython([log.folder.path]).hasTrouble)
  }

  /// After a power failure, one of the two pages may be older than the other.
  @Test("what a ring notes of a segment is not believed after the machine was down")
  func whatARingNotesOfASegmentIsNotBelievedAfterTheMachineWasDown() throws {
    for boot in [[UInt8](repeating: 7, count: 16), Host.bootID()] {
      let log = TestLog(bootID: boot)
      log.write("record", ticks: 1)
      let place = log.geometry.offset(ofSegment: 0)
      log.put([UInt8](repeating: 0, count: SegmentLayout.size), at: place)
      #expect(try image(log.ring).corruption.count == (boot == Host.bootID() ? 1 : 0))
    }
  }

  @Test("random corruption never traps and never gives a wrong record")
  func randomCorruptionNeverTrapsAndNeverGivesAWrongRecord() throws {
    for seed in 0..<300 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var bytes = log.ring
      for _ in 0..<6 {
        // Most of the file is empty: aim at what is not.
        let at =
          Bool.random(using: &generator)
          ? Int.random(in: FileHeaderLayout.size..<RingLayout.control, using: &generator)
          : Int.random(in: 8192..<log.geometry.offset(ofSegment: 3), using: &generator)
        bytes[at] = UInt8(truncatingIfNeeded: generator.next())
      }
      let image = try image(bytes)
      let found = ticks(image).flatMap { $0 }
      #expect(Set(found).count == found.count && found.allSatisfy { $0 < 100 }, "seed \(seed)")
    }
  }
}
