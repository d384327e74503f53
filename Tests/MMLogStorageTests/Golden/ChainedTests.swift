import Foundation
import MMLogAnalysis
import MMLogCrypto
import MMLogFormat
import MMLogReader
import Testing

/// Archives whose frames are chained by hashes, under `Tests/Golden/chained`, which only a build
/// with libcrypto can write and check, and which all others read.
///
/// After a change that is meant:
/// `MMLOG_WRITE_GOLDEN=1 swift test --traits Encryption --filter ChainedTests`.
@Suite struct ChainedTests {
  private static let session = GoldenFiles.identity(19).session
  private let folder = "\(testsFolder)/Golden/chained"

  private var paths: [String] {
    (1...2).map { "\(folder)/golden-20251121T090000Z-\(Self.session)-00000\($0).mmlog" }
  }

  init() throws {
    guard ProcessInfo.processInfo.environment["MMLOG_WRITE_GOLDEN"] != nil,
      Cryptography.isAvailable
    else { return }
    for (path, bytes) in zip(paths, GoldenFiles.chained) {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
    let lines = try ReadRecord.lines(readHere(paths).records)
    try Data(lines).write(to: URL(fileURLWithPath: "\(folder)/chained.jsonl"))
  }

  @Test("all builds read the same records, and so does the independent reader")
  func allReadTheSameRecords() throws {
    let lines = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/chained.jsonl"))
    let expected = try ReadRecord.parse(Array(lines))
    // Numbers are missing between these records.
    #expect(readHere(paths).records == expected && !expected.isEmpty)
    let read = try readInPython(paths)
    #expect(read.records == expected && !read.hasTrouble)
  }

  @Test("the hashes are right, or it is said that they were not checked")
  func theHashesAreRight() {
    for report in LogFiles(paths.map { .path($0) }).verify() {
      #expect(report.corruption.isEmpty && report.state == "closed, chained")
      #expect((report.unchecked == nil) == Cryptography.isAvailable)
    }
  }

  @Test("the same bytes are made", .enabled(if: Cryptography.isAvailable))
  func theSameBytesAreMade() throws {
    let golden = try paths.map { Array(try Data(contentsOf: URL(fileURLWithPath: $0))) }
    #expect(GoldenFiles.chained == golden)
  }
}
