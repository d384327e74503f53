import MMLogFormat
import TestSupport

/// What a later writer may add and a reader passes over, and one record with a key set, which it
/// cannot read.
enum GoldenLater {
  static let session = log().identity.session
  static var ring: [UInt8] { log().ring }
  /// The ring's records, in rows.
  static var archive: [UInt8] {
    let log = log()
    log.archive()
    return log.archives[0]
  }

  private static func log() -> TestLog {
    let log = TestLog(
      session: 18,
      geometry: RingGeometry(dictionarySize: 4096, segmentSize: 4096, segmentCount: 2))
    log.putArea(5, kind: 77, offset: 8024, size: 168)
    log.put([UInt8](repeating: 0xEE, count: 168), at: 8024)
    log.putUnknownEntry()
    for (ticks, record) in records.enumerated() {
      let (flags, before, after) = record
      let words = before + ValueWords.argument(.text("record \(ticks)")) + after
      log.write(
        TestRecord(ticks: UInt64(ticks), site: log.textSite, flags: flags, words: words))
      log.putUnknownEntry()
    }
    let long = ValueWords.argument(.text(String(repeating: "long ", count: 50)))
    log.writeFragments(
      TestRecord(ticks: 9, site: log.textSite, flags: .extensions, words: [1, 98] + long),
      thread: 2, partWords: 20)
    return log
  }

  /// The words before and after a text.
  private static let records: [(RecordFlags, before: [UInt64], after: [UInt64])] = [
    (.extensions, [2 | 5 << 8, 77, 78], []),
    ([.thread, .extensions], [1 | 1001 << 32, 0], []),
    ([.extensions, .metadata], [1, 99], ValueWords.metadata([("venue", .text("XETR"))])),
    // Its key set is number 9.
    (.metadata, [], [1 | 9 << 32, 77]),
    ([.extensions, .span], [1 | 1 << 63, 99], [16, 0]),
    ([], [], []),
  ]
}
