import MMLogFormat
import Testing

@Suite("Checksums")
struct ChecksumTests {
  @Test("FNV-1a gives the values that are published with it")
  func fnv1a() {
    let published: [(String, UInt64)] = [
      ("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8),
    ]
    for (text, hash) in published { #expect(text.utf8.fnv1a == hash, "\(text)") }
  }
}
