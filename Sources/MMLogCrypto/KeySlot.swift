import MMLogSystem

/// A key, encrypted for recipients: a complete file of [age](https://age-encryption.org/v1), with
/// X25519 recipients, whose content is the key. `age --decrypt` opens it, too.
package enum KeySlot {
  /// The maximum size of a slot that is read, in bytes, and its maximum number of recipients.
  package static let largest = 16 << 10
  package static let mostRecipients = 64

  static let fileKeySize = 16
  private static let zeroNonce = [UInt8](repeating: 0, count: Cryptography.nonceSize)
  /// The nonce of the only part of a content shorter than 64 KiB: number 0, the last part.
  private static let lastPartNonce = zeroNonce.dropLast() + [1]

  /// Encrypts a key.
  package static func encrypt(
    _ key: SecretKey, for recipients: [Recipient]
  ) throws(CryptoError) -> [UInt8] {
    precondition(!recipients.isEmpty && recipients.count <= mostRecipients)
    let fileKey = try SecretKey.random(fileKeySize)
    var header = Array(AgeFile.version.utf8)
    for recipient in recipients { header += try wrap(fileKey, for: recipient) }
    header += Array(AgeFile.footer.utf8)
    let code = try authenticationCode(of: header, fileKey)
    let nonce = try Cryptography.randomBytes(16)
    let content = try key.withBytes { (bytes) throws(CryptoError) in
      try Cryptography.encrypt(
        bytes, key: Cryptography.deriveKey(from: fileKey, salt: nonce, info: "payload"),
        nonce: Array(lastPartNonce))
    }
    return header + Array(" \(Cryptography.base64(code))\n".utf8) + nonce + content
  }

  /// Decrypts the key in a slot.
  ///
  /// - Throws: ``CryptoError/wrongIdentity`` if it is for other recipients,
  ///   ``CryptoError/malformed(_:)`` or ``CryptoError/notAuthentic`` if it is corrupted.
  package static func decrypt(
    _ bytes: [UInt8], with identities: [Identity]
  ) throws(CryptoError) -> SecretKey {
    // Without libcrypto, the error has to say that, and not that no identity fits.
    try Cryptography.prepare()
    let file = try AgeFile(bytes)
    let fileKey = try unwrap(file.stanzas, with: identities)
    guard Cryptography.areEqual(file.code, try authenticationCode(of: file.header, fileKey)) else {
      throw .notAuthentic
    }
    let key = try Cryptography.deriveKey(from: fileKey, salt: file.nonce, info: "payload")
    var content = try file.content.withUnsafeBufferPointer {
      (content) throws(CryptoError) in
      try Cryptography.decrypt(
        UnsafeRawBufferPointer(content), key: key, nonce: Array(lastPartNonce))
    }
    defer { content.withUnsafeMutableBytes { SecretMemory.erase($0) } }
    guard content.count == Cryptography.keySize else {
      throw .malformed("its key has a wrong size")
    }
    return try SecretKey(content.count) { $0.copyBytes(from: content) }
  }

  /// How many operations with a public key it takes to find out that no identity opens a slot.
  static func operations(toRefuse bytes: [UInt8], for identities: [Identity]) -> Int {
    ((try? AgeFile(bytes))?.stanzas.count ?? 0) * identities.count
  }

  /// Whether the bytes begin like a file of age. Only opening them shows whether the rest is right.
  package static func isBegun(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count <= largest && bytes.starts(with: AgeFile.version.utf8)
  }

  private static func wrap(
    _ fileKey: SecretKey, for recipient: Recipient
  ) throws(CryptoError) -> [UInt8] {
    let ephemeral = try SecretKey.random()
    let share = try Cryptography.publicKey(of: ephemeral)
    let secret = try Cryptography.sharedSecret(of: ephemeral, with: recipient.publicKey)
    let wrapped = try fileKey.withBytes { (bytes) throws(CryptoError) in
      try Cryptography.encrypt(
        bytes, key: wrappingKey(secret, share, recipient), nonce: zeroNonce)
    }
    let head = "-> \(AgeFile.recipientType) \(Cryptography.base64(share))\n"
    return Array((head + "\(Cryptography.base64(wrapped))\n").utf8)
  }

  private static func unwrap(
    _ stanzas: [AgeFile.Stanza], with identities: [Identity]
  ) throws(CryptoError) -> SecretKey {
    for identity in identities {
      for stanza in stanzas {
        let secret = try identity.sharedSecret(with: stanza.share)
        let key = try wrappingKey(secret, stanza.share, identity.recipient)
        var opened: [UInt8]
        do throws(CryptoError) {
          // Not `withUnsafeBytes`, which does not pass on what type of error it rethrows.
          opened = try stanza.wrapped.withUnsafeBufferPointer { (wrapped) throws(CryptoError) in
            try Cryptography.decrypt(UnsafeRawBufferPointer(wrapped), key: key, nonce: zeroNonce)
          }
        } catch {
          // It is for another recipient. Any other error says nothing of that.
          guard error == .notAuthentic else { throw error }
          continue
        }
        defer { opened.withUnsafeMutableBytes { SecretMemory.erase($0) } }
        guard opened.count == fileKeySize else { throw .malformed("its file key has a wrong size") }
        return try SecretKey(fileKeySize) { $0.copyBytes(from: opened) }
      }
    }
    throw .wrongIdentity
  }

  private static func wrappingKey(
    _ secret: SecretKey, _ share: [UInt8], _ recipient: Recipient
  ) throws(CryptoError) -> SecretKey {
    try Cryptography.deriveKey(
      from: secret, salt: share + recipient.publicKey, info: "age-encryption.org/v1/X25519")
  }

  private static func authenticationCode(
    of header: [UInt8], _ fileKey: SecretKey
  ) throws(CryptoError) -> [UInt8] {
    try Cryptography.authenticationCode(
      of: header, key: Cryptography.deriveKey(from: fileKey, salt: [], info: "header"))
  }
}
