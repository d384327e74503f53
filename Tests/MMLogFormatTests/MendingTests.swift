import MMLogFormat
import MMLogTestFiles
import Testing

/// One wrong bit in what everything else hangs on.
@Suite struct MendingTests {
  private let log = TestLog()

  /// Flips each bit of a part of the ring, or two, and expects of `mend` that it makes all as it was.
  private func checkEachBit(
    of range: Range<Int>, _ mend: @escaping (UnsafeMutableRawBufferPointer) -> Bool
  ) {
    let whole = Array(log.ring[range])
    for bit in 0..<whole.count * 8 {
      var bytes = whole.flipping(bit: bit)
      let isMended = bytes.withUnsafeMutableBytes(mend)
      #expect(isMended && bytes == whole, "bit \(bit)")
    }
    var right = whole
    let isMended = right.withUnsafeMutableBytes(mend)
    #expect(!isMended && right == whole)
  }

  /// Flips two bits, and expects that nothing is changed.
  private func checkTwoBits(
    of range: Range<Int>, _ mend: @escaping (UnsafeMutableRawBufferPointer) -> Bool
  ) {
    var generator = SeededGenerator(seed: 1)
    let whole = Array(log.ring[range])
    for _ in 0..<2000 {
      let bits = (0..<2).map { _ in Int.random(in: 0..<whole.count * 8, using: &generator) }
      let damaged = whole.flipping(bit: bits[0]).flipping(bit: bits[1])
      var bytes = damaged
      if bits[0] == bits[1] { continue }
      let isMended = bytes.withUnsafeMutableBytes(mend)
      #expect(!isMended && bytes == damaged, "bits \(bits)")
    }
  }

  @Test func isPutRightInAHead() {
    checkEachBit(of: 0..<HeadLayout.size) { $0.mendHead() }
    checkTwoBits(of: 0..<HeadLayout.size) { $0.mendHead() }
    for bit in 0..<HeadLayout.size * 8 {
      let head = try? log.ring.flipping(bit: bit).withUnsafeBytes { try RingHead($0) }
      #expect(head?.identity == log.identity && head?.isMended == true, "bit \(bit)")
    }
  }

  @Test func isPutRightInADictionaryEntry() {
    _ = log.site(
      .literal("order "), .argument(type: .string, name: "order"), .literal(" accepted"))
    _ = log.label("orders.matching")
    let start = log.geometry.dictionaryOffset
    let size = log.ring[start...].lastIndex { $0 != 0 }.map { ($0 - start) / 8 * 8 + 8 } ?? 0
    let (area, seed) = (start..<start + size + 64, log.seed(0))
    let whole = Array(log.ring[area])
    for bit in 0..<size * 8 {
      var bytes = whole.flipping(bit: bit)
      let mended = bytes.withUnsafeMutableBytes { $0.mendEntries(seed: seed) }
      #expect(mended.count == 1 && bytes == whole, "bit \(bit)")
    }
    var right = whole
    let mended = right.withUnsafeMutableBytes { $0.mendEntries(seed: seed) }
    #expect(mended.isEmpty && right == whole)
  }

  /// Zeros whose length, by their check, is a bit too long: but with a length of zero they are no entry.
  @Test func isNotPutRightWhereItMakesAnEntryOfAnotherLength() {
    var bytes = [UInt8](repeating: 0, count: 1024)
    bytes[0] = 64
    let mended = bytes.withUnsafeMutableBytes { $0.mendEntries(seed: 0) }
    #expect(mended.isEmpty && bytes[0] == 64 && bytes[1...].allSatisfy { $0 == 0 })
  }

  @Test func isPutRightInASegmentsHeader() {
    log.write("a record", ticks: 1)
    let start = log.geometry.segmentsOffset
    let checked = [0..<8, 16..<40, 44..<56].joined()
    let whole = Array(log.ring[start..<start + log.geometry.segmentSize])
    for byte in checked {
      for bit in byte * 8..<byte * 8 + 8 {
        var bytes = whole.flipping(bit: bit)
        let isMended = bytes.withUnsafeMutableBytes { $0.mendSegmentHeader() }
        #expect(isMended && bytes == whole, "bit \(bit)")
      }
    }
  }
}
