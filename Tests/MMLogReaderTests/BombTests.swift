import Foundation
import Glibc
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// Small files that claim to hold much. Reading them takes bounded memory.
@Suite(.disabled(if: isSanitized, "Sanitizers take memory of their own for each byte."))
struct BombTests {
  /// Twelve frames of 60 MiB each, all of the same time, in some 700 KiB.
  @Test("frames that inflate take bounded memory")
  func framesThatInflateTakeBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      let size = 60 << 20
      var payload = [UInt8](repeating: 0, count: 8 + 32 + size)
      payload.withUnsafeMutableBytes {
        $0.store(RecordLayout.recordKind | UInt64(4 + size / 8), 8)
        $0.store(UInt64(2), 16)
        $0.store(UInt64(log.textSite), 24)
        $0.store(UInt64(size), 32)
      }
      var summary = RecordSummary()
      summary.add(ticks: 2, level: .trace)
      var frame = Array(log.archives[0][log.addFrame(.records, payload, summary)])
      payload = []
      for _ in 0..<11 { log.archives[0] += Self.next(&frame) }
      precondition(log.archives[0].count < 2 << 20, "that is no bomb")
      let (records, others) = countItems(log.save())
      precondition(records == 13 && others == 0, "\(records) records, \(others) times corruption")
      // The limit covers the frames that may be open at a time, and one more that is being opened.
      precondition(peakMemory() < 640 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Changes the frame into the one that would be written after it, and returns it.
  private static func next(_ frame: inout [UInt8]) -> [UInt8] {
    frame.withUnsafeMutableBytes { bytes in
      let ordinal = UnsafeRawBufferPointer(bytes).load(FrameLayout.ordinal, as: UInt64.self)
      bytes.store(ordinal + 1, FrameLayout.ordinal)
    }
    ArchiveFileFrame.resign(&frame, at: 0)
    return frame
  }

  /// Dictionary frames of 60 MiB, each with one entry.
  @Test("call sites that inflate take bounded memory")
  func callSitesThatInflateTakeBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      for id in 100..<112 as Range<UInt32> {
        let literal = String(repeating: "x", count: 60 << 20)
        let site = CallSite(
          file: "", function: "", line: 0, column: 0, parts: [.literal(literal)])
        let words = DictionaryEntry.callSite(id: id, site).encoded(seed: log.seed(0))
        log.addFrame(.dictionary, words.withUnsafeBytes { Array($0) })
      }
      let (records, corruption) = countItems(log.save())
      precondition(
        records == 1 && corruption == 10, "\(records) records, \(corruption) times corruption")
      precondition(peakMemory() < 1 << 30, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Each argument of the call site takes no byte of a record and 64 KiB of the message: 4 GiB in
  /// all.
  @Test("a call site whose message is larger than memory is corruption, and so is its record")
  func aCallSiteWhoseMessageIsLargerThanMemoryIsCorruption() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      let wide = CallSite.Argument(
        type: ValueType.redacted.rawValue, privacy: 1, width: 0, format: 0,
        alignment: 1 | 0xFF_FFFF << 8, name: "")
      let site = CallSite(
        file: "", function: "", line: 0, column: 0,
        parts: [CallSite.Part](repeating: .argument(wide), count: 0xFFFF))
      let words = DictionaryEntry.callSite(id: 100, site).encoded(seed: log.seed(0))
      log.addFrame(.dictionary, words.withUnsafeBytes { Array($0) })
      log.write(TestRecord(ticks: 2, site: 100, words: []))
      log.archive()
      var messages: [String] = []
      var corruption = 0
      for item in LogReader(paths: log.save()) {
        if case .record(let record) = item { messages.append(record.message) }
        if case .corruption = item { corruption += 1 }
      }
      precondition(messages == ["small"] && corruption > 0, "\(messages.count), \(corruption)")
      precondition(peakMemory() < 256 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Two million threads in a frame of a single record.
  @Test("a frame of more threads than it can have records is corruption")
  func aFrameOfMoreThreadsThanItCanHaveRecordsIsCorruption() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      let count = 2 << 20
      let rows = 8 + count * FrameLayout.threadSize
      var payload = [UInt8](repeating: 0, count: rows + 32)
      payload.withUnsafeMutableBytes {
        $0.store(UInt64(count), 0)
        for index in 0..<count { $0.store(UInt32(index), 8 + index * FrameLayout.threadSize) }
        $0.store(RecordLayout.recordKind | 4, rows)
        $0.store(UInt64(2), rows + 8)
        $0.store(UInt64(log.textSite), rows + 16)
      }
      var summary = RecordSummary()
      summary.add(ticks: 2, level: .trace)
      log.addFrame(.records, payload, summary)
      let (records, corruption) = countItems(log.save())
      precondition(
        records == 1 && corruption == 1, "\(records) records, \(corruption) times corruption")
    }
  }

  /// In each of twelve frames of 60 MiB, the only record has an unknown call site.
  @Test("frames that inflate, and can partly be read, are repaired in bounded memory")
  func framesThatInflateAreRepairedInBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      var frame = Array(log.archives[0][log.addLong(60 << 20, site: 99, behind: [])])
      for _ in 0..<11 { log.archives[0] += Self.next(&frame) }
      log.save()
      let out = log.folder("out")
      let result = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
      precondition(result?.recordCount == 1 && (result?.corruption.count ?? 0) >= 12)
      precondition(peakMemory() < 512 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Notes for all unreadable records would make the frame larger than a frame may be.
  @Test("a repaired frame can be read, however many of its records cannot")
  func aRepairedFrameCanBeReadHoweverManyOfItsRecordsCannot() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      let lost = (0..<20_000).flatMap { _ in [RecordLayout.recordKind | 3, 3, 99] as [UInt64] }
      let kept = TestRecord(ticks: 4, site: log.textSite, words: [4, 0x7470_656B])
      log.addLong(58 << 20, site: log.textSite, behind: lost + kept.encoded(seed: 0))
      log.save()
      let out = log.folder("out")
      _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
      var (kinds, notes) = ([String](), 0)
      for case .record(let record) in LogReader(paths: [out]) {
        if record.label == "mmlog.repair" { notes += 1 } else { kinds.append(record.kind) }
      }
      precondition(kinds == ["small", "long", "kept"] && notes > 1000, "\(kinds), \(notes) notes")
    }
  }

  @Test("what can be read of a frame is repaired where it has no room for a note")
  func whatCanBeReadIsRepairedWhereThereIsNoRoomForANote() async {
    await #expect(processExitsWith: .success) {
      let log = logOfSmallRecord()
      // Leaves 48 bytes of the frame behind the thread table and the long record.
      let size = RowBuilder.largestSize - 8 - FrameLayout.threadSize - 32 - 48
      log.addLong(size & ~7, site: log.textSite, behind: [1])
      log.save()
      let out = log.folder("out")
      _ = try LogRepair.write(LogFiles([.path(log.folder.path)]), to: out)
      var (kinds, notes) = ([String](), 0)
      for case .record(let record) in LogReader(paths: [out]) {
        if record.label == "mmlog.repair" { notes += 1 } else { kinds.append(record.kind) }
      }
      precondition(kinds == ["small", "long"] && notes == 1, "\(kinds), \(notes) notes")
    }
  }

  /// A ring of a quarter of a gigabyte. Each segment has only two pages with data; the rest is a
  /// hole.
  @Test("a ring of holes takes what it holds") func aRingOfHolesTakesWhatItHolds() async {
    await #expect(processExitsWith: .success) {
      let geometry = RingGeometry(
        dictionarySize: RingLayout.largestDictionary, segmentSize: RingLayout.largestSegment,
        segmentCount: 16)
      let folder = TemporaryDirectory()
      let path = folder("sparse.ring")
      let small = TestLog(
        geometry: RingGeometry(dictionarySize: 4096, segmentSize: 4096, segmentCount: 1))
      small.write("here", ticks: 1)
      let start = small.geometry.segmentsOffset
      let fileHeader = RingHeader(identity: small.identity, geometry: geometry).encoded(
        pageSize: 4096)
      folder.put("sparse.ring", fileHeader + small.ring[fileHeader.count..<start])
      let descriptor = open(path, O_WRONLY)
      var segment = Array(small.ring[start...])
      for index in 0..<geometry.segmentCount {
        // Each segment has a generation of its own, and a byte at its end that is no record.
        segment[0] = UInt8(index + 1)
        segment = ChecksumFix.segment(segment, of: small.identity.session)
        let place = geometry.offset(ofSegment: index)
        precondition(pwrite(descriptor, segment, segment.count, off_t(place)) == segment.count)
        precondition(
          pwrite(descriptor, "x", 1, off_t(place + geometry.segmentSize - 1)) == 1)
      }
      close(descriptor)
      let (records, corruption) = countItems([path])
      precondition(
        records == 16 && corruption == 0, "\(records) records, \(corruption) times corruption")
      precondition(peakMemory() < 96 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Such a file costs nothing to make, but reading all of its zeros would take hours.
  @Test("an archive that goes on with a hole of terabytes is read")
  func anArchiveThatGoesOnWithAHoleOfTerabytesIsRead() async {
    await #expect(processExitsWith: .success) {
      let log = TestLog()
      log.writesRing = false
      log.write("before", ticks: 1)
      log.archive()
      // These bytes look like the beginning of a frame, but are none.
      log.archives[0] += [UInt8](repeating: 5, count: 1024)
      let paths = log.save()
      precondition(truncate(paths[0], 1 << 43) == 0, "errno \(errno)")
      let files = LogFiles([.path(paths[0])])
      let (records, corruption) = LogReader(files).reduce(into: (0, [Int]())) { found, item in
        if case .record = item { found.0 += 1 }
        if case .corruption(let corruption) = item {
          found.1.append(corruption.offset + corruption.size)
        }
      }
      precondition(
        records == 1 && corruption == [1 << 43], "\(records) records, corruption \(corruption)")
      precondition(files.verify().map(\.recordCount) == [1])
    }
  }

  /// A ring with a million call sites, as many as the largest ring has room for, and an archive
  /// with as many. Records use only one of them.
  @Test("many call sites take bounded memory") func manyCallSitesTakeBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let geometry = RingGeometry(
        dictionarySize: RingLayout.largestDictionary, segmentSize: 4096, segmentCount: 1)
      let log = TestLog(geometry: geometry)
      log.write("one", ticks: 1)
      let entry = DictionaryEntry.callSite(
        id: 1, CallSite(file: "", function: "", line: 0, column: 0, parts: []))
      let words = entry.encoded(seed: log.seed(0))
      var entries: [UInt64] = []
      for id in 2..<1_000_000 as Range<UInt64> {
        entries += words
        entries[entries.count - words.count + 1] = id
      }
      let bytes = ChecksumFix.entries(entries.withUnsafeBytes { Array($0) }, seed: log.seed(0))
      log.archive()
      log.write("two", ticks: 2)
      let known = log.geometry.dictionaryOffset + log.dictionarySize
      log.ring.replaceSubrange(known..<known + bytes.count, with: bytes)
      log.addFrame(.dictionary, bytes)
      let paths = log.save()
      let reader = LogReader(paths: paths)
      var (messages, others) = ([String](), 0)
      for item in reader {
        switch item {
        case .record(let record): messages.append(record.message)
        case .corruption: others += 1
        default: break
        }
      }
      precondition(messages == ["one", "two"] && others == 0, "\(messages), \(others)")
      // The files themselves, which the test has in memory, take some 250 MiB of that.
      precondition(peakMemory() < 768 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  @Test("a dictionary takes no more than a million call sites")
  func aDictionaryTakesNoMoreThanAMillionCallSites() {
    var dictionary = LogDictionary()
    let site = CallSite(file: "", function: "", line: 0, column: 0, parts: [])
    let maximum = UInt32(LogDictionary.maximumCallSites)
    for id in 1...maximum where !dictionary.insert(.callSite(id: id, site)) {
      Issue.record("\(id)")
      return
    }
    let another = dictionary.insert(.callSite(id: maximum + 1, site))
    let again = dictionary.insert(.callSite(id: maximum, site))
    #expect(!another && again)
  }
}

extension LogReader.Record {
  /// The record's message, or `long` if the message is long.
  fileprivate var kind: String {
    let message = message
    return message.utf8.count > 100 ? "long" : message
  }
}

/// An archive with one record, which reads `small`, without a ring.
private func logOfSmallRecord() -> TestLog {
  let log = TestLog()
  log.writesRing = false
  log.write("small", ticks: 1)
  log.archive()
  return log
}

/// Counts the records and the corruption that a reader gives for these files.
private func countItems(_ paths: [String]) -> (records: Int, corruption: Int) {
  LogReader(paths: paths).reduce(into: (0, 0)) { counts, item in
    if case .record = item { counts.0 += 1 }
    if case .corruption = item { counts.1 += 1 }
  }
}
