import Glibc
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite struct SeriesTests {
  private let fixture = Fixture()

  private func series(rotationSize: Int? = nil) throws -> ArchiveSeries {
    ArchiveSeries(
      in: try fixture.directory(), fixture.identity,
      ArchiveSeries.Settings(rotationSize: rotationSize, compressionLevel: 0))
  }

  private func append(_ ticks: [UInt64], to series: ArchiveSeries) throws {
    let dictionary = fixture.dictionary.bytes
    try series.append(fixture.rows(ticks), dictionary: dictionary, fixture.fields(1))
    try series.rotateIfDue(dictionary: dictionary)
  }

  private func archives() throws -> [ArchiveFile] {
    try fixture.names.map { try fixture.read(fixture.folder($0)) }
      .sorted { $0.fileHeader.number < $1.fileHeader.number }
  }

  @Test("an archive of its size is closed and the next begun")
  func anArchiveOfItsSizeIsClosedAndTheNextBegun() throws {
    let series = try series(rotationSize: 4096)
    var closed: [String] = []
    series.report = { if case .closed(let path, _) = $0 { closed.append(path) } }
    for ticks in 1...200 as ClosedRange<UInt64> { try append([ticks], to: series) }
    try series.end(SessionEnd(.closed, time: 1), dictionary: fixture.dictionary.bytes)
    let archives = try archives()
    #expect(archives.count > 3 && archives.map(\.path) == closed)
    #expect(archives.map(\.fileHeader.number) == (1...UInt32(archives.count)).map { $0 })
    #expect(archives.allSatisfy { $0.isClosed && $0.corruptedRanges.isEmpty })
    // Each archive has all that it needs.
    #expect(archives.dropLast().allSatisfy { $0.frames.first?.header.type == .dictionary })
    #expect(try archives.flatMap { try $0.ticks() }.flatMap { $0 } == Array(1...200))
    for archive in archives.dropLast() {
      let last = archive.frames.last { $0.header.type == .records }
      let end = (last?.offset ?? 0) + (last?.header.frameSize ?? 0)
      #expect((4096..<4096 + 300).contains(end), "\(archive.path)")
    }
  }

  @Test("an archive that is mostly dictionary goes on until half of it is something else")
  func anArchiveThatIsMostlyDictionaryGoesOn() throws {
    let series = try series(rotationSize: 4096)
    let seed = checksumSeed(session: fixture.identity.session, generation: 0)
    let dictionary = AlignedBytes(
      words: (1...1000).flatMap {
        DictionaryEntry.label(id: $0, "label \($0)").encoded(seed: seed)
      })
    for ticks in 1...300 as ClosedRange<UInt64> {
      try series.append(fixture.rows([ticks]), dictionary: dictionary.bytes, fixture.fields(1))
      try series.rotateIfDue(dictionary: dictionary.bytes)
    }
    try series.end(SessionEnd(.closed, time: 1), dictionary: dictionary.bytes)
    let archives = try archives()
    #expect(try archives.flatMap { try $0.ticks() }.flatMap { $0 } == Array(1...300))
    #expect(archives.count > 1)
    for archive in archives.dropLast() {
      let entries = archive.frames.filter { $0.header.type == .dictionary }[0].header.frameSize
      let last = archive.frames.last { $0.header.type == .records }
      let end = (last?.offset ?? 0) + (last?.header.frameSize ?? 0)
      #expect((2 * entries..<2 * entries + 300).contains(end), "\(archive.path)")
    }
  }

  @Test("without a size there is one archive and without records none")
  func withoutASizeThereIsOneArchiveAndWithoutRecordsNone() throws {
    let series = try series()
    try series.close(dictionary: fixture.dictionary.bytes)
    #expect(fixture.names.isEmpty)
    for ticks in 1...200 as ClosedRange<UInt64> { try append([ticks], to: series) }
    #expect(fixture.names.count == 1)
  }

  @Test("an archive is closed before its index is too large to be read, whatever its size")
  func anArchiveIsClosedBeforeItsIndexIsTooLarge() throws {
    let writer = try fixture.writer()
    let series = ArchiveSeries(
      in: try fixture.directory(), fixture.identity,
      ArchiveSeries.Settings(rotationSize: nil, compressionLevel: 0), number: 1, current: writer)
    try append([1], to: series)
    #expect(series.dueRotation() == nil)
    // As many frames as half of the largest index has room for.
    writer.skip(to: UInt64(FrameLayout.largestPayload / IndexEntryLayout.size / 2))
    try append([2], to: series)
    #expect(writer.isComplete)
    try append([3], to: series)
    #expect(fixture.names.count == 2)
  }

  @Test("losses are written when they have grown")
  func lossesAreWrittenWhenTheyHaveGrown() throws {
    let series = try series()
    var losses = LossLedger()
    try series.append(losses)
    #expect(fixture.names.isEmpty, "nothing was lost")
    for count in [1, 1, 2] as [UInt64] {
      losses[.ringFull, .info] = count
      try series.append(losses)
    }
    #expect(try archives()[0].frames.map(\.header.type) == [.losses, .losses])
  }

  @Test("a directory that may not be used is not, though it came in place of the old one")
  func aDirectoryThatMayNotBeUsedIsNot() throws {
    let series = try series()
    var (reports, mayMove) = (0, false)
    series.report = { if case .refused = $0 { reports += 1 } }
    series.whyNotToMove = { (_) throws(SystemError) in
      mayMove ? nil : LogError(.untrustedDirectory, "not this one")
    }
    try append([1], to: series)
    let old = TemporaryDirectory()
    rename(fixture.folder.path, old("moved"))
    mkdir(fixture.folder.path, 0o700)

    for ticks in [2, 3] as [UInt64] {
      series.expectMove()
      try append([ticks], to: series)
    }
    #expect(reports == 1 && fixture.names.isEmpty)
    mayMove = true
    series.expectMove()
    try append([4], to: series)

    #expect(try archives().map { try $0.ticks() } == [[[4]]])
    let names = try Directory.open(old("moved")).names()
    #expect(try names.map { try fixture.read(old("moved/\($0)")).ticks() } == [[[1], [2], [3]]])
  }

  #if DEBUG
    /// The number of the open call that is refused: for the archive's description, its sidecar, its
    /// lock, or its contents.
    @Test("where the last archive may not be opened, a new one is begun", arguments: 1...4)
    func whereTheLastArchiveMayNotBeOpenedANewOneIsBegun(call: Int) throws {
      let first = try series()
      try append([1], to: first)
      try first.end(SessionEnd(.closed, time: 1), dictionary: fixture.dictionary.bytes)
      let next = ArchiveSeries(
        in: try fixture.directory(), Fixture(session: 2).identity,
        ArchiveSeries.Settings(rotationSize: nil, compressionLevel: 0))
      next.resumption = Resumption { _ in false }
      var refused: [LogError] = []
      next.report = { if case .refused(let error) = $0 { refused.append(error) } }
      let path = fixture.folder(fixture.names[0])
      ForcedFault.force(.openat, errno: EACCES, onCall: call, under: path)
      try append([2], to: next)
      #expect(refused.map(\.systemErrorNumber) == [EACCES])
      #expect(fixture.names.filter { $0.hasSuffix(".mmlog") }.count == 2)
    }

    @Test("a process without a free descriptor writes where it wrote before")
    func aProcessWithoutAFreeDescriptorWritesWhereItWroteBefore() throws {
      let series = try series()
      try append([1], to: series)
      series.expectMove()
      ForcedFault.force(.open, errno: EMFILE, under: fixture.folder.path)
      try append([2], to: series)
      #expect(try archives().map { try $0.ticks() } == [[[1], [2]]])
    }

    /// The argument is how many bytes of the failing write came before the failure.
    @Test("a failed write leaves the archive as it was", arguments: [0, 1, 100, 200])
    func aFailedWriteLeavesTheArchiveAsItWas(written: Int) throws {
      let series = try series()
      try append([1], to: series)
      let end = try archives()[0].end
      if written > 0 { ForcedFault.forceShort(.pwrite, count: written, under: fixture.folder.path) }
      ForcedFault.force(
        .pwrite, errno: ENOSPC, onCall: written > 0 ? 2 : 1, under: fixture.folder.path)
      let error = #expect(throws: SystemError.self) { try append([2, 3], to: series) }
      #expect(error?.isOutOfSpace == true)
      let torn = try archives()[0]
      #expect(torn.end == end && torn.corruptedRanges.isEmpty && torn.tornBytes == 0)
      try append([2, 3], to: series)
      try series.close(dictionary: fixture.dictionary.bytes)
      let archive = try archives()[0]
      #expect(try archive.ticks() == [[1], [2, 3]])
      #expect(archive.isClosed && archive.corruptedRanges.isEmpty)
      #expect(archive.frames.map(\.header.ordinal) == Array(0..<5).map { UInt64($0) })
    }

    @Test("an error of an archive has the name that the archive has")
    func errorsHaveTheName() throws {
      let series = try series()
      try append([1], to: series)
      ForcedFault.force(.pwrite, errno: ENOSPC, under: fixture.folder.path)
      let error = #expect(throws: SystemError.self) { try append([2], to: series) }
      #expect(error?.path == fixture.folder(fixture.names[0]))
    }

    @Test("what a failed write has left is gone before something shorter is written")
    func whatAFailedWriteHasLeftIsGone() throws {
      let series = try series()
      try append([1], to: series)
      ForcedFault.forceShort(.pwrite, count: 2000, under: fixture.folder.path)
      ForcedFault.force(.pwrite, errno: ENOSPC, onCall: 2, under: fixture.folder.path)
      let ticks = (2...20_000).map { UInt64($0 * $0) }
      #expect(throws: SystemError.self) { try append(ticks, to: series) }
      try series.close(dictionary: fixture.dictionary.bytes)
      let archive = try archives()[0]
      #expect(archive.isClosed && archive.isSound)
      #expect(try File.open(archive.path, .read).status().size == archive.closedEnd)
    }

    @Test("an archive that was taken away and could not be closed is synced, or that is reported")
    func anArchiveThatWasTakenAwayIsSynced() throws {
      let series = try series()
      try append([1], to: series)
      rename(fixture.folder(fixture.names[0]), fixture.folder("away"))
      ForcedFault.force(.pwrite, errno: ENOSPC, under: fixture.folder.path)
      try append([2], to: series)
      ForcedFault.force(.fdatasync, errno: EIO, under: fixture.folder.path)
      #expect(throws: SystemError.self) { try series.sync() }
      try series.sync()
    }

    @Test("an archive that is complete is reported, though its name is not safe yet")
    func anArchiveWhoseNameIsNotSafeIsReported() throws {
      let series = try series()
      var closed = 0
      series.report = { if case .closed = $0 { closed += 1 } }
      try append([1], to: series)
      ForcedFault.force(.fsync, errno: EIO, under: fixture.folder.path)
      #expect(throws: SystemError.self) { try series.close(dictionary: fixture.dictionary.bytes) }
      #expect(try closed == 1 && archives().allSatisfy(\.isClosed))
      try series.sync()
      #expect(closed == 1)
    }

    @Test(
      "an archive that cannot be begun leaves nothing", arguments: [SystemCall.openat, .pwrite])
    func anArchiveThatCannotBeBegunLeavesNothing(
      call: SystemCall
    ) throws {
      let series = try series()
      ForcedFault.force(call, errno: EIO, under: fixture.folder.path + "/")
      #expect(throws: SystemError.self) { try append([1], to: series) }
      #expect(fixture.names.isEmpty)
      try append([1], to: series)
      #expect(try archives().map(\.fileHeader.number) == [1])
    }

    @Test("an archive of which something is left can be begun again")
    func anArchiveOfWhichSomethingIsLeftCanBeBegunAgain() throws {
      let series = try series()
      for call in [SystemCall.renameat, .unlinkat] {
        ForcedFault.force(
          call, errno: EIO, onCall: call == .unlinkat ? 2 : 1, under: fixture.folder.path + "/")
      }
      #expect(throws: SystemError.self) { try append([1], to: series) }
      #expect(fixture.names.count == 1)
      try append([1], to: series)
      #expect(try fixture.names.count == 1 && archives().map(\.fileHeader.number) == [1])
    }

    @Test("an archive whose close failed is closed again")
    func anArchiveWhoseCloseFailedIsClosedAgain() throws {
      for call in [SystemCall.pwrite, .fdatasync] {
        let series = try series()
        try append([1], to: series)
        ForcedFault.force(call, errno: EIO, under: fixture.folder.path)
        #expect(throws: SystemError.self) { try series.close(dictionary: fixture.dictionary.bytes) }
        try series.close(dictionary: fixture.dictionary.bytes)
        let archive = try archives()[0]
        #expect(
          archive.isClosed && archive.frames.count == 4 && archive.corruptedRanges.isEmpty,
          "\(call)")
        for name in fixture.names { try fixture.directory().remove(name) }
      }
    }

    @Test("what a sync failed for is written again by the next")
    func whatASyncFailedForIsWrittenAgainByTheNext() throws {
      let series = try series()
      try append([1], to: series)
      try series.sync()
      try append([2], to: series)
      ForcedFault.force(.fdatasync, errno: EIO, under: fixture.folder.path)
      #expect(throws: SystemError.self) { try series.sync() }
      try append([3], to: series)
      // The fault reaches the second try only if that writes; the third try does everything.
      ForcedFault.force(.pwrite, errno: EIO, under: fixture.folder.path)
      #expect(throws: SystemError.self) { try series.sync() }
      try series.sync()
      ForcedFault.force(.pwrite, errno: EIO, under: fixture.folder.path)
      try series.sync()
      ForcedFault.clear(under: fixture.folder.path)
      let archive = try archives()[0]
      #expect(try archive.ticks() == [[1], [2], [3]] && archive.corruptedRanges.isEmpty)
    }

    @Test("an archive of which the disk lost a part is left and another begun")
    func anArchiveOfWhichTheDiskLostAPartIsLeftAndAnotherBegun() throws {
      for isClosing in [false, true] {
        let series = try series()
        try append([1], to: series)
        try append([2], to: series)
        ForcedFault.force(.fdatasync, errno: EIO, under: fixture.folder.path)
        #expect(throws: SystemError.self) { try series.sync() }
        let corrupted = try archives()[0]
        try overwrite(corrupted.path, at: corrupted.end - 8)
        let error = #expect(throws: SystemError.self) {
          if isClosing { try series.close(dictionary: fixture.dictionary.bytes) }
          try series.sync()
        }
        #expect(error?.errno == EIO)
        try append([3], to: series)
        try series.close(dictionary: fixture.dictionary.bytes)
        let archives = try archives()
        #expect(archives.count == 2 && archives[1].isClosed)
        #expect(try archives[1].ticks() == [[3]])
        for name in fixture.names { try fixture.directory().remove(name) }
      }
    }

    @Test("an archive that cannot be synced is left, and stops no other")
    func anArchiveThatCannotBeSyncedIsLeft() throws {
      let series = try series(rotationSize: 4096)
      var closed: [String] = []
      series.report = { if case .closed(let path, _) = $0 { closed.append(path) } }
      try append([1], to: series)
      let first = fixture.folder(fixture.names[0])
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: first)
      defer { ForcedFault.clear(under: first) }

      var failures = 0
      for ticks in 2...200 as ClosedRange<UInt64> {
        do { try append([ticks], to: series) } catch { failures += 1 }
      }

      #expect(failures == 1 && fixture.names.count > 3 && !closed.contains(first))
      #expect(throws: SystemError.self) { try series.sync() }
      let error = #expect(throws: SystemError.self) {
        try series.end(SessionEnd(.closed, time: 1), dictionary: fixture.dictionary.bytes)
      }
      #expect(error?.path == first)
      ForcedFault.clear(under: first)
      try series.sync()
      #expect(closed.contains(first))
      let archives = try archives()
      #expect(archives.allSatisfy { $0.isClosed && $0.corruptedRanges.isEmpty })
      #expect(try archives.flatMap { try $0.ticks() }.flatMap { $0 } == Array(1...200))
    }

    @Test("an archive whose syncs fail again and again is closed and left")
    func anArchiveWhoseSyncsFailIsLeft() throws {
      let series = try series()
      try append([1], to: series)
      let first = fixture.folder(fixture.names[0])
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: first)
      defer { ForcedFault.clear(under: first) }

      var ticks: UInt64 = 1
      while ticks < 100, fixture.names.count == 1 {
        #expect(throws: SystemError.self) { try series.sync() }
        ticks += 1
        _ = thrown(SystemError.self) { try append([ticks], to: series) }
      }

      ForcedFault.clear(under: first)
      try series.sync()
      let archives = try archives()
      #expect(archives.map(\.isClosed) == [true, false])
      #expect(archives.allSatisfy { $0.corruptedRanges.isEmpty })
    }

    @Test("an archive that cannot be read back after a failed sync is left, and another begun")
    func anArchiveThatCannotBeReadBackIsLeft() throws {
      for isClosing in [false, true] {
        let series = try series()
        try append([1], to: series)
        let first = fixture.folder(fixture.names[0])
        ForcedFault.force(.fdatasync, errno: EIO, under: first)
        #expect(throws: SystemError.self) { try series.sync() }
        ForcedFault.force(.pread, errno: EIO, times: .max, under: first)
        defer { ForcedFault.clear(under: first) }

        let error = #expect(throws: SystemError.self) {
          if isClosing { try series.close(dictionary: fixture.dictionary.bytes) }
          try series.sync()
        }
        try append([2], to: series)

        #expect(error?.call == .pread)
        try series.close(dictionary: fixture.dictionary.bytes)
        ForcedFault.clear(under: first)
        let archives = try archives()
        #expect(try archives.map { try $0.ticks() } == [[[1]], [[2]]])
        for name in fixture.names { try fixture.directory().remove(name) }
      }
    }

    @Test("an archive that cannot be made safe for long is given up, and an error names it")
    func anArchiveThatCannotBeMadeSafeIsGivenUp() throws {
      let series = try series()
      var (given, closed) = ([String](), [String]())
      series.report = {
        if case .unsafe(let error) = $0 { given.append(error.path) }
        if case .closed(let path, _) = $0 { closed.append(path) }
      }
      try append([1], to: series)
      let first = fixture.folder(fixture.names[0])
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: first)
      defer { ForcedFault.clear(under: first) }
      #expect(throws: SystemError.self) { try series.close(dictionary: fixture.dictionary.bytes) }
      #expect(throws: SystemError.self) { try series.syncLeft() }
      #expect(series.hasLeft && given.isEmpty && closed.isEmpty)

      series.patience = 0
      #expect(throws: SystemError.self) { try series.syncLeft() }

      #expect(!series.hasLeft && given == [first] && closed == [first])
      try append([2], to: series)
      try series.end(SessionEnd(.closed, time: 1), dictionary: fixture.dictionary.bytes)
    }

    @Test("no more than eight archives wait for a sync: the oldest is given up")
    func archivesThatWaitForASyncAreBounded() throws {
      let series = try series()
      var given: [String] = []
      series.report = { if case .unsafe(let error) = $0 { given.append(error.path) } }
      ForcedFault.force(.fdatasync, errno: EIO, times: .max, under: fixture.folder.path)
      defer { ForcedFault.clear(under: fixture.folder.path) }

      for ticks in 1...12 as ClosedRange<UInt64> {
        try append([ticks], to: series)
        #expect(throws: SystemError.self) {
          try series.close(dictionary: fixture.dictionary.bytes)
        }
      }

      #expect(given == fixture.names.sorted().prefix(4).map { fixture.folder($0) })
    }

    /// Does what a disk does that could not write a page and forgot it.
    private func overwrite(_ path: String, at offset: Int) throws {
      let file = try File.open(path, [.read, .write])
      let byte = try file.bytes(at: offset, count: 1)[0]
      try file.write(all: [~byte], at: offset)
    }
  #endif
}
