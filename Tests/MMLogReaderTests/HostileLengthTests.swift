import Foundation
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import TestSupport
import Testing

/// Impossible lengths, counts and places, under correct checksums. They cost the element that has
/// them, and nothing else.
@Suite struct HostileLengthTests {
  @Test("in an archive cost what they are of") func inAnArchiveCostWhatTheyAreOf() async {
    await #expect(processExitsWith: .success) {
      let (archive, fields) = HostileFile.archive()
      for field in fields {
        for value in field.values {
          let bytes = ChecksumFix.archive(field.put(value, into: archive.archives[0]))
          archive.check(
            bytes, "test-20251121T090000Z-\(archive.identity.session)-000001.mmlog",
            expecting: field.kept,
            "\(field.name): \(value)")
        }
      }
      expectLittleMemory()
    }
  }

  @Test("in a ring cost what they are of") func inARingCostWhatTheyAreOf() async {
    await #expect(processExitsWith: .success) {
      let (ring, fields) = HostileFile.ring()
      for field in fields {
        for value in field.values {
          let bytes = ChecksumFix.ring(field.put(value, into: ring.ring))
          ring.check(bytes, "a.ring", expecting: field.kept, "\(field.name): \(value)")
        }
      }
      expectLittleMemory()
    }
  }
}

/// Call sites of a later version, or of somebody hostile.
@Suite struct UnknownTypeTests {
  @Test(
    "a record with an argument of an unknown type is corruption", arguments: [0, 16, 126, 127, 255])
  func anArgumentOfAnUnknownTypeIsCorruption(type: UInt8) {
    let log = TestLog()
    let unknown = CallSite.Argument(
      type: type, privacy: 0, width: 0, format: 0, alignment: 0, name: "")
    for parts in [[.argument(unknown), .argument(type: .int)], [.argument(unknown)]]
      as [[CallSite.Part]]
    {
      let record = TestRecord(ticks: 1, site: log.site(parts: parts), words: [1, 2])
      log.write(record)
    }
    log.write("known", ticks: 2)
    let reading = log.read()
    #expect(reading.messages == ["known"] && reading.corruption.count == 2)
  }
}

/// Checks that reading took little memory, unless a sanitizer takes memory of its own.
private func expectLittleMemory() {
  if isSanitized { return }
  precondition(peakMemory() < 192 << 20, "\(peakMemory() >> 20) MiB")
}

extension TestLog {
  /// Reads, checks and lists a file in every way.
  fileprivate func check(
    _ bytes: [UInt8], _ name: String, expecting kept: Set<String>, _ what: String
  ) {
    let files = LogFiles([.path(folder.put(name, bytes))])
    var messages: Set<String> = []
    for case .record(let record) in LogReader(files) { messages.insert(record.message) }
    precondition(messages.isSuperset(of: kept), "\(what): \(messages)")
    _ = (files.verify(), files.overview(), files.lastRecords(1).next())
    let catalog = Catalog(of: folder.path, store: nil)
    do { _ = try catalog.scan() } catch { preconditionFailure("\(what): \(error)") }
  }
}

/// A number in a file that is a length, a count or a place.
private struct LengthField {
  let name: String
  let offset: Int
  /// The size of the field in bytes: 3 for the length of a record.
  var size = 4
  /// The messages that have to be readable, whatever the field's value is.
  var kept: Set<String> = []

  var values: [UInt64] {
    let near = [7, 15, 16, 23, 24, 26, 30, 31, 32, 48, 62, 63].flatMap { bit -> [UInt64] in
      let power = UInt64(1) << bit
      return [power - 8, power - 1, power, power + 1, power + 8]
    }
    return [0, 1, 7, 8, 64] + near.filter { size == 8 || $0 >> (UInt64(size) * 8) == 0 }
      + [UInt64.max >> (64 - UInt64(size) * 8), (UInt64.max << 3) >> (64 - UInt64(size) * 8)]
  }

  func put(_ value: UInt64, into file: [UInt8]) -> [UInt8] {
    var file = file
    for byte in 0..<size { file[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte)) }
    return file
  }
}

private enum HostileFile {
  private static func site(_ log: TestLog) -> UInt32 {
    log.site(.literal("all: "), .argument(type: .array), .argument(type: .dictionary))
  }

  private static func nested(_ log: TestLog, _ ticks: UInt64) -> TestRecord {
    TestRecord(
      ticks: ticks, site: site(log), flags: .metadata,
      words: ValueWords.argument(.array([.text("x")]))
        + ValueWords.argument(.dictionary([("k", .text("v"))]))
        + ValueWords.metadata([("m", .text("y"))]))
  }

  /// Two frames of records, one of them in columns, and all that closing an archive writes.
  static func archive() -> (TestLog, [LengthField]) {
    let log = TestLog()
    for (texts, isInColumns) in [(["a", "b"], true), (["c", "d"], false)] {
      for text in texts { log.write(text, ticks: UInt64(text.utf8.first ?? 0)) }
      log.archive(isInColumns: isInColumns)
    }
    log.close()
    let bytes = log.archives[0]
    var fields = [
      LengthField(name: "file header size", offset: FileHeaderLayout.fileHeaderSize),
      // With another number, the frames belong to another archive.
      LengthField(name: "number", offset: FileHeaderLayout.archiveNumber),
    ]
    let names = [
      "call sites", "columns", "call sites again", "rows", "end", "all call sites", "index",
    ]
    var offset = FileHeaderLayout.size
    // The messages of the frames before this one.
    var before: Set<String> = []
    for name in names {
      let own: Set<String> = name == "columns" ? ["a", "b"] : name == "rows" ? ["c", "d"] : []
      let kept = Set(["a", "b", "c", "d"]).subtracting(own)
      fields += frameFields(name, offset, kept, before: before)
      before.formUnion(own)
      let size = bytes.withUnsafeBytes {
        FrameHeader($0.slice(offset, FrameHeader.size($0.slice(offset, $0.count - offset)) ?? 0))
      }
      guard let header = size else { preconditionFailure("no frame \(name)") }
      if name == "columns" {
        let payload = offset + header.headerSize
        for (name, at) in [
          ("numbers", 0), ("numbers' size", 4), ("text", 8), ("text's size", 12),
        ] {
          fields.append(LengthField(name: name, offset: payload + at, kept: kept))
        }
      }
      offset += header.frameSize
    }
    precondition(offset + TrailerLayout.size == bytes.count, "other frames")
    for (name, at) in [
      ("dictionary", TrailerLayout.dictionaryOffset), ("index", TrailerLayout.indexOffset),
      ("records", TrailerLayout.recordCount), ("file size", TrailerLayout.fileSize),
    ] {
      fields.append(
        LengthField(
          name: "trailer's \(name)", offset: offset + at, size: 8, kept: ["a", "b", "c", "d"]))
    }
    return (log, fields)
  }

  /// If a frame's checksum is correct, the reader trusts the frame's size. So the frame may hide
  /// what follows.
  private static func frameFields(
    _ name: String, _ offset: Int, _ kept: Set<String>, before: Set<String>
  ) -> [LengthField] {
    [
      ("header size", FrameLayout.headerSize, kept),
      ("payload size", FrameLayout.payloadSize, before),
      ("size when read", FrameLayout.rawSize, kept), ("count", FrameLayout.count, kept),
      ("number of ranges", FrameLayout.rangeCount, before),
    ].map { LengthField(name: "\(name): \($0)", offset: offset + $1, kept: $2) }
      + [FrameLayout.firstTicks, FrameLayout.lastTicks, FrameLayout.ordinal].map {
        LengthField(name: "\(name): word \($0)", offset: offset + $0, size: 8, kept: kept)
      }
  }

  /// A segment of each of three threads. Together they have plain records, fragments, and values of
  /// each kind.
  static func ring() -> (TestLog, [LengthField]) {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 4096, segmentSize: 4096, segmentCount: 4))
    let whole: Set = ["r", "s", String(repeating: "long ", count: 30)]
    log.write("r", ticks: 1, thread: 1)
    let nested = nested(log, 2)
    let record = log.write(nested, thread: 1)
    log.write("s", ticks: 3, thread: 2)
    log.seal(2)
    let long = ValueWords.argument(.text(String(repeating: "long ", count: 30)))
    log.writeFragments(
      TestRecord(ticks: 4, site: log.textSite, words: long), thread: 3, partWords: 9)
    var fields = [
      LengthField(name: "file header size", offset: FileHeaderLayout.fileHeaderSize),
      LengthField(name: "segments", offset: RingLayout.segmentCount),
      LengthField(name: "segment header", offset: RingLayout.segmentHeaderSize),
    ]
    for (name, offset) in [
      ("file size", RingLayout.fileSize), ("dictionary", RingLayout.dictionaryOffset),
      ("dictionary's size", RingLayout.dictionarySize),
      ("first segment", RingLayout.segmentsOffset),
      ("segment size", RingLayout.segmentSize),
    ] {
      fields.append(LengthField(name: name, offset: offset, size: 8))
    }
    for (index, kept) in [["s"], ["r"], ["r", "s"]].enumerated() {
      let start = log.geometry.offset(ofSegment: index)
      let kept = index < 2 ? whole.subtracting(["r", "s"]).union(kept) : Set(kept)
      for (name, offset) in [
        ("archived", SegmentLayout.archived), ("end", SegmentLayout.end),
        ("archived again", SegmentLayout.archivedChecksum),
        ("end again", SegmentLayout.endChecksum),
        ("thread", SegmentLayout.threadOrdinal),
      ] {
        fields.append(
          LengthField(name: "segment \(index): \(name)", offset: start + offset, kept: kept))
      }
      for (name, offset) in [
        ("generation", SegmentLayout.generation), ("first number", SegmentLayout.firstNumber),
      ] {
        fields.append(
          LengthField(
            name: "segment \(index): \(name)", offset: start + offset, size: 8, kept: kept))
      }
      let first = start + SegmentLayout.size
      fields.append(
        LengthField(name: "segment \(index): first length", offset: first, size: 3, kept: kept))
      // The size of a text, or of a fragment's body.
      let body = first + RecordLayout.bodyWord * wordSize
      fields.append(LengthField(name: "segment \(index): size", offset: body, size: 8, kept: kept))
    }
    // Counts, types and lengths of values. The test changes each word of the record.
    let others = whole
    for offset in stride(from: record.lowerBound + 16, to: record.upperBound, by: wordSize) {
      fields.append(LengthField(name: "value at \(offset)", offset: offset, size: 8, kept: others))
    }
    // The words of the last call site. Only the nested record uses that call site.
    let (start, size) = (log.geometry.dictionaryOffset, log.dictionarySize)
    for offset in stride(from: start + size - 96, to: start + size, by: wordSize) {
      fields.append(
        LengthField(name: "call site at \(offset)", offset: offset, size: 8, kept: others))
    }
    return (log, fields)
  }
}
