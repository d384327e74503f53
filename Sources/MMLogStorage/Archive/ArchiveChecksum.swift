/// The CRC32C of an archive as it is sent: four bytes, the highest first, in Base64.
package enum ArchiveChecksum {
  /// As the field `Repr-Digest` has it (RFC 9530).
  package static func digest(_ checksum: UInt32) -> String { "crc32c=:\(base64(checksum)):" }

  package static func base64(_ checksum: UInt32) -> String {
    let bits = UInt64(checksum) << 4
    let digits = stride(from: 30, through: 0, by: -6).map { alphabet[Int(bits >> UInt64($0) & 63)] }
    return String(decoding: digits, as: UTF8.self) + "=="
  }

  /// The checksum of what ``base64(_:)`` gave; nil for any other text.
  package static func checksum(base64 text: Substring) -> UInt32? {
    let digits = text.utf8.dropLast(2).compactMap { alphabet.firstIndex(of: $0) }
    guard text.utf8.count == 8, text.hasSuffix("=="), digits.count == 6, digits[5] & 15 == 0 else {
      return nil
    }
    return UInt32(digits.reduce(0) { $0 << 6 | UInt64($1) } >> 4)
  }

  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
