import Foundation
import MMLogFormat
import MMLogReader
import Testing

/// An archive under `Tests/Golden/zstd`, which builds with the trait `Zstd` write and read, and of
/// which all others read what they can.
///
/// After a change that is meant: `MMLOG_WRITE_GOLDEN=1 swift test --traits Zstd --filter ZstdTests`.
@Suite struct ZstdTests {
  private static let name =
    "golden-20251121T090000Z-\(GoldenFiles.identity(18).session)-000001.mmlog"
  private let path = "\(testsFolder)/Golden/zstd/\(name)"
  private let hasZstd = CompressionFormat.zstd.isAvailable

  init() throws {
    guard ProcessInfo.processInfo.environment["MMLOG_WRITE_GOLDEN"] != nil, hasZstd else { return }
    try Data(GoldenFiles.zstd).write(to: URL(fileURLWithPath: path))
  }

  /// The same records, as zlib's archive has them.
  private func expected() throws -> [ReadRecord] {
    let lines = try Data(contentsOf: URL(fileURLWithPath: "\(testsFolder)/Golden/v2/encoded.jsonl"))
    return try ReadRecord.parse(Array(lines)).map(bare)
  }

  private func bare(_ record: ReadRecord) -> ReadRecord {
    var record = record
    (record.session, record.time) = ("", 0)
    return record
  }

  @Test("records compressed with zstd are read, or what is missing is said and the rest is read")
  func recordsAreReadOrWhatIsMissingIsSaid() throws {
    var (records, corruption) = ([LogReader.Record](), [String]())
    for item in LogReader(paths: [path]) {
      if case .record(let record) = item { records.append(record) }
      if case .corruption(let found) = item { corruption.append(found.what) }
    }
    let expected = try expected()
    if hasZstd {
      #expect(records.map { bare(ReadRecord($0)) } == expected && corruption.isEmpty)
    } else {
      let found = records.map { bare(ReadRecord($0)) }
      #expect(!found.isEmpty && found.count < expected.count && found.allSatisfy(expected.contains))
      #expect(corruption.count == 1)
      #expect(corruption.first?.contains("compressed with zstd") == true, "\(corruption)")
      #expect(corruption.first?.contains("libzstd-dev") == true, "\(corruption)")
    }
  }

  @Test("the independent reader reads all, or says that something is missing")
  func theIndependentReaderReadsAll() throws {
    let result = try readInPython([path])
    let (found, expected) = (result.records.map(bare), try expected())
    // With or without Python's module.
    if !result.hasTrouble { #expect(found == expected) }
    #expect(!found.isEmpty && found.allSatisfy(expected.contains))
  }
}
