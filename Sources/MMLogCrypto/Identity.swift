import MMLogSystem

/// Someone who can decrypt: a secret key, as `age-keygen` makes it.
package struct Identity: Sendable {
  private let key: SecretKey
  package let recipient: Recipient

  private static let prefix = "age-secret-key-"

  /// Reads an identity of age, which begins with `AGE-SECRET-KEY-1`.
  ///
  /// - Throws: ``CryptoError/malformed(_:)``; the error contains nothing of the text.
  package init(_ text: some StringProtocol) throws(CryptoError) {
    guard text == text.uppercased(),
      var bytes = Bech32.bytes(of: text.lowercased(), prefix: Self.prefix), bytes.count == 32
    else {
      // Such as AGE-PLUGIN-YUBIKEY-1… and AGE-SECRET-KEY-PQ-1….
      let isOfAnotherType =
        text.hasPrefix("AGE-PLUGIN-") || text.hasPrefix("AGE-SECRET-KEY-PQ-1")
      throw .malformed(
        isOfAnotherType
          ? "it is an identity of another type; only X25519's are supported, which begin with "
            + "AGE-SECRET-KEY-1"
          : "it is no identity of age: it has to begin with AGE-SECRET-KEY-1, and its checksum has "
            + "to be right; age-keygen makes one")
    }
    defer { bytes.withUnsafeMutableBytes { SecretMemory.erase($0) } }
    key = try SecretKey(bytes.count) { $0.copyBytes(from: bytes) }
    recipient = Recipient(publicKey: try Cryptography.publicKey(of: key))
  }

  /// Reads a file's text: one identity a line; empty lines and lines that begin with `#` are passed
  /// over.
  package static func all(in text: String) throws(CryptoError) -> [Identity] {
    var identities: [Identity] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in lines.enumerated() {
      if line.isEmpty || line.hasPrefix("#") { continue }
      do throws(CryptoError) {
        identities.append(try Identity(line))
      } catch .malformed(let what) {
        throw .malformed("line \(number + 1): \(what)")
      }
    }
    if identities.isEmpty { throw .malformed("it has no identity in it") }
    return identities
  }

  /// The secret that the identity and the owner of a public key have in common.
  func sharedSecret(with publicKey: [UInt8]) throws(CryptoError) -> SecretKey {
    try Cryptography.sharedSecret(of: key, with: publicKey)
  }
}
