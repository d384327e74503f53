import Glibc
import MMLog
import MMLogReader
import MMLogSystem
import Synchronization
import Testing
import TestSupport

// Functions that C calls have no context; each test's process has these for itself.
private let log = Logger(label: "ending")
private let opened = LockedValue<LogStore?>(nil)
private let logged = Atomic<Int>(0)

/// Opens the default store of a process that is about to end.
private func openStore(
  _ path: String, drainInterval: Duration = .seconds(1)
) throws -> LogStore {
  var configuration = LogStore.Configuration()
  configuration.drainInterval = drainInterval
  // On a machine with much else to do, the drainer may not get to run for seconds.
  configuration.fullRing = .wait(upTo: .seconds(60))
  let store = try LogStore(directory: path, name: "ending", configuration: configuration)
  store.makeDefault()
  opened.withLock { $0 = store }
  return store
}

/// Logs in its `deinit`.
private final class Talker: Sendable {
  let name: String
  init(_ name: String) { self.name = name }
  deinit { log.info("\(name) goes") }

  /// An object that pthread_setspecific(3) keeps, and a key's destructor releases.
  static func retained(_ name: String) -> UnsafeMutableRawPointer {
    Unmanaged.passRetained(Talker(name)).toOpaque()
  }

  static func makeKey() -> pthread_key_t {
    var key = pthread_key_t()
    let result = pthread_key_create(&key) { value in
      if let value { Unmanaged<Talker>.fromOpaque(value).release() }
    }
    require(result == 0)
    return key
  }
}

@Suite("The end of objects, threads and the process")
struct EndingTests {
  private let folder = TemporaryDirectory()

  @Test(
    "what exit handlers log is kept, of those that were set before and after the store was opened")
  func exitHandlers() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      atexit { log.info("set before") }
      // What is logged stays in the ring, however long the process takes to end.
      _ = try openStore(path, drainInterval: .seconds(3600))
      atexit { log.info("set after") }
      log.info("running")
      exit(0)
    }
    let messages = ["running", "set after", "set before"]
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(contents.messages == messages)
    let next = try LogStore(directory: folder.path, name: "ending")
    #expect(next.recoveredSessions.map(\.recordCount) == [3])
    try next.blockingClose()
    #expect(Contents(folder.path).messages == messages)
  }

  @Test("an exit handler may close the store; what is logged after it is dropped and counted")
  func closingAtExit() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      atexit {
        log.info("after closing")
        require(opened.withLock { $0?.losses[.noRing, .info] } == 1)
      }
      _ = try openStore(path)
      atexit {
        log.info("before closing")
        require(logError { try opened.withLock { $0 }?.close() } == nil)
      }
      exit(0)
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(contents.messages == ["before closing"])
    #expect(contents.endings.map(\.how) == [.closed])
  }

  @Test("a thread that logs on while the process exits loses no record before its last")
  func threadAtExit() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      _ = try openStore(path)
      _ = try Thread(name: "busy") {
        for index in 0... {
          log.info("\(index)")
          logged.store(index, ordering: .relaxed)
        }
      }
      while logged.load(ordering: .relaxed) < 1000 { sched_yield() }
      exit(0)
    }
    let contents = Contents(folder.path)
    #expect(contents.corruption.isEmpty && contents.losses.isEmpty && contents.unreadable.isEmpty)
    #expect(contents.records.count > 1000)
    #expect(contents.messages == contents.records.indices.map { "\($0)" })
  }

  @Test(
    "what the values of an ending thread log is kept, whether mmlog has left that thread before or not"
  )
  func threadValues() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      // Destructors run in the order in which keys were made; the store's is the one between.
      let first = Talker.makeKey()
      let store = try openStore(path)
      let last = Talker.makeKey()
      for _ in 0..<3 {
        try onThreads(1) { _ in
          log.info("a thread")
          pthread_setspecific(first, Talker.retained("the first"))
          pthread_setspecific(last, Talker.retained("the last"))
        }
      }
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    let round = ["a thread", "the first goes", "the last goes"]
    #expect(contents.messages == round + round + round)
  }

  @Test("what objects log in their deinit is kept, also inside a log call's message")
  func deinits() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let store = try openStore(path)
      do { _ = Talker("a local object") }
      log.info("\(Talker("an argument").name) was logged")
      try store.close()
    }
    let contents = Contents(folder.path)
    #expect(contents.isClean)
    #expect(
      contents.messages.sorted() == [
        "a local object goes", "an argument goes", "an argument was logged",
      ])
  }
}
