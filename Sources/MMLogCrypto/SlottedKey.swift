/// A key, and its slot: the same key encrypted for its recipients. See ``KeySlot``.
package struct SlottedKey: Sendable {
  package let key: SecretKey
  package let slot: [UInt8]

  /// Makes a key.
  package init(for recipients: [Recipient]) throws(CryptoError) {
    key = try SecretKey.random()
    slot = try KeySlot.encrypt(key, for: recipients)
  }

  /// Takes a key, and the slot that was made of it.
  package init(_ key: SecretKey, slot: [UInt8]) { (self.key, self.slot) = (key, slot) }

  /// Takes the key out of its slot.
  package init(opening slot: [UInt8], with identities: [Identity]) throws(CryptoError) {
    key = try KeySlot.decrypt(slot, with: identities)
    self.slot = slot
  }

  /// Makes a slot with the key for other recipients.
  package func slot(for recipients: [Recipient]) throws(CryptoError) -> [UInt8] {
    try KeySlot.encrypt(key, for: recipients)
  }
}
