import Foundation
@testable import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// Rotation, retention and uploads, as a service sees them.
@Suite struct MaintenanceTests {
  /// The next event for which `pick` gives something.
  private func next<Result>(
    _ events: AsyncStream<LogStore.Event>, _ pick: (LogStore.Event) -> Result?
  ) async throws -> Result {
    for await event in events { if let result = pick(event) { return result } }
    throw Ended()
  }
  private struct Ended: Error {}

  /// Logs `text` and closes the archive.
  @discardableResult
  private func roll(_ test: TestStore, _ text: String = "x") async throws -> ArchiveInfo {
    test.log.info("\(text)")
    return try #require(try await test.store.rotate())
  }

  // MARK: - Rotation

  @Test("rotating gives the sealed archive") func rotatingGivesTheSealedArchive() async throws {
    let test = try TestStore()
    #expect(try await test.store.rotate() == nil, "nothing was logged")
    test.log.info("one")
    test.log.error("two")
    let first = try #require(try await test.store.rotate())
    #expect(first.isSealed && !first.isActive && first.number == 1)
    #expect(first.contents?.count(.info) == 1 && first.contents?.count(.error) == 1)
    #expect(Contents(first.path).messages == ["one", "two"])
    #expect(try await test.store.rotate() == nil, "nothing since")
    let second = try await roll(test, "three")
    #expect(second.number == 2)
    #expect(try test.closeAndRead().messages == ["one", "two", "three"])
    let error = await #expect(throws: LogError.self) { try await test.store.rotate() }
    #expect(error?.code == .closed)
  }

  @Test("an idle log rotates by age") func anIdleLogRotatesByAge() async throws {
    let test = try TestStore { $0.rotation.age = .seconds(1) }
    let events = test.store.events
    test.log.info("alone")
    let sealed = try await next(events) { event in
      if case .sealed(let archive) = event { archive } else { nil }
    }
    #expect(sealed.contents?.count == 1)
    #expect(try test.closeAndRead().messages == ["alone"])
  }

  @Test("a changed limit counts at once") func aChangedLimitCountsAtOnce() async throws {
    let test = try TestStore()
    for _ in 0..<2000 { test.log.info("\(UInt64.random(in: 0 ... .max))") }
    try test.store.blockingFlush(.archive)
    let events = test.store.events
    try test.store.update { $0.rotation = Rotation(size: 4096, age: nil) }
    #expect(test.store.settings.rotation.size == 4096)
    let reason = try await next(events) { event in
      if case .willRotate(_, let reason) = event { reason } else { nil }
    }
    #expect(reason == .size)
    let error = logError { try test.store.update { $0.rotation = Rotation(size: 1) } }
    #expect(error?.code == .invalidConfiguration && test.store.settings.rotation.size == 4096)
    try test.store.blockingClose()
  }

  @Test("a session without records leaves nothing")
  func aSessionWithoutRecordsLeavesNothing() throws {
    let test = try TestStore()
    try test.store.close()
    #expect(try test.folder.names() == [])
  }

  @Test("an archive exceeds its size by a frame and its index only")
  func anArchiveExceedsItsSizeByAFrameAndItsIndexOnly() throws {
    let test = try TestStore { $0.rotation.size = 32 << 10 }
    for _ in 0..<40_000 { test.log.info("\(UInt64.random(in: 0 ... .max))") }
    try test.store.close()
    let archives = try test.store.archives()
    #expect(archives.count > 2)
    for archive in archives {
      // A frame's rows are a MiB at the most, of which random numbers take a quarter.
      #expect(archive.size < (32 << 10) + (512 << 10), "\(archive.fileName)")
      // Times by three clocks, which a busy machine reads one after the other.
      let newest = max(archive.created, archive.lastTime)
      #expect(newest <= archive.modified.advanced(by: .seconds(60)))
      #expect(archive.age >= .zero && archive.age < .seconds(86400))
    }
  }

  @Test("reopening goes on in a new archive") func reopeningGoesOnInANewArchive() async throws {
    // In a process of its own, because the signal is for all stores of a process.
    await #expect(processExitsWith: .success) {
      let test = try TestStore()
      let events = test.store.events
      test.log.info("before")
      try test.store.blockingFlush(.archive)
      signal(SIGHUP) { _ in LogStore.reopenAll() }
      // Sends the signal to the process: threads of the concurrency runtime block all signals.
      kill(getpid(), SIGHUP)
      for await event in events { if case .rotated = event { break } }
      test.log.info("after")
      require(try test.closeAndRead().messages == ["before", "after"])
      require(try test.folder.names(ending: ".mmlog").count == 2)
    }
  }

  #if DEBUG
    @Test(
      "an archive's sealing is reported though a scan failed, or could not read the archive",
      arguments: [(SystemCall.open, EMFILE), (.openat, EACCES)])
    func sealingBeforeAFailedScan(call: SystemCall, error: CInt) async throws {
      let test = try TestStore()
      let events = test.store.events
      test.log.info("x")
      try test.store.blockingFlush(.archive)
      let prefix = call == .open ? test.folder.path : test.folder("test-")
      ForcedFault.force(call, errno: error, times: .max, under: prefix)
      let archive = try test.store.blockingRotate()
      // Waits until the drainer has ended its pass, and a later scan has ended, too.
      try test.store.blockingFlush(.archive)
      _ = logError { try test.store.blockingApplyRetention() }
      ForcedFault.clear(under: prefix)
      try test.store.blockingApplyRetention()
      try test.store.blockingApplyRetention()
      try test.store.blockingClose()
      var (sealed, failures) = ([String](), 0)
      for await event in events {
        if case .sealed(let archive) = event { sealed.append(archive.path) }
        if case .failed = event { failures += 1 }
      }
      #expect(failures > 0)
      #expect(sealed.filter { $0 == archive?.path }.count == 1)
    }
  #endif

  // MARK: - Retention

  @Test("limits are applied when an archive is closed")
  func limitsAreAppliedWhenAnArchiveIsClosed() async throws {
    let test = try TestStore { $0.retention.count = 3 }
    let events = test.store.events
    for index in 0..<6 { try await roll(test, "\(index)") }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [4, 5, 6])
    var deleted: [UInt32] = []
    for await event in events {
      if case .deleted(let archive, let rule) = event {
        #expect(rule == .count)
        deleted.append(archive.number)
      }
      if deleted.count == 3 { break }
    }
    #expect(deleted == [1, 2, 3])
    #expect(try test.folder.names(".mmlog-trash") == [])
    #expect(try test.closeAndRead().messages == ["3", "4", "5"])
  }

  @Test("limits are applied again and again without any other reason")
  func limitsAreAppliedAgainAndAgainWithoutAnyOtherReason() async throws {
    let test = try TestStore {
      $0.maintenanceInterval = .milliseconds(5)
      $0.retention.age = .seconds(1)
    }
    let events = test.store.events
    let archive = try await roll(test)
    // Nothing happens until the archive is too old. Then only the maintenance thread's own scan can
    // find that.
    for await event in events {
      guard case .deleted(let deleted, let rule) = event else { continue }
      #expect(deleted.path == archive.path && rule == .age)
      break
    }
    try test.store.blockingClose()
  }

  @Test("a limit smaller than one archive keeps the one being written")
  func aLimitSmallerThanOneArchiveKeepsTheOneBeingWritten() async throws {
    let test = try TestStore { $0.retention.totalSize = 1 }
    let events = test.store.events
    try await roll(test, "old")
    test.log.info("new")
    try test.store.blockingFlush(.archive)
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.isActive) == [true])
    let rule = try await next(events) { event in
      if case .limitExceeded(let rule, _) = event { rule } else { nil }
    }
    #expect(rule == .totalSize)
    // At its end, the session's archive is as good as any other.
    try test.store.blockingClose()
    #expect(try test.store.archives().isEmpty)
  }

  @Test("changed limits count at once and uploaded goes first")
  func changedLimitsCountAtOnceAndUploadedGoesFirst() async throws {
    let test = try TestStore()
    var archives: [ArchiveInfo] = []
    for index in 0..<5 { archives.append(try await roll(test, "\(index)")) }
    try test.store.markUploaded(archives[3])
    try test.store.pin(archives[0], because: "incident 7")
    var retention = test.store.settings.retention
    retention.count = 3
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [1, 3, 5])
    try test.store.unpin(archives[0])
    retention.count = 1
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [5])
    retention.count = 0
    #expect(throws: LogError.self) { try test.store.update { $0.retention = retention } }
    try test.store.blockingClose()
  }

  @Test("archives around a crash are kept") func archivesAroundACrashAreKept() async throws {
    let test = try TestStore { ($0.retention.count, $0.retention.crashes) = (1, 1) }
    try await roll(test, "of the session that goes on")
    try test.store.blockingClose()
    // A copy of a ring is like the ring of a process that died.
    let dead = TemporaryDirectory()
    let store = try LogStore(directory: dead.path, name: "test")
    store.logger(label: "l").info("died")
    let ring = try #require(try dead.names(ending: ".ring").first)
    test.folder.put(ring, try dead.bytes(ring))
    try store.blockingClose()
    let next = try LogStore(
      directory: test.folder.path, name: "test", configuration: test.configuration)
    #expect(next.recoveredSessions.count == 1)
    let log = next.logger(label: "l")
    for index in 0..<3 {
      log.info("\(index)")
      _ = try await next.rotate()
    }
    try next.blockingApplyRetention()
    try next.blockingClose()
    // The crash and what came after it are kept, and nothing else.
    #expect(Contents(test.folder.path).messages == ["died", "0"])
  }

  @Test("what others put there is never touched")
  func whatOthersPutThereIsNeverTouched() async throws {
    let test = try TestStore { $0.retention.count = 1 }
    let session = "000102030405060708090a0b0c0d0e0f"
    let others = [
      "notes.txt", "test.mmlog", "test-20200101T000000Z-\(session)-000001.mmlog",
      "other-20200101T000000Z-\(session)-000001.mmlog",
    ]
    for name in others { test.folder.put(name, Array("precious".utf8)) }
    let elsewhere = try LogStore(directory: test.folder.path, name: "other")
    elsewhere.logger(label: "l").info("another store's")
    try elsewhere.blockingClose()
    for _ in 0..<3 { try await roll(test) }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().count == 1)
    for name in others { #expect(try test.folder.bytes(name) == Array("precious".utf8), "\(name)") }
    #expect(try elsewhere.archives().count == 1)
    try test.store.removeAll()
    #expect(try test.store.archives().isEmpty)
    for name in others { #expect(try test.folder.bytes(name) == Array("precious".utf8), "\(name)") }
    try test.store.blockingClose()
  }

  #if DEBUG
    @Test("what cannot be deleted is reported once and tried again")
    func whatCannotBeDeletedIsReportedOnceAndTriedAgain() async throws {
      let test = try TestStore { $0.retention.count = 1 }
      let first = try await roll(test, "first")
      for call in [SystemCall.renameat, .unlinkat] {
        ForcedFault.force(call, errno: EACCES, onCall: 1, times: 2, under: first.path)
      }
      let events = test.store.events
      try await roll(test, "second")
      try test.store.blockingApplyRetention()
      try test.store.blockingApplyRetention()
      try test.store.blockingApplyRetention()
      #expect(try test.store.archives().map(\.number) == [2])
      try test.store.blockingClose()
      var reported: [String] = []
      for await event in events {
        if case .notDeleted(let archive, _) = event { reported.append("not \(archive.number)") }
        if case .deleted(let archive, _) = event { reported.append("\(archive.number)") }
      }
      #expect(reported == ["not 1", "1"])
    }
  #endif

  #if DEBUG
    @Test("an archive that cannot be read is reported once")
    func anArchiveThatCannotBeReadIsReportedOnce() async throws {
      let test = try TestStore { $0.maintenanceInterval = .seconds(3600) }
      let first = try await roll(test)
      try await roll(test)
      // Waits until the drainer has ended its pass, which asks for a scan when an archive is
      // sealed. The scan that comes next is the last one then: no other meets the fault.
      try test.store.blockingFlush(.archive)
      try test.store.blockingApplyRetention()
      let events = test.store.events
      ForcedFault.force(.fstatat, errno: EIO, times: 1, under: first.path)
      #expect(try test.store.archives().count == 1)
      #expect(try test.store.archives().count == 2)
      // So that the archive is inspected again.
      try test.store.pin(first)
      ForcedFault.force(.openat, errno: EIO, times: 3, under: first.path)
      ForcedFault.force(.fstatat, errno: EIO, times: 1, under: first.path)
      for _ in 0..<4 { try test.store.blockingApplyRetention() }
      #expect(try test.store.archives().count == 2)
      try test.store.blockingClose()
      var reported: [LogError] = []
      for await event in events { if case .failed(let error) = event { reported.append(error) } }
      #expect(
        reported.map(\.path) == [first.path, first.path],
        "once by the listing, once by the maintenance thread")
    }
  #endif

  #if DEBUG
    @Test("unknown free space is reported once and other limits hold")
    func unknownFreeSpaceIsReportedOnceAndOtherLimitsHold() async throws {
      let test = try TestStore { $0.retention.count = 1 }
      try await roll(test)
      try test.store.blockingApplyRetention()
      let events = test.store.events
      ForcedFault.force(.fstatvfs, errno: EIO, times: 2, under: test.folder.path)
      try await roll(test)
      for _ in 0..<3 { try test.store.blockingApplyRetention() }
      #expect(try test.store.archives().map(\.number) == [2])
      try test.store.blockingClose()
      var reported: [LogError] = []
      for await event in events { if case .failed(let error) = event { reported.append(error) } }
      #expect(reported.map(\.systemErrorNumber) == [EIO])
    }
  #endif

  // MARK: - Uploading

  @Test("archives are handed on once") func archivesAreHandedOnOnce() async throws {
    let test = try TestStore()
    let archive = try await roll(test)
    try await roll(test)
    let other = try LogStore(directory: test.folder.path, name: "test")
    let lease = try #require(try test.store.acquireLease(on: archive, by: "a", for: .seconds(60)))
    #expect(try other.acquireLease(on: archive, by: "b", for: .seconds(60)) == nil)
    #expect(try test.store.acquireLease(on: archive, by: "a", for: .seconds(90)) != nil, "renewed")
    try other.release(UploadLease.of("b"), on: archive)
    #expect(try other.acquireLease(on: archive, by: "b", for: .seconds(60)) == nil, "a's, still")
    try test.store.release(lease, on: archive)
    #expect(try other.acquireLease(on: archive, by: "b", for: .zero) != nil)
    #expect(
      try test.store.acquireLease(on: archive, by: "a", for: .seconds(60)) != nil, "b's has ended")
    #expect(try other.needingUpload().map(\.number) == [1, 2])
    try test.store.markUploaded(archive)
    #expect(try other.needingUpload().map(\.number) == [2])
    #expect(try other.uploaded().map(\.number) == [1])
    #expect(try other.acquireLease(on: archive, by: "b", for: .seconds(60)) == nil, "sent already")
    try other.unmarkUploaded(archive)
    #expect(try test.store.removeUploaded([archive]).isEmpty)
    try other.markUploaded(archive)
    try other.pin(archive)
    #expect(try test.store.removeUploaded([archive]).isEmpty)
    try other.unpin(archive)
    #expect(try test.store.removeUploaded([archive]).map(\.number) == [1])
    let gone = logError { try other.markUploaded(archive) }
    #expect(gone?.code == .missingArchive)
    try other.blockingClose()
    try test.store.blockingClose()
  }

  @Test("one archive is removed, and reported as any deletion")
  func oneArchiveIsRemovedAndReportedAsAnyDeletion() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    let events = test.store.events
    let archives = [try await roll(test), try await roll(test)]
    try test.store.remove(archives[0])
    #expect(try test.store.archives().map(\.number) == [2])
    #expect(test.store.pendingBytes == archives[1].allocatedSize)
    #expect(try test.folder.names(".mmlog-trash") == [])
    let deleted = try await next(events) { event in
      if case .deleted(let archive, .request) = event { archive.number } else { nil }
    }
    #expect(deleted == 1)
    #expect(logError { try test.store.remove(archives[0]) }?.code == .missingArchive)
    try test.store.blockingClose()
  }

  #if DEBUG
    @Test("archives are removed, and listed as that, though the trash cannot be emptied yet")
    func removedToAFullTrash() async throws {
      let test = try TestStore { $0.retention = .unlimited }
      let archives = [try await roll(test), try await roll(test), try await roll(test)]
      let trash = test.folder(".mmlog-trash")
      ForcedFault.force(.unlinkat, errno: EIO, times: .max, under: trash)
      try test.store.remove(archives[0])
      try test.store.markUploaded(archives[1])
      #expect(try test.store.removeUploaded(archives).map(\.number) == [2])
      #expect(try test.store.removeAll().map(\.number) == [3])
      ForcedFault.clear(under: trash)
      try test.store.blockingApplyRetention()
      #expect(try test.folder.names(".mmlog-trash") == [])
      try test.store.blockingClose()
    }
  #endif

  @Test("an archive that somebody needs is not removed, and the error says what to do")
  func anArchiveThatSomebodyNeedsIsNotRemoved() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    let archive = try await roll(test)
    func refusal(_ archive: ArchiveInfo) -> LogError? {
      logError { try test.store.remove(archive) }
    }

    try test.store.pin(archive, because: "incident 7")
    let pinned = try #require(refusal(archive))
    #expect(pinned.code == .archiveInUse && pinned.path == archive.path)
    #expect(pinned.message.contains("incident 7") && pinned.message.contains("unpin"))
    try test.store.unpin(archive)

    let lease = try #require(try test.store.acquireLease(on: archive, by: "a", for: .seconds(60)))
    let leased = try #require(refusal(archive))
    #expect(leased.code == .archiveInUse && leased.message.contains("release the lease"))
    try test.store.release(lease, on: archive)

    test.log.info("being written")
    try test.store.blockingFlush(.archive)
    let active = try #require(try test.store.archives().last)
    let written = try #require(refusal(active))
    #expect(written.code == .archiveInUse && written.message.contains("rotate"))
    try test.store.blockingRotate()
    #expect(refusal(active)?.code == .changedArchive)

    // A copy of a ring is like the ring of a process that died.
    let dead = TemporaryDirectory()
    let store = try LogStore(directory: dead.path, name: "test")
    store.logger(label: "l").info("died")
    let left = try #require(try store.blockingRotate())
    let ring = try #require(try dead.names(ending: ".ring").first)
    test.folder.put(ring, try dead.bytes(ring))
    test.folder.put(left.fileName, try dead.bytes(left.fileName))
    try store.blockingClose()
    let needed = try #require(
      try test.store.archives().first { $0.fileName == left.fileName })
    let unrecovered = try #require(refusal(needed))
    #expect(unrecovered.code == .archiveInUse && unrecovered.message.contains("recovery"))

    #expect(try test.store.archives().count == 3)
    try test.store.blockingClose()
  }

  @Test("bytes are counted and thresholds reported once per crossing")
  func bytesAreCountedAndThresholdsReportedOncePerCrossing() async throws {
    let test = try TestStore { $0.pendingThreshold = 1 }
    let events = test.store.events
    let first = try await roll(test)
    try test.store.blockingApplyRetention()
    #expect(test.store.pendingBytes == first.allocatedSize && test.store.uploadedBytes == 0)
    try await roll(test)
    try test.store.blockingApplyRetention()
    for archive in try test.store.archives() { try test.store.markUploaded(archive) }
    #expect(test.store.pendingBytes == 0 && test.store.uploadedBytes == 2 * first.allocatedSize)
    try test.store.blockingApplyRetention()
    try await roll(test)
    try test.store.blockingApplyRetention()
    try test.store.blockingClose()
    var reported = 0
    for await event in events { if case .pendingReached = event { reported += 1 } }
    #expect(reported == 2)
  }

  @Test("changes of sizes are reported, with the newest only for who does not keep up")
  func changesOfSizesAreReported() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    var changes = test.store.sizeChanges.makeAsyncIterator()
    var sizes = try #require(await changes.next())
    #expect(sizes == test.store.sizes && sizes.total == 0)

    var archives: [ArchiveInfo] = []
    for _ in 0..<20 { archives.append(try await roll(test)) }
    try test.store.blockingApplyRetention()
    sizes = try #require(await changes.next())
    let all = archives.reduce(0) { $0 + $1.allocatedSize }
    #expect(sizes.pending == all && sizes.uploaded == 0 && sizes.total == all)

    try test.store.markUploaded(archives[0])
    sizes = try #require(await changes.next())
    let first = archives[0].allocatedSize
    #expect(sizes.pending == all - first && sizes.uploaded == first && sizes.total == all)

    for archive in archives { try test.store.remove(archive) }
    for _ in 0..<1000 { test.log.info("not one for each record") }
    try test.store.blockingClose()
    var rest = 0
    while let last = await changes.next() { (sizes, rest) = (last, rest + 1) }
    #expect(rest == 1 && sizes == test.store.sizes)
    // The archive of those records, which closing has sealed.
    #expect(sizes.pending > 0 && sizes.uploaded == 0 && sizes.total == sizes.pending)
  }

  @Test("who listens to sizes of a closed store is given them, and the end")
  func sizesOfAClosedStore() async throws {
    let test = try TestStore()
    try await roll(test)
    try test.store.blockingClose()
    var given: [LogStore.Sizes] = []
    for await sizes in test.store.sizeChanges { given.append(sizes) }
    #expect(given == [test.store.sizes] && given[0].total > 0)
  }

  // MARK: - Observers

  /// Keeps archives whose number is in a set, remembers the events, and may do something at each
  /// event.
  private final class Observer: LogStore.Observer {
    let kept: Set<UInt32>
    let body: @Sendable (LogStore.Event) -> Void
    let reported = LockedValue<[String]>([])

    init(
      keeping kept: Set<UInt32> = [],
      _ body: @escaping @Sendable (LogStore.Event) -> Void = { _ in }
    ) {
      (self.kept, self.body) = (kept, body)
    }

    func handle(_ event: LogStore.Event) {
      reported.withLock { $0.append("\(event)") }
      body(event)
    }

    func mayDelete(_ archive: ArchiveInfo, for rule: Retention.Rule) -> Bool {
      !kept.contains(archive.number)
    }
  }

  @Test("an observer may keep an archive") func anObserverMayKeepAnArchive() async throws {
    let observer = Observer(keeping: [1])
    let test = try TestStore { ($0.observer, $0.retention.count) = (observer, 1) }
    for _ in 0..<3 { try await roll(test) }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [1, 3])
    try test.store.blockingClose()
  }

  /// Lets another session go on with the archive that it is asked about first, and keeps all others
  /// that it is asked about.
  private final class ResumingObserver: LogStore.Observer {
    let sizes = LockedValue<[Int]>([])

    func handle(_ event: LogStore.Event) {}

    func mayDelete(_ archive: ArchiveInfo, for rule: Retention.Rule) -> Bool {
      let isFirst = sizes.withLock {
        $0.append(archive.size)
        return $0.count == 1
      }
      if isFirst { resume(archive.path) }
      return isFirst
    }
  }

  @Test("an archive that a store goes on with before it is deleted is judged anew")
  func resumedMeanwhile() async throws {
    let observer = ResumingObserver()
    let test = try TestStore { ($0.observer, $0.retention.count) = (observer, 1) }
    let archive = try await roll(test)
    try await roll(test)
    for _ in 1...2 { try test.store.blockingApplyRetention() }
    #expect(try test.store.archives().map(\.number) == [1, 2])
    let sizes = observer.sizes.withLock { $0 }
    #expect(sizes.count >= 2 && sizes[0] == archive.size && sizes[1] > sizes[0], "\(sizes)")
    try test.store.blockingClose()
  }

  /// Takes its time over the second archive, and looks for the first one when it is asked about the
  /// third.
  private final class SlowObserver: LogStore.Observer {
    private let first = LockedValue("")
    let isFirstGone = LockedValue<Bool?>(nil)

    func handle(_ event: LogStore.Event) {}

    func mayDelete(_ archive: ArchiveInfo, for rule: Retention.Rule) -> Bool {
      switch archive.number {
      case 1: first.withLock { $0 = archive.path }
      case 2: Sleep.nanoseconds(200_000_000)
      default:
        let path = first.withLock { $0 }
        isFirstGone.withLock { $0 = !FileManager.default.fileExists(atPath: path) }
      }
      return true
    }
  }

  @Test("what an observer lets go is deleted before its slow answers about more")
  func slowObserver() async throws {
    let observer = SlowObserver()
    let test = try TestStore { ($0.observer, $0.retention) = (observer, .unlimited) }
    for _ in 0..<4 { try await roll(test) }
    try test.store.update { $0.retention.count = 1 }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [4])
    #expect(observer.isFirstGone.withLock { $0 } == true)
    try test.store.blockingClose()
  }

  @Test("nothing is deleted unasked when a store is closed")
  func nothingIsDeletedUnaskedWhenAStoreIsClosed() async throws {
    let observer = Observer(keeping: [1, 2, 3])
    let test = try TestStore { ($0.observer, $0.retention.count) = (observer, 1) }
    for _ in 0..<3 { try await roll(test) }
    try test.store.blockingClose()
    #expect(try test.folder.names(ending: ".mmlog").count >= 3)
  }

  @Test("an observer may call any method of the store")
  func anObserverMayCallAnyMethodOfTheStore() async throws {
    let box = LockedValue<LogStore?>(nil)
    let done = AsyncStream<Int>.makeStream()
    let observer = Observer { event in
      guard case .sealed(let archive) = event, archive.number <= 2,
        let store = box.withLock({ $0 })
      else { return }
      do {
        try store.markUploaded(archive)
        try store.flush(.disk)
        try store.applyRetention()
        done.continuation.yield(try store.archives().count)
        if archive.number == 2 { try store.close() }
      } catch { Issue.record(error) }
    }
    let test = try TestStore { $0.observer = observer }
    box.withLock { $0 = test.store }
    for _ in 0..<2 {
      test.log.info("x")
      _ = try? await test.store.rotate()
    }
    var counts = done.stream.makeAsyncIterator()
    #expect(await counts.next() == 1)
    #expect(await counts.next() == 2)
    try test.store.blockingClose()
    box.withLock { $0 = nil }
  }

  @Test("what an observer wants to keep stays while the observer is busy with an event")
  func busyObserver() async throws {
    let box = LockedValue<LogStore?>(nil)
    let done = AsyncStream<Void>.makeStream()
    let observer = Observer(keeping: [1]) { event in
      guard case .sealed(let archive) = event, archive.number == 2,
        let store = box.withLock({ $0 })
      else { return }
      // The pass that it waits for wants to delete the first archive.
      do { try store.applyRetention() } catch { Issue.record(error) }
      done.continuation.finish()
    }
    let test = try TestStore { ($0.observer, $0.retention.count) = (observer, 1) }
    box.withLock { $0 = test.store }
    for _ in 0..<2 { try await roll(test) }
    for await _ in done.stream {}
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().map(\.number) == [1, 2])
    #expect(test.store.missedEvents == 0)
    try test.store.blockingClose()
    box.withLock { $0 = nil }
  }

  @Test("an observer that hangs delays nothing")
  func anObserverThatHangsDelaysNothing() async throws {
    let gate = ForkSafeMutex()
    gate.lock()
    let observer = Observer { _ in
      gate.lock()
      gate.unlock()
    }
    let test = try TestStore { ($0.observer, $0.retention.count) = (observer, 1) }
    for _ in 0..<3 { try await roll(test) }
    try test.store.blockingApplyRetention()
    #expect(try test.store.archives().count == 3, "the observer may want to keep them")
    try test.store.blockingClose()
    gate.unlock()
  }

  /// A queue whose observer is busy with an event until the gate is unlocked, and an archive to ask
  /// about.
  private func busyQueue(
    patience: UInt64
  ) async throws -> (ObserverQueue, ArchiveInfo, gate: ForkSafeMutex) {
    let test = try TestStore()
    let archive = try await roll(test)
    try test.store.blockingClose()
    let gate = ForkSafeMutex()
    gate.lock()
    let observer = Observer(keeping: [1]) { _ in
      gate.lock()
      gate.unlock()
    }
    let queue = ObserverQueue(observer, patience: patience)
    queue.send(.resumed)
    return (queue, archive, gate)
  }

  @Test("how long an observer has been busy is known however many events it misses")
  func observerThatMissesEvents() async throws {
    let patience: UInt64 = 30_000_000_000
    let (queue, archive, gate) = try await busyQueue(patience: patience)
    #expect(!queue.ask(archive, .count))
    let asked = Clock.monotonic()
    for _ in 0..<2000 { queue.send(.resumed) }
    while Clock.monotonic() - asked < patience { try await Task.sleep(for: .milliseconds(10)) }
    #expect(queue.ask(archive, .count))
    gate.unlock()
    queue.finish()
    queue.waitForEnd()
  }

  @Test("an observer that is busy for too long is taken to agree")
  func observerThatIsBusyForTooLong() async throws {
    let (queue, archive, gate) = try await busyQueue(patience: 0)
    #expect(queue.ask(archive, .count))
    #expect(queue.missedCount == 1)
    gate.unlock()
    queue.finish()
    queue.waitForEnd()
  }

  // MARK: - Outside hands

  @Test(
    "an archive taken away is noticed at the next write",
    arguments: ["removed", "renamed", "replaced", "cut"])
  func anArchiveTakenAwayIsNoticedAtTheNextWrite(how: String) async throws {
    let test = try TestStore()
    let events = test.store.events
    test.log.info("first")
    try test.store.blockingFlush(.archive)
    let path = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
    switch how {
    case "removed": unlink(path)
    case "renamed": rename(path, test.folder("rotated.mmlog"))
    case "replaced":
      rename(path, test.folder("elsewhere"))
      try Data("something else".utf8).write(to: URL(fileURLWithPath: path))
    default: truncate(path, 0)
    }
    test.log.info("second")
    try test.store.blockingFlush(.archive)
    var closed: [String] = []
    let taken = try await next(events) { event -> String? in
      if case .willRotate(let path, .interference) = event { closed.append(path) }
      return if case .takenAway(let path) = event { path } else { nil }
    }
    #expect(taken == path)
    // An archive that is still somewhere is completed there.
    #expect(closed == (how == "renamed" || how == "replaced" ? [path] : []))
    try test.store.blockingClose()
    let messages = Contents(test.folder.path).messages
    #expect(messages == (how == "renamed" ? ["first", "second"] : ["second"]))
    if how == "replaced" {
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "something else")
      // The archive that was moved away was completed.
      rename(test.folder("elsewhere"), test.folder("elsewhere.mmlog"))
      #expect(Contents(test.folder("elsewhere.mmlog")).messages == ["first"])
    }
  }

  @Test("an archive taken away from an idle log is reported when its time has come")
  func anArchiveTakenAwayFromAnIdleLogIsReportedWhenItsTimeHasCome() async throws {
    let test = try TestStore { $0.rotation.age = .seconds(1) }
    let events = test.store.events
    test.log.info("alone")
    try test.store.blockingFlush(.archive)
    let name = try #require(try test.folder.names(ending: ".mmlog").first)
    unlink(test.folder(name))
    let isReported = try await next(events) { event -> Bool? in
      switch event {
      case .takenAway(let path): path == test.folder(name)
      // It could not have been closed in time by whoever ran so late.
      case .rotated: false
      default: nil
      }
    }
    #expect(isReported)
    try test.store.blockingClose()
  }

  @Test("a directory taken away is made anew", arguments: ["removed", "renamed"])
  func aDirectoryTakenAwayIsMadeAnew(how: String) async throws {
    let folder = TemporaryDirectory()
    var configuration = LogStore.Configuration()
    configuration.stallTime = .seconds(3600)
    let store = try LogStore(directory: folder("logs"), name: "test", configuration: configuration)
    let events = store.events
    let log = store.logger(label: "l")
    log.info("first")
    try store.blockingFlush(.archive)
    if how == "removed" {
      try FileManager.default.removeItem(atPath: folder("logs"))
    } else {
      rename(folder("logs"), folder("old"))
    }
    log.info("second")
    // The ring is checked once a second.
    _ = try await next(events) { event in
      if case .resumed = event { true } else { nil }
    }
    log.info("third")
    try store.blockingClose()
    #expect(Contents(folder("logs")).messages.suffix(1) == ["third"])
    let old = how == "renamed" ? Contents(folder("old")).messages : []
    let all = old + Contents(folder("logs")).messages
    #expect(all == (how == "renamed" ? ["first", "second", "third"] : ["second", "third"]))
  }
}

extension UploadLease {
  /// A lease that another owner has made up.
  fileprivate static func of(_ owner: String) -> UploadLease {
    UploadLease(owner: owner, expiry: 0)
  }
}

/// Appends an archive of another session to a file, as `resumeLastArchive` does.
func resume(_ path: String) {
  do {
    let file = try File.open(path, .write)
    try file.write(all: TestLog.sealed(session: 2), at: file.status().size)
  } catch {
    Issue.record("\(error)")
  }
}
