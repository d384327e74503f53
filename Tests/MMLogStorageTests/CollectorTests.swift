import MMLogFormat
import MMLogStorage
import TestSupport
import Testing

@Suite struct CollectorTests {
  /// Segments, each with records of the given ticks, in order.
  private struct Segments {
    let memory: [AlignedBytes]

    init(_ segments: [[UInt64]], words: Int = 1) {
      memory = segments.enumerated().map { index, ticks in
        let log = ticks.flatMap {
          TestRecord(ticks: $0, words: Array(repeating: $0, count: words)).encoded(
            seed: UInt32(index))
        }
        return AlignedBytes(words: Segments.header(UInt64(index + 1)) + log + [0])
      }
    }

    private static func header(_ generation: UInt64) -> [UInt64] {
      var words: [UInt64] = [generation, 1 | 128 << 32, generation, 0, 0, 0, 10 * generation, 0]
      words += [generation + 3, 0, 0, 0, 0, 0, 0, 0]
      let checksum = words.withUnsafeBytes { segmentChecksum($0) }
      words[5] |= UInt64(checksum) << 32
      return words
    }

    func runs(lastTicks: UInt64 = 0, isArchived: @escaping (Int) -> Bool = { _ in false }) throws
      -> [CollectedSegment]
    {
      try memory.enumerated().map { index, memory in
        CollectedSegment(
          index: index, header: try SegmentHeader(memory.bytes),
          scanner: RecordScanner(
            memory.bytes, from: 128, seed: UInt32(index), zeros: .end),
          number: 10 * UInt64(index + 1), lastTicks: lastTicks,
          disposition: { isArchived($1) ? .archived : .taken })
      }
    }
  }

  @Test("a frame has a MiB of rows, or as many as are wanted")
  func aFrameHasAMiBOfRowsOrAsManyAsAreWanted() throws {
    let segments = Segments([(1...UInt64((1100 << 10) / 32)).map { $0 }])
    for (size, expected) in [(nil, 1 << 20), (512 << 10, 512 << 10)] as [(Int?, Int)] {
      var builder = RowBuilder()
      var collector = FrameCollector(try segments.runs())
      _ = withExtendedLifetime(segments) {
        size.map { collector.fill(&builder, size: $0) } ?? collector.fill(&builder)
      }
      #expect((0..<32 + 64).contains(builder.size - expected), "\(builder.size)")
    }
  }

  /// Where the last of `count` records of 4 words in a segment ends.
  private func end(_ count: Int) -> UInt32 { UInt32(128 + 32 * count) }

  /// Some records of a segment.
  private func range(_ generation: UInt64, _ records: Range<Int>) -> RingRange {
    RingRange(
      generation: generation, from: end(records.lowerBound), to: end(records.upperBound),
      segment: UInt32(generation - 1),
      numbers: NumberRange(
        writer: UInt32(generation) + 3, thread: UInt32(generation),
        first: 10 * generation + UInt64(records.lowerBound), count: UInt32(records.count)))
  }

  /// Thread ordinals and ticks of the rows.
  private func rows(_ builder: borrowing RowBuilder) throws -> [[UInt64]] {
    let memory = AlignedBytes(builder.payload())
    return try withExtendedLifetime(memory) {
      var reader = try RowReader(memory.bytes)
      var rows: [[UInt64]] = []
      while let row = try reader.next() {
        rows.append([UInt64(row.threadOrdinalOfRow), row.ticks])
      }
      return rows
    }
  }

  @Test("records are merged by ticks and then by generation")
  func recordsAreMergedByTicksAndThenByGeneration() throws {
    let segments = Segments([[1, 5, 9], [5, 6], [], [2, 9]])
    var collector = FrameCollector(try segments.runs())
    var builder = RowBuilder()
    let ranges = collector.fill(&builder, size: .max)
    #expect(try rows(builder) == [[1, 1], [4, 2], [1, 5], [2, 5], [2, 6], [1, 9], [4, 9]])
    #expect(
      ranges == [
        range(1, 0..<3), range(2, 0..<2), range(4, 0..<2),
      ])
    #expect(collector.runs.allSatisfy { $0.isEmpty })
  }

  @Test("many random segments are merged in order")
  func manyRandomSegmentsAreMergedInOrder() throws {
    for seed in 0..<20 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let ticks = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
        (0..<Int.random(in: 0..<30, using: &generator))
          .map { _ in UInt64.random(in: 1...200, using: &generator) }.sorted()
      }
      let segments = Segments(ticks)
      var collector = FrameCollector(try segments.runs())
      var found: [[UInt64]] = []
      var builder = RowBuilder()
      while !collector.fill(&builder, size: 500).isEmpty {
        found += try rows(builder)
        builder.removeAll()
      }
      let expected = ticks.enumerated().flatMap { index, all in all.map { [UInt64(index + 1), $0] }
      }
      #expect(found == expected.sorted { ($0[1], $0[0]) < ($1[1], $1[0]) }, "seed \(seed)")
    }
  }

  @Test("a frame ends at its size and the next goes on there")
  func aFrameEndsAtItsSizeAndTheNextGoesOnThere() throws {
    let segments = Segments([[1, 3, 5], [2, 4]])
    var collector = FrameCollector(try segments.runs())
    var builder = RowBuilder()
    let first = collector.fill(&builder, size: 8 + 2 * 24 + 3 * 32)
    #expect(try rows(builder).map { $0[1] } == [1, 2, 3])
    #expect(first.map(\.to) == [end(2), end(1)])
    builder.removeAll()
    let second = collector.fill(&builder, size: .max)
    #expect(try rows(builder).map { $0[1] } == [4, 5])
    #expect(second.map(\.from) == [end(2), end(1)] && second.map(\.to) == [end(3), end(2)])
    builder.removeAll()
    #expect(collector.fill(&builder, size: .max).isEmpty && builder.isEmpty)
  }

  @Test("records behind the cutoff are left") func recordsBehindTheCutoffAreLeft() throws {
    let segments = Segments([[1, 3, 5], [2, 4]])
    var collector = FrameCollector(try segments.runs(), cutoff: 3)
    var builder = RowBuilder()
    let ranges = collector.fill(&builder, size: .max)
    #expect(try rows(builder).map { $0[1] } == [1, 2, 3])
    #expect(ranges.map(\.to) == [end(2), end(1)])
    #expect(collector.runs.map(\.isEmpty) == [false, false])
  }

  @Test("ticks that go back are those of the record before")
  func ticksThatGoBackAreThoseOfTheRecordBefore() throws {
    let segments = Segments([[5, 2, 7], [4, 6]])
    var collector = FrameCollector(try segments.runs())
    var builder = RowBuilder()
    _ = collector.fill(&builder, size: .max)
    #expect(try rows(builder) == [[2, 4], [1, 5], [1, 5], [2, 6], [1, 7]])
    var later = FrameCollector(try segments.runs(lastTicks: 6))
    builder.removeAll()
    _ = later.fill(&builder, size: .max)
    #expect(try rows(builder).map { $0[1] } == [6, 6, 6, 6, 7], "also those of the last frame")
  }

  @Test("what is archived is left out and its ticks still count")
  func whatIsArchivedIsLeftOutAndItsTicksStillCount() throws {
    let segments = Segments([[5, 2, 7]])
    var collector = FrameCollector(try segments.runs(isArchived: { $0 == 128 }))
    var builder = RowBuilder()
    let ranges = collector.fill(&builder, size: .max)
    #expect(try rows(builder).map { $0[1] } == [5, 7])
    #expect(ranges == [range(1, 1..<3)])
  }

  @Test("what another frame has is in no range") func whatAnotherFrameHasIsInNoRange() throws {
    let segments = Segments([[1, 2, 3, 4, 5]])
    var collector = FrameCollector(
      try segments.runs(isArchived: { $0 == end(0) || $0 == end(2) || $0 == end(4) }))
    var builder = RowBuilder()
    let ranges = collector.fill(&builder, size: .max)
    #expect(try rows(builder).map { $0[1] } == [2, 4])
    #expect(ranges == [range(1, 1..<2), range(1, 3..<4)])
  }

  /// Records that are left stay in the ring. The range spans them, because a frame has one range
  /// for a segment.
  @Test("what is left is in the range and has no number")
  func whatIsLeftIsInTheRangeAndHasNoNumber() throws {
    let segments = Segments([[1, 2, 3, 4]])
    let runs = try segments.runs().map { run in
      CollectedSegment(
        index: 0, header: run.header,
        scanner: RecordScanner(
          segments.memory[0].bytes, from: 128, seed: 0, zeros: .end),
        number: 10, disposition: { record, _ in record.ticks % 2 == 0 ? .taken : .left })
    }
    var collector = FrameCollector(runs)
    var builder = RowBuilder()
    var expected = range(1, 1..<4)
    expected.numbers?.first = 10
    expected.numbers?.count = 2
    #expect(collector.fill(&builder, size: .max) == [expected])
    #expect(collector.runs[0].number == 12)
  }

  @Test("a record of a shared segment is of the thread that it names")
  func aRecordOfASharedSegmentIsOfTheThreadThatItNames() throws {
    let record = TestRecord(ticks: 3, flags: .thread, words: [9 | 1009 << 32])
    let memory = AlignedBytes(words: [UInt64](repeating: 0, count: 16) + record.encoded(seed: 0))
    let segments = Segments([[]])
    let run = CollectedSegment(
      index: 0, header: try SegmentHeader(segments.memory[0].bytes),
      scanner: RecordScanner(memory.bytes, from: 128, seed: 0, zeros: .end))
    var builder = RowBuilder()
    withExtendedLifetime(memory) {
      var collector = FrameCollector([run])
      _ = collector.fill(&builder, size: .max)
    }
    #expect(try rows(builder) == [[9, 3]])
  }
}

/// FORMAT.md, 5: what part of a ring is already archived.
@Suite struct CoverageTests {
  private func segment(_ generation: UInt64, archived: Int = 128) throws -> SegmentHeader {
    var words: [UInt64] =
      [generation, 1 | UInt64(archived) << 32] + [UInt64](repeating: 0, count: 62)
    words[5] |= UInt64(words.withUnsafeBytes { segmentChecksum($0) }) << 32
    return try AlignedBytes(words: words).read { try SegmentHeader($0) }
  }

  private func header(
    _ ranges: [(UInt64, Range<UInt32>)], lowest: UInt64 = 0
  ) -> FrameHeader {
    var header = FrameHeader(.records)
    header.lowestGeneration = lowest
    header.ranges = ranges.map {
      RingRange(generation: $0.0, from: $0.1.lowerBound, to: $0.1.upperBound, segment: 0)
    }
    return header
  }

  @Test("a range holds what begins in it") func aRangeHoldsWhatBeginsInIt() throws {
    var coverage = Coverage()
    coverage.add(header([(5, 64..<128), (5, 200..<208)]))
    let cases = [(56, false), (64, true), (120, true), (128, false), (200, true), (208, false)]
    for (offset, isThere) in cases {
      let found = try coverage.contains(segment(5), offset: offset, trustsWatermarks: false)
      #expect(found == isThere, "\(offset)")
    }
    #expect(try !coverage.contains(segment(6), offset: 128, trustsWatermarks: true))
  }

  @Test("every generation below the lowest is there")
  func everyGenerationBelowTheLowestIsThere() throws {
    var coverage = Coverage()
    coverage.add(header([], lowest: 7))
    coverage.add(header([], lowest: 4))
    #expect(try coverage.contains(segment(6), offset: 128, trustsWatermarks: false))
    #expect(try !coverage.contains(segment(7), offset: 128, trustsWatermarks: false))
  }

  @Test("what was archived is there if the machine was not down")
  func whatWasArchivedIsThereIfTheMachineWasNotDown() throws {
    let coverage = Coverage()
    #expect(try coverage.contains(segment(1, archived: 192), offset: 184, trustsWatermarks: true))
    #expect(try !coverage.contains(segment(1, archived: 192), offset: 192, trustsWatermarks: true))
    #expect(try !coverage.contains(segment(1, archived: 192), offset: 184, trustsWatermarks: false))
  }

  @Test("after corruption only ranges count") func afterCorruptionOnlyRangesCount() throws {
    let (first, second) = (header([(1, 128..<160)], lowest: 9), header([(2, 128..<160)], lowest: 9))
    var coverage = Coverage()
    coverage.add(first)
    coverage.add(second)
    coverage.remove(first)
    #expect(coverage.hasCorruption)
    #expect(try !coverage.contains(segment(1, archived: 192), offset: 128, trustsWatermarks: true))
    #expect(try coverage.contains(segment(2), offset: 128, trustsWatermarks: true))
    #expect(try !coverage.contains(segment(3), offset: 128, trustsWatermarks: true))
    var distrusted = Coverage()
    distrusted.add(second)
    distrusted.distrust()
    #expect(try !distrusted.contains(segment(1), offset: 128, trustsWatermarks: true))
    #expect(try distrusted.contains(segment(2), offset: 128, trustsWatermarks: true))
  }

  @Test("what a corrupted frame held may be in another frame too")
  func whatACorruptedFrameHeldMayBeInAnotherFrameToo() throws {
    // As after a power cut, and after a recovery that was cut off before it removed the ring.
    let (corrupted, recovered) = (header([(1, 128..<160)]), header([(1, 128..<160)]))
    var coverage = Coverage()
    coverage.add(corrupted)
    coverage.add(recovered)
    coverage.remove(corrupted)
    #expect(try coverage.contains(segment(1), offset: 128, trustsWatermarks: false))
    coverage.remove(recovered)
    #expect(try !coverage.contains(segment(1), offset: 128, trustsWatermarks: false))
  }

  /// As many ranges as a hostile frame may have. Checking all of them for each record would take
  /// minutes.
  @Test("ranges may overlap and be many") func rangesMayOverlapAndBeMany() throws {
    var coverage = Coverage()
    let many = (0..<100_000 as Range<UInt32>).map { (5 as UInt64, 8 * $0..<8 * $0 + 800) }
    coverage.add(header(many.reversed()))
    coverage.add(header([(5, 900_000..<900_008)]))
    for isSettled in [false, true] {
      if isSettled { coverage.settle() }
      let segment = try segment(5)
      for (offset, isThere) in [
        (64, true), (799_992, true), (800_784, true), (800_792, false), (899_992, false),
        (900_000, true), (900_008, false),
      ] {
        let found = coverage.contains(segment, offset: offset, trustsWatermarks: false)
        #expect(found == isThere, "\(offset)")
      }
      guard isSettled else { continue }
      let found = (0..<100_000).filter {
        coverage.contains(segment, offset: $0 * 8, trustsWatermarks: false)
      }
      #expect(found.count == 100_000)
    }
    coverage.remove(header(many))
    #expect(try !coverage.contains(segment(5), offset: 128, trustsWatermarks: false))
    #expect(try coverage.contains(segment(5), offset: 900_000, trustsWatermarks: false))
  }

  @Test("ranges that are none hold nothing") func rangesThatAreNoneHoldNothing() throws {
    var coverage = Coverage()
    var hostile = header([])
    hostile.ranges = [RingRange(generation: 1, from: 128, to: 64, segment: 0)]
    coverage.add(hostile)
    coverage.add(header([(1, 128..<136)]))
    coverage.remove(hostile)
    #expect(try !coverage.contains(segment(1), offset: 96, trustsWatermarks: false))
    #expect(try coverage.contains(segment(1), offset: 128, trustsWatermarks: false))
  }

  @Test("corruption of an archive counts and a torn frame is none")
  func corruptionOfAnArchiveCountsAndATornFrameIsNone() throws {
    let fixture = Fixture()
    let writer = try fixture.writer()
    for ticks in [1, 2] as [UInt64] { try fixture.append([ticks], generation: 5, to: writer) }
    let bytes = try fixture.contents(writer.path)
    var torn = Coverage()
    torn.add(try fixture.read(bytes.dropLast(9)))
    #expect(!torn.hasCorruption)
    #expect(try torn.contains(segment(4), offset: 128, trustsWatermarks: false))
    var corrupted = bytes
    corrupted[try fixture.read(writer.path).frames[1].offset + 40] ^= 1
    var coverage = Coverage()
    coverage.add(try fixture.read(corrupted))
    #expect(coverage.hasCorruption)
    #expect(try !coverage.contains(segment(4), offset: 128, trustsWatermarks: false))
    #expect(
      try coverage.contains(segment(5), offset: 128, trustsWatermarks: false), "the other frame's")
  }
}

extension AlignedBytes {
  fileprivate func read<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result
  {
    try withExtendedLifetime(self) { try body(bytes) }
  }
}
