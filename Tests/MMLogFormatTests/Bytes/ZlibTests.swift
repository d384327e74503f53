import MMLogFormat
import TestSupport
import Testing

@Suite struct ZlibTests {
  private func compressor(_ level: Int = 6) throws -> Compressor {
    try #require(Compressor(level: level))
  }
  private func decompressor() throws -> Decompressor { try #require(Decompressor()) }

  private func inflate(_ bytes: [UInt8], _ size: Int, _ decompressor: Decompressor) -> [UInt8]? {
    try? bytes.read { try decompressor.decompress($0, size: size) }
  }

  private func text(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 7 * 9 % 64 + 32) } }

  @Test("what is compressed comes back", arguments: [1, 6, 9])
  func whatIsCompressedComesBack(level: Int) throws {
    let (compressor, decompressor) = (try compressor(level), try decompressor())
    for size in Array(60...80) + [1000, 4095, 4096, 65_535, 65_536, 300_000] {
      let text = text(size)
      guard let packed = compressor.compress(text) else {
        #expect(size < 80, "\(size) bytes of text get smaller")
        continue
      }
      #expect(packed.count <= size - size / 16, "\(size) bytes")
      #expect(inflate(packed, size, decompressor) == text, "\(size) bytes")
    }
  }

  /// Each effort has settings of its own, and what was compressed before may have filled its room:
  /// of zlib, only versions before 1.2.12 write wrong bytes then.
  @Test("what is compressed comes back, whatever effort went before", arguments: [1, 6, 9])
  func whateverEffortWentBefore(level: Int) throws {
    let (compressor, decompressor) = (try compressor(level), try decompressor())
    var generator = SeededGenerator(seed: UInt64(level))
    for round in 0..<300 {
      let effort = [TextEffort.full, .reduced, .thorough].randomElement(using: &generator) ?? .full
      let size = Int.random(in: 100...60_000, using: &generator)
      let isText = Int.random(in: 0..<4, using: &generator) > 0
      let bytes = isText ? text(size) : generator.bytes(size)
      let packed = bytes.read { compressor.compress($0, effort: effort) }
      #expect(!isText || packed != nil, "round \(round)")
      guard let packed else { continue }
      #expect(inflate(packed, size, decompressor) == bytes, "round \(round), \(effort)")
    }
  }

  @Test("what does not get smaller stays as it is")
  func whatDoesNotGetSmallerStaysAsItIs() throws {
    let compressor = try compressor()
    var generator = SeededGenerator(seed: 1)
    #expect(compressor.compress([]) == nil && compressor.compress(text(63)) == nil)
    #expect(compressor.compress(generator.bytes(5000)) == nil)
    #expect(compressor.compress(text(5000)) != nil, "works again after one that did not")
  }

  @Test("another size than the right one is refused")
  func anotherSizeThanTheRightOneIsRefused() throws {
    let (compressor, decompressor) = (try compressor(), try decompressor())
    let packed = try #require(compressor.compress(text(1000)))
    for size in [0, 1, 999, 1001, 64 << 20, (64 << 20) + 1, .max] {
      #expect(inflate(packed, size, decompressor) == nil, "\(size)")
    }
    #expect(inflate(packed, 1000, decompressor) == text(1000), "works again after one that did not")
  }

  @Test("a bomb is refused before its memory is taken")
  func aBombIsRefusedBeforeItsMemoryIsTaken() throws {
    let (compressor, decompressor) = (try compressor(9), try decompressor())
    let zeros = [UInt8](repeating: 0, count: 8 << 20)
    let packed = try #require(compressor.compress(zeros))
    #expect(inflate(packed, 1 << 20, decompressor) == nil, "more than was announced")
    #expect(inflate(packed, zeros.count, decompressor)?.count == zeros.count)
    #expect(inflate([0x78, 0x9C], 64 << 20, decompressor) == nil, "64 MiB of two bytes")
  }

  @Test("a corrupted stream is refused or gives something")
  func aCorruptedStreamIsRefusedOrGivesSomething() throws {
    let (compressor, decompressor) = (try compressor(), try decompressor())
    let packed = try #require(compressor.compress(text(500)))
    for bit in 0..<packed.count * 8 {
      let result = inflate(packed.flipping(bit: bit), 500, decompressor)
      #expect(result == nil || result == text(500), "bit \(bit): its own checksum is wrong")
    }
    for count in 0..<packed.count {
      #expect(inflate(Array(packed.prefix(count)), 500, decompressor) == nil, "\(count) bytes")
    }
  }

  @Test("garbage is refused") func garbageIsRefused() throws {
    let decompressor = try decompressor()
    var generator = SeededGenerator(seed: 4)
    for round in 0..<2000 {
      let garbage = [0x78, 0x9C] + generator.bytes(Int.random(in: 0..<80, using: &generator))
      #expect(inflate(garbage, 64, decompressor) == nil, "round \(round)")
    }
  }
}
