import CMMLogCore
import Glibc
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@Suite struct ScannerTests {
  private let seed: UInt32 = 0x1234_5678

  /// Five records of 4, 5, 6, 7 and 8 words.
  private var records: [[UInt64]] {
    (0..<5).map { index in
      TestRecord(
        ticks: UInt64(index + 1), site: UInt32(index),
        words: Array(repeating: .max, count: index + 1)
      ).encoded(seed: seed)
    }
  }

  private func segment(_ words: [UInt64], zeros: Int = 6) -> [UInt64] {
    [UInt64](repeating: 7, count: 8) + words + [UInt64](repeating: 0, count: zeros)
  }

  /// Ticks of records and ranges of corruption, in order.
  private func scan(_ segment: [UInt64], behindZeros: Bool = false) -> [String] {
    let memory = AlignedBytes(words: segment)
    return withExtendedLifetime(memory) {
      var scanner = RecordScanner(
        memory.bytes, from: 64, seed: seed, zeros: behindZeros ? .mayBeLost : .end)
      var found: [String] = []
      while let item = scanner.next() {
        switch item {
        case .record(let view, let offset): found.append("\(view.ticks)@\(offset / 8)")
        case .corruption(let range):
          found.append("\(range.lowerBound / 8)..<\(range.upperBound / 8)")
        }
      }
      #expect(scanner.next() == nil, "the end stays the end")
      return found
    }
  }

  private let whole = ["1@8", "2@12", "3@17", "4@23", "5@30"]

  @Test("records are found up to a zero word or the end")
  func recordsAreFoundUpToAZeroWordOrTheEnd() {
    #expect(scan(segment(records.flatMap { $0 })) == whole)
    #expect(scan(segment(records.flatMap { $0 }, zeros: 0)) == whole)
    #expect(scan(segment(records.flatMap { $0 }), behindZeros: true) == whole)
    #expect(scan(segment([])) == [] && scan(segment([], zeros: 0)) == [])
    #expect(scan(segment([]), behindZeros: true) == [])
  }

  /// The writer goes on when its last record has been seen, so that the scanner mostly checks where
  /// the next will be.
  @Test("a record is no corruption that is committed during the scan")
  func aRecordIsNoCorruptionThatIsCommittedDuringTheScan() throws {
    let (count, record) = (3000, TestRecord(ticks: 1, words: [2, 3]).encoded(seed: seed))
    let memory = AlignedBytes(
      words: segment([UInt64](repeating: 0, count: count * record.count)) + [0])
    let start = UInt(bitPattern: memory.bytes.baseAddress) + 64
    let seen = UInt(bitPattern: memory.bytes.baseAddress) + UInt(memory.bytes.count - 8)
    let writer = try Thread(name: "writer") {
      guard var next = UnsafeMutablePointer<UInt64>(bitPattern: start),
        let seen = UnsafeMutablePointer<UInt64>(bitPattern: seen)
      else { return }
      for written in 0..<count {
        while mmlog_load_acquire_u64(seen) < written { sched_yield() }
        for index in 1..<record.count { next[index] = record[index] }
        mmlog_store_release_u64(next, record[0])
        next += record.count
      }
    }
    var scanner = RecordScanner(
      UnsafeRawBufferPointer(rebasing: memory.bytes.dropLast(8)), from: 64,
      seed: seed, zeros: .end)
    var (found, corruption) = (0, 0)
    while found + corruption < count {
      switch scanner.next() {
      case .record: found += 1
      case .corruption: corruption = count
      case nil: continue
      }
      UnsafeMutablePointer<UInt64>(bitPattern: seen).map {
        mmlog_store_release_u64($0, UInt64(found + corruption))
      }
    }
    writer.join()
    withExtendedLifetime(memory) {}
    #expect(found == count && corruption == 0)
  }

  @Test("a flipped bit costs one record wherever it is")
  func aFlippedBitCostsOneRecordWhereverItIs() {
    let words = segment(records.flatMap { $0 })
    let starts = [8, 12, 17, 23, 30, 38]
    for bit in (8 * 64)..<(38 * 64) {
      var corrupted = words
      corrupted[bit / 64] ^= 1 << (bit % 64)
      let index = starts.lastIndex { $0 <= bit / 64 } ?? 0
      var expected = whole
      // The last one's corruption reaches to the end: nothing says where it stops.
      let end = index == 4 ? words.count : starts[index + 1]
      expected[index] = "\(starts[index])..<\(end)"
      #expect(scan(corrupted) == expected, "bit \(bit)")
    }
  }

  @Test("corruption at start middle and end is reported with its place")
  func corruptionAtStartMiddleAndEndIsReportedWithItsPlace() {
    let junk: [UInt64] = [.max, 1, 0, 1 << 24 | 3]
    let (first, second) = (records[0], records[1])
    #expect(scan(segment(junk + first + second)) == ["8..<12", "1@12", "2@16"])
    #expect(scan(segment(first + junk + second)) == ["1@8", "12..<16", "2@16"])
    #expect(scan(segment(first + second + junk, zeros: 0)) == ["1@8", "2@12", "17..<21"])
    #expect(scan(segment(junk + first + junk + second)) == ["8..<12", "1@12", "16..<20", "2@20"])
  }

  @Test("what follows a zero word counts only after the machine went down")
  func whatFollowsAZeroWordCountsOnlyAfterTheMachineWentDown() {
    let words = segment(records[0] + [0, 0, 5] + records[1] + [0] + records[2])
    #expect(scan(words) == ["1@8"])
    #expect(scan(words, behindZeros: true) == ["1@8", "12..<15", "2@15", "20..<21", "3@21"])
    let unfinished = segment(records[0] + [0, 77, 78])
    #expect(scan(unfinished, behindZeros: true) == ["1@8"], "an unfinished record is no corruption")
  }

  @Test("a record of another generation is none") func aRecordOfAnotherGenerationIsNone() {
    let stale = TestRecord(ticks: 9, words: [1]).encoded(seed: seed &+ 1)
    #expect(scan(segment(records[0] + stale + records[1])) == ["1@8", "12..<16", "2@16"])
    #expect(scan(segment(stale), behindZeros: true) == ["8..<18"])
  }

  /// The check is right in each of them.
  @Test("impossible lengths and kinds are no records")
  func impossibleLengthsAndKindsAreNoRecords() {
    for (length, kind) in [(0, 1), (1, 1), (2, 1), (4, 0), (4, 3), (4, 4), (4, 255), (100, 1)]
      as [(UInt64, UInt64)]
    {
      var words: [UInt64] = [length | kind << 24, 1, 2, 3]
      let checksum = words.withUnsafeBytes { recordChecksum($0, seed: seed) }
      words[0] |= UInt64(checksum) << 32
      #expect(
        scan(segment(words + records[0])) == ["8..<12", "1@12"], "\(length) words of kind \(kind)")
    }
    let minimum = TestRecord(ticks: 6).encoded(seed: seed)
    #expect(minimum.count == 3 && scan(segment(minimum)) == ["6@8"])
  }

  @Test("a record cut by the end is none") func aRecordCutByTheEndIsNone() {
    let words = segment(records[0] + records[4], zeros: 0)
    for cut in 1..<8 {
      #expect(scan(words.dropLast(cut)) == ["1@8", "12..<\(words.count - cut)"], "\(cut) words")
    }
  }

  @Test("the checksum is of the words in the formats order")
  func theChecksumIsOfTheWordsInTheFormatsOrder() {
    let record = TestRecord(ticks: 6, site: 4, words: [8, 9]).encoded(seed: seed)
    let bytes = record.withUnsafeBytes { Array($0) }
    let ordered = Array(bytes[24...] + bytes[8..<24] + bytes[0..<4])
    #expect(UInt32(record[0] >> 32) == ordered.read { crc32cState(seed, $0) })
  }

  @Test("the seed is of session and generation") func theSeedIsOfSessionAndGeneration() {
    let session = SessionID(words: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
    let bytes: [UInt8] = Array(0..<16) + [5, 0, 0, 0, 0, 0, 0, 0x80]
    #expect(checksumSeed(session: session, generation: 5 | 0x80 << 56) == bytes.read { crc32c($0) })
    #expect(Array("123456789".utf8).read { crc32c($0) } == 0xE306_9283)
  }

  /// Every word announces a record that reaches to the end of the segment.
  @Test("hostile bytes do not take for ever") func hostileBytesDoNotTakeForEver() {
    let size = 1 << 18
    let words = (0..<size).map { UInt64(min(size - $0, 0xFF_FFFF)) | 1 << 24 }
    #expect(scan(words) == ["8..<\(size)"])
  }

  @Test("random bytes give no record") func randomBytesGiveNoRecord() {
    var generator = SeededGenerator(seed: 8)
    for round in 0..<300 {
      let words = (0..<200).map { _ in
        generator.next() >> UInt64.random(in: 0..<64, using: &generator)
      }
      let found = scan(words, behindZeros: round % 2 == 0)
      #expect(!found.contains { $0.contains("@") }, "round \(round)")
    }
  }

  @Test("a view says what its words say") func aViewSaysWhatItsWordsSay() {
    let record = TestRecord(
      ticks: 77, site: 9, label: 0xFFFF, level: .error, flags: [.thread, .cut],
      words: [3 | 1003 << 32])
    let memory = AlignedBytes(words: segment(record.encoded(seed: seed)))
    withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 64, seed: seed, zeros: .end)
      guard case .record(let view, 64) = scanner.next() else { return #expect(Bool(false)) }
      #expect(
        view.ticks == 77 && view.callSite == 9 && view.label == 0xFFFF && view.level == .error)
      #expect(view.flags == [.thread, .cut] && !view.isFragment)
      #expect(view.sharedThread == ThreadIdentity(ordinal: 3, id: 1003, name: ""))
    }
  }
}
