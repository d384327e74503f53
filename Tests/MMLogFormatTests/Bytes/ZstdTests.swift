#if Zstd
  import MMLogFormat
  import TestSupport
  import Testing

  @Suite struct ZstdTests {
    private let compressor = Compressor(level: 1, .zstd)
    private let decompressor = Decompressor(.zstd)

    private func text(_ count: Int) -> [UInt8] {
      (0..<count).map { UInt8($0 % 7 * 9 % 64 + 32) }
    }

    private func decompress(_ bytes: [UInt8], _ size: Int) -> [UInt8]? {
      try? bytes.read { try decompressor?.decompress($0, size: size) }
    }

    @Test("what is compressed comes back") func whatIsCompressedComesBack() throws {
      for size in [100, 1000, 65_536, 300_000] {
        let text = text(size)
        let packed = try #require(compressor?.compress(text), "\(size) bytes")
        #expect(decompress(packed, size) == text, "\(size) bytes")
      }
    }

    @Test("another size than the right one is refused")
    func anotherSizeThanTheRightOneIsRefused() throws {
      let packed = try #require(compressor?.compress(text(1000)))
      for size in [0, 1, 999, 1001, 64 << 20, (64 << 20) + 1, .max] {
        #expect(decompress(packed, size) == nil, "\(size)")
      }
      #expect(decompress([], 0) == nil || decompress([], 0) == [])
    }

    @Test("what was corrupted is refused, or is another text of the size")
    func whatWasCorruptedIsRefused() throws {
      let packed = try #require(compressor?.compress(text(500)))
      for bit in 0..<packed.count * 8 {
        let found = decompress(packed.flipping(bit: bit), 500)
        #expect(found == nil || found?.count == 500, "bit \(bit)")
      }
      for count in 0..<packed.count {
        #expect(decompress(Array(packed.prefix(count)), 500) == nil, "\(count) bytes")
      }
    }

    @Test("a claim that no bytes can stand for takes no memory") func aClaimTakesNoMemory() {
      #expect(decompress([0x28, 0xB5, 0x2F, 0xFD], 64 << 20) == nil)
    }
  }
#endif
