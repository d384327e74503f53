package import MMLogCrypto

/// Encrypts the payloads of an archive's frames, and decrypts them.
///
/// Each frame has a key of its own, made of the archive's key and of a salt. So no key is used
/// twice, even if a payload is written again after a failed write or a recovery. The frame's header
/// is authenticated with the payload: it says which session's archive the frame is of, and where
/// the frame stands.
package struct FrameCipher: Sendable {
  /// The size of the salt that stands before the encrypted payload, in bytes.
  package static let saltSize = 24
  /// By how much a payload grows.
  package static let growth = saltSize + Cryptography.tagSize

  private static let nonce = [UInt8](repeating: 0, count: Cryptography.nonceSize)

  /// The archive's key, and the key slot that the archive keeps.
  package let key: SlottedKey

  package init(_ key: SlottedKey) { self.key = key }

  /// Encrypts a payload.
  ///
  /// - Parameters:
  ///   - output: Room for ``growth`` bytes more than the payload has.
  ///   - header: The frame's header as it will be, but for the payload's checksum.
  package func encrypt(
    _ payload: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    _ header: FrameHeader
  ) throws(CryptoError) {
    var encoded: [UInt8] = []
    header.encode(into: &encoded)
    let salt = try Cryptography.randomBytes(Self.saltSize)
    let frameKey = try frameKey(salt)
    output.copyBytes(from: salt)
    try Self.withAssociated(encoded) { (associated) throws(CryptoError) in
      try Cryptography.encrypt(
        payload, into: UnsafeMutableRawBufferPointer(rebasing: output[Self.saltSize...]),
        key: frameKey, nonce: Self.nonce, associated: associated)
    }
  }

  /// The payload that was encrypted.
  ///
  /// - Parameters:
  ///   - stored: The payload as it stands in the file.
  ///   - header: The bytes of the frame's header as they stand there.
  package func decrypt(
    _ stored: UnsafeRawBufferPointer, header: UnsafeRawBufferPointer
  ) throws(CryptoError) -> [UInt8] {
    guard stored.count >= Self.growth else { throw .notAuthentic }
    let frameKey = try frameKey(Array(stored.prefix(Self.saltSize)))
    return try Self.withAssociated(Array(header)) { (associated) throws(CryptoError) in
      try Cryptography.decrypt(
        UnsafeRawBufferPointer(rebasing: stored.dropFirst(Self.saltSize)), key: frameKey,
        nonce: Self.nonce, associated: associated)
    }
  }

  private func frameKey(_ salt: [UInt8]) throws(CryptoError) -> SecretKey {
    try Cryptography.deriveKey(from: key.key, salt: salt, info: "mmlog frame")
  }

  /// Gives `body` a header without the two checksums, which depend on the encrypted payload.
  private static func withAssociated<Result>(
    _ header: [UInt8], _ body: (UnsafeRawBufferPointer) throws(CryptoError) -> Result
  ) throws(CryptoError) -> Result {
    var copy = header
    for field in [FrameLayout.payloadChecksum, FrameLayout.checksum] {
      for offset in field..<field + 4 { copy[offset] = 0 }
    }
    return try copy.withUnsafeBufferPointer { (bytes) throws(CryptoError) in
      try body(UnsafeRawBufferPointer(bytes))
    }
  }
}

extension FrameType {
  /// Whether a payload of this type is encrypted in an archive that has recipients. What a reader
  /// without a key needs stays readable: how a session ended, what it lost, and where its frames
  /// are.
  package var isSecret: Bool {
    switch self {
    case .dictionary, .records, .crash: true
    case .losses, .sessionEnd, .index, .keySlot, .ringKeySlot, .other: false
    }
  }
}
