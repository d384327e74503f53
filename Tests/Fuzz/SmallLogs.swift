import MMLogCrypto
import MMLogFormat
import TestSupport

/// Logs of a kilobyte or two, since small inputs are tried many times as often as large ones.
enum SmallLogs {
  static var all: [(name: String, log: TestLog)] {
    [
      ("texts", texts()), ("values", values()), ("fragments", fragments()), ("columns", columns()),
      ("flight", flight()), ("contexts", contexts(isInColumns: false)),
      ("bound", contexts(isInColumns: true)),
    ]
  }

  /// The smallest ring that has some segments: the longest input that is tried is 4096 bytes.
  private static func make(archiveLevel: Level = .trace, segmentSize: Int = 512) -> TestLog {
    var geometry = RingGeometry(
      dictionarySize: 832, segmentSize: segmentSize, segmentCount: 2048 / segmentSize)
    geometry.segmentsOffset = geometry.uses.upperBound
    return TestLog(geometry: geometry, archiveLevel: archiveLevel)
  }

  /// A span, and records that stay in the ring until they are captured.
  private static func flight() -> TestLog {
    let log = make(archiveLevel: .info)
    for ticks in 1...3 as ClosedRange<UInt64> {
      log.write("d \(ticks)", ticks: ticks, level: .debug)
    }
    for (ticks, words) in [(5, [0x10, 0]), (9, [1 << 63 | 0x10, 5, 1 << 32 | 1])]
      as [(UInt64, [UInt64])]
    {
      log.write(
        TestRecord(
          ticks: ticks, site: log.textSite, flags: .span,
          words: ValueWords.argument(.text("s")) + words))
    }
    log.lastState([("depth", .int(7))])
    log.archive()
    log.archive(areFlight: true)
    log.write("d 4", ticks: 10, level: .debug)
    return log
  }

  /// Records of two threads, some of which are archived.
  private static func texts() -> TestLog {
    let log = make()
    let label = log.label("orders.matching")
    for ticks in 1...6 as ClosedRange<UInt64> {
      log.write("a \(ticks)", ticks: ticks, thread: UInt32(ticks % 2 + 1))
      if ticks == 4 { log.archive() }
    }
    log.write(
      TestRecord(
        ticks: 7, site: log.textSite, label: label, level: .error,
        words: ValueWords.argument(.text("b"))))
    log.seal(1)
    log.archive(isPublished: false)
    log.close()
    return log
  }

  /// Arguments and metadata of every type.
  static func values() -> TestLog {
    let log = make()
    let values: [Value] = [
      .int(-42), .uint(42), .double(1.5), .float(-0.25), .bool(true), .text("x yz"),
      .bytes([1, 2, 255]), .int128(-1), .redacted, .hash(7), .null,
      .array([.int(1), .text("two")]), .dictionary([("k", .double(2))]), .sealed(sealed()),
    ]
    let names = ["user", "b", "elapsed_ms", "c", "d", "a"]
    let parts = values.enumerated().map { index, value in
      CallSite.Part.argument(
        CallSite.Argument(
          type: value.type, privacy: 0, width: 64, format: 0, alignment: index == 5 ? 0x802 : 0,
          name: index < names.count ? names[index] : ""))
    }
    let site = log.site(parts: [.literal("v ")] + parts)
    let metadata = ValueWords.metadata([("request", .dictionary([("path", .text("/"))]))])
    let words = values.flatMap { ValueWords.argument($0) } + metadata
    for (ticks, level) in [Level.debug, .warning].enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(ticks), site: site, level: level, flags: .metadata, words: words))
    }
    log.archive(isPublished: false)
    return log
  }

  /// A text that the identity opens.
  private static func sealed() -> [UInt8] {
    try? ValueSealer.setRecipients([identity?.recipient].compactMap(\.self))
    return Array("z".utf8).withUnsafeBytes { ValueSealer.seal($0) } ?? []
  }

  /// A record in fragments, and one whose last fragments are missing.
  private static func fragments() -> TestLog {
    let log = make()
    let text = String(repeating: "long ", count: 20)
    let record = TestRecord(
      ticks: 5, site: log.textSite, words: ValueWords.argument(.text(text)))
    log.writeFragments(record, partWords: 6)
    log.writeFragments(record, thread: 2, partWords: 6, range: 0..<2)
    log.write("whole", ticks: 6)
    log.archive(isPublished: false)
    return log
  }

  /// Fields of the session, of loggers and of tasks, spans and traces.
  private static func contexts(isInColumns: Bool) -> TestLog {
    let log = make(segmentSize: 1024)
    log.sessionFields([("version", .text("1.4.2")), ("tags", .array([.int(1), .text("two")]))])
    let site = log.textSite
    let keys = log.keySet(
      KeySet.Key("user", ValueType.int.rawValue), KeySet.Key("b", ValueType.string.rawValue),
      KeySet.Key("d", ValueType.dictionary.rawValue))
    let pair = ValueWords.metadata([("c", .double(1.5))])
    for ticks in 1...(isInColumns ? 6 : 5) as ClosedRange<UInt64> {
      let values =
        ValueWords.argument(.int(Int64(ticks) - 43)) + ValueWords.argument(.text("b \(ticks)"))
        + ValueWords.argument(.dictionary([("k", .bool(true))]))
      let fields = [UInt64(keys) << 32] + values
      let context = contexts(ticks, fields, pair)
      let isOfSpan = ticks % 5 == 4
      log.write(
        TestRecord(
          ticks: ticks, site: site,
          flags: isOfSpan ? [.span, .metadata, .context] : [.metadata, .context],
          words: ValueWords.argument(.text("n \(ticks)")) + pair
            + (isOfSpan ? [0x20 + ticks, 0] : []) + context))
    }
    log.archive(isPublished: false, isInColumns: isInColumns)
    return log
  }

  /// The words of a context that has some of the possible parts.
  private static func contexts(
    _ number: UInt64, _ fields: [UInt64], _ pair: [UInt64]
  ) -> [UInt64] {
    var (head, words) = (UInt64(0), [UInt64]())
    if number % 2 == 0 { (head, words) = (ContextLayout.spanBit, [0x10]) }
    if number % 3 == 0 {
      head |= ContextLayout.traceBit | 1 << ContextLayout.traceFlagsShift
      words += [0x4BF9_2F35_77B3_4DA6, 0xA3CE_929D_0E0E_4736, 0x00F0_67AA_0BA9_02B7]
    }
    if number % 4 > 0 { head |= ContextLayout.fieldsBit }
    switch number % 4 {
    case 0: break
    case 1: words += fields
    case 2: words += [fields[0] | BlockLayout.moreBit] + fields.dropFirst() + pair
    default: words += [pair[0] | BlockLayout.moreBit] + pair.dropFirst() + fields
    }
    return [head | UInt64(words.count)] + words
  }

  /// A frame in columns.
  private static func columns() -> TestLog {
    let log = make()
    for ticks in 1...24 as ClosedRange<UInt64> {
      log.write("n \(ticks % 5 * 100)", ticks: ticks)
    }
    log.archive(isInColumns: true)
    return log
  }
}
