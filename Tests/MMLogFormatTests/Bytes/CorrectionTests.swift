import MMLogFormat
import TestSupport
import Testing

/// One wrong bit in what everything else hangs on.
@Suite struct CorrectionTests {
  private let log = TestLog()

  /// Flips each bit of a part of the ring, or two, and expects of `correct` that it makes all as it
  /// was.
  private func checkEachBit(
    of range: Range<Int>, _ correct: @escaping (UnsafeMutableRawBufferPointer) -> Bool
  ) {
    let whole = Array(log.ring[range])
    for bit in 0..<whole.count * 8 {
      var bytes = whole.flipping(bit: bit)
      let isCorrected = bytes.withUnsafeMutableBytes(correct)
      #expect(isCorrected && bytes == whole, "bit \(bit)")
    }
    var right = whole
    let isCorrected = right.withUnsafeMutableBytes(correct)
    #expect(!isCorrected && right == whole)
  }

  /// Flips two bits, and expects that nothing is changed.
  private func checkTwoBits(
    of range: Range<Int>, _ correct: @escaping (UnsafeMutableRawBufferPointer) -> Bool
  ) {
    var generator = SeededGenerator(seed: 1)
    let whole = Array(log.ring[range])
    for _ in 0..<2000 {
      let bits = (0..<2).map { _ in Int.random(in: 0..<whole.count * 8, using: &generator) }
      let corrupted = whole.flipping(bit: bits[0]).flipping(bit: bits[1])
      var bytes = corrupted
      if bits[0] == bits[1] { continue }
      let isCorrected = bytes.withUnsafeMutableBytes(correct)
      #expect(!isCorrected && bytes == corrupted, "bits \(bits)")
    }
  }

  @Test("is corrected in a file header") func isCorrectedInAFileHeader() {
    checkEachBit(of: 0..<FileHeaderLayout.size) { $0.correctFileHeader() }
    checkTwoBits(of: 0..<FileHeaderLayout.size) { $0.correctFileHeader() }
    for bit in 0..<FileHeaderLayout.size * 8 {
      let fileHeader = try? log.ring.flipping(bit: bit).withUnsafeBytes { try RingHeader($0) }
      #expect(fileHeader?.identity == log.identity && fileHeader?.isCorrected == true, "bit \(bit)")
    }
  }

  @Test("is put right in a dictionary entry") func isPutRightInADictionaryEntry() {
    _ = log.site(
      .literal("order "), .argument(type: .string, name: "order"), .literal(" accepted"))
    _ = log.label("orders.matching")
    let start = log.geometry.dictionaryOffset
    let size = log.ring[start...].lastIndex { $0 != 0 }.map { ($0 - start) / 8 * 8 + 8 } ?? 0
    let (area, seed) = (start..<start + size + 64, log.seed(0))
    let whole = Array(log.ring[area])
    for bit in 0..<size * 8 {
      var bytes = whole.flipping(bit: bit)
      let corrected = bytes.withUnsafeMutableBytes { $0.correctEntries(seed: seed) }
      #expect(corrected.count == 1 && bytes == whole, "bit \(bit)")
    }
    var right = whole
    let corrected = right.withUnsafeMutableBytes { $0.correctEntries(seed: seed) }
    #expect(corrected.isEmpty && right == whole)
  }

  @Test("is put right in each of the dictionary entries that follow one another")
  func isPutRightInEachOfTheEntriesThatFollowOneAnother() {
    for label in ["a", "orders.matching", "db"] { _ = log.label(label) }
    let (start, seed) = (log.geometry.dictionaryOffset, log.seed(0))
    let whole = Array(log.ring[start..<start + log.dictionarySize + 64])
    // Entries of 32, 40 and 32 bytes.
    for bits in [[70, 330, 600], [3, 257, 577], [70, 330], [330, 600], [40, 290, 620]] {
      var bytes = bits.reduce(whole) { $0.flipping(bit: $1) }
      let corrected = bytes.withUnsafeMutableBytes { $0.correctEntries(seed: seed) }
      #expect(corrected.count == bits.count && bytes == whole, "bits \(bits)")
    }
  }

  /// Zeros whose length, by their checksum, is a bit too long: but with a length of zero they are
  /// no entry.
  @Test("is not put right where it makes an entry of another length")
  func isNotPutRightWhereItMakesAnEntryOfAnotherLength() {
    var bytes = [UInt8](repeating: 0, count: 1024)
    bytes[0] = 64
    let corrected = bytes.withUnsafeMutableBytes { $0.correctEntries(seed: 0) }
    #expect(corrected.isEmpty && bytes[0] == 64 && bytes[1...].allSatisfy { $0 == 0 })
  }

  @Test("is corrected in a segments header") func isCorrectedInASegmentsHeader() {
    log.write("a record", ticks: 1)
    let start = log.geometry.segmentsOffset
    let checked = [0..<8, 16..<40, 44..<56].joined()
    let whole = Array(log.ring[start..<start + log.geometry.segmentSize])
    for byte in checked {
      for bit in byte * 8..<byte * 8 + 8 {
        var bytes = whole.flipping(bit: bit)
        let isCorrected = bytes.withUnsafeMutableBytes { $0.correctSegmentHeader() }
        #expect(isCorrected && bytes == whole, "bit \(bit)")
      }
    }
  }
}
