import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogSystem
import TestSupport
import Testing

/// Records of a few bytes whose text is much larger.
@Suite struct LargeTextTests {
  /// The part that makes a record's text large.
  enum Part: CaseIterable, Sendable {
    case alignment, literal, file, argumentName, label, keySet, sessionFields, spanName
  }

  /// The size of that part: some 64 KiB.
  private static let size = 64 << 10
  private static let text = String(repeating: "x", count: size)

  /// A destination that counts the bytes of each batch as lines of JSON.
  private final class Sizes: LogDestination {
    private let all = LockedValue<[(records: Int, bytes: Int)]>([])
    var batches: [(records: Int, bytes: Int)] { all.withLock { $0 } }

    func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
      var formatter = JSONFormatter(zone: .utc)
      var output = TextBuffer()
      for records in batch.records { formatter.append(records, to: &output) }
      let size = output.count
      all.withLock { $0.append((batch.count, size)) }
      return .accepted
    }
  }

  private func emptyLog() -> TestLog {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 1 << 20, segmentSize: 1 << 16, segmentCount: 4))
    log.writesRing = false
    return log
  }

  private func ship(
    _ log: TestLog, _ change: (inout Shipper.Configuration) -> Void = { _ in }
  ) async throws -> [(records: Int, bytes: Int)] {
    log.close()
    log.save()
    let sizes = Sizes()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: sizes, configuration: .quick(change))
    #expect(try await shipper.shipAll())
    return sizes.batches
  }

  @Test("a batch of records with much text has few of them", arguments: Part.allCases)
  func fewRecords(part: Part) async throws {
    let log = emptyLog()
    var record = TestRecord(ticks: 0, level: .info)
    switch part {
    case .alignment:
      record.site = log.site(.argument(type: .redacted, alignment: 1 | UInt64(Self.size) << 8))
    case .literal: record.site = log.site(.literal(Self.text))
    case .file: record.site = log.site(.literal("m"), file: Self.text)
    case .argumentName:
      record.site = log.site(.argument(type: .int, name: Self.text))
      record.words = [7]
    case .label:
      record.site = log.site(.literal("m"))
      record.label = log.label(Self.text)
    case .keySet:
      record.site = log.site(.literal("m"))
      let set = log.keySet(KeySet.Key(Self.text, ValueType.int.rawValue))
      (record.flags, record.words) = ([.metadata], [UInt64(set) << 32, 7])
    case .sessionFields:
      record.site = log.site(.literal("m"))
      log.sessionFields([("field", .text(Self.text))])
    case .spanName:
      record.site = log.site(.literal("m"))
      let start = log.site(.literal(Self.text))
      (record.flags, record.words) = ([.span], [1 << 63 | 5, 1, UInt64(start)])
    }
    let count = 200
    for ticks in 1...count {
      record.ticks = UInt64(ticks)
      log.write(record)
    }
    log.archive()
    let batches = try await ship(log)
    #expect(batches.reduce(0) { $0 + $1.records } == count)
    #expect(batches.reduce(0) { $0 + $1.bytes } > count * Self.size)
    #expect(batches.allSatisfy { $0.bytes < 4 << 20 }, "\(batches)")
  }

  @Test("a batch keeps few frames in memory, though few of their records pass the filter")
  func fewFrames() async throws {
    let log = emptyLog()
    log.write("begin", ticks: 1)
    log.archive()
    let label = log.label("wanted")
    log.addFrame(.dictionary, log.dictionaryPayload)
    let count = 24
    for ticks in 2..<UInt64(count + 2) {
      let wanted = TestRecord(
        ticks: ticks, site: log.textSite, label: label, words: ValueWords.argument(.text("m")))
      log.addLong(
        6 << 20, site: log.textSite, ticks: ticks, behind: wanted.encoded(seed: log.seed(0)))
    }
    let wanted = { (configuration: inout Shipper.Configuration) in
      configuration.filter.labels = ["wanted"]
    }
    let batches = try await ship(log, wanted)
    #expect(batches.reduce(0) { $0 + $1.records } == count)
    #expect(batches.allSatisfy { $0.records <= 12 }, "\(batches)")
    // The same holds when refused records are sent again.
    let refusing = Receiver { _, _ in throw DeliveryError.refused("no") }
    func shipper(to destination: any LogDestination) throws -> Shipper {
      try Shipper(
        of: log.folder.path, as: "again", to: destination, configuration: .quick(wanted))
    }
    #expect(try await shipper(to: refusing).shipAll())
    let sizes = Sizes()
    #expect(try await shipper(to: sizes).retryRefused().acknowledged == count)
    #expect(sizes.batches.allSatisfy { $0.records <= 12 }, "\(sizes.batches)")
  }
}
