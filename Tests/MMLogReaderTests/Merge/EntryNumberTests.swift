import MMLogFormat
import TestSupport
import Testing

@testable import MMLogReader

@Suite struct EntryNumberTests {
  private func part(
    _ first: UInt64, _ count: UInt32, writer: UInt32 = 4, thread: UInt32 = 1
  ) -> NumberRange {
    NumberRange(writer: writer, thread: thread, first: first, count: count)
  }

  private func gaps(_ parts: [NumberRange]) -> [EntryNumbers.Gap] {
    var numbers = EntryNumbers()
    for part in parts { numbers.add(part) }
    return numbers.gaps()
  }

  private func places(_ gaps: [EntryNumbers.Gap]) -> [[UInt64]] {
    gaps.map { [UInt64($0.writer), $0.first, $0.count] }
  }

  @Test("a chain has no gap whatever the order and however often")
  func aChainHasNoGapWhateverTheOrderAndHoweverOften() {
    let parts = [
      part(0, 5), part(5, 1), part(6, 100), part(3, 2, writer: 5), part(0, 3, writer: 5),
    ]
    #expect(gaps(parts) == [] && gaps(parts.reversed()) == [] && gaps(parts + parts) == [])
    #expect(gaps([]) == [])
  }

  @Test("what is missing of very many threads at one time is one gap with each of them")
  func whatIsMissingOfVeryManyThreadsIsOneGap() {
    // This would take minutes if each gap were inserted in order.
    let threads = 1...30_000 as ClosedRange<UInt32>
    let found = gaps(threads.reversed().map { part(5, 1, writer: $0, thread: $0) })
    let missing = MissingRecords.merged(found + found)
    #expect(missing.map(\.threads) == [Array(threads)])
    #expect(missing.map(\.count) == [300_000])
  }

  @Test("between two parts just what their numbers say is missing")
  func betweenTwoPartsJustWhatTheirNumbersSayIsMissing() {
    let found = gaps([part(10, 5), part(0, 7, thread: 3)])
    #expect(places(found) == [[4, 7, 3]])
    #expect(found[0].before?.numbers.thread == 3 && found[0].after.numbers.thread == 1)
  }

  @Test("what is missing before the first part has nothing before it")
  func whatIsMissingBeforeTheFirstPartHasNothingBeforeIt() {
    let found = gaps([part(3, 1, writer: 6)])
    #expect(places(found) == [[6, 0, 3]] && found[0].before == nil)
  }

  @Test("parts may overlap") func partsMayOverlap() {
    #expect(places(gaps([part(0, 10), part(2, 3), part(8, 4), part(13, 1)])) == [[4, 12, 1]])
  }

  @Test("an empty part says that what is before it was numbered")
  func anEmptyPartSaysThatWhatIsBeforeItWasNumbered() {
    #expect(places(gaps([part(0, 5), part(7, 0)])) == [[4, 5, 2]])
    #expect(gaps([part(0, 7), part(7, 0)]) == [])
  }

  @Test("hostile numbers do not trap") func hostileNumbersDoNotTrap() {
    let found = gaps([part(.max, .max), part(1, .max), part(.max - 1, 1)])
    #expect(found.first?.count == 1 && found.count == 2)
  }

  @Test("a frame says when its entries were logged") func aFrameSaysWhenItsEntriesWereLogged() {
    var numbers = EntryNumbers()
    for (first, wall) in [(0, 100), (8, 200)] as [(UInt64, Timestamp)] {
      var header = FrameHeader(.records)
      (header.summary.count, header.summary.firstWall, header.summary.lastWall) = (
        5, wall, wall + 9
      )
      header.ranges = [
        RingRange(generation: 1, from: 0, to: 8, segment: 0, numbers: part(first, 5)),
        // A range of flight records.
        RingRange(generation: 2, from: 0, to: 8, segment: 1),
        // A range without entries.
        RingRange(generation: 3, from: 0, to: 8, segment: 2, numbers: part(100, 0)),
      ]
      numbers.add(header)
    }
    let found = numbers.gaps()
    #expect(places(found) == [[4, 5, 3]])
    #expect(found.first?.before?.times == 100...109 && found.first?.after.times == 200...209)
  }
}
