package import MMLogCrypto

/// The hash that chains frames: SHA-256, in its own byte order.
package struct FrameHash: Hashable, Sendable, CustomStringConvertible {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// No hash: there was no archive before, or a recovery has not found it.
  package static let none = FrameHash(words: (0, 0, 0, 0))

  private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  /// Reads what stands at an offset.
  package init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    words = (
      bytes.load(offset, as: UInt64.self), bytes.load(offset + 8, as: UInt64.self),
      bytes.load(offset + 16, as: UInt64.self), bytes.load(offset + 24, as: UInt64.self)
    )
  }

  /// The hash of bytes.
  package init(of bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    let hash = try Cryptography.hash(of: bytes)
    self = hash.withUnsafeBytes { FrameHash($0, at: 0) }
  }

  func encode(into out: UnsafeMutableRawBufferPointer, at offset: Int) {
    out.store(words.0, offset)
    out.store(words.1, offset + 8)
    out.store(words.2, offset + 16)
    out.store(words.3, offset + 24)
  }

  /// 64 hexadecimal digits, as `sha256sum` prints them.
  package var description: String {
    [words.0, words.1, words.2, words.3].map(\.byteSwapped.allHexDigits).joined()
  }

  /// Reads what ``description`` gives; nil for anything else.
  package init?(_ text: some StringProtocol) {
    let digits = Array(text.utf8)
    guard digits.count == 2 * FrameHashLayout.size else { return nil }
    let words = (0..<4).compactMap { hexadecimalValue(digits[16 * $0..<16 * $0 + 16])?.byteSwapped }
    guard words.count == 4 else { return nil }
    self.words = (words[0], words[1], words[2], words[3])
  }

  package static func == (a: FrameHash, b: FrameHash) -> Bool { a.words == b.words }

  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// The chain of an archive: each frame has the hash of what comes before it, so that nobody can
/// change, leave out or put in anything before a known hash unnoticed.
///
/// The first frame has the hash of the file header, which has the head of the session's archive
/// before. Key slots and indexes have a hash, but no frame has theirs: `mmlogctl rewrap` writes
/// other key slots and indexes, and an index only repeats what the frames say.
package struct FrameChain: Sendable {
  /// The hash that the next frame has.
  package private(set) var head: FrameHash

  /// Begins with an archive's file header.
  package init(fileHeader bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    head = try FrameHash(of: bytes)
  }

  /// Goes on behind the frame whose hash is `head`.
  package init(head: FrameHash) { self.head = head }

  /// Adds a frame.
  ///
  /// - Parameter bytes: The whole frame with its padding.
  package mutating func append(
    _ header: FrameHeader, _ bytes: UnsafeRawBufferPointer
  ) throws(CryptoError) {
    if header.isInChain { head = try FrameHash(of: bytes) }
  }
}

extension FrameHeader {
  /// Whether the frame is hashed into the chain. Its type as it stands in the file says so, whether
  /// this version can read the frame or not.
  package var isInChain: Bool {
    let others: [FrameType] = [.keySlot, .ringKeySlot, .index]
    return !others.contains { $0.rawValue == rawType }
  }
}
