import MMLog
import MMLogAnalysis
import MMLogReader
import Testing
import TestSupport

/// A repaired archive is about as large as the original, whatever it holds, and however its frames
/// lie in time.
@Suite struct RepairSizeTests {
  private func size(_ folder: TemporaryDirectory) throws -> Int {
    try folder.names(ending: ".mmlog").reduce(0) { try $0 + folder.bytes($1).count }
  }

  private func expectLittleGrowth(_ test: TestStore) throws {
    try test.store.close()
    let before = Contents(test.folder.path)
    let folder = TemporaryDirectory()
    let result = try LogRepair.write(LogFiles([.path(test.folder.path)]), to: folder.path)
    #expect(result?.corruption.isEmpty == true)
    let after = Contents(folder.path)
    #expect(after.messages == before.messages && after.isClean)
    #expect(after.records.map(\.isFlight) == before.records.map(\.isFlight))
    #expect(after.records.map(\.time) == before.records.map(\.time))
    let sizes = (try size(test.folder), try size(folder))
    #expect(sizes.1 * 10 <= sizes.0 * 13, "\(sizes)")
  }

  @Test("a log with flight records between others stays small")
  func flightRecords() throws {
    let test = try TestStore { $0.archiveLevel = .info }
    for number in 0..<20_000 {
      test.log.debug("step \(number) of \(number * 7)")
      if number % 2 == 0 { test.log.info("done \(number) in \(Double(number) / 8) ms") }
      if number % 5000 == 4999 {
        test.log.error("capture")
        try test.store.flush(.archive)
      }
    }
    try expectLittleGrowth(test)
  }

  @Test("frames that overlap in time, each with a clock of its own, stay whole")
  func overlappingFrames() throws {
    let test = try TestStore { $0.drainInterval = .milliseconds(10) }
    let log = test.log
    for number in 0..<40_000 { log.info("number \(number) of \(number * 3)") }
    try expectLittleGrowth(test)
  }
}
