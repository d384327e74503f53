import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// What a ring says about the end of its session, byte by byte.
@Suite struct SessionEndingTests {
  private let log = TestLog()

  private func mark(_ end: SessionEnd, in log: TestLog) {
    log.put(end.encoded, at: RingLayout.ending)
  }

  /// Stores a last sign of life: a clock reading.
  private func live(until time: Int64, _ log: TestLog) {
    let pair = ClockPair(
      ticks: UInt64(time), wall: TestLog.epoch + time, monotonic: UInt64(time), ordinal: 1)
    log.put(pair.encoded, at: RingLayout.clockPairSlots)
  }

  @Test("the mark of a ring is its end") func theMarkOfARingIsItsEnd() {
    let end = SessionEnd(.terminated, time: TestLog.epoch + 7, signal: 15, sender: 4711)
    mark(end, in: log)
    let reading = log.read()
    #expect(reading.ends == [.ended(end)] && end.summary == "ended by SIGTERM from process 4711")
  }

  @Test("a mark that was not written whole is none") func aMarkThatWasNotWrittenWholeIsNone() {
    live(until: 9, log)
    for bit in 0..<8 * SessionEndLayout.size {
      mark(SessionEnd(.exited, time: TestLog.epoch + 7), in: log)
      log.ring[RingLayout.ending + bit / 8] ^= 1 << (bit % 8)
      #expect(log.read().ends == [.ended(SessionEnd(.powerLost, time: TestLog.epoch + 9))])
    }
  }

  @Test("survived signals without a record are losses")
  func survivedSignalsWithoutARecordAreLosses() {
    log.put([0, 2, 2], at: RingLayout.crash)
    let reading = log.read()
    #expect(reading.losses.map { $0[.ringFull, .critical] } == [2] && reading.corruption.isEmpty)
    for bit in 8..<24 {
      let log = TestLog()
      log.put([0, 0, 0], at: RingLayout.crash)
      log.ring[RingLayout.crash + bit / 8] ^= 1 << (bit % 8)
      let reading = log.read()
      #expect(reading.losses.isEmpty && reading.corruption.count == 1, "bit \(bit)")
    }
  }

  @Test("a crash counts though the process was exiting or closing")
  func aCrashCountsThoughTheProcessWasExitingOrClosing() {
    let report = CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders")
    for state in [CrashLayout.stateComplete, CrashLayout.stateReturned] {
      let log = TestLog()
      mark(SessionEnd(.exited, time: TestLog.epoch + 7), in: log)
      log.put([UInt8(RingLayout.stateClosed)], at: RingLayout.state)
      log.put(report, at: RingLayout.crash)
      log.put([UInt8(state)], at: RingLayout.crash)
      #expect(log.read().ends.map(\.how) == [.crashed], "state \(state)")
    }
  }

  @Test("the last crash is the session that ended last")
  func theLastCrashIsTheSessionThatEndedLast() {
    let folder = TemporaryDirectory()
    // The sessions are in the order of their ids.
    for (session, time) in [(1, 500), (2, 900), (3, 700), (4, 1000)] as [(UInt64, Int64)] {
      let log = TestLog(session: session)
      live(until: time, log)
      if session == 4 { mark(SessionEnd(.terminated, time: TestLog.epoch), in: log) }
      folder.put("test.\(log.identity.session).ring", log.ring)
    }
    let crashed = LogFiles([.path(folder.path)]).lastCrashedSession()
    #expect(crashed?.id == TestLog(session: 2).identity.session)
  }

  /// Signs of life come once a second, and records between them. Such a record is a sign of life,
  /// too.
  @Test("a record behind the last sign of life is one", arguments: [false, true])
  func aRecordBehindTheLastSignOfLifeIsOne(isArchived: Bool) throws {
    let folder = TemporaryDirectory()
    for (session, time, record) in [(1, 500, 950), (2, 900, 901)] as [(UInt64, Int64, UInt64)] {
      let log = TestLog(session: session)
      live(until: time, log)
      log.write("last words", ticks: record)
      if isArchived { log.archive() }
      folder.put("test.\(log.identity.session).ring", log.ring)
      for (index, archive) in log.archives.enumerated() {
        folder.put("test-\(session)-\(index).mmlog", archive)
      }
    }
    let files = LogFiles([.path(folder.path)])
    #expect(files.lastCrashedSession()?.id == TestLog(session: 1).identity.session)
  }
}
