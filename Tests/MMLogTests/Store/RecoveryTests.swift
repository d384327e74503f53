import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogSystem
import Synchronization
import TestSupport
import Testing

@Suite("Recovery at start")
struct RecoveryTests {
  @Test("what a killed process logged is recovered once, and reported")
  func killedProcess() async throws {
    let folder = TemporaryDirectory()
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      var configuration = LogStore.Configuration()
      configuration.makeTiny()
      configuration.fullRing = .wait(upTo: .seconds(60))
      let store = try LogStore(directory: path, name: "dead", configuration: configuration)
      let log = store.logger(label: "l")
      for index in 0..<5000 { log.info("\(index) \("text")") }
      log.critical("last")
      kill(getpid(), SIGKILL)
    }
    let before = Contents(path)
    #expect(before.messages == (0..<5000).map { "\($0) text" } + ["last"])
    #expect(before.endings.map(\.how) == [.killed])

    let store = try LogStore(directory: path, name: "dead")
    let session = try #require(store.recoveredSessions.first)
    #expect(store.recoveredSessions.count == 1 && store.recoveryFailures.isEmpty)
    #expect(session.recordCount > 0 && session.recordCount <= 5001)
    #expect(session.losses.isEmpty && session.corruption.isEmpty)
    #expect(session.identity.storeName == "dead" && session.identity.processID != UInt32(getpid()))
    var isReported = false
    let events = store.events
    try store.blockingClose()
    for await case .recovered(let reported) in events {
      isReported = reported.identity.session == session.identity.session
    }
    #expect(isReported)
    #expect(try folder.names(ending: ".ring").isEmpty)

    let again = try LogStore(directory: path, name: "dead")
    #expect(again.recoveredSessions.isEmpty)
    try again.blockingClose()
    let after = Contents(path)
    #expect(after.messages == before.messages)
    #expect(after.isClean)
  }

  @Test("what is corrupted in the ring of a dead process is trouble that is said and counted")
  func corruptedRing() throws {
    let log = TestLog.killed(records: 3, corrupted: 2)
    let store = try LogStore(directory: log.folder.path, name: "test")
    let session = try #require(store.recoveredSessions.first)
    try store.blockingClose()
    #expect(session.recordCount == 2 && session.losses.total(.corrupted) == 1)
    let event = LogStore.Event.recovered(session: session)
    #expect(event.trouble == "recovered")
    #expect(event.text.contains("was corrupted in 1 place, the first: records in segment 0 at "))
  }

  @Test("rings of other names are left alone, and so is the ring of a living process")
  func othersRings() throws {
    let test = try TestStore()
    test.log.info("alive")
    let second = try LogStore(directory: test.folder.path, name: "test")
    let other = try LogStore(directory: test.folder.path, name: "other")
    #expect(second.recoveredSessions.isEmpty && other.recoveredSessions.isEmpty)
    #expect(try test.folder.names(ending: ".ring").count == 3)
    second.logger(label: "l").info("second")
    other.logger(label: "l").info("other")
    for store in [test.store, second, other] { try store.close() }
    #expect(Contents(test.folder.path).messages.sorted() == ["alive", "other", "second"])
  }

  @Test("many processes log into one directory under one name, and some die")
  func manyProcesses() async throws {
    let folder = TemporaryDirectory()
    let path = folder.path
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<6 {
        group.addTask {
          await #expect(processExitsWith: number % 2 == 0 ? .exitCode(0) : .signal(SIGKILL)) {
            [path = path as String, number = number as Int] in
            var configuration = LogStore.Configuration()
            configuration.makeTiny()
            configuration.rotation.size = 16 << 10
            configuration.fullRing = .wait(upTo: .seconds(60))
            let store = try LogStore(directory: path, name: "many", configuration: configuration)
            let log = store.logger(label: "l")
            for index in 0..<2000 { log.info("\(number) \(index)") }
            if number % 2 == 1 { kill(getpid(), SIGKILL) }
            try store.close()
            exit(0)
          }
        }
      }
    }
    try LogStore(directory: path, name: "many").blockingClose()
    let contents = Contents(path)
    #expect(contents.isClean)
    #expect(contents.records.count == 12_000)
    let sessions = Dictionary(grouping: contents.records, by: \.session.id)
    #expect(sessions.count == 6)
    for records in sessions.values {
      let number = records[0].message.prefix(1)
      #expect(records.map(\.message) == (0..<2000).map { "\(number) \($0)" })
    }
    #expect(try folder.names(ending: ".ring").isEmpty)
  }

  /// A ring with ten records. Its store goes on elsewhere.
  private func ring() throws -> (name: String, bytes: [UInt8], test: TestStore) {
    let test = try TestStore {
      $0.makeTiny()
      $0.drainInterval = .seconds(3600)
    }
    for index in 0..<10 { test.log.info("\(index)") }
    let name = try #require(try test.folder.names(ending: ".ring").first)
    return (name, try test.folder.bytes(name), test)
  }

  @Test("a ring that was copied elsewhere is recovered there")
  func copiedRing() throws {
    let (name, bytes, test) = try ring()
    let folder = TemporaryDirectory()
    folder.put(name, bytes)
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveredSessions.map(\.recordCount) == [10])
    try store.close()
    #expect(Contents(folder.path).messages == (0..<10).map { "\($0)" })
    try test.store.close()
  }

  @Test("a ring of a newer version stays, is reported, and the service starts")
  func newerRing() throws {
    var (name, bytes, test) = try ring()
    bytes[8] = 200
    let folder = TemporaryDirectory()
    folder.put(name, bytes)
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveryFailures.map(\.code) == [.newerFormat])
    #expect(store.recoveryFailures.first?.message.contains(folder(name)) == true)
    #expect(store.recoveredSessions.isEmpty)
    store.logger(label: "l").info("works")
    try store.close()
    #expect(try folder.bytes(name) == bytes)
    #expect(Contents(folder.path).messages == ["works"])
    try test.store.close()
  }

  @Test(
    "truncated rings, garbage and foreign files under our names never keep a service from starting")
  func brokenRings() throws {
    let (name, bytes, test) = try ring()
    let seed: UInt64 = 3
    var random = SeededGenerator(seed: seed)
    let garbage = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    let sizes = [0, 1, 8, 100, 511, 512, 4096, 8192, 12_288, 12_289, 20_000, bytes.count - 1]
    var files = sizes.map { Array(bytes.prefix($0)) }
    files += [garbage, Array(repeating: 0, count: 5000), Array(bytes.prefix(512)) + garbage]
    for (index, file) in files.enumerated() {
      let folder = TemporaryDirectory()
      folder.put(name, file)
      folder.put(name + ".new", file)
      folder.put("test-20200101T000000Z-00000000000000000000000000000001-000001.mmlog", file)
      let store = try LogStore(directory: folder.path, name: "test")
      #expect(
        store.recoveryFailures.count + store.recoveredSessions.count == 1,
        "file \(index), seed \(seed)")
      store.logger(label: "l").info("works")
      try store.close()
      #expect(Contents(folder.path).messages.contains("works"), "file \(index), seed \(seed)")
    }
    try test.store.close()
  }

  /// Holds up the maintenance thread of a store before it does anything, until the gate is opened.
  private final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)
    private let opening = EventCount()

    func open() {
      isOpen.store(true, ordering: .releasing)
      opening.advance()
    }

    func pass(_ phase: LogStore.MaintenancePhase) {
      var name: (UInt64, UInt64) = (0, 0)
      let bytes = withUnsafeMutableBytes(of: &name) { bytes in
        _ = CurrentProcess.threadName(into: bytes)
        return bytes.prefix { $0 != 0 }.map(\.self)
      }
      guard phase == .willBegin, String(decoding: bytes, as: UTF8.self) == "mmlog-maintain" else {
        return
      }
      while !isOpen.load(ordering: .acquiring) { opening.wait(since: 0, atMost: 1_000_000_000) }
    }
  }

  private func store(
    _ folder: TemporaryDirectory, _ gate: Gate,
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> LogStore {
    var configuration = LogStore.Configuration()
    configuration.maintenanceHook = { gate.pass($0) }
    change(&configuration)
    return try LogStore(directory: folder.path, name: "test", configuration: configuration)
  }

  @Test("a store is open before the rings of the dead are recovered, and who asks waits for it")
  func recoveryBehindTheOpening() throws {
    let (name, bytes, test) = try ring()
    let (folder, gate) = (TemporaryDirectory(), Gate())
    folder.put(name, bytes)
    let store = try store(folder, gate)
    store.logger(label: "l").info("at once")
    try store.flush(.archive)
    #expect(try folder.names(ending: ".ring").contains(name))
    let asked = Promise<Int>()
    let thread = try Thread(name: "asks") { asked.fulfill(store.recoveredSessions.count) }
    #expect(asked.wait(atMost: 10_000_000) == nil)
    gate.open()
    #expect(asked.wait(atMost: 60_000_000_000) == 1)
    thread.join()
    #expect(try !folder.names(ending: ".ring").contains(name))
    try store.close()
    #expect(Contents(folder.path).messages == (0..<10).map { "\($0)" } + ["at once"])
    try test.store.close()
  }

  @Test("a store that goes on with the last archive recovers first")
  func recoveryBeforeResumption() throws {
    let (name, bytes, test) = try ring()
    let (folder, gate) = (TemporaryDirectory(), Gate())
    folder.put(name, bytes)
    let store = try store(folder, gate) { $0.resumeLastArchive = true }
    #expect(try !folder.names(ending: ".ring").contains(name))
    #expect(store.recoveredSessions.count == 1)
    store.logger(label: "l").info("behind it")
    gate.open()
    try store.close()
    #expect(try folder.names(ending: ".mmlog").count == 1)
    #expect(Contents(folder.path).messages == (0..<10).map { "\($0)" } + ["behind it"])
    try test.store.close()
  }

  @Test("many rings of the dead are recovered before the store is open, in the order of starts")
  func manyRings() throws {
    let folder = TemporaryDirectory()
    var (names, tests) = ([String](), [TestStore]())
    for _ in 0..<5 {
      let (name, bytes, test) = try ring()
      folder.put(name, bytes)
      names.append(name)
      tests.append(test)
    }
    let gate = Gate()
    let store = try store(folder, gate)
    #expect(try Set(folder.names(ending: ".ring")).isDisjoint(with: names))
    let sessions = store.recoveredSessions.map { $0.identity.session.description }
    #expect(zip(names, sessions).allSatisfy { $0.contains($1) } && sessions.count == 5)
    gate.open()
    try store.close()
    for test in tests { try test.store.close() }
  }

  @Test("closing waits for the recovery") func closeDuringRecovery() throws {
    let (name, bytes, test) = try ring()
    let (folder, gate) = (TemporaryDirectory(), Gate())
    folder.put(name, bytes)
    let store = try store(folder, gate)
    let closed = Promise<Bool>()
    let thread = try Thread(name: "closes") {
      try? store.close()
      closed.fulfill(true)
    }
    #expect(closed.wait(atMost: 10_000_000) == nil)
    gate.open()
    thread.join()
    #expect(store.recoveredSessions.count == 1)
    #expect(try folder.names(ending: ".ring").isEmpty)
    #expect(Contents(folder.path).messages == (0..<10).map { "\($0)" })
    try test.store.close()
  }

  @Test("a child of a fork during the recovery does not wait for it")
  func forkDuringRecovery() async throws {
    let (name, bytes, test) = try ring()
    let folder = TemporaryDirectory()
    folder.put(name, bytes)
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      let gate = Gate()
      var configuration = LogStore.Configuration()
      configuration.maintenanceHook = { gate.pass($0) }
      let store = try LogStore(directory: path, name: "test", configuration: configuration)
      let child = forkProcess()
      if child == 0 { _exit(Int32(store.recoveredSessions.count)) }
      require(waitFor(child) == 0)
      gate.open()
      require(store.recoveredSessions.count == 1)
      try store.close()
    }
    #expect(Contents(folder.path).messages == (0..<10).map { "\($0)" })
    try test.store.blockingClose()
  }

  @Test("a symbolic link under a ring's name is not followed")
  func plantedLink() throws {
    let (name, bytes, test) = try ring()
    let (folder, outside) = (TemporaryDirectory(), TemporaryDirectory())
    let target = outside.put("precious", bytes)
    try #require(symlink(target, folder(name)) == 0)
    let store = try LogStore(directory: folder.path, name: "test")
    #expect(store.recoveryFailures.count == 1 && store.recoveredSessions.isEmpty)
    #expect(store.recoveryFailures.first?.message.contains("symbolic link") == true)
    try store.close()
    #expect(try outside.bytes("precious") == bytes)
    try test.store.close()
  }
}
