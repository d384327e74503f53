import MMLog
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing
import TestSupport

/// Records wait in the ring until there are enough of them for a frame, unless they are needed
/// sooner.
@Suite struct FullFrameTests {
  /// A store whose records wait in the ring for an hour unless a flush asks for them.
  private func patientStore(
    _ change: (inout LogStore.Configuration) -> Void = { _ in }
  ) throws -> TestStore {
    try TestStore {
      $0.drainInterval = .seconds(3600)
      change(&$0)
    }
  }

  private func frames(_ folder: TemporaryDirectory) throws -> [Int] {
    try folder.names(ending: ".mmlog").flatMap { name in
      try ArchiveFile.all(in: .openFollowingLinks(folder(name))).flatMap { archive in
        archive.frames.filter { $0.header.type == .records }.map { Int($0.header.summary.count) }
      }
    }
  }

  @Test("what a fast thread logs is moved in frames that are full, but for the last")
  func fullFrames() throws {
    // The ring is never half full, however slow the disk is.
    let test = try patientStore { ($0.ringSize, $0.segmentSize) = (64 << 20, 128 << 10) }
    let text = String(repeating: "x", count: 70)
    for number in 0..<60_000 { test.log.info("\(number) \(text, privacy: .public)") }
    while test.store.statistics.passes == 0 { Sleep.nanoseconds(1_000_000) }
    let contents = try test.closeAndRead()
    let counts = try frames(test.folder)
    #expect(contents.records.count == 60_000 && contents.isClean)
    // A record has 112 bytes; a segment that ends up in two frames counts as half for each.
    #expect(counts.dropLast().allSatisfy { $0 * 112 > 128 << 10 }, "\(counts)")
  }

  @Test("a record of the level that is synced is archived at once, and others are not")
  func syncLevel() throws {
    let test = try patientStore { $0.syncLevel = .error }
    test.log.info("one")
    test.log.error("two")
    while test.store.statistics.syncs == 0 { Sleep.nanoseconds(1_000_000) }
    #expect(test.store.statistics.archived.count == 2)
    #expect(try test.closeAndRead().messages == ["one", "two"])
  }

  @Test("a record that captures is archived at once, with what led to it")
  func captureLevel() throws {
    let test = try patientStore { $0.archiveLevel = .info }
    test.log.debug("one")
    test.log.error("two")
    while test.store.flightCounts.captured == 0 { Sleep.nanoseconds(1_000_000) }
    #expect(try test.closeAndRead().messages == ["one", "two"])
  }

  @Test("what is to be synced each few milliseconds does not wait") func syncInterval() throws {
    let test = try patientStore { $0.syncInterval = .milliseconds(10) }
    test.log.info("one")
    while test.store.statistics.syncs == 0 { Sleep.nanoseconds(1_000_000) }
    #expect(test.store.statistics.archived.count == 1)
    #expect(try test.closeAndRead().messages == ["one"])
  }

  #if DEBUG
    @Test("a loss is reported although nothing is archived") func loss() async {
      await #expect(processExitsWith: .success) {
        let test = try TestStore { $0.drainInterval = .seconds(3600) }
        var events = test.store.events.makeAsyncIterator()
        test.loseWithoutMemory()
        var reported: LossLedger?
        while reported == nil, let event = await events.next() {
          if case .dropped(let losses) = event { reported = losses }
        }
        require(reported?.total(.noRing) == 1)
        try test.store.blockingClose()
      }
    }
  #endif

  @Test("many threads that hold all segments they may get back what is archived")
  func manyThreads() throws {
    let test = try patientStore { $0.makeTiny() }
    let threads = try (0..<60).map { thread in
      try Thread(name: "t\(thread)") {
        for number in 0..<500 { test.log.info("\(thread) \(number)") }
      }
    }
    for thread in threads { thread.join() }
    let contents = try test.closeAndRead()
    #expect(contents.records.count == 30_000 && contents.isClean)
  }
}
