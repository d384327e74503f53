import MMLogFormat
import TestSupport
import Testing

@Suite struct ZlibTests {
  private func deflater(_ level: Int = 6) throws -> Deflater {
    try #require(Deflater(level: level))
  }
  private func inflater() throws -> Inflater { try #require(Inflater()) }

  private func inflate(_ bytes: [UInt8], _ size: Int, _ inflater: Inflater) -> [UInt8]? {
    try? bytes.read { try inflater.decompress($0, size: size) }
  }

  private func text(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 7 * 9 % 64 + 32) } }

  @Test("what is compressed comes back", arguments: [1, 6, 9])
  func whatIsCompressedComesBack(level: Int) throws {
    let (deflater, inflater) = (try deflater(level), try inflater())
    for size in Array(60...80) + [1000, 4095, 4096, 65_535, 65_536, 300_000] {
      let text = text(size)
      guard let packed = deflater.compress(text) else {
        #expect(size < 80, "\(size) bytes of text get smaller")
        continue
      }
      #expect(packed.count <= size - size / 16, "\(size) bytes")
      #expect(inflate(packed, size, inflater) == text, "\(size) bytes")
    }
  }

  @Test("what does not get smaller stays as it is")
  func whatDoesNotGetSmallerStaysAsItIs() throws {
    let deflater = try deflater()
    var generator = SeededGenerator(seed: 1)
    #expect(deflater.compress([]) == nil && deflater.compress(text(63)) == nil)
    #expect(deflater.compress(generator.bytes(5000)) == nil)
    #expect(deflater.compress(text(5000)) != nil, "works again after one that did not")
  }

  @Test("another size than the right one is refused")
  func anotherSizeThanTheRightOneIsRefused() throws {
    let (deflater, inflater) = (try deflater(), try inflater())
    let packed = try #require(deflater.compress(text(1000)))
    for size in [0, 1, 999, 1001, 64 << 20, (64 << 20) + 1, .max] {
      #expect(inflate(packed, size, inflater) == nil, "\(size)")
    }
    #expect(inflate(packed, 1000, inflater) == text(1000), "works again after one that did not")
  }

  @Test("a bomb is refused before its memory is taken")
  func aBombIsRefusedBeforeItsMemoryIsTaken() throws {
    let (deflater, inflater) = (try deflater(9), try inflater())
    let zeros = [UInt8](repeating: 0, count: 8 << 20)
    let packed = try #require(deflater.compress(zeros))
    #expect(inflate(packed, 1 << 20, inflater) == nil, "more than was announced")
    #expect(inflate(packed, zeros.count, inflater)?.count == zeros.count)
    #expect(inflate([0x78, 0x9C], 64 << 20, inflater) == nil, "64 MiB of two bytes")
  }

  @Test("a corrupted stream is refused or gives something")
  func aCorruptedStreamIsRefusedOrGivesSomething() throws {
    let (deflater, inflater) = (try deflater(), try inflater())
    let packed = try #require(deflater.compress(text(500)))
    for bit in 0..<packed.count * 8 {
      let result = inflate(packed.flipping(bit: bit), 500, inflater)
      #expect(result == nil || result == text(500), "bit \(bit): its own checksum is wrong")
    }
    for count in 0..<packed.count {
      #expect(inflate(Array(packed.prefix(count)), 500, inflater) == nil, "\(count) bytes")
    }
  }

  @Test("garbage is refused") func garbageIsRefused() throws {
    let inflater = try inflater()
    var generator = SeededGenerator(seed: 4)
    for round in 0..<2000 {
      let garbage = [0x78, 0x9C] + generator.bytes(Int.random(in: 0..<80, using: &generator))
      #expect(inflate(garbage, 64, inflater) == nil, "round \(round)")
    }
  }
}
