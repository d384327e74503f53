import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// How archives are handed on, and what the store reports about it.
@Suite struct UploadTests {
  /// Logs `text` and closes the archive.
  @discardableResult
  private func roll(_ test: TestStore, _ text: String = "x") async throws -> ArchiveInfo {
    test.log.info("\(text)")
    return try #require(try await test.store.rotate())
  }

  /// Closes the store, and returns all that it reported, in short.
  private func close(_ store: LogStore, _ events: AsyncStream<LogStore.Event>) async throws
    -> [String]
  {
    try store.blockingClose()
    var reported: [String] = []
    for await event in events {
      switch event {
      case .willRotate(_, let reason): reported.append("will rotate: \(reason)")
      case .rotated: reported.append("rotated")
      case .sealed(let archive): reported.append("sealed \(archive.number)")
      case .willDelete(let archive, let rule):
        reported.append("will delete \(archive.number): \(rule)")
      case .deleted(let archive, let rule): reported.append("deleted \(archive.number): \(rule)")
      case .limitExceeded(let rule, _): reported.append("exceeded: \(rule)")
      case .lowSpace: reported.append("low space")
      case .sizeReached: reported.append("size")
      default: break
      }
    }
    return reported
  }

  @Test("a process that keeps the directory locked does not hold up the close for each archive")
  func lockedDirectory() async throws {
    let test = try TestStore()
    for _ in 0..<4 { try await roll(test) }
    let directory = try Directory.open(test.folder.path)
    let lock = try DirectoryLock.acquire(on: directory, within: 60_000_000_000)
    let events = test.store.events
    let isAsking = SharedCount()
    let uploader = Task {
      var archives = test.store.pendingArchives.makeAsyncIterator()
      isAsking.value = 1
      return await archives.next() != nil
    }
    while isAsking.value == 0 { await Task.yield() }
    try await test.store.close()
    #expect(await !uploader.value)
    var refusals = 0
    for await event in events { if case .notUploaded = event { refusals += 1 } }
    #expect(refusals <= 1)
    withExtendedLifetime(lock) {}
  }

  // MARK: - Events

  @Test("a roll and a deletion are reported before and after")
  func aRollAndADeletionAreReportedBeforeAndAfter() async throws {
    let test = try TestStore { $0.retention.count = 1 }
    let events = test.store.events
    for _ in 0..<2 {
      try await roll(test)
      try test.store.blockingApplyRetention()
    }
    let reported = try await close(test.store, events)
    #expect(
      Array(reported.prefix(7)) == [
        "will rotate: request", "rotated", "sealed 1", "will rotate: request", "rotated",
        "sealed 2", "will delete 1: count",
      ])
    #expect(reported.dropFirst(7).first == "deleted 1: count", "\(reported)")
  }

  @Test("every deletion says its rule") func everyDeletionSaysItsRule() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    let events = test.store.events
    var archives: [ArchiveInfo] = []
    for _ in 0..<6 { archives.append(try await roll(test)) }
    try test.store.markUploaded(archives[5])
    #expect(try test.store.removeUploaded(archives).map(\.number) == [6])
    var retention = Retention.unlimited
    retention.count = 4
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    retention = .unlimited
    retention.totalSize = archives[0].allocatedSize * 3
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    retention = .unlimited
    (retention.freeSpace, retention.minimumSize) = (.fraction(1), archives[0].allocatedSize)
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    retention = .unlimited
    retention.age = .nanoseconds(1)
    try test.store.update { $0.retention = retention }
    try test.store.blockingApplyRetention()
    try test.store.update { $0.retention = .unlimited }
    let reported = try await close(test.store, events).filter { $0.hasPrefix("deleted") }
    #expect(
      reported == [
        "deleted 6: request", "deleted 1: count", "deleted 2: totalSize", "deleted 3: freeSpace",
        "deleted 4: freeSpace", "deleted 5: age",
      ])
  }

  @Test("low space and sizes are reported once per crossing")
  func lowSpaceAndSizesAreReportedOncePerCrossing() async throws {
    let test = try TestStore {
      $0.retention = .unlimited
      $0.sizeThreshold = 1
    }
    let events = test.store.events
    var low = Retention.unlimited
    (low.freeSpace, low.minimumSize) = (.fraction(1), 1 << 40)
    for _ in 0..<2 {
      try await roll(test)
      for retention in [low, low, .unlimited] {
        try test.store.update { $0.retention = retention }
        try test.store.blockingApplyRetention()
      }
      try test.store.removeAll()
      try test.store.blockingApplyRetention()
    }
    let reported = try await close(test.store, events)
    // The last event is for the archive that says that the store was closed.
    #expect(
      reported.count { $0 == "low space" } == 2 && reported.count { $0 == "size" } == 3,
      "\(reported)")
  }

  @Test("what a listener misses is counted") func whatAListenerMissesIsCounted() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    // Nobody reads the events, and there is room for 256.
    let events = test.store.events
    for _ in 0..<100 { try await roll(test) }
    try test.store.blockingApplyRetention()
    let reported = try await close(test.store, events)
    #expect(test.store.missedEvents > 0 && reported.count <= 256)
    #expect(reported.last == "sealed 101", "the oldest are missed: \(reported.suffix(3))")
  }

  // MARK: - Retention

  @Test("the trash is emptied at the start") func theTrashIsEmptiedAtTheStart() async throws {
    let test = try TestStore()
    let archive = try await roll(test)
    try test.store.blockingClose()
    // As if the process had died between the rename and the removal.
    mkdir(test.folder(".mmlog-trash"), 0o700)
    rename(archive.path, test.folder(".mmlog-trash/\(archive.fileName)"))
    let next = try LogStore(directory: test.folder.path, name: "test")
    try next.blockingApplyRetention()
    #expect(try test.folder.names(".mmlog-trash") == [])
    try next.blockingClose()
  }

  // MARK: - Leases, marks

  @Test("two uploaders never have the same archive")
  func twoUploadersNeverHaveTheSameArchive() async throws {
    let test = try TestStore()
    for _ in 0..<20 { try await roll(test) }
    let stores = try (0..<4).map { _ in
      try LogStore(directory: test.folder.path, name: "test")
    }
    let sent = LockedValue<[UInt32]>([])
    try onThreads(stores.count) { index in
      let store = stores[index]
      do {
        for archive in try store.needingUpload() {
          let lease = try store.acquireLease(
            on: archive, by: "uploader \(index)", for: .seconds(3600))
          guard lease != nil else { continue }
          sent.withLock { $0.append(archive.number) }
          try store.markUploaded(archive)
        }
      } catch { Issue.record(error) }
    }
    #expect(sent.withLock { $0.sorted() } == Array(1...20))
    for store in stores { try store.blockingClose() }
    #expect(try test.store.uploaded().count == 20)
    try test.store.blockingClose()
  }

  @Test("receipts and attributes are read by other stores, also of a pending archive")
  func receiptsAndAttributesAreReadByOtherStores() async throws {
    let test = try TestStore { $0.retention = .unlimited }
    let archives = [try await roll(test), try await roll(test)]
    try test.store.setAttribute("OPS-17", for: "ticket", on: archives[1])
    try test.store.markUploaded(archives[0], receipt: "first")
    // Neither another receipt nor a missing one changes what was noted.
    try test.store.markUploaded(archives[0])
    for await pending in test.store.pendingArchives {
      #expect(pending.info.state.attributes == ["ticket": "OPS-17"])
      try await pending.markUploaded(receipt: "second")
      break
    }
    let other = try LogStore(directory: test.folder.path, name: "test")
    #expect(try other.archives().map(\.state.receipt) == ["first", "second"])
    #expect(try other.archives().map(\.state.attributes) == [[:], ["ticket": "OPS-17"]])
    try other.unmarkUploaded(archives[0])
    #expect(try test.store.archives().map(\.state.receipt) == [nil, "second"])
    try other.blockingClose()
    try test.store.blockingClose()
  }

  @Test("a mark goes along with a copy that keeps attributes")
  func aMarkGoesAlongWithACopyThatKeepsAttributes() async throws {
    let test = try TestStore()
    let archive = try await roll(test)
    try test.store.markUploaded(archive)
    try test.store.pin(archive, because: "incident 7")
    try test.store.blockingClose()
    let copy = TemporaryDirectory()
    let process = try Process.run(
      URL(fileURLWithPath: "/bin/cp"), arguments: ["-a", "\(test.folder.path)/.", copy.path])
    process.waitUntilExit()
    let store = try LogStore(directory: copy.path, name: "test")
    let state = try #require(try store.archives().first?.state)
    #expect(state.isUploaded && state.pinned == "incident 7")
    try store.blockingClose()
  }

  @Test(
    "without extended attributes everything is noted beside",
    .enabled(if: mountsCanBeMade, "no such file system can be mounted"))
  func withoutExtendedAttributesEverythingIsNotedBeside() async throws {
    let folder = TemporaryDirectory()
    #expect(mount("none", folder.path, "ramfs", 0, nil) == 0)
    defer { umount2(folder.path, CInt(MNT_DETACH)) }
    var configuration = LogStore.Configuration()
    configuration.retention = .unlimited
    let store = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    let log = store.logger(label: "l")
    var archives: [ArchiveInfo] = []
    for index in 0..<3 {
      log.info("\(index)")
      archives.append(try #require(try await store.rotate()))
    }
    try store.markUploaded(archives[0])
    try store.pin(archives[1], because: "incident 7")
    #expect(try store.acquireLease(on: archives[2], by: "a", for: .seconds(60)) != nil)
    #expect(try folder.names(ending: ".state").count == 3)
    // Another process sees the same.
    let other = try LogStore(directory: folder.path, name: "test", configuration: configuration)
    #expect(try other.acquireLease(on: archives[2], by: "b", for: .seconds(60)) == nil)
    #expect(try other.archives().map(\.state.isUploaded).prefix(3) == [true, false, false])
    #expect(try other.archives()[1].state.pinned == "incident 7")
    configuration.retention.count = 1
    try other.update { $0.retention = configuration.retention }
    try other.blockingApplyRetention()
    #expect(try other.archives().prefix(1).map(\.number) == [2])
    // What was noted of the other archives is removed with them, even if somebody else removed one.
    unlink(archives[1].path)
    try other.blockingApplyRetention()
    #expect(try folder.names(ending: ".state") == [])
    try other.blockingClose()
    try store.blockingClose()
  }
}
