import Glibc
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct ArchiveTests {
  private let fixture = Fixture()

  /// An open archive with a frame of labels and three of records, and where its frames are.
  private func open() throws -> (bytes: [UInt8], archive: ArchiveFile) {
    let writer = try fixture.writer()
    for ticks in [[1, 2], [3], [4, 5]] as [[UInt64]] { try fixture.append(ticks, to: writer) }
    return (try fixture.contents(writer.path), try fixture.read(writer.path))
  }

  @Test("a closed archive is read as it was written", arguments: [0, 1, 9])
  func aClosedArchiveIsReadAsItWasWritten(level: Int) throws {
    let writer = try fixture.writer(compressionLevel: level)
    try fixture.append(Array(1...50), to: writer, compressionLevel: level)
    try fixture.append([60], generation: 2, to: writer, compressionLevel: level)
    var losses = LossLedger()
    losses[.ringFull, .info] = 5
    try writer.append(losses)
    try writer.append(SessionEnd(.closed, time: 77))
    try writer.close(dictionary: fixture.dictionary.bytes)
    let archive = try fixture.read(writer.path)
    #expect(archive.isClosed && archive.corruptedRanges.isEmpty && archive.tornBytes == 0)
    #expect(archive.fileHeader == ArchiveHeader(identity: fixture.identity, number: 1, created: 0))
    let types: [FrameType] = [
      .dictionary, .records, .records, .losses, .sessionEnd, .dictionary, .index,
    ]
    #expect(archive.frames.map(\.header.type) == types)
    #expect(archive.frames.map(\.header.ordinal) == Array(0..<7))
    #expect(try archive.ticks() == [Array(1...50), [60]])
    #expect(archive.frames[1].header.codec == (level == 0 ? .rows : .columns))
    #expect(archive.frames[1].header.summary.lastWall == 1050)
    #expect(archive.frames[2].header.ranges == fixture.fields(2).ranges)
    #expect(try archive.payload(of: archive.frames[3]) == losses.encoded)
    #expect(try fixture.contents(writer.path).count == archive.end + TrailerLayout.size)
  }

  @Test("the index and the trailer say what is there")
  func theIndexAndTheTrailerSayWhatIsThere() throws {
    let writer = try fixture.writer()
    try fixture.append([1, 2], to: writer)
    try fixture.append([3], to: writer)
    try writer.close(dictionary: fixture.dictionary.bytes)
    let archive = try fixture.read(writer.path)
    let entries = archive.frames[1...2].map { IndexEntry(offset: $0.offset, header: $0.header) }
    #expect(try archive.payload(of: archive.frames[4]) == IndexEntry.encode(entries))
    let bytes = try fixture.contents(writer.path)
    let trailer = Array(bytes.suffix(TrailerLayout.size)).withUnsafeBytes { Trailer($0) }
    #expect(
      trailer
        == Trailer(
          of: archive.fileHeader.id, dictionaryOffset: UInt64(archive.frames[3].offset),
          indexOffset: UInt64(archive.frames[4].offset), recordCount: 3,
          fileSize: UInt64(bytes.count), frameCount: 5))
  }

  @Test("entries are written once and before their records")
  func entriesAreWrittenOnceAndBeforeTheirRecords() throws {
    let writer = try fixture.writer()
    let half = fixture.dictionary.bytes.slice(0, 160)
    try fixture.append([1], to: writer, dictionary: half)
    try fixture.append([2], to: writer)
    try fixture.append([3], to: writer)
    let archive = try fixture.read(writer.path)
    #expect(
      archive.frames.map(\.header.type) == [.dictionary, .records, .dictionary, .records, .records])
    let entries = try [0, 2].flatMap { try archive.payload(of: archive.frames[$0]) }
    #expect(entries == Array(fixture.dictionary.bytes))
  }

  @Test("a frame torn at any byte is no corruption")
  func aFrameTornAtAnyByteIsNoCorruption() throws {
    let (bytes, whole) = try open()
    let last = whole.range(3)
    for cut in last {
      let archive = try fixture.read(Array(bytes.prefix(cut)))
      #expect(archive.frames.count == 3 && archive.corruptedRanges.isEmpty, "cut at \(cut)")
      #expect(archive.end == last.lowerBound && archive.tornBytes == cut - last.lowerBound)
      let zeros = [UInt8](repeating: 0, count: bytes.count - cut)
      guard cut == last.lowerBound else { continue }
      let neverWritten = try fixture.read(bytes.prefix(cut) + zeros)
      #expect(neverWritten.corruptedRanges.isEmpty && neverWritten.tornBytes == last.count)
    }
  }

  @Test("a torn frame stands until something is written in its place")
  func aTornFrameIsCutOffWhenItsArchiveGoesOn() throws {
    let (bytes, whole) = try open()
    let last = whole.range(3)
    for cut in [last.lowerBound, last.lowerBound + 1, last.lowerBound + 140, last.upperBound - 1] {
      let path = fixture.folder.put("torn.mmlog", Array(bytes.prefix(cut)))
      let writer = try ArchiveWriter(
        resuming: fixture.read(path), locked(path), compressionLevel: 0)
      #expect(try fixture.contents(path).count == cut)
      try fixture.append([9], to: writer)
      try writer.close(dictionary: fixture.dictionary.bytes)
      let archive = try fixture.read(path)
      #expect(archive.isClosed && archive.corruptedRanges.isEmpty, "cut at \(cut)")
      #expect(try archive.ticks() == [[1, 2], [3], [9]], "cut at \(cut)")
      #expect(archive.frames.map(\.header.ordinal) == Array(0..<7).map { UInt64($0) })
      let trailer = Array(try fixture.contents(path).suffix(TrailerLayout.size)).withUnsafeBytes {
        Trailer($0)
      }
      #expect(trailer?.recordCount == 4 && trailer?.frameCount == 7)
    }
  }

  @Test("a corrupted header costs its frame") func aCorruptedHeaderCostsItsFrame() throws {
    let (bytes, whole) = try open()
    for index in 0..<4 {
      let range = whole.range(index)
      for offset in range.lowerBound..<range.lowerBound + whole.frames[index].header.headerSize {
        var corrupted = bytes
        corrupted[offset] ^= 0x10
        let archive = try fixture.read(corrupted)
        #expect(archive.frames.count == 3, "byte \(offset)")
        // The size in the last frame's header may make it a torn frame.
        if index < 3 { #expect(archive.corruptedRanges == [range], "byte \(offset)") }
        #expect(archive.corruptedRanges.isEmpty == (archive.tornBytes > 0), "byte \(offset)")
      }
    }
  }

  @Test("a corrupted payload costs its frame") func aCorruptedPayloadCostsItsFrame() throws {
    let (bytes, whole) = try open()
    for index in 0..<4 {
      let start = whole.frames[index].offset + whole.frames[index].header.headerSize
      for offset in start..<start + whole.frames[index].header.payloadSize {
        var corrupted = bytes
        corrupted[offset] ^= 1
        let archive = try fixture.read(corrupted)
        #expect(archive.frames.count == 4 && archive.corruptedRanges.isEmpty, "byte \(offset)")
        for (other, frame) in archive.frames.enumerated() {
          #expect(((try? archive.payload(of: frame)) == nil) == (other == index), "byte \(offset)")
        }
      }
    }
  }

  @Test("a file that is no archive is refused with its reason")
  func aFileThatIsNoArchiveIsRefusedWithItsReason() throws {
    let (bytes, _) = try open()
    var newer = bytes
    newer[8] = 9
    let cases: [([UInt8], LogError.Code)] = [
      ([], .foreignFile), (Array("garbage".utf8), .foreignFile), (newer, .newerFormat),
      (Array(bytes.prefix(511)), .corruptedFile), (Array(bytes.prefix(8)), .corruptedFile),
    ]
    for (contents, code) in cases {
      let error = #expect(throws: LogError.self) { try fixture.read(contents) }
      #expect(error?.code == code && error?.message.contains("copy.mmlog") == true)
    }
    let empty = try fixture.read(Array(bytes.prefix(512)))
    #expect(empty.frames.isEmpty && empty.corruptedRanges.isEmpty && !empty.isClosed)
  }

  @Test("an archive that lacks its end is not closed")
  func anArchiveThatLacksItsEndIsNotClosed() throws {
    let writer = try fixture.writer()
    try fixture.append([1], to: writer)
    try writer.close(dictionary: fixture.dictionary.bytes)
    let bytes = try fixture.contents(writer.path)
    for cut in 1...TrailerLayout.size {
      let archive = try fixture.read(Array(bytes.dropLast(cut)))
      #expect(!archive.isClosed && archive.frames.count == 4, "\(cut) bytes missing")
    }
    let longer = try fixture.read(bytes + bytes.suffix(TrailerLayout.size))
    #expect(
      longer.isClosed && longer.corruptedRanges == [bytes.count..<bytes.count + TrailerLayout.size])
    // The size and the frames that the trailer gives have to be there.
    let shorter = try fixture.read(bytes.prefix(512) + bytes.suffix(TrailerLayout.size))
    #expect(shorter.isClosed && shorter.corruptedRanges.count == 2)
  }

  /// As a follower may find an archive whose file is copied anew.
  @Test("an archive that is cut while it is read keeps the frames that it had")
  func anArchiveThatIsCutWhileItIsReadKeepsTheFramesThatItHad() throws {
    let (bytes, archive) = try open()
    let count = archive.frames.count
    for size in [bytes.count - 8, 512, 0] {
      #expect(truncate(archive.path, size) == 0)
      #expect(try archive.refresh() == count, "\(size) bytes")
    }
    #expect(archive.frames.count == count && archive.corruptedRanges.isEmpty)
  }

  @Test("a hole in a closed archive is corruption whatever is in it")
  func aHoleInAClosedArchiveIsCorruptionWhateverIsInIt() throws {
    let writer = try fixture.writer()
    try fixture.append([1], to: writer)
    try writer.close(dictionary: fixture.dictionary.bytes)
    var bytes = try fixture.contents(writer.path)
    let index = try fixture.read(bytes).range(3)
    bytes.replaceSubrange(index, with: repeatElement(0, count: index.count))
    let archive = try fixture.read(bytes)
    #expect(archive.isClosed && archive.corruptedRanges == [index] && archive.tornBytes == 0)
  }

  /// Every eighth byte begins a header that claims to be long.
  @Test("hostile headers do not take for ever") func hostileHeadersDoNotTakeForEver() throws {
    var bytes = Array(try open().bytes.prefix(512))
    var header = [UInt8](repeating: 0, count: FrameLayout.size)
    header.withUnsafeMutableBytes {
      $0.store(FrameLayout.markerValue, 0)
      $0.store(UInt32(1 << 15), FrameLayout.rangeCount)
      $0.store(UInt32(FrameLayout.size + 24 << 15), FrameLayout.headerSize)
    }
    for _ in 0..<(1 << 13) { bytes += header }
    let archive = try fixture.read(bytes)
    #expect(
      archive.frames.isEmpty && archive.corruptedRanges.count + (archive.tornBytes > 0 ? 1 : 0) == 1
    )
  }

  @Test("random corruption never traps") func randomCorruptionNeverTraps() throws {
    let (bytes, _) = try open()
    for seed in 0..<300 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var corrupted = bytes
      for _ in 0..<4 {
        let at = Int.random(in: 512..<corrupted.count, using: &generator)
        let run = Int.random(in: 1...min(40, corrupted.count - at), using: &generator)
        for offset in at..<at + run {
          corrupted[offset] = UInt8(truncatingIfNeeded: generator.next())
        }
      }
      corrupted.removeLast(Int.random(in: 0..<40, using: &generator))
      let archive = try fixture.read(corrupted)
      let read = archive.frames.filter { (try? archive.payload(of: $0)) != nil }
      #expect(
        read.count < 4 || corrupted.count < bytes.count || archive.frames.count == 4, "seed \(seed)"
      )
      #expect(archive.end <= corrupted.count, "seed \(seed)")
    }
  }

  #if DEBUG
    @Test("the kernel begins to write an archive to the disk once 4 MiB more of it are whole")
    func theKernelBeginsToWrite() throws {
      let writer = try fixture.writer()
      // This never fails a call, but counts the calls.
      ForcedFault.force(.syncFileRange, errno: EIO, onCall: .max, under: writer.path)
      func calls() -> Int { ForcedFault.passed(.syncFileRange, under: writer.path) }
      let payload = [UInt8](repeating: 7, count: 1 << 20)
      for _ in 0..<3 { try writer.append(displaced: .dictionary, payload) }
      #expect(calls() == 0)
      try writer.append(displaced: .dictionary, payload)
      #expect(calls() == 1, "with the headers, these are more than 4 MiB")
      for _ in 0..<3 { try writer.append(displaced: .dictionary, payload) }
      #expect(calls() == 1)
      try writer.append(displaced: .dictionary, payload)
      #expect(calls() == 2)
    }

    @Test(
      "an archive does not depend on it that the kernel begins early", arguments: [EIO, ENOSYS])
    func theKernelDoesNotBegin(code: CInt) throws {
      let writer = try fixture.writer()
      ForcedFault.force(.syncFileRange, errno: code, times: .max, under: writer.path)
      let payload = [UInt8](repeating: 7, count: 1 << 20)
      for _ in 0..<5 { try writer.append(displaced: .dictionary, payload) }
      #expect(ForcedFault.struckPaths.contains(writer.path))
      try writer.close(dictionary: fixture.dictionary.bytes)
      let archive = try fixture.read(writer.path)
      #expect(archive.isClosed && archive.isSound && archive.frames.count == 7)
    }
  #endif

  @Test("an existing file is never touched") func anExistingFileIsNeverTouched() throws {
    let writer = try fixture.writer()
    try fixture.append([1], to: writer)
    let before = try fixture.contents(writer.path)
    let error = #expect(throws: SystemError.self) { try fixture.writer() }
    #expect(error?.errno == EEXIST)
    #expect(try fixture.contents(writer.path) == before)
    #expect(fixture.names.count == 1, "nothing is left behind")
  }
}
