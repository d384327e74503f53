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

  private func labels(_ path: String) -> [String] {
    LogReader(paths: [path]).compactMap { item in
      if case .record(let record) = item { record.label } else { nil }
    }
  }
}
