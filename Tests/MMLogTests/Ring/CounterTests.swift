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
  /// Whether the clock in nanoseconds is behind the processor's counter. Then a change to the clock
  /// is as if the counter began anew.
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
      // Waits until the drainer has noticed.
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

  @Test(
    "one that goes on while the clock stands still keeps its rate, and records have their times",
    .enabled(if: canBeginAnew))
  func goesOn() async {
    await #expect(processExitsWith: .success) {
      // Ticks are nanoseconds at first; then more than an hour passes at once.
      mmlog_ticks_from_cpu = false
      let test = try TestStore { $0.drainInterval = .seconds(3600) }
      let (log, path, start) = (test.log, test.folder.path, Timestamp.now)
      log.info("before")
      mmlog_ticks_from_cpu = true
      let ticks = mmlog_ticks()
      log.info("since")
      var rate: UInt64 = 0
      // Waits until the drainer has noticed.
      while rate == 0 {
        usleep(10_000)
        let statuses = try RingStatus.all(in: path) { _ in }
        let clock = statuses.lazy.map(\.image.clock).first { $0.ticks >= ticks }
        rate = clock?.rate ?? 0
      }
      log.info("after")
      let contents = try test.closeAndRead()
      // The counter may have gone on by its own rate for some seconds.
      require(rate > 1 << 28, "\(rate)")
      require(contents.isWhole && contents.messages == ["before", "since", "after"])
      let times = start - .seconds(60)...Timestamp.now + .seconds(60)
      for record in contents.records {
        require(times.contains(record.time), "\(record.message): \(record.time), not in \(times)")
      }
    }
  }
}
