import MMLogFormat
import TestSupport
import Testing

@Suite struct FrameTests {
  private var header: FrameHeader {
    var header = FrameHeader(.records, codec: .zlibRows)
    (header.payloadSize, header.rawSize, header.payloadChecksum) = (41, 99, 0xDEAD_BEEF)
    header.summary.add(ticks: 900, level: .error)
    header.summary.add(ticks: 100, level: .trace)
    (header.summary.firstWall, header.summary.lastWall) = (-7, .distantFuture)
    header.clock = TickClock(ticks: 1, wall: -2, rate: .max)
    (header.lowestGeneration, header.ordinal, header.effort) = (12, 3, .none)
    header.archive = ArchiveID(session: SessionID(words: (5, .max)), number: 77)
    header.ranges = [
      RingRange(
        generation: 4, from: 64, to: 128, segment: 2,
        numbers: NumberRange(writer: 9, thread: 2, first: .max, count: 7)),
      RingRange(generation: .max, from: 0, to: .max, segment: .max),
    ]
    return header
  }

  private func encoded(_ header: FrameHeader) -> [UInt8] {
    var bytes: [UInt8] = []
    header.encode(into: &bytes)
    return bytes
  }

  private func decoded(_ bytes: [UInt8]) -> FrameHeader? { bytes.read { FrameHeader($0) } }

  private func resigned(
    _ header: FrameHeader, _ change: (UnsafeMutableRawBufferPointer) -> Void
  ) -> [UInt8] {
    var bytes = encoded(header)
    bytes.withUnsafeMutableBytes {
      change($0)
      $0.store(UInt32(0), FrameLayout.checksum)
      $0.store(crc32c(UnsafeRawBufferPointer($0)), FrameLayout.checksum)
    }
    return bytes
  }

  @Test("a header is read as it was written") func aHeaderIsReadAsItWasWritten() {
    #expect(decoded(encoded(header)) == header)
    #expect(header.headerSize == 240 && header.frameSize == 288)
    #expect(header.summary.levels == 0b10_0001 && header.summary.count == 2)
    #expect(header.summary.firstTicks == 100 && header.summary.lastTicks == 900)
    let bytes = [UInt8](repeating: 1, count: 8) + encoded(header)
    var appended = [UInt8](repeating: 1, count: 8)
    header.encode(into: &appended)
    #expect(appended == bytes, "after what is there already")
  }

  @Test("a flipped bit is noticed wherever it is") func aFlippedBitIsNoticedWhereverItIs() {
    let bytes = encoded(header)
    for bit in 0..<bytes.count * 8 {
      #expect(decoded(bytes.flipping(bit: bit)) == nil, "bit \(bit)")
    }
    for count in 0..<bytes.count {
      #expect(decoded(Array(bytes.prefix(count))) == nil, "\(count) bytes")
    }
  }

  @Test("sizes that cannot be are refused") func sizesThatCannotBeAreRefused() {
    #expect(decoded(resigned(header) { _ in }) == header)
    for (offset, value) in [
      (FrameLayout.payloadSize, (64 << 20) + 1), (FrameLayout.rawSize, (64 << 20) + 1),
      (FrameLayout.rawSize, .max), (FrameLayout.headerSize, 160), (FrameLayout.rangeCount, 0),
      (FrameLayout.rangeCount, 3), (FrameLayout.rangeCount, .max),
    ] as [(Int, UInt32)] {
      #expect(decoded(resigned(header) { $0.store(value, offset) }) == nil, "\(value) at \(offset)")
    }
  }

  @Test("a frame of an unknown type or codec is to be passed over")
  func aFrameOfAnUnknownTypeOrCodecIsToBePassedOver() {
    for type in [0, 9, 77, 255] as [UInt8] {
      let found = decoded(resigned(header) { $0[FrameLayout.type] = type })
      #expect(found?.type == .other && found?.frameSize == 288, "type \(type)")
    }
    for codec in [0x03, 0x0F, 0x20, 0x31, 0xF0, 0x11] as [UInt8] {
      let found = decoded(resigned(header) { $0[FrameLayout.codec] = codec })
      #expect(found?.type == .other && found?.frameSize == 288, "codec \(codec)")
    }
  }

  @Test("an index entry keeps the type of a frame that is not known")
  func anIndexEntryKeepsTheTypeOfAFrameThatIsNotKnown() throws {
    for type in [0, 9, 255] as [UInt8] {
      let found = try #require(decoded(resigned(header) { $0[FrameLayout.type] = type }))
      let entry = IndexEntry.encode([IndexEntry(offset: 512, header: found)])
      #expect(found.isInIndex && entry[IndexEntryLayout.type] == type, "type \(type)")
      #expect(encoded(found)[FrameLayout.type] == type, "type \(type)")
    }
    let dictionary = try #require(
      decoded(
        resigned(header) {
          $0[FrameLayout.type] = FrameType.dictionary.rawValue
          $0[FrameLayout.codec] = 0xF0
        }))
    #expect(dictionary.type == .other && !dictionary.isInIndex)
  }

  @Test("the chain has a frame or not by its type, in whatever codec it is")
  func theChainHasAFrameOrNotByItsType() throws {
    for type in 0...9 as ClosedRange<UInt8> {
      for codec in [0, 16, 48] as [UInt8] {
        let found = try #require(
          decoded(
            resigned(header) {
              ($0[FrameLayout.type], $0[FrameLayout.codec]) = (type, codec)
            }))
        // FORMAT.md, 12.
        #expect(found.isInChain == ![5, 7, 8].contains(type), "type \(type), codec \(codec)")
      }
    }
  }

  @Test("an index entry says what the header says") func anIndexEntrySaysWhatTheHeaderSays() {
    let bytes = IndexEntry.encode([IndexEntry(offset: 1 << 40, header: header)])
    #expect(bytes.count == 64)
    bytes.withUnsafeBytes {
      #expect($0.load(0, as: UInt64.self) == 1 << 40 && $0.load(8, as: UInt32.self) == 2)
      #expect($0[12] == 2 && $0[13] == 0b10_0001 && $0.load(16, as: UInt64.self) == 100)
      #expect($0.load(24, as: UInt64.self) == 900 && $0.load(32, as: Int64.self) == -7)
      #expect($0.load(40, as: Int64.self) == .max && $0.load(48, as: UInt32.self) == 99)
      #expect($0.load(52, as: UInt32.self) == 288 && $0.load(56, as: UInt64.self) == 0)
    }
  }

  @Test("a trailer is read as it was written") func aTrailerIsReadAsItWasWritten() {
    let trailer = Trailer(
      of: header.archive, dictionaryOffset: 1, indexOffset: 2, recordCount: 3, fileSize: .max,
      frameCount: 5)
    let bytes = trailer.encoded
    #expect(bytes.count == 80 && bytes.read { Trailer($0) } == trailer)
    for bit in 0..<640 {
      #expect(bytes.flipping(bit: bit).read { Trailer($0) } == nil, "bit \(bit)")
    }
    for count in 0..<80 { #expect(Array(bytes.prefix(count)).read { Trailer($0) } == nil) }
    #expect((bytes + [0]).read { Trailer($0) } == nil)
  }

  @Test("a trailer names an index only between file header and trailer")
  func aTrailerNamesAnIndexOnlyBetweenFileHeaderAndTrailer() {
    func space(index: UInt64, size: UInt64) -> Range<Int>? {
      let trailer = Trailer(
        of: header.archive, dictionaryOffset: 0, indexOffset: index, recordCount: 0,
        fileSize: size, frameCount: 0)
      return trailer.indexSpace
    }
    #expect(space(index: 512, size: 1000) == 512..<920)
    #expect(space(index: 919, size: 1000) == 919..<920)
    for index in [0, 511, 920, 921, 999, 1000, UInt64.max] {
      #expect(space(index: index, size: 1000) == nil, "index at \(index)")
    }
    for size in [0, 79, 592, UInt64.max] {
      #expect(space(index: 512, size: size) == nil, "\(size) bytes")
    }
  }

  @Test("a sessions end is read as it was written") func aSessionsEndIsReadAsItWasWritten() {
    for how in SessionEnd.How.allCases {
      let end = SessionEnd(how, time: -9, signal: 15, sender: 4711)
      for end in [end, end.recovered(at: 77)] {
        let bytes = end.encoded
        #expect(bytes.count == 32 && bytes[0] == UInt8(how.rawValue))
        #expect(bytes.read { SessionEnd($0) } == end)
        for bit in 0..<256 {
          #expect(bytes.flipping(bit: bit).read { SessionEnd($0) } == nil, "bit \(bit)")
        }
        for count in 0..<32 { #expect(Array(bytes.prefix(count)).read { SessionEnd($0) } == nil) }
      }
    }
    #expect([UInt8](repeating: 0, count: 32).read { SessionEnd($0) } == nil)
  }
}

@Suite struct RowTests {
  private let threads = [
    ThreadIdentity(ordinal: 1, id: 1001, name: "main"),
    ThreadIdentity(ordinal: 7, id: 1007, name: String(repeating: "n", count: 16)),
  ]

  /// The payload of two threads' records.
  private func payload() -> [UInt8] {
    var words = [UInt64](repeating: 0, count: 8)
    for ticks in 1...4 as ClosedRange<UInt64> {
      words += TestRecord(ticks: ticks, site: 3, words: [ticks]).encoded(seed: 5)
    }
    let memory = AlignedBytes(words: words)
    return withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 64, seed: 5, zeros: .end)
      var rows = RowBuilder()
      while case .record(let view, _) = scanner.next() {
        rows.add(view, thread: threads[Int(view.ticks) % 2], ticks: view.ticks * 10)
      }
      #expect(rows.size == rows.payload().count && !rows.isEmpty && rows.summary.count == 4)
      return rows.payload()
    }
  }

  /// Ordinals and ticks of the rows, and the threads.
  private func read(_ payload: [UInt8]) throws -> (rows: [[UInt64]], threads: [ThreadIdentity]) {
    try payload.read { bytes in
      var reader = try RowReader(bytes)
      var rows: [[UInt64]] = []
      while let row = try reader.next() {
        rows.append([UInt64(row.threadOrdinalOfRow), row.ticks, row.word(3)])
      }
      return (rows, reader.threads)
    }
  }

  @Test("rows are read as they were added") func rowsAreReadAsTheyWereAdded() throws {
    let (rows, found) = try read(payload())
    #expect(rows == [[7, 10, 1], [1, 20, 2], [7, 30, 3], [1, 40, 4]])
    #expect(Set(found) == Set(threads))
    let empty = try read(RowBuilder().payload())
    #expect(empty.rows.isEmpty && empty.threads.isEmpty)
  }

  @Test("rows of more threads than a frame can have are none")
  func rowsOfMoreThreadsThanAFrameCanHaveAreNone() throws {
    func payload(threads count: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 8 + count * FrameLayout.threadSize)
      bytes.withUnsafeMutableBytes { $0.store(UInt64(count), 0) }
      return bytes
    }
    let most = FrameLayout.maximumThreads
    #expect(try read(payload(threads: most)).threads.count == most)
    #expect(throws: FormatError.self) { _ = try read(payload(threads: most + 1)) }
    #expect(throws: FormatError.self) { _ = try read(Array(payload(threads: 9).dropLast())) }
  }

  @Test("parts are whole rows one after the other")
  func partsAreWholeRowsOneAfterTheOther() throws {
    try payload().read { bytes in
      let reader = try RowReader(bytes)
      let all = Array(bytes.suffix(reader.size))
      #expect(all.count == 4 * 32)
      for size in 1...200 {
        var (found, count): ([UInt8], Int) = ([], 0)
        while found.count < reader.size {
          let part = reader.rows(from: found.count, size: size)
          let isLast = part.endIndex == reader.size
          try #require(part.count % 32 == 0 && (part.count >= size || isLast), "\(size) bytes")
          found += part
          count += 1
        }
        #expect(
          found == all && count == (4 + (size - 1) / 32) / ((size + 31) / 32), "\(size) bytes")
      }
      #expect(reader.rows(from: reader.size, size: 1).isEmpty)
      #expect(reader.rows(from: 1 << 20, size: 1).isEmpty, "a file that was cut meanwhile")
    }
  }

  @Test("removing all leaves nothing") func removingAllLeavesNothing() {
    var rows = RowBuilder()
    rows.removeAll()
    #expect(rows.isEmpty && rows.size == 8 && rows.summary == RecordSummary())
  }

  @Test("a payload cut anywhere throws or ends at a row")
  func aPayloadCutAnywhereThrowsOrEndsAtARow() {
    let payload = payload()
    let table = 8 + 2 * 24
    for count in 0..<payload.count {
      let found = try? read(Array(payload.prefix(count)))
      let isAtRow = count >= table && (count - table) % 32 == 0
      #expect((found != nil) == isAtRow, "\(count) bytes")
    }
  }

  @Test("a payload with any bit flipped is read or refused")
  func aPayloadWithAnyBitFlippedIsReadOrRefused() {
    let payload = payload()
    for bit in 0..<payload.count * 8 { _ = try? read(payload.flipping(bit: bit)) }
    for count in [3, 1 << 20, .max] as [UInt32] {
      var hostile = payload
      hostile.withUnsafeMutableBytes { $0.store(count, 0) }
      #expect((try? read(hostile)) == nil || count == 3, "\(count) threads")
    }
  }
}
