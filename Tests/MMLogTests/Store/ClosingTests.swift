import Foundation
import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Synchronization
import Testing

@Suite("Flushing and closing")
struct ClosingTests {
  @Test(
    "flushed records are in an archive, ordered, while the store is open", arguments: [true, false])
  func flush(toDisk: Bool) throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    try test.store.flush(.ring)
    for index in 0..<100 {
      test.log.info("\(index)")
      if index % 10 != 9 { continue }
      try test.store.flush(toDisk ? .disk : .archive)
      let archive = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
      #expect(Contents(archive).messages == (0...index).map { "\($0)" })
    }
    try test.store.close()
  }

  @Test("asynchronous code waits without blocking its thread for what others block theirs for")
  func asynchronous() async throws {
    let test = try TestStore {
      $0.drainInterval = .seconds(3600)
      $0.archiveLevel = .info
    }
    test.log.info("one")
    try await test.store.flush(.disk)
    let archive = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
    #expect(Contents(archive).messages == ["one"])
    test.log.debug("two")
    try await test.store.capture(reason: "a look")
    let rotated = try #require(try await test.store.rotate())
    #expect(rotated.isSealed && rotated.contents?.count == 3)
    try await test.store.applyRetention()
    try await test.store.close()
    let error = await #expect(throws: LogError.self) { try await test.store.flush(.archive) }
    #expect(error?.code == .closed)
    #expect(Contents(test.folder.path).messages == ["one", "two", "captured: a look"])
  }

  @Test("a closed store refuses to flush and to apply limits, and counts what is logged")
  func afterClosing() async throws {
    let test = try TestStore()
    test.log.info("in time")
    try test.store.blockingClose()
    try test.store.blockingClose()
    #expect(logError { try test.store.flush(.archive) }?.code == .closed)
    #expect(logError { try test.store.flush(.disk) }?.code == .closed)
    #expect(logError { try test.store.applyRetention() }?.code == .closed)
    for _ in 0..<3 { test.log.error("too late \(1)") }
    test.store.logger(label: "new").critical("too late")
    #expect(test.store.losses[.noRing, .error] == 3)
    #expect(test.store.losses[.noRing, .critical] == 1)
    for await _ in test.store.events {}
    let contents = Contents(test.folder.path)
    #expect(contents.isClean && contents.messages == ["in time"])
    #expect(contents.endings.count == 1)
    #expect(try test.folder.names(ending: ".ring").isEmpty)
  }

  #if DEBUG
    @Test("what was lost stays counted while the store closes")
    func lossesWhileClosing() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        test.loseWithoutMemory()
        try test.store.flush(.archive)
        let counts = LockedValue<[UInt64]>([])
        TestPoint.handler = { [store = test.store] _ in
          counts.withLock { $0.append(store.losses.total(.noRing)) }
        }
        try test.store.close()
        TestPoint.handler = nil
        require(Set(counts.withLock(\.self)) == [1])
      }
    }

    @Test("a flush that fails says so, and the records come later")
    func flushFails() throws {
      let test = try TestStore()
      test.log.info("one")
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      test.log.info("two")
      let error = logError { try test.store.flush(.disk) }
      #expect(error?.code == .outOfSpace && error?.message.contains(test.folder.path) == true)
      ForcedFault.clear(under: test.folder.path)
      try test.store.flush(.disk)
      #expect(try test.closeAndRead().messages == ["one", "two"])
    }

    /// A process that another thread is starting has the ring open until its program is loaded.
    @Test("what a close leaves can be recovered while another process has the ring open")
    func closeBesideAnotherProcess() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        test.log.info("kept")
        let lifeline = try Lifeline()
        if forkWithoutHandlers() == 0 { lifeline.holdOn() }
        ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
        require(logError { try test.store.close() }?.code == .outOfSpace)
        ForcedFault.clear(under: test.folder.path)
        let next = try LogStore(directory: test.folder.path, name: "test")
        require(next.recoveredSessions.map(\.recordCount) == [1])
        try next.close()
      }
    }

    @Test("a close that fails leaves the records for the next start")
    func closeFails() throws {
      let test = try TestStore()
      for index in 0..<10 { test.log.info("\(index)") }
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      let error = logError { try test.store.close() }
      #expect(error?.code == .outOfSpace)
      ForcedFault.clear(under: test.folder.path)
      try test.store.close()
      test.log.info("too late")
      let next = try LogStore(directory: test.folder.path, name: "test")
      #expect(next.recoveredSessions.map(\.recordCount) == [10])
      try next.close()
      #expect(Contents(test.folder.path).messages == (0..<10).map { "\($0)" })
    }
  #endif

  #if DEBUG
    @Test("a record of a call that ends while its store closes is kept or counted")
    func callThatEndsMeanwhile() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let log = test.log
        let (isInside, mayEnd, hasEnded) = (SharedCount(), SharedCount(), SharedCount())
        let thread = try Thread(name: "slow") {
          func value() -> Int {
            isInside.value = 1
            while mayEnd.value == 0 { sched_yield() }
            return 1
          }
          log.info("slow \(value())")
          hasEnded.value = 1
        }
        while isInside.value == 0 { sched_yield() }
        TestPoint.handler = { point in
          guard point == .closeArchived else { return }
          mayEnd.value = 1
          while hasEnded.value == 0 { sched_yield() }
        }
        try test.store.blockingClose()
        thread.join()
        let count = Contents(test.folder.path).messages.count
        let losses = test.store.losses
        require(UInt64(count) + losses.total(.noRing) == 1, "\(count) \(losses)")
      }
    }
  #endif

  @Test("closing while eight threads log loses nothing that was logged before", arguments: 0..<4)
  func closeUnderLoad(round: Int) throws {
    let test = try TestStore { if round % 2 == 0 { $0.makeTiny() } }
    let log = test.log
    let counts = (0..<8).map { _ in SharedCount() }
    let isOver = SharedCount()
    let threads = try (0..<8).map { thread in
      try Thread(name: "load \(thread)") {
        var index = 0
        while isOver.value == 0 {
          log.info("\(thread) \(index) \("some text")")
          index += 1
          counts[thread].value = index
        }
      }
    }
    while counts.contains(where: { $0.value < 200 }) { sched_yield() }
    let before = counts.map(\.value)
    try test.store.close()
    let during = counts.map(\.value)
    isOver.value = 1
    for thread in threads { thread.join() }
    let contents = Contents(test.folder.path)
    #expect(contents.isWhole)
    var kept = 0
    for messages in contents.messagesByThread.values {
      let thread = try #require(Int(messages[0].prefix(1)))
      // The records are complete up to the close, with nothing missing in between.
      #expect(messages == (0..<messages.count).map { "\(thread) \($0) some text" })
      #expect(messages.count >= before[thread] && messages.count <= during[thread] + 1)
      kept += messages.count
    }
    let losses = test.store.losses
    #expect(losses.total(.noRing) == UInt64(counts.map(\.value).reduce(0, +) - kept), "\(losses)")
  }

  @Test("labels that are made while the store is closed lead nowhere, and do no harm")
  func labelsWhileClosing() throws {
    for _ in 0..<20 {
      let test = try TestStore { $0.makeTiny() }
      let (store, isOver) = (test.store, SharedCount())
      let started = SharedCount()
      let threads = try (0..<2).map { thread in
        try Thread(name: "labels") {
          var index = 0
          while isOver.value == 0 {
            store.logger(label: "\(thread) \(index % 50)").info("\(index)")
            index += 1
            started.value = index
          }
        }
      }
      while started.value < 100 { sched_yield() }
      try store.close()
      let losses = store.losses.total(.noRing)
      let probe = store.logger(label: "probe")
      probe.info("late")
      #expect(store.losses.total(.noRing) > losses)
      isOver.value = 1
      for thread in threads { thread.join() }
      #expect(Contents(test.folder.path).corruption.isEmpty)
    }
  }

  #if DEBUG
    @Test("a thread that waits for space does not hold up the close for ever")
    func closeWhileWaiting() throws {
      let test = try TestStore {
        $0.makeTiny()
        $0.fullRing = .wait(upTo: .seconds(3600))
      }
      let log = test.log
      let filler = String(repeating: "f", count: 1000)
      ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: test.folder.path)
      let count = SharedCount()
      let thread = try Thread(name: "waiting") {
        for index in 0..<300 {
          log.info("\(index) \(filler)")
          count.value = index + 1
        }
      }
      while count.value < 170 { sched_yield() }
      #expect(logError { try test.store.close() }?.code == .outOfSpace)
      thread.join()
      ForcedFault.clear(under: test.folder.path)
      let next = try LogStore(directory: test.folder.path, name: "test")
      try next.close()
      let kept = Contents(test.folder.path).messages.count
      #expect(Contents(test.folder.path).corruption.isEmpty)
      let losses = test.store.losses
      #expect(
        losses.total(.ringFull) + losses.total(.noRing) == UInt64(300 - kept), "\(losses) \(kept)")
    }
  #endif

  @Test("stores that are opened and closed in turn leave no descriptors and little memory behind")
  func manyStores() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryDirectory()
      func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      }
      func pages() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return Int(text.split(separator: " ")[1]) ?? 0
      }
      func maps() throws -> [Substring] {
        try kernelText("/proc/self/maps").split(separator: "\n")
      }
      var before = (descriptors: 0, pages: 0, maps: 0)
      for round in 0..<300 {
        var configuration = LogStore.Configuration()
        configuration.makeTiny()
        let store = try LogStore(
          directory: folder.path, name: "many", configuration: configuration)
        let log = store.logger(label: "l")
        for index in 0..<20 { log.info("\(round) \(index)") }
        try onThreads(2) { log.info("\(round) thread \($0)") }
        try store.close()
        if round == 20 { before = (try descriptors(), try pages(), try maps().count) }
      }
      let growth = (
        descriptors: try descriptors() - before.descriptors, pages: try pages() - before.pages,
        maps: try maps().count - before.maps
      )
      let rings = try maps().filter { $0.contains(".ring") }
      require(rings.isEmpty, "\(rings.count) rings are mapped")
      require(growth.descriptors == 0, "\(growth)")
      // 16 MiB, since malloc keeps in each of its arenas what a drainer's encoder took there; 280
      // rings would be 70 MiB. A sanitizer keeps books of its own.
      require(isSanitized || growth.pages < 4096 && growth.maps < 100, "\(growth)")
      require(Contents(folder.path).records.count == 300 * 22)
      try? FileManager.default.removeItem(atPath: folder.path)
    }
  }

  @Test(
    "the first who listens is notified of what happened before, and others what happens from then on"
  )
  func firstListener() async throws {
    let test = try TestStore()
    test.log.info("text")
    _ = try await test.store.rotate()
    let (first, second) = (test.store.events, test.store.events)
    try test.store.blockingClose()
    func rotations(_ events: AsyncStream<LogStore.Event>) async -> Int {
      await events.reduce(0) { count, event in
        if case .rotated = event { count + 1 } else { count }
      }
    }
    let counts = (await rotations(first), await rotations(second))
    #expect(counts.0 == counts.1 + 1)
  }

  @Test("loggers go on when nobody keeps the store")
  func droppedReference() throws {
    let folder = TemporaryDirectory()
    var store: LogStore? = try LogStore(directory: folder.path, name: "gone")
    let log = try #require(store?.logger(label: "l"))
    weak let watched = store
    store = nil
    #expect(watched == nil)
    for index in 0..<1000 { log.info("\(index)") }
    #expect(Contents(folder.path).messages == (0..<1000).map { "\($0)" })
  }

  @Test("a log call that is open while its store is closed does no harm, and its record is lost")
  func closeInsideMessage() throws {
    let test = try TestStore()
    func close() -> String {
      try? test.store.close()
      return "closed"
    }
    test.log.info("before")
    test.log.info("\(1) \(close()) \(String(repeating: "x", count: 100_000))")
    test.log.info("after")
    // Nobody knows the level of the open call's record.
    #expect(test.store.losses[.noRing, .critical] == 1)
    #expect(test.store.losses[.noRing, .info] == 1)
    let contents = Contents(test.folder.path)
    #expect(contents.messages == ["before"])
    #expect(contents.losses.map { $0[.noRing, .critical] } == [1])
    let other = try TestStore()
    for index in 0..<10 { other.log.info("\(index)") }
    #expect(try other.closeAndRead().messages == (0..<10).map { "\($0)" })
  }
}

/// A number that threads share.
final class SharedCount: Sendable {
  private let storage = Atomic<Int>(0)
  var value: Int {
    get { storage.load(ordering: .acquiring) }
    set { storage.store(newValue, ordering: .releasing) }
  }
}
