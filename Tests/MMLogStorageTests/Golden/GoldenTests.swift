import Foundation
import MMLogFormat
import Testing

/// Files of format version 1, as they were when it was fixed, under `Tests/Golden/v1`.
///
/// After a change that is meant: `MMLOG_WRITE_GOLDEN=1 swift test --filter GoldenTests`, and look at the difference.
@Suite struct GoldenTests {
  private static let session = GoldenFiles.identity(10).session
  private static let files: [(name: String, make: @Sendable () -> [UInt8])] = [
    ("golden.\(session).ring", { GoldenFiles.ring }),
    ("golden-20251121T090000Z-\(session)-000001.mmlog", { GoldenFiles.torn }),
    (
      "golden-20251121T090000Z-\(GoldenFiles.identity(11).session)-000001.mmlog",
      { GoldenFiles.closed }
    ),
    (
      "golden-20251121T090000Z-\(GoldenFiles.identity(12).session)-000001.mmlog",
      { GoldenFiles.compressed }
    ),
  ]

  struct Reading: Sendable, CustomTestStringConvertible {
    let name: String
    let files: [Int]
    var testDescription: String { name }
  }

  static let readings = [
    Reading(name: "ring", files: [0]), Reading(name: "torn", files: [1]),
    Reading(name: "ring-and-torn", files: [0, 1]), Reading(name: "closed", files: [2]),
    Reading(name: "compressed", files: [3]),
  ]

  private func path(_ name: String) -> String { "\(testsFolder)/Golden/v1/\(name)" }

  private func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  private func paths(_ reading: Reading) -> [String] {
    reading.files.map { path(Self.files[$0].name) }
  }

  init() throws {
    guard ProcessInfo.processInfo.environment["MMLOG_WRITE_GOLDEN"] != nil else { return }
    for (name, make) in Self.files {
      try Data(make()).write(to: URL(fileURLWithPath: path(name)))
    }
    for reading in Self.readings {
      let lines = try ReadRecord.lines(readHere(paths(reading)).records)
      try Data(lines).write(to: URL(fileURLWithPath: path("\(reading.name).jsonl")))
    }
  }

  @Test(arguments: 0..<3) func theEncodersStillMakeTheSameBytes(index: Int) throws {
    let (name, make) = Self.files[index]
    let made = make()
    let golden = try contents(name)
    let first = zip(made, golden).enumerated().first { $1.0 != $1.1 }?.offset
    #expect(
      first == nil && made.count == golden.count, "\(name): they differ at \(first ?? golden.count)"
    )
  }

  @Test(arguments: readings) func theReaderReadsTheSameRecords(reading: Reading) throws {
    let expected = try ReadRecord.parse(contents("\(reading.name).jsonl"))
    let result = readHere(paths(reading))
    #expect(result.records == expected)
    #expect(!expected.isEmpty)
  }

  @Test(arguments: readings) func theIndependentReaderReadsTheSameRecords(reading: Reading) throws {
    let expected = try ReadRecord.parse(contents("\(reading.name).jsonl"))
    let result = try readInPython(paths(reading))
    #expect(result.records == expected)
    // Only the closed archive has losses; a torn tail is no damage.
    #expect(result.hasTrouble == reading.files.contains(2))
  }

  @Test func bothReadersMergeTheSessionsAlike() throws {
    let folder = "\(testsFolder)/Golden/v1"
    let result = readHere([folder])
    #expect(result.records.count == 54)
    let difference = try readInPython([folder]).difference(from: result)
    #expect(difference == nil)
  }

  @Test func ringAndArchiveTogetherHaveEachRecordOnce() throws {
    func messages(_ name: String) throws -> [String] {
      try ReadRecord.parse(contents("\(name).jsonl")).map {
        "\($0.time) \($0.thread) \($0.message)"
      }
    }
    let (ring, torn) = (try messages("ring"), try messages("torn"))
    let both = try messages("ring-and-torn")
    #expect(Set(both).count == both.count)
    #expect(Set(both) == Set(ring).union(torn))
    #expect(!Set(ring).isDisjoint(with: torn))
  }
}
