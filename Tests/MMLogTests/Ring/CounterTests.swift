@preconcurrency import CMMLogCore
import Glibc
import MMLog
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

@Suite("A counter that begins anew")
struct CounterTests {
  /// Whether the clock in nanoseconds is behind the processor's counter, so that a change to it is
  /// like a beginning.
  private static var canBeginAnew: Bool {
    mmlog_ticks_from_cpu && mmlog_ticks() > Clock.monotonic() + 3_600_000_000_000
  }

  @Test(
    "records of before and of since have the time at which they were logged",
    .enabled(if: canBeginAnew), arguments: [Logger.Level.trace, .warning])
  func times(archiveLevel: Logger.Level) async {
    await #expect(processExitsWith: .success) { [level = archiveLevel.rawValue as UInt8] in
      let test = try TestStore {
        $0.makeTiny()
        $0.drainInterval = .seconds(3600)
        $0.archiveLevel = Logger.Level(rawValue: level) ?? .trace
      }
      let (log, path, start) = (test.log, test.folder.path, Timestamp.now)
      log.info("before")
      log.error("before")
      let ticks = mmlog_ticks()
      mmlog_ticks_from_cpu = false
      log.info("since")
      try Thread(name: "other") { log.info("since, in a segment of its own") }.join()
      // As long as it takes: until the drainer has noticed.
      func isUnnoticed() throws -> Bool {
        try RingStatus.all(in: path) { _ in }.contains { $0.image.clock.ticks >= ticks }
      }
      while try isUnnoticed() { usleep(10_000) }
      log.info("after")
      log.error("after")
      try await test.store.capture(reason: "a look")
      let contents = try test.closeAndRead()
      require(contents.isWhole && contents.records.count >= 6, "\(contents.messages)")
      let times = start - .seconds(60)...Timestamp.now + .seconds(60)
      for record in contents.records {
        require(times.contains(record.time), "\(record.message): \(record.time), not in \(times)")
      }
    }
  }
}
