import MMLogSystem

/// BIP 173's text form of bytes, with a checksum, as age writes recipients and identities. As in
/// age, a text may have any length.
enum Bech32 {
  private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
  private static let generators: [UInt32] = [
    0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3,
  ]
  private static let checksumSize = 6

  /// The bytes of a text in lower case whose part before the last `1` is `prefix`; nil if it is not
  /// such a text.
  static func bytes(of text: some StringProtocol, prefix: String) -> [UInt8]? {
    let start = prefix + "1"
    guard text.hasPrefix(start) else { return nil }
    // The digits may be those of a secret key, and are erased. An array that grows would leave
    // copies.
    var digits: [UInt8] = []
    digits.reserveCapacity(text.utf8.count)
    defer { erase(&digits) }
    for character in text.utf8.dropFirst(start.utf8.count) {
      guard let digit = alphabet.firstIndex(of: character) else { return nil }
      digits.append(UInt8(digit))
    }
    guard digits.count >= checksumSize,
      checksum(digits, from: checksum(expanded(prefix))) == 1
    else { return nil }
    return regrouped(digits.dropLast(checksumSize), from: 5, to: 8, pads: false)
  }

  private static func erase(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { SecretMemory.erase($0) }
  }

  /// The text of bytes, in lower case.
  static func text(of bytes: [UInt8], prefix: String) -> String {
    let digits = regrouped(bytes[...], from: 8, to: 5, pads: true) ?? []
    let zeros = [UInt8](repeating: 0, count: checksumSize)
    let sum = checksum(expanded(prefix) + digits + zeros) ^ 1
    let end = (0..<checksumSize).map { UInt8(sum >> UInt32(5 * (5 - $0)) & 31) }
    return prefix + "1" + String(decoding: (digits + end).map { alphabet[Int($0)] }, as: UTF8.self)
  }

  private static func expanded(_ prefix: String) -> [UInt8] {
    prefix.utf8.map { $0 >> 5 } + [0] + prefix.utf8.map { $0 & 31 }
  }

  /// - Parameter start: The sum over the digits before these.
  private static func checksum(_ digits: [UInt8], from start: UInt32 = 1) -> UInt32 {
    digits.reduce(start) { sum, digit in
      var next = (sum & 0x1ff_ffff) << 5 ^ UInt32(digit)
      for (bit, generator) in generators.enumerated() where sum >> (25 + UInt32(bit)) & 1 == 1 {
        next ^= generator
      }
      return next
    }
  }

  /// The same bits in groups of another size; nil if the bits that are left over are not a padding
  /// of zeros.
  private static func regrouped(
    _ groups: ArraySlice<UInt8>, from size: Int, to newSize: Int, pads: Bool
  ) -> [UInt8]? {
    var (bits, count): (UInt32, Int) = (0, 0)
    var result: [UInt8] = []
    result.reserveCapacity(groups.count * size / newSize + 1)
    for group in groups {
      bits = bits << UInt32(size) | UInt32(group)
      count += size
      while count >= newSize {
        count -= newSize
        result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)) & UInt8((1 << newSize) - 1))
      }
      bits &= (1 << UInt32(count)) - 1
    }
    if pads {
      if count > 0 { result.append(UInt8(bits << UInt32(newSize - count))) }
      return result
    }
    if count < size && bits == 0 { return result }
    erase(&result)
    return nil
  }
}
