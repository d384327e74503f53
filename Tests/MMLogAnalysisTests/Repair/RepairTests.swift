import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@Suite struct RepairTests {
  /// The notes of the repair have a label of their own, whose number no lost label has.
  @Test("a record whose label is lost gets no other")
  func aRecordWhoseLabelIsLostGetsNoOther() throws {
    let log = TestLog()
    log.write(TestRecord(ticks: 1, site: log.textSite, label: 1, words: [1, 98]))
    log.save()
    #expect(labels(log.folder.path) == [""])
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    #expect(labels(out) == [""])
  }

  /// The clock of a ring whose later readings are corrupted is older than those of the archives.
  @Test(
    "a record whose rest is in a ring with an older clock is whole, also behind a note of corruption",
    arguments: [false, true])
  func aRecordWhoseRestIsInARingWithAnOlderClockIsWhole(hasNote: Bool) throws {
    let log = TestLog()
    let text = String(repeating: "0123456789", count: 300)
    let record = TestRecord(
      ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 150, range: 0..<1)
    log.frameClock = TickClock(ticks: 100, wall: TestLog.epoch + 100, rate: 1 << 32)
    log.archive()
    log.writeFragments(record, partWords: 150, range: 1..<3)
    if hasNote {
      let reading = [UInt8](repeating: 7, count: ClockPairLayout.size)
      log.put(reading, at: log.areas.clocks.lowerBound + ClockPairLayout.size)
    }
    log.save()
    #expect(messages(log.folder.path) == [text])
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    #expect(messages(out).filter { !$0.hasPrefix("corrupted: ") } == [text])
    #expect(messages(out).count == (hasNote ? 2 : 1))
  }

  private func messages(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item { record.message } else { nil }
    }
  }

  private func labels(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item { record.label } else { nil }
    }
  }
}
