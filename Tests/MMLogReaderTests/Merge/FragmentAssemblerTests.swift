import MMLogFormat
import MMLogReader
import TestSupport
import Testing

@Suite struct FragmentAssemblerTests {
  private let record = TestRecord(
    ticks: 5, site: 3, label: 2, level: .error, words: (0..<40).map { UInt64($0) })

  /// The record's body: its words from the identity word on.
  private var body: [UInt8] {
    Array(record.encoded(seed: 0)[2...]).withUnsafeBytes { Array($0) }
  }

  private func fragments(_ partWords: Int = 10, thread: UInt64? = nil) -> [[UInt64]] {
    record.fragments(partWords: partWords, seed: 0, thread: thread)
  }

  /// Gives fragments to an assembler, and returns its answers.
  private func assemble(_ fragments: [[UInt64]]) -> [[UInt8]?] {
    let memory = AlignedBytes(words: [UInt64](repeating: 0, count: 8) + fragments.flatMap { $0 })
    return withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 64, seed: 0, zeros: .end)
      var assembler = FragmentAssembler()
      var answers: [[UInt8]?] = []
      while case .record(let view, _) = scanner.next() { answers.append(assembler.add(view)) }
      #expect(answers.count == fragments.count)
      return answers
    }
  }

  /// Changes a fragment, and corrects its checksum.
  private func resigned(_ fragment: [UInt64], _ change: (inout [UInt64]) -> Void) -> [UInt64] {
    var words = fragment
    change(&words)
    words[0] = UInt64(words.count) | 2 << 24
    let checksum = words.withUnsafeBytes { recordChecksum($0, seed: 0) }
    words[0] |= UInt64(checksum) << 32
    return words
  }

  @Test("parts in order make the record", arguments: [1, 2, 7, 10, 40, 41, 50])
  func partsInOrderMakeTheRecord(partWords: Int) {
    for thread in [nil, 3] as [UInt64?] {
      let answers = assemble(fragments(partWords, thread: thread))
      #expect(answers.last == body)
      #expect(answers.dropLast().allSatisfy { $0 == nil })
    }
  }

  @Test("a missing a repeated or a swapped part makes none")
  func aMissingARepeatedOrASwappedPartMakesNone() {
    let parts = fragments()
    for index in parts.indices {
      var missing = parts
      missing.remove(at: index)
      #expect(assemble(missing).allSatisfy { $0 == nil }, "without \(index)")
      var repeated = parts
      repeated.insert(parts[index], at: index)
      // A repeated first part begins the record again. Before a repeated last part, the record is
      // complete.
      let whole = index == 0 || index == parts.count - 1 ? [body] : []
      #expect(assemble(repeated).compactMap { $0 } == whole, "\(index) twice")
    }
    #expect(assemble(parts.reversed()).allSatisfy { $0 == nil })
  }

  @Test("a new record follows an unfinished one") func aNewRecordFollowsAnUnfinishedOne() {
    let parts = fragments()
    #expect(assemble(Array(parts.prefix(3)) + parts).last == body)
    #expect(assemble(Array(parts.suffix(2)) + parts + parts).compactMap { $0 } == [body, body])
  }

  @Test("hostile sizes make no record") func hostileSizesMakeNoRecord() {
    let parts = fragments(20)
    let sizes: [UInt64] = [
      0, 8, 160, 321, 327, 329, 336, 17 << 20, (17 << 20) + 8, 1 << 40, .max, .max - 7,
    ]
    for size in sizes {
      for index in parts.indices {
        var changed = parts
        changed[index] = resigned(parts[index]) { $0[3] = size }
        #expect(assemble(changed).allSatisfy { $0 == nil }, "\(size) in part \(index)")
      }
      let all = parts.map { part in resigned(part) { $0[3] = size } }
      #expect(assemble(all).allSatisfy { $0 == nil }, "\(size)")
    }
  }

  @Test("a fragment without its words is none") func aFragmentWithoutItsWordsIsNone() {
    let parts = fragments(20, thread: 3)
    for count in 3..<6 {
      let short = resigned(parts[0]) { $0 = Array($0.prefix(count)) }
      #expect(assemble([short] + parts.dropFirst()).allSatisfy { $0 == nil }, "\(count) words")
    }
  }

  @Test("what is pending is known") func whatIsPendingIsKnown() {
    let parts = fragments()
    let memory = AlignedBytes(words: [UInt64](repeating: 0, count: 8) + parts.flatMap { $0 })
    withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 64, seed: 0, zeros: .end)
      var assembler = FragmentAssembler()
      #expect(!assembler.isUnfinished)
      guard case .record(let view, _) = scanner.next() else { return #expect(Bool(false)) }
      _ = assembler.add(view)
      #expect(assembler.isUnfinished && assembler.pendingBytes == 80)
      assembler.reset()
      #expect(!assembler.isUnfinished && assembler.pendingBytes == 0)
    }
  }
}
