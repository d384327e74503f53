import Foundation
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// Files of format version 2 under `Tests/Golden/v2`, as release 1.0 wrote them.
///
/// `MMLOG_WRITE_GOLDEN=1 swift test --filter GoldenTests` makes new ones. Files of a release stay
/// as they are: `Tests/Golden/released.sha256` has their hashes, and `check_versions.sh` compares
/// them.
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
    (
      "golden-20251121T090000Z-\(GoldenFiles.identity(13).session)-000001.mmlog",
      { GoldenFiles.columns }
    ),
    (
      "golden-20251121T090000Z-\(GoldenFiles.identity(14).session)-000001.mmlog",
      { GoldenFiles.encoded }
    ),
    (
      "golden-20251121T090000Z-\(GoldenFiles.identity(15).session)-000001.mmlog",
      { GoldenFiles.resumed }
    ),
    ("golden.\(GoldenFiles.identity(17).session).ring", { GoldenFiles.flight }),
    ("golden.\(GoldenLater.session).ring", { GoldenLater.ring }),
    ("golden-20251121T090000Z-\(GoldenLater.session)-000001.mmlog", { GoldenLater.archive }),
    (
      "golden-20251121T090000Z-14000000000000000000000000000000-000001.mmlog",
      { GoldenLater.repaired }
    ),
  ]
  /// The file that an encoder made once. It is not made again, because the encoder may improve.
  private static let madeOnce = 5

  struct Reading: Sendable, CustomTestStringConvertible {
    let name: String
    let files: [Int]
    var testDescription: String { name }
  }

  static let readings = [
    Reading(name: "ring", files: [0]), Reading(name: "torn", files: [1]),
    Reading(name: "ring-and-torn", files: [0, 1]), Reading(name: "closed", files: [2]),
    Reading(name: "compressed", files: [3]), Reading(name: "columns", files: [4]),
    Reading(name: "encoded", files: [5]), Reading(name: "resumed", files: [6]),
    Reading(name: "flight", files: [7]), Reading(name: "later", files: [8]),
    Reading(name: "later-archive", files: [9]), Reading(name: "repaired", files: [10]),
  ]

  private func path(_ name: String) -> String { "\(testsFolder)/Golden/v2/\(name)" }

  private func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  private func paths(_ reading: Reading) -> [String] {
    reading.files.map { path(Self.files[$0].name) }
  }

  init() throws {
    guard ProcessInfo.processInfo.environment["MMLOG_WRITE_GOLDEN"] != nil else { return }
    for (index, (name, make)) in Self.files.enumerated() {
      if index == Self.madeOnce, FileManager.default.fileExists(atPath: path(name)) { continue }
      try Data(make()).write(to: URL(fileURLWithPath: path(name)))
    }
    for reading in Self.readings {
      let lines = try ReadRecord.lines(readHere(paths(reading)).records)
      try Data(lines).write(to: URL(fileURLWithPath: path("\(reading.name).jsonl")))
    }
  }

  /// Without the files whose bytes depend on the coder that the build has.
  @Test("the encoders still make the same bytes", arguments: [0, 1, 2, 4, 6, 7, 8])
  func theEncodersStillMakeTheSameBytes(index: Int) throws {
    let (name, make) = Self.files[index]
    let made = make()
    let golden = try contents(name)
    let first = zip(made, golden).enumerated().first { $1.0 != $1.1 }?.offset
    #expect(
      first == nil && made.count == golden.count, "\(name): they differ at \(first ?? golden.count)"
    )
  }

  @Test("the reader reads the same records", arguments: readings)
  func theReaderReadsTheSameRecords(reading: Reading) throws {
    let expected = try ReadRecord.parse(contents("\(reading.name).jsonl"))
    let result = readHere(paths(reading))
    #expect(result.records == expected)
    #expect(!expected.isEmpty)
  }

  @Test("the independent reader reads the same records", arguments: readings)
  func theIndependentReaderReadsTheSameRecords(reading: Reading) throws {
    let expected = try ReadRecord.parse(contents("\(reading.name).jsonl"))
    let result = try readInPython(paths(reading))
    #expect(result.records == expected)
    // Only closed archives have losses, and one record a key set; a torn tail is no corruption.
    #expect(result.hasTrouble == !Set(reading.files).isDisjoint(with: [2, 6, 8, 9]))
  }

  @Test("both readers find the same in state slots", arguments: [8, 9])
  func bothReadersFindTheSameInStateSlots(index: Int) throws {
    let expected = [
      #"["queue.depth", "int -17"]"#, #"["bytes", "uint 18446744073709551615"]"#,
      #"["phase", "string ready \u2713"]"#, #"["load", "double 3fe8000000000000"]"#,
      #"["ratio", "float 3fc00000"]"#, #"["is.leader", "bool true"]"#,
      #"["never stored", "string"]"#, #"["after a free place", "int 2"]"#,
    ]
    let path = path(Self.files[index].name)
    #expect(try stateInPython([path]) == expected)
    let state = try #require(LogFiles([.path(path)]).overview().first).state
    #expect(state.map(\.name) == TestLog.state.map(\.name))
    #expect(state.map(\.value) == TestLog.state.map(\.value))
  }

  @Test("both readers merge the sessions alike") func bothReadersMergeTheSessionsAlike() throws {
    let folder = "\(testsFolder)/Golden/v2"
    let result = readHere([folder])
    #expect(result.records.count == 54 + 383 + 18 + 36 + 17 + 16 + 3)
    let difference = try readInPython([folder]).difference(from: result)
    #expect(difference == nil)
  }

  @Test("columns written by hand are their rows") func columnsWrittenByHandAreTheirRows() throws {
    let decompressor = try #require(Decompressor())
    for (index, frame) in GoldenColumns.frames(entrySeed: 7).enumerated() {
      for isDeflated in [false, true] {
        let payload = frame.columns.payload(isDeflated: isDeflated)
        let rows = try payload.withUnsafeBytes {
          try ColumnDecoder.rows(
            $0, size: frame.rows.count, count: Int(frame.summary.count), decompressor,
            ifWanted: { _, _ in true })
        }
        #expect(rows == frame.rows, "frame \(index), deflated: \(isDeflated)")
      }
    }
  }

  @Test("the encoders columns hold the same records as rows")
  func theEncodersColumnsHoldTheSameRecordsAsRows() throws {
    func records(_ name: String) throws -> [ReadRecord] {
      try ReadRecord.parse(contents("\(name).jsonl")).map { record in
        var record = record
        (record.session, record.time) = ("", 0)
        return record
      }
    }
    #expect(try records("encoded") == records("compressed"))
  }

  @Test("ring and archive together have each record once")
  func ringAndArchiveTogetherHaveEachRecordOnce() throws {
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
