// `mmlog_crc32c_in_hardware` is a C variable, which Swift must be declared never changes after main
// starts.
@preconcurrency import CMMLogCore
import Testing
import TestSupport

@Suite("CRC32C")
struct CRC32CTests {
  @Test("the nine digits give the published check value")
  func knownVector() {
    let digits = Array("123456789".utf8)
    #expect(~mmlog_crc32c_bytes(~0, digits, digits.count) == 0xe306_9283)
    #expect(~mmlog_crc32c_bytes_portable(~0, digits, digits.count) == 0xe306_9283)
  }

  @Test("the vectors of RFC 3720 B.4 are met")
  func publishedVectors() {
    let vectors: [(bytes: [UInt8], crc: UInt32)] = [
      ([UInt8](repeating: 0, count: 32), 0x8a91_36aa),
      ([UInt8](repeating: 0xff, count: 32), 0x62a8_ab43),
      ([UInt8](0..<32), 0x46dd_794e),
      ([UInt8]((0..<32).reversed()), 0x113f_db5c),
    ]
    for (bytes, crc) in vectors {
      #expect(~mmlog_crc32c_bytes(~0, bytes, bytes.count) == crc, "\(bytes)")
      #expect(~mmlog_crc32c_bytes_portable(~0, bytes, bytes.count) == crc, "\(bytes)")
    }
  }

  @Test("no bytes leave the state as it was")
  func nothing() {
    #expect(mmlog_crc32c_bytes(0x1234_5678, nil, 0) == 0x1234_5678)
    #expect(mmlog_crc32c_bytes_portable(0x1234_5678, nil, 0) == 0x1234_5678)
  }

  @Test("the instruction and the tables agree, whatever the length and alignment")
  func hardwareEqualsPortable() {
    var random = SeededGenerator.fresh()
    let memory = random.bytes(4096 + 8)
    memory.withUnsafeBytes { memory in
      for round in 0..<2000 {
        let start = Int.random(in: 0..<8, using: &random)
        let count = Int.random(in: 0...(round % 2 == 0 ? 40 : 4096), using: &random)
        let state = UInt32.random(in: 0 ... .max, using: &random)
        let bytes = UnsafeRawBufferPointer(rebasing: memory[start..<start + count])
        #expect(
          mmlog_crc32c_bytes(state, bytes.baseAddress, count)
            == mmlog_crc32c_bytes_portable(state, bytes.baseAddress, count),
          "seed \(random.seed) round \(round) start \(start) count \(count)")
      }
    }
  }

  @Test("bytes taken in two parts give what they give at once")
  func continues() {
    var random = SeededGenerator.fresh()
    let bytes = random.bytes(300)
    let whole = mmlog_crc32c_bytes(~0, bytes, bytes.count)
    for cut in 0...bytes.count {
      let first = mmlog_crc32c_bytes(~0, Array(bytes[..<cut]), cut)
      let both = mmlog_crc32c_bytes(first, Array(bytes[cut...]), bytes.count - cut)
      #expect(both == whole, "seed \(random.seed) cut \(cut)")
    }
  }

  @Test(
    "a word and a half word equal their little-endian bytes", .enabled(if: mmlog_crc32c_in_hardware)
  )
  func wordsEqualBytes() {
    var random = SeededGenerator.fresh()
    for round in 0..<1000 {
      let state = UInt32.random(in: 0 ... .max, using: &random)
      let word = UInt64.random(in: 0 ... .max, using: &random)
      let half = UInt32(truncatingIfNeeded: word)
      let ofWord = withUnsafeBytes(of: word.littleEndian) {
        mmlog_crc32c_bytes_portable(state, $0.baseAddress, 8)
      }
      let ofHalf = withUnsafeBytes(of: half.littleEndian) {
        mmlog_crc32c_bytes_portable(state, $0.baseAddress, 4)
      }
      #expect(
        mmlog_crc32c_word(UInt64(state), word) == UInt64(ofWord), "seed \(random.seed) \(round)")
      #expect(
        mmlog_crc32c_half(UInt64(state), half) == UInt64(ofHalf), "seed \(random.seed) \(round)")
    }
  }

  @Test("passing over words comes to the same as checking them")
  func skipping() {
    var random = SeededGenerator(seed: 7)
    for count in [1, 2, 3, 4, 5, 16, 17, 100, 1000] {
      let constant = mmlog_crc32c_skip_constant(count)
      // There is no instruction for it.
      if constant == 0 { continue }
      let words = (0..<count).map { _ in random.next() }
      for state in [0, 1, 0xFFFF_FFFF, random.next() & 0xFFFF_FFFF] as [UInt64] {
        let expected = words.reduce(state) { mmlog_crc32c_word($0, $1) }
        let ofWords = words.reduce(0) { mmlog_crc32c_word($0, $1) }
        #expect(mmlog_crc32c_skip(state, constant) ^ ofWords == expected, "\(count) \(state)")
      }
    }
    #expect(mmlog_crc32c_skip_constant(0) == 0)
  }
}
