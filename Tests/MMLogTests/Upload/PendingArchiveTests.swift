import Glibc
@testable import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import Synchronization
import Testing
import TestSupport

/// Archives that a loop hands on.
@Suite("pending archives") struct PendingArchiveTests {
  private struct Failure: Error {}

  /// Logs `text` and closes the archive.
  private func roll(_ store: LogStore, _ text: String) async throws {
    store.logger(label: "l").info("\(text)")
    _ = try #require(try await store.rotate())
  }

  /// Runs a process that logs `text` and is killed.
  private func crash(_ path: String, _ text: String) async {
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, text = text as String] in
      let store = try LogStore(directory: path, name: "test")
      store.logger(label: "l").info("sealed before \(text)")
      _ = try store.rotate(within: .seconds(60))
      store.logger(label: "l").info("\(text)")
      kill(getpid(), SIGKILL)
    }
  }

  @Test("the archives of a session that crashed are named and announced")
  func announced() async throws {
    let folder = TemporaryDirectory()
    await crash(folder.path, "the crash")
    let store = try LogStore(directory: folder.path, name: "test")
    let events = store.events
    let session = try #require(store.recoveredSessions.first)
    #expect(session.archives.map(\.number) == [1, 2])
    #expect(session.archives.map(\.isSealed) == [true, true])
    #expect(
      session.archives.map { Contents($0.path).messages } == [
        ["sealed before the crash"], ["the crash"],
      ])
    try store.blockingClose()
    var sealed: [String] = []
    for await event in events {
      if case .sealed(let archive) = event { sealed.append(archive.path) }
    }
    #expect(sealed == [session.archives[1].path])
  }

  @Test("an archive that a dead process left without its ring is sealed by the next start")
  func ringless() async throws {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = folder.path as String] in
      let store = try LogStore(directory: path, name: "test")
      store.logger(label: "l").info("archived")
      try store.flush(.archive)
      kill(getpid(), SIGKILL)
    }
    let ring = try #require(try Directory.open(folder.path).names().first { $0.hasSuffix(".ring") })
    try Directory.open(folder.path).remove(ring)
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveredSessions.isEmpty)
    let pending = try store.needingUpload()
    #expect(pending.map { Contents($0.path).messages } == [["archived"]])
    let events = store.events
    try store.blockingClose()
    var sealed: [String] = []
    for await event in events {
      if case .sealed(let archive) = event { sealed.append(archive.path) }
    }
    #expect(sealed == pending.map(\.path))
  }

  @Test(
    "crashed sessions come first, then earlier runs, then what is sealed, until the store closes")
  func order() async throws {
    let folder = TemporaryDirectory()
    let earlier = try LogStore(directory: folder.path, name: "test")
    earlier.logger(label: "l").info("earlier")
    try earlier.blockingClose()
    await crash(folder.path, "crash")
    let store = try LogStore(directory: folder.path, name: "test")
    try await roll(store, "new")
    var (iterator, messages) = (store.pendingArchives.makeAsyncIterator(), [String]())
    for round in 0..<5 {
      let archive = try #require(await iterator.next())
      messages += Contents(archive.path).messages
      try await archive.markUploaded()
      if round == 3 { try await roll(store, "newest") }
    }
    #expect(messages == ["sealed before crash", "crash", "earlier", "new", "newest"])
    #expect(try store.needingUpload().isEmpty)
    try store.blockingClose()
    #expect(await iterator.next() == nil)
    var late = store.pendingArchives.makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test("an upload that fails ends nothing: the archive comes again, behind the others")
  func failure() async throws {
    let test = try TestStore()
    let events = test.store.events
    for text in ["first", "second"] { try await roll(test.store, text) }
    var tried: [UInt32] = []
    for await archive in test.store.pendingArchives {
      tried.append(archive.info.number)
      await archive.upload { _ in if tried.count == 1 { throw Failure() } }
      if tried.count == 3 { break }
    }
    #expect(tried == [1, 2, 1])
    #expect(try test.store.needingUpload().isEmpty)
    try test.store.blockingClose()
    var failures: [String] = []
    for await event in events {
      if case .notUploaded(let archive, let error) = event {
        failures.append("\(archive.number): \(error)")
      }
    }
    #expect(failures == ["1: Failure()"])
  }

  @Test("how a session ended is handed on, though its last archive has no record")
  func end() async throws {
    let test = try TestStore()
    try await roll(test.store, "only")
    try test.store.blockingClose()
    let archives = try test.store.needingUpload()
    #expect(archives.map { $0.contents?.count } == [1, 0])
    #expect(archives.map { $0.contents?.ending } == [nil, .closed])
    // A receiver that has only the first archive does not know how the session ended.
    #expect(Contents(archives[0].path).endings == [.unknown])
    #expect(Contents(test.folder.path).endings.map(\.isCrash) == [false])
    let catalog = Catalog(of: test.folder.path, store: "test")
    let (events, calls) = (EventHub(of: "test", startup: [], observer: nil), EventCount())
    let queue = UploadQueue(catalog, events, wake: { calls.advance() })
    async let first = queue.next(leasedFor: .seconds(60))
    while calls.current < 1 { await Task.yield() }
    _ = queue.serve(try catalog.scan())
    async let second = queue.next(leasedFor: .seconds(60))
    while calls.current < 2 { await Task.yield() }
    _ = queue.serve(try catalog.scan())
    #expect(await [first?.info.number, second?.info.number] == [1, 2])
  }

  @Test("an archive that nobody settles is released, and its lease ends")
  func dropped() async throws {
    let test = try TestStore()
    try await roll(test.store, "x")
    var iterator = test.store.pendingArchives.makeAsyncIterator()
    func scanNext() async throws {
      let archive = try #require(await iterator.next())
      #expect(archive.info.isSealed)
      let leases = try test.store.archives().map { $0.state.lease }
      #expect(leases.count == 1 && leases[0] != nil)
    }
    try await scanNext()
    try await scanNext()
    try test.store.blockingClose()
    let leases = try test.store.archives().filter { $0.number == 1 }.map { $0.state.lease }
    #expect(leases == [nil])
  }

  @Test("an archive that was released once comes again after a second")
  func pause() async throws {
    let test = try TestStore()
    test.log.info("x")
    try test.store.blockingClose()
    let catalog = Catalog(of: test.folder.path, store: "test")
    let (events, calls) = (EventHub(of: "test", startup: [], observer: nil), EventCount())
    let queue = UploadQueue(catalog, events, wake: { calls.advance() })
    /// Serves the next caller that asks for an archive. Returns nil if it got one, else how long it
    /// is until there is one.
    func serve(after seen: UInt32) async throws -> Int64? {
      while calls.current == seen { await Task.yield() }
      return queue.serve(try catalog.scan())
    }
    async let first = queue.next(leasedFor: .seconds(60))
    #expect(try await serve(after: 0) == nil)
    await first?.release()
    queue.doJobs()
    let seen = calls.current
    async let second = queue.next(leasedFor: .seconds(60))
    let delay = try await serve(after: seen)
    // On a busy machine, the second may have passed already.
    #expect((delay ?? 0) <= 1_000_000_000)
    queue.end()
    _ = await second
  }

  #if DEBUG
    @Test("an archive whose lease could not be acquired comes again after a second")
    func leaseFails() async throws {
      let test = try TestStore()
      test.log.info("x")
      try test.store.blockingClose()
      let catalog = Catalog(of: test.folder.path, store: "test")
      let archive = try #require(try catalog.scan().first)
      let (events, calls) = (EventHub(of: "test", startup: [], observer: nil), EventCount())
      let queue = UploadQueue(catalog, events, wake: { calls.advance() })
      async let pending = queue.next(leasedFor: .seconds(600))
      while calls.current < 1 { await Task.yield() }
      ForcedFault.force(.fsync, errno: EIO, under: archive.path)

      var delays: [Int64] = []
      while delays.count < 10, let delay = queue.serve(try catalog.scan()) {
        delays.append(delay)
        if delay > 1_000_000_000 { break }
        Sleep.nanoseconds(delay)
      }

      #expect(!delays.isEmpty && delays.allSatisfy { $0 <= 1_000_000_000 }, "\(delays)")
      queue.end()
      #expect(await pending?.path == archive.path)
    }
  #endif

  @Test("what another has leased comes when that lease ends")
  func leased() async throws {
    let test = try TestStore()
    try await roll(test.store, "x")
    let archive = try #require(try test.store.archives().first)
    _ = try test.store.acquireLease(on: archive, by: "another", for: .milliseconds(300))
    var iterator = test.store.pendingArchives.leased(for: .seconds(60)).makeAsyncIterator()
    #expect(await iterator.next()?.path == archive.path)
    try test.store.blockingClose()
  }

  @Test("several loops never have the same archive, and canceling one ends it")
  func several() async throws {
    let test = try TestStore()
    for index in 0..<20 { try await roll(test.store, "\(index)") }
    let taken = LockedValue<[UInt32]>([])
    let store = test.store
    let loops = (0..<4).map { _ in
      Task {
        for await archive in store.pendingArchives {
          await archive.upload { _ in taken.withLock { $0.append(archive.info.number) } }
        }
      }
    }
    while try !store.needingUpload().isEmpty { await Task.yield() }
    for loop in loops { loop.cancel() }
    for loop in loops { await loop.value }
    #expect(taken.withLock { $0.sorted() } == Array(1...20))
    try test.store.blockingClose()
  }
}
