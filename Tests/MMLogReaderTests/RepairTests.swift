import MMLogFormat
import MMLogReader
import MMLogTestFiles
import Testing

@Suite struct RepairTests {
  /// The notes of the repair have a label of their own, whose number no lost label has.
  @Test func aRecordWhoseLabelIsLostGetsNoOther() throws {
    let log = TestLog()
    log.write(TestRecord(ticks: 1, site: log.textSite, label: 1, words: [1, 98]))
    log.save()
    #expect(log.read().records.map(\.label) == [""])
    let out = log.folder("out")
    _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
    #expect(Reading([out]).records.map(\.label) == [""])
  }
}
