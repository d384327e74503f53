package import MMLogSystem
import Synchronization

/// A single value, encrypted so that whoever has it needs nothing else than an identity: whatever
/// moves it, moves bytes.
///
/// It is the size of a key slot (u32), the slot, a nonce of 12 bytes, and the value, encrypted by
/// ChaCha20-Poly1305. The slots of a process's values are all the same: see ``ValueSealer``.
package enum SealedValue {
  private static let sizeSize = 4

  /// What stands before the nonce.
  fileprivate static func head(_ slot: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(slot.count).littleEndian) { Array($0) } + slot
  }

  /// The value.
  ///
  /// - Parameter slots: Those of the reader's identities.
  /// - Returns: Nil if none of the identities opens it, and if it was changed or cut.
  package static func open(
    _ sealed: UnsafeRawBufferPointer, with slots: OpenedSlots
  ) -> [UInt8]? {
    guard sealed.count >= sizeSize else { return nil }
    let size = Int(UInt32(littleEndian: sealed.loadUnaligned(as: UInt32.self)))
    let start = sizeSize + size
    guard size <= KeySlot.largest, sealed.count - start >= Cryptography.nonceSize,
      let key = slots.key(of: Array(sealed[sizeSize..<start]))
    else { return nil }
    let text = start + Cryptography.nonceSize
    return try? Cryptography.decrypt(
      UnsafeRawBufferPointer(rebasing: sealed[text...]), key: key,
      nonce: Array(sealed[start..<text]))
  }
}

/// Encrypts the single values of a process.
///
/// Proof of `@unchecked Sendable`: nothing but `uses` changes, which is atomic.
package final class ValueSealer: @unchecked Sendable {
  private let recipients: [Recipient]
  private let key: SecretKey
  private let head: [UInt8]
  private let uses = Atomic<UInt64>(0)

  /// Nonces are random. So many of them are all different for certain enough (NIST SP 800-38D,
  /// 8.3).
  private static let mostUses = 1 << 28 as UInt64
  private static let current = LockedValue<ValueSealer?>(nil)

  /// Taken for each value; for who takes it around a fork.
  package static var lock: ForkSafeMutex { current.lock }

  private init(for recipients: [Recipient]) throws(CryptoError) {
    self.recipients = recipients
    let slotted = try SlottedKey(for: recipients)
    (key, head) = (slotted.key, SealedValue.head(slotted.slot))
  }

  /// Has values encrypted from now on; for nobody, by default and without recipients.
  package static func setRecipients(_ recipients: [Recipient]) throws(CryptoError) {
    let sealer = recipients.isEmpty ? nil : try ValueSealer(for: recipients)
    current.withLock { $0 = sealer }
  }

  /// A value, encrypted; nil if that is for nobody, or libcrypto refuses.
  package static func seal(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let sealer = present(), let nonce = try? Cryptography.randomBytes(Cryptography.nonceSize),
      let sealed = try? Cryptography.encrypt(bytes, key: sealer.key, nonce: nonce)
    else { return nil }
    return sealer.head + nonce + sealed
  }

  private static func present() -> ValueSealer? {
    current.withLock { current in
      guard let old = current, !old.isUsable else { return current }
      // Where that fails, it is tried again at the next value.
      guard let new = try? ValueSealer(for: old.recipients) else { return nil }
      current = new
      return new
    }
  }

  /// False if the key has been used enough, and in a child of fork, where it is zero.
  private var isUsable: Bool {
    uses.add(1, ordering: .relaxed).newValue <= Self.mostUses
      && key.withBytes { $0.contains { $0 != 0 } }
  }
}

/// The identities of a reader that opens single values, and what they have opened.
package final class OpenedSlots: Sendable {
  private struct State {
    var keys: [[UInt8]: SecretKey] = [:]
    /// Hashes of the slots that none of them opens. Never emptied for room, so that a slot that
    /// comes again is not tried again.
    var refused: Set<Int> = []
  }

  private let identities: [Identity]
  private let state = LockedValue(State())
  /// Slots are as many as processes that have sealed something. More come from somebody hostile.
  private static let most = 4096
  /// So many slots that are for others are tried, and then no new ones, as each takes long: values
  /// of further slots stay sealed.
  private static let mostRefused = 1 << 16

  package init(for identities: [Identity]) { self.identities = identities }

  fileprivate func key(of slot: [UInt8]) -> SecretKey? {
    state.withLock { state in
      if let known = state.keys[slot] { return known }
      let hash = slot.hashValue
      if state.refused.count >= Self.mostRefused || state.refused.contains(hash) { return nil }
      guard let key = try? KeySlot.decrypt(slot, with: identities) else {
        state.refused.insert(hash)
        return nil
      }
      if state.keys.count >= Self.most { state.keys = [:] }
      state.keys[slot] = key
      return key
    }
  }
}
