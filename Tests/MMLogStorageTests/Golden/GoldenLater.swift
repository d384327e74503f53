import MMLogFormat
import TestSupport

/// Contexts, key sets, fields of the session, state slots, and what a later writer may add and a
/// reader passes over; and two records that cannot be read: with a key set that is not in the
/// dictionary, and with too many blocks.
enum GoldenLater {
  static let session = log().identity.session
  static var ring: [UInt8] { log().ring }
  /// The ring's records, in rows.
  static var archive: [UInt8] {
    let log = log()
    log.lastState(TestLog.state)
    log.archive()
    return log.archives[0]
  }

  /// An archive as a repair leaves it: frames are left out, and substitutes say so.
  static var repaired: [UInt8] {
    let log = TestLog(session: 20)
    log.write("one", ticks: 1)
    log.archive()
    log.areSubstitutes = true
    log.addFrame(.dictionary, log.dictionaryPayload)
    log.loseFrames(3)
    log.write("in place of frames", ticks: 2, level: .error)
    log.archive()
    log.areSubstitutes = false
    log.write("three", ticks: 3)
    log.archive()
    log.close()
    return log.archives[0]
  }

  private static func log() -> TestLog {
    let log = TestLog(
      session: 18,
      geometry: RingGeometry(dictionarySize: 4096, segmentSize: 4096, segmentCount: 2))
    log.putArea(8, kind: 77, offset: 1352, size: 168)
    log.put([UInt8](repeating: 0xEE, count: 168), at: 1352)
    log.putState()
    log.putUnknownEntry()
    log.sessionFields([("replaced", .bool(true))])
    log.sessionFields([
      ("service.version", .text("1.4.2")), ("shard", .int(7)), ("service.version", .text("again")),
      ("tags", .array([.text("é"), .null, .dictionary([("", .uint(.max))])])),
    ])
    for (ticks, record) in records.enumerated() {
      let (flags, words) = record
      log.write(
        TestRecord(
          ticks: UInt64(ticks), site: log.textSite, flags: flags,
          words: ValueWords.argument(.text("record \(ticks)")) + words))
      log.putUnknownEntry()
    }
    writeContexts(log)
    let long = ValueWords.argument(.text(String(repeating: "long ", count: 50)))
    log.writeFragments(
      TestRecord(ticks: 9, site: log.textSite, flags: .context, words: long + [1 | 1 << 40, 98]),
      thread: 2, partWords: 20)
    return log
  }

  private static func writeContexts(_ log: TestLog) {
    let keys = log.keySet(
      KeySet.Key("request", ValueType.string.rawValue), KeySet.Key("user", 11),
      KeySet.Key("attempt", ValueType.int.rawValue | ValueType.optionalBit), KeySet.Key("", 10),
      KeySet.Key("request", ValueType.array.rawValue))
    let values = ValueWords.argument(.text("r7")) + [77, 1, 3, 2, 1, 5, 12]
    let block = [UInt64(keys) << 32] + values
    let more = [UInt64(keys) << 32 | 1 << 31 | 1] + values
    let pair = ValueWords.metadata([("venue", .text("XETR"))])
    let trace: [UInt64] = [0x4BF9_2F35_77B3_4DA6, 0xA3CE_929D_0E0E_4736, 0x00F0_67AA_0BA9_02B7]
    let contexts: [(RecordFlags, [UInt64])] = [
      (.metadata, block), (.metadata, more + pair.dropFirst() + block),
      (.context, context(1 << 34, block)), (.context, context(1 << 32, [9])),
      (.context, context(1 << 33 | 0xA5 << 56, trace)),
      ([.context, .metadata], pair + context(7 << 32 | 1 << 56, [9] + trace + block)),
      ([.context, .span], [17, 0] + context(1 << 32, [16])),
      ([.context, .span], [18, 16] + context(3 << 32, [16] + trace)),
      (.span, [17 | 1 << 63, 4, UInt64(log.textSite)]),
      ([.context, .span], [18 | 1 << 63, 5, 1 << 32] + context(1 << 32, [16])),
      (.metadata, [1 << 31, 1 << 31, 1 << 31, 1 << 31, 0]),
      (.metadata, [1 << 31, 1 << 31, 1 << 31, 0]),
    ]
    for (index, (flags, words)) in contexts.enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(20 + index), site: log.textSite, flags: flags,
          words: ValueWords.argument(.text("context \(index)")) + words))
    }
  }

  private static func context(_ head: UInt64, _ words: [UInt64]) -> [UInt64] {
    [head | UInt64(words.count)] + words
  }

  /// The words behind a text.
  private static let records: [(RecordFlags, [UInt64])] = [
    // A context with only unknown parts.
    (.context, [2 | 5 << 40, 77, 78]),
    ([.context, .metadata], ValueWords.metadata([("venue", .text("XETR"))]) + [1 | 1 << 40, 99]),
    // Metadata whose key set is number 9.
    (.metadata, [1 | 9 << 32, 77]),
    // A known span, and unknown parts.
    ([.context, .span], [16, 0] + [2 | 1 << 32 | 1 << 40, 12, 99]),
    ([], []),
  ]
}
