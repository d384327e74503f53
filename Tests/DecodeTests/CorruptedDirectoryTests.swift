import Foundation
import MMLogFormat
import TestSupport
import Testing

/// Directories with rings and archives of several sessions, corrupted at random. Each output has
/// each record that the corruption has not touched, once, and is valid in its format.
///
/// `MMLOG_CORRUPTED_DIRECTORIES=100` makes 100 directories. A failure reports the seed of its
/// directory.
@Suite struct CorruptedDirectoryTests {
  private static let count =
    ProcessInfo.processInfo.environment["MMLOG_CORRUPTED_DIRECTORIES"].flatMap { Int($0) } ?? 12

  private static let outputs:
    [(name: String, arguments: [String], check: @Sendable (String) throws -> Void)] =
      [
        ("text", [], { _ in }),
        ("template", ["--template", "{time} {message}"], { _ in }),
        ("message", ["--format", "message"], { _ in }),
        ("logfmt", ["--format", "logfmt"], { _ in }),
        ("json", ["--format", "json"], eachLineIsJSON),
        ("otlp", ["--format", "otlp"], eachLineIsJSON),
        ("chrome", ["--format", "chrome"], isJSON),
        ("csv", ["--format", "csv"], { eachRowIsWhole(commaSeparated($0)) }),
        ("tsv", ["--format", "tsv"], { eachRowIsWhole(tabSeparated($0)) }),
      ]

  @Test("every undamaged record is in every format", arguments: 0..<count)
  func everyUndamagedRecordIsInEveryFormat(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let directory = CorruptedDirectory(&generator)
    let required = directory.undamaged
    for (name, arguments, check) in Self.outputs {
      let run = try decode(["--utc"] + arguments + [directory.folder.path])
      let found = numbers(in: run.output)
      let missing = required.subtracting(found).sorted()
      #expect(missing.isEmpty, "seed \(seed), \(name): \(missing) of \(directory.story)")
      #expect(Set(found).isSubset(of: directory.all), "seed \(seed), \(name): made up")
      #expect(Set(found).count == found.count, "seed \(seed), \(name): one came twice")
      #expect([0, 1, 3].contains(run.status), "seed \(seed), \(name): \(run.errors)")
      // If nothing is readable, nothing is printed.
      if run.status != 3 {
        #expect(throws: Never.self, "seed \(seed), \(name)") { try check(run.output) }
      }
    }
  }

  /// The numbers of the records in an output: each message begins with its number.
  private func numbers(in output: String) -> [Int] {
    output.components(separatedBy: "number<").dropFirst().map { rest in
      Int(rest.prefix { $0 != ">" }) ?? -1
    }
  }

  private static func isJSON(_ output: String) throws {
    _ = try JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed)
  }

  private static func eachLineIsJSON(_ output: String) throws {
    for line in output.split(separator: "\n") { try isJSON(String(line)) }
  }

  /// RFC 4180: a row ends with CR LF, and a cell with a comma or a line end stands in quotes.
  private static func commaSeparated(_ output: String) -> [[String]] {
    var (rows, row, cell, isQuoted) = ([[String]](), [String](), "", false)
    for scalar in output.unicodeScalars {
      switch scalar {
      // Two quotes in a quoted cell end and begin the quoted part. This parser drops them.
      case "\"": isQuoted.toggle()
      case "," where !isQuoted: (row, cell) = (row + [cell], "")
      case "\n" where !isQuoted: (rows, row, cell) = (rows + [row + [cell]], [], "")
      default: cell.unicodeScalars.append(scalar)
      }
    }
    return rows
  }

  private static func tabSeparated(_ output: String) -> [[String]] {
    output.split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
  }

  private static func eachRowIsWhole(_ rows: [[String]]) {
    #expect(rows.first?.first == "timestamp")
    #expect(rows.allSatisfy { $0.count == rows[0].count })
  }
}

/// Corrupted files of three sessions, and the records that must still be readable.
private struct CorruptedDirectory {
  let folder = TemporaryDirectory()
  /// The numbers of all records that were logged.
  private(set) var all: Set<Int> = []
  /// The changes that were made, to explain a failure.
  private(set) var story: [String] = []
  private var files: [CorruptedFile] = []
  private var records: [Record] = []

  /// A record, and all places that must be whole so that it can be read.
  private struct Record {
    let number: Int
    let file: Int
    let parts: [Range<Int>]
    /// The places of its session's call sites. One whole place is enough.
    let dictionaries: [(file: Int, part: Range<Int>, fileHeader: Range<Int>)]
  }

  init(_ generator: inout SeededGenerator) {
    for session in 1...3 { add(UInt64(session), &generator) }
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      let index = Int.random(in: 0..<files.count, using: &generator)
      story.append(files[index].corruption(&generator))
    }
    for file in files where !file.isDeleted { folder.put(file.name, file.bytes) }
  }

  /// The numbers of the records of which no part was touched.
  var undamaged: Set<Int> {
    Set(
      records.filter { record in
        record.parts.allSatisfy { files[record.file].isWhole($0) }
          && record.dictionaries.contains {
            files[$0.file].isWhole($0.part) && files[$0.file].isWhole($0.fileHeader)
          }
      }.map(\.number))
  }

  /// Adds two archives with two frames each, and a ring with the records that are in no archive
  /// yet.
  private mutating func add(_ session: UInt64, _ generator: inout SeededGenerator) {
    let log = TestLog(session: session)
    let first = files.count
    var inRing: [(number: Int, place: Range<Int>)] = []
    var batches: [[Int]] = [[]]
    for index in 0..<30 {
      let number = Int(session) * 1000 + index
      all.insert(number)
      let text = "number<\(number)> \"quoted\", \u{1b}[31m\t" + String(repeating: "x", count: index)
      let place = log.write(
        TestRecord(
          ticks: UInt64(index * 10) + session, site: log.textSite,
          words: ValueWords.argument(.text(text))), thread: UInt32(index % 2 + 1))
      batches[batches.count - 1].append(number)
      inRing.append((number, place))
      guard index % 6 == 5, index < 24 else { continue }
      // A process may have died before it noted that the last frame was written.
      log.archive(isPublished: index < 23 || Bool.random(using: &generator))
      (batches, inRing) = (batches + [[]], [])
      if index == 11 {
        log.close(nil)
        log.beginArchive()
      }
    }
    let archives = log.archives.map(frames)
    let fileHeader = 0..<FileHeaderLayout.size
    let dictionaries = archives.enumerated().flatMap { index, frames in
      frames.filter { $0.type == .dictionary }.map { (first + index, $0.place, fileHeader) }
    }
    for (index, frames) in archives.enumerated() {
      for frame in frames where frame.type == .records {
        for number in batches.removeFirst() {
          records.append(
            Record(
              number: number, file: first + index, parts: [fileHeader, frame.place],
              dictionaries: dictionaries))
        }
      }
      files.append(CorruptedFile(name: "s\(session)-\(index).mmlog", bytes: log.archives[index]))
    }
    let segments = log.geometry.offset(ofSegment: 0)
    for (number, place) in inRing {
      let segment = (place.lowerBound - segments) / log.geometry.segmentSize
      let start = log.geometry.offset(ofSegment: segment)
      records.append(
        Record(
          number: number, file: files.count,
          parts: [0..<segments, start..<start + SegmentLayout.size, place],
          dictionaries: [(files.count, 0..<segments, 0..<segments)]))
    }
    files.append(CorruptedFile(name: "s\(session).ring", bytes: log.ring))
  }

  private func frames(_ bytes: [UInt8]) -> [(type: FrameType, place: Range<Int>)] {
    var found: [(FrameType, Range<Int>)] = []
    var offset = FileHeaderLayout.size
    while offset < bytes.count,
      let header = bytes[offset...].withUnsafeBytes({ FrameHeader($0) })
    {
      found.append((header.type, offset..<offset + header.frameSize))
      offset += header.frameSize
    }
    return found
  }
}

/// A file, and its corruption.
private struct CorruptedFile {
  let name: String
  private(set) var bytes: [UInt8]
  private(set) var isDeleted = false
  private let size: Int
  private var touched: [Range<Int>] = []

  init(name: String, bytes: [UInt8]) { (self.name, self.bytes, size) = (name, bytes, bytes.count) }

  func isWhole(_ part: Range<Int>) -> Bool {
    !isDeleted && part.upperBound <= bytes.count && !touched.contains { $0.overlaps(part) }
  }

  /// - Returns: What was changed.
  mutating func corruption(_ generator: inout SeededGenerator) -> String {
    guard !bytes.isEmpty else { return "\(name): nothing" }
    let place = Int.random(in: 0..<bytes.count, using: &generator)
    let kind = Int.random(in: 0..<8, using: &generator)
    switch kind {
    case 0, 1, 2:
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      touched.append(place..<place + 1)
    case 3:
      let end = min(bytes.count, place + Int.random(in: 1...900, using: &generator))
      for index in place..<end { bytes[index] = 0 }
      touched.append(place..<end)
    case 4:
      let end = min(bytes.count, place + Int.random(in: 1...64, using: &generator))
      for index in place..<end { bytes[index] = UInt8.random(in: 0...255, using: &generator) }
      touched.append(place..<end)
    case 5: bytes.removeLast(bytes.count - place)
    case 6: isDeleted = true
    default:
      for _ in 0..<Int.random(in: 1...2000, using: &generator) {
        bytes.append(UInt8.random(in: 0...255, using: &generator))
      }
    }
    let what = ["flip", "flip", "flip", "hole", "noise", "cut", "deleted", "appended"][kind]
    return "\(name): \(what) at \(place) of \(size)"
  }
}
