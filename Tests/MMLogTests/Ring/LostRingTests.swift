import Foundation
import Glibc
import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// The ring's file belongs to the store, but others may change or delete it.
@Suite("Rings that others corrupt or take away")
struct LostRingTests {
  private let test: TestStore
  private var folder: TemporaryDirectory { test.folder }

  init() throws {
    test = try TestStore { $0.makeTiny() }
  }

  /// The path of the one ring that there is.
  private func ring() throws -> String {
    folder(try #require(try folder.names(ending: ".ring").first))
  }

  private func log(_ numbers: ClosedRange<Int>) {
    for number in numbers { test.log.info("record \(number)") }
  }

  /// The errors that are reported until the store goes on in another ring.
  private func eventsUntilResumed(_ events: AsyncStream<LogStore.Event>) async -> [LogError] {
    var errors: [LogError] = []
    for await event in events {
      switch event {
      case .failed(let error): errors.append(error)
      case .resumed: return errors
      default: break
      }
    }
    return errors
  }

  private func messages(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "record \($0)" } }

  @Test(
    "a ring that is cut under those who log costs what was in it, is reported, and another is begun",
    arguments: [0, 4096, 100_000])
  func cut(size: Int) async throws {
    let events = test.store.events
    log(1...1000)
    try test.store.blockingFlush(.archive)
    truncate(try ring(), size)
    // Many times what one page holds. Threads that log into the missing pages see no signal.
    log(1001...3000)
    let errors = await eventsUntilResumed(events)
    log(3001...4000)
    let contents = try test.closeAndRead()
    #expect(errors.map(\.code) == [.corruptedFile])
    #expect(errors[0].message.contains("cut"))
    #expect(Array(contents.messages.prefix(1000)) == messages(1...1000))
    #expect(Array(contents.messages.suffix(1000)) == messages(3001...4000))
    #expect(Set(contents.messages).count == contents.messages.count)
    #expect(contents.corruption.isEmpty && contents.unreadable.isEmpty)
    let counted = test.store.losses.total(.corrupted)
    #expect(contents.messages.count == 4000 || counted > 0)
    #expect(try folder.names(ending: ".ring").isEmpty)
  }

  @Test("a ring that is removed or renamed is replaced, and what was in it is kept")
  func takenAway() async throws {
    for name in [nil, "elsewhere"] {
      let test = try TestStore()
      let events = test.store.events
      test.log.info("before")
      let ring = test.folder(try #require(try test.folder.names(ending: ".ring").first))
      if let name { rename(ring, test.folder(name)) } else { unlink(ring) }
      test.log.info("meanwhile")
      let errors = await eventsUntilResumed(events)
      let rings = try test.folder.names(ending: ".ring")
      test.log.info("after")
      let contents = try test.closeAndRead()
      #expect(errors.count == 1 && errors[0].message.contains("removed, renamed or replaced"))
      #expect(rings.count == 1 && test.folder(rings[0]) != ring)
      #expect(contents.messages == ["before", "meanwhile", "after"] && contents.losses.isEmpty)
    }
  }

  @Test("a file that somebody puts in the ring's place stays")
  func replaced() async throws {
    let events = test.store.events
    let path = try ring()
    log(1...10)
    // Replaces the file whole, at once: a recovery renames an empty file with a ring's name.
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    _ = await eventsUntilResumed(events)
    log(11...20)
    try test.store.blockingClose()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
    unlink(path)
    #expect(Contents(folder.path).messages == messages(1...20))
  }

  @Test("labels keep their names in the next ring, if they need more than its first dictionary")
  func labels() async throws {
    let loggers = (0..<500).map { test.store.logger(label: "label \($0)") }
    let events = test.store.events
    unlink(try ring())
    _ = await eventsUntilResumed(events)
    for (index, logger) in loggers.enumerated() { logger.info("\(index)") }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.map(\.label) == (0..<500).map { "label \($0)" })
  }

  @Test("if the whole directory is removed, it is made again, with what was still in the ring")
  func directoryRemoved() async throws {
    let test = try TestStore { $0.drainInterval = .seconds(3600) }
    let events = test.store.events
    test.log.info("before")
    try FileManager.default.removeItem(atPath: test.folder.path)
    _ = await eventsUntilResumed(events)
    test.log.info("after")
    #expect(try test.closeAndRead().messages == ["before", "after"])
  }

  #if DEBUG
    @Test(
      "where no new ring can be made, that is reported once, and the old one is used until it can")
    func noRoom() async throws {
      let events = test.store.events
      ForcedFault.force(.fallocate, errno: ENOSPC, times: 3, under: folder.path)
      truncate(try ring(), 0)
      log(1...1000)
      let errors = await eventsUntilResumed(events)
      log(1001...2000)
      let contents = try test.closeAndRead()
      #expect(errors.map(\.code) == [.corruptedFile, .outOfSpace])
      #expect(Array(contents.messages.suffix(1000)) == messages(1001...2000))
    }

    @Test("a ring that cannot be made leaves no memory behind")
    func noMemoryIsLeft() async {
      await #expect(processExitsWith: .success) {
        let folder = TemporaryDirectory()
        ForcedFault.force(.fallocate, errno: ENOSPC, times: .max, under: folder.path)
        /// How many pages the process has mapped after so many failures.
        func pages(after count: Int) throws -> Int {
          for _ in 0..<count {
            let error = logError { _ = try LogStore(directory: folder.path, name: "test") }
            require(error?.code == .outOfSpace, "\(error as Any)")
          }
          let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
          return text.split(separator: " ").first.flatMap { Int($0) } ?? 0
        }
        let before = try pages(after: 20)
        let growth = try pages(after: 200) - before
        // Each had 32 pages for its fragmented records.
        require(growth < 200 * 8, "\(growth)")
      }
    }

    @Test(
      "what was lost for want of a ring is reported by the session that took it, not by its successors"
    )
    func lossesAreReportedOnce() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        test.loseWithoutMemory()
        for _ in 0..<2 {
          let events = test.store.events
          try test.store.blockingFlush(.archive)
          unlink(test.folder(try test.folder.names(ending: ".ring")[0]))
          for await event in events { if case .resumed = event { break } }
        }
        let contents = try test.closeAndRead()
        require(contents.losses.map { $0.total(.noRing) } == [1], "\(contents.losses)")
        require(test.store.losses.total(.noRing) == 1)
      }
    }

    @Test("a log call that begins as another ring comes in a lost one's place is in an archive")
    func callDuringReplacement() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore()
        let (isClosing, call) = (SharedCount(), SharedCount())
        let thread = try Thread(name: "caller") { [log = test.log] in
          @Sendable func slowText() -> String {
            call.value = 3
            usleep(300_000)
            return "slow"
          }
          log.info("quick")
          call.value = 1
          while call.value == 1 { usleep(1000) }
          log.info("\(slowText(), privacy: .public)")
        }
        while call.value == 0 { usleep(1000) }
        TestPoint.handler = { point in
          switch point {
          case .closeBegun: isClosing.value = 1
          case .sessionStarted:
            // Gives the new drainer time to begin with the old session's end, which it must not do.
            for _ in 0..<300 where isClosing.value == 0 { usleep(1000) }
            usleep(50_000)
            call.value = 2
            while call.value != 3 { usleep(1000) }
          default: break
          }
        }
        let events = test.store.events
        unlink(test.folder(try test.folder.names(ending: ".ring")[0]))
        for await event in events { if case .resumed = event { break } }
        TestPoint.handler = nil
        thread.join()
        let contents = try test.closeAndRead()
        require(contents.messages == ["quick", "slow"], "\(contents.messages)")
      }
    }
  #endif

  @Test("without containment a ring that is cut ends the process, as it was asked for")
  func withoutContainment() async throws {
    await #expect(processExitsWith: .signal(SIGBUS)) {
      signal(SIGBUS, SIG_DFL)
      let test = try TestStore {
        $0.makeTiny()
        $0.containsFaults = false
      }
      test.log.info("before")
      truncate(test.folder(try test.folder.names(ending: ".ring")[0]), 0)
      for number in 0..<100_000 { test.log.info("\(number)") }
    }
  }
}
