import Foundation
import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Several stores, handled together.
@Suite struct LogStoresTests {
  private let folder = TemporaryDirectory()

  /// Two stores in one directory, and one in another.
  private func open() throws -> LogStores {
    var configuration = LogStore.Configuration()
    configuration.retention = .unlimited
    var stores = try LogStores(
      directory: folder.path + "/a", names: ["one", "two"], configuration: configuration)
    let third = try LogStore(
      directory: folder.path + "/b", name: "three", configuration: configuration)
    stores.add(third)
    return stores
  }

  /// Logs `text` in one of the stores, and closes its archive.
  private func roll(_ store: LogStore, _ text: String) throws -> ArchiveInfo {
    store.logger(label: "test").info("\(text)")
    return try #require(try store.rotate())
  }

  @Test("levels of several stores are set together, and their records flushed together")
  func levelsAndFlushing() throws {
    let stores = try open()
    stores.setLevel(.debug, for: "db.*")
    for store in stores.stores { store.logger(label: "db.pool").debug("one") }
    try stores.flush(.disk, within: LogStore.patience)
    for name in ["one", "two", "three"] {
      let store = try #require(stores[name])
      #expect(store.levels["db.pool"] == .debug)
    }
    #expect(stores["four"] == nil && stores.losses == LossLedger())
    try stores.close()
    #expect(Contents(folder.path + "/a").messages.count == 2)
    #expect(Contents(folder.path + "/b").messages.count == 1)
  }

  @Test("changes of the sizes of several stores are reported together, until all are closed")
  func changesOfSizes() async throws {
    let stores = try open()
    var changes = stores.sizeChanges.makeAsyncIterator()
    #expect(await changes.next()?.total == 0)
    var expected = 0
    for store in stores.stores {
      expected += try roll(store, "one").allocatedSize
      try await store.applyRetention()
      // The archive is counted when it is sealed, and perhaps before, while it is written.
      var sizes = await changes.next()
      while let known = sizes, known.pending < expected { sizes = await changes.next() }
      #expect(sizes?.pending == expected && sizes == stores.sizes)
    }
    try await stores.stores[0].close()
    stores.stores[1].logger(label: "test").info("closed last")
    for store in stores.stores.dropFirst() { try await store.close() }
    var last: LogStore.Sizes?
    while let sizes = await changes.next() { last = sizes }
    #expect(last == stores.sizes && (last?.pending ?? 0) > expected)
  }

  @Test("archives of several stores are rotated together, and listed and added up as one")
  func archivesOfAll() throws {
    let stores = try open()
    let names = ["three", "one", "two", "three"]
    let rolled = try names.map { try roll(try #require(stores[$0]), $0) }
    #expect(try stores.archives().map(\.storeName) == names)
    #expect(try stores.rotate(within: LogStore.patience) == [], "nothing was logged since")
    for store in stores.stores { store.logger(label: "test").info("more") }
    let closed = try stores.rotate(within: LogStore.patience)
    #expect(closed.map(\.storeName) == ["one", "two", "three"])
    try #require(stores["one"]).markUploaded(rolled[1])
    let archives = try stores.archives()
    let sizes = stores.sizes
    #expect(archives.count == 7 && sizes.total == archives.reduce(0) { $0 + $1.allocatedSize })
    #expect(sizes.uploaded == rolled[1].allocatedSize)
    #expect(sizes.pending == sizes.total - sizes.uploaded)
    // A second store of the same directory and name has the same archives.
    var more = stores
    more.add(try LogStore(directory: folder.path + "/a", name: "one"))
    #expect(try more.archives().count == 7 && more.sizes == sizes)
    try more.close()
  }

  @Test("one limit of size holds for the archives of several stores, the oldest of all go first")
  func oneLimitForAll() throws {
    let stores = try open()
    let names = ["three", "one", "two", "three", "one"]
    let rolled = try names.map { try roll(try #require(stores[$0]), $0) }
    try #require(stores["two"]).markUploaded(rolled[2])
    try #require(stores["three"]).pin(rolled[0])
    let size = rolled[4].allocatedSize + rolled[3].allocatedSize + rolled[0].allocatedSize
    let deleted = try stores.limitTotalSize(to: size)
    #expect(Set(deleted.map(\.path)) == Set([rolled[1].path, rolled[2].path]))
    #expect(try stores.archives().map(\.path) == [0, 3, 4].map { rolled[$0].path })
    #expect(stores.sizes.total == size)
    #expect(try stores.limitTotalSize(to: size) == [], "it holds")
    // A pinned archive stays, although the limit is exceeded.
    #expect(try stores.limitTotalSize(to: 1).count == 2)
    #expect(try stores.archives().map(\.path) == [rolled[0].path])
    let error = logError { try stores.limitTotalSize(to: 0) }
    #expect(error?.code == .invalidConfiguration)
    try stores.close()
  }

  #if DEBUG
    @Test("one limit spares an archive that a store goes on with before it is deleted")
    func resumedMeanwhile() async {
      await #expect(processExitsWith: .success) {
        let path = LockedValue<String?>(nil)
        // After the listing, and before the deletion.
        TestPoint.handler = { point in
          guard point == .directoryLocked else { return }
          let resumed = path.withLock { path in
            defer { path = nil }
            return path
          }
          if let resumed { resume(resumed) }
        }
        let test = try TestStore { $0.retention = .unlimited }
        for _ in 1...2 {
          test.log.info("x")
          _ = try test.store.blockingRotate()
        }
        try test.store.blockingApplyRetention()
        let archives = try test.store.archives()
        path.withLock { $0 = archives[0].path }
        let stores = LogStores([test.store])
        let deleted = try stores.limitTotalSize(to: 1).map(\.path)
        require(deleted == [archives[1].path], "\(deleted)")
        let left = try stores.archives()
        require(left.map(\.path) == [archives[0].path] && left[0].size > archives[0].size)
        try test.store.blockingClose()
      }
    }
  #endif

  @Test("the events of a limit over several stores name its rule")
  func eventsNameTheRule() async throws {
    let stores = try open()
    let store = try #require(stores["one"])
    let (events, archive) = (store.events, try roll(store, "x"))
    try stores.limitTotalSize(to: 1)
    try stores.close()
    var rules: [Retention.Rule] = []
    for await event in events {
      if case .deleted(let deleted, let rule) = event, deleted.path == archive.path {
        rules.append(rule)
      }
    }
    #expect(rules == [.totalSize])
  }

  @Test("the archives around a crash stay, store by store")
  func archivesAroundACrashStay() {
    var archives = (0..<6).map {
      RetentionPlan.Archive(allocated: 1, lastTime: Timestamp(seconds: $0))
    }
    for index in archives.indices { archives[index].store = index % 2 == 0 ? "a" : "b" }
    // The next archive of the same store is not the next one of all.
    archives[1].crashTime = Timestamp(seconds: 1)
    var retention = Retention.unlimited
    retention.totalSize = 1
    let plan = RetentionPlan(retention, archives, now: Timestamp(seconds: 10), space: nil)
    #expect(plan.kept == [1: .aroundCrash, 3: .aroundCrash])
  }

  @Test("if one of several stores cannot be opened, the others are closed")
  func theOthersAreClosed() throws {
    #expect(throws: LogError.self) {
      try LogStores(directory: folder.path + "/c", names: ["good", "with/slash"])
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/c") == [])
  }

  @Test("what fails for one of several stores is done for the others")
  func aFailureStopsNobody() throws {
    let stores = try open()
    try stores.stores[0].close()
    for store in stores.stores { store.logger(label: "test").info("x") }
    let error = logError { try stores.rotate(within: LogStore.patience) }
    #expect(error?.code == .closed)
    #expect(try stores.archives().filter(\.isSealed).map(\.storeName) == ["two", "three"])
    try stores.close()
  }
}
