import Glibc
@testable import MMLog
import MMLogSystem
import TestSupport
import Testing

/// Another thread encodes a frame while the drainer collects the next one and writes the one
/// before.
@Suite struct DrainThreadTests {
  private static let threads = 3
  private static let records = 4000

  private func log(to test: TestStore, _ body: @escaping @Sendable () -> Void = {}) throws {
    try onThreads(Self.threads) { [log = test.log] thread in
      for number in 0..<Self.records {
        log.info("\(number) of \(thread)")
        if number % 500 == 0 { body() }
      }
    }
  }

  private func isInOrder(_ contents: Contents) -> Bool {
    let expected = (0..<Self.threads).map { thread in
      (0..<Self.records).map { "\($0) of \(thread)" }
    }
    return Set(contents.messagesByThread.values) == Set(expected)
  }

  @Test("each record is in the archives once, in order", arguments: [0, 1])
  func exactlyOnce(level: Int) throws {
    let test = try TestStore {
      $0.makeTiny()
      ($0.drainThreads, $0.drainInterval, $0.compressionLevel) = (2, .milliseconds(10), level)
      $0.rotation.size = 64 << 10
    }
    try log(to: test) { try? test.store.flush(.archive) }
    let statistics = test.store.statistics
    let contents = try test.closeAndRead()
    #expect(contents.isClean && isInOrder(contents))
    #expect(contents.records.count == Self.threads * Self.records)
    // Each thread has flushed eight times, perhaps all of them at once.
    #expect(statistics.frames >= 8)
  }

  @Test("what frames of two threads pass over is captured from the ring")
  func flightRecords() throws {
    let test = try TestStore {
      ($0.drainThreads, $0.drainInterval, $0.archiveLevel) = (2, .milliseconds(10), .info)
      ($0.ringSize, $0.segmentSize, $0.captureLevel) = (4 << 20, 4 << 10, nil)
    }
    for number in 0..<2000 {
      test.log.debug("flight \(number)")
      test.log.info("\(number)")
      if number % 300 == 0 { try test.store.flush(.archive) }
    }
    try test.store.capture(reason: "test")
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.messages.count { $0.hasPrefix("flight") } == 2000)
    let others = contents.messages.filter { !$0.hasPrefix("flight") }
    let isInOrder = others == (0..<2000).map { "\($0)" } + ["captured: test"]
    #expect(isInOrder)
  }

  #if DEBUG
    @Test("a frame that cannot be written takes none with it that was collected meanwhile")
    func failedWrites() throws {
      let test = try TestStore {
        $0.makeTiny()
        ($0.drainThreads, $0.drainInterval) = (2, .milliseconds(10))
      }
      try log(to: test) {
        ForcedFault.force(.pwrite, errno: ENOSPC, times: 2, under: test.folder.path)
      }
      ForcedFault.clear(under: test.folder.path)
      let failures = test.store.statistics.failedPasses
      let contents = try test.closeAndRead()
      #expect(failures > 0)
      #expect(contents.isClean && isInOrder(contents))
    }
  #endif

  @Test("a store is closed without a record, and with one that nobody asked for")
  func closing() throws {
    let empty = try TestStore { $0.drainThreads = 2 }
    #expect(try empty.closeAndRead().records.isEmpty)
    let test = try TestStore { $0.drainThreads = 2 }
    test.log.info("only")
    #expect(try test.closeAndRead().messages == ["only"])
  }
}
