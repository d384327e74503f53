package import MMLogSystem
import Synchronization

/// A single value, encrypted so that a reader of its bytes needs nothing but an identity: whatever
/// moves the value moves only bytes.
///
/// Its bytes are the size of a key slot (u32), the slot, a nonce of 12 bytes, and the value,
/// encrypted by ChaCha20-Poly1305. The slots of a process's values are all the same: see
/// ``ValueSealer``.
package enum SealedValue {
  private static let sizeSize = 4

  /// The bytes before the nonce.
  fileprivate static func head(_ slot: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(slot.count).littleEndian) { Array($0) } + slot
  }

  /// Decrypts a value.
  ///
  /// - Parameter slots: The slots that the reader's identities open.
  /// - Returns: Nil if none of the identities opens the value, or if it was changed or cut.
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

  /// Nonces are random. It is certain enough that so many of them are all different (NIST SP
  /// 800-38D, 8.3).
  private static let mostUses = 1 << 28 as UInt64
  private static let current = LockedValue<ValueSealer?>(nil)

  /// The lock that each value takes, for code that acquires it around a fork.
  package static var lock: ForkSafeMutex { current.lock }

  private init(for recipients: [Recipient]) throws(CryptoError) {
    self.recipients = recipients
    let slotted = try SlottedKey(for: recipients)
    (key, head) = (slotted.key, SealedValue.head(slotted.slot))
  }

  /// Sets the recipients that values are encrypted for from now on. Without recipients, which is
  /// the default, nothing is encrypted.
  package static func setRecipients(_ recipients: [Recipient]) throws(CryptoError) {
    let sealer = recipients.isEmpty ? nil : try ValueSealer(for: recipients)
    current.withLock { $0 = sealer }
  }

  /// Encrypts a value; nil if there are no recipients, or if libcrypto refuses.
  package static func seal(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let sealer = present(), let nonce = try? Cryptography.randomBytes(Cryptography.nonceSize),
      let sealed = try? Cryptography.encrypt(bytes, key: sealer.key, nonce: nonce)
    else { return nil }
    return sealer.head + nonce + sealed
  }

  private static func present() -> ValueSealer? {
    current.withLock { current in
      guard let old = current, !old.isUsable else { return current }
      // If that fails, the next value tries again.
      guard let new = try? ValueSealer(for: old.recipients) else { return nil }
      current = new
      return new
    }
  }

  /// False if the key has been used often enough, and in a child of fork, where the key is zero.
  private var isUsable: Bool {
    uses.add(1, ordering: .relaxed).newValue <= Self.mostUses
      && key.withBytes { $0.contains { $0 != 0 } }
  }
}

/// The identities of a reader that opens sealed values, and the slots that they have opened.
package final class OpenedSlots: Sendable {
  private struct State {
    var keys: [[UInt8]: SecretKey] = [:]
    /// Hashes of the slots that no identity opens. Never emptied to make room, so that a slot that
    /// comes again is not tried again.
    var refused: Set<Int> = []
    /// How much was spent on them.
    var spent = 0
  }

  private let identities: [Identity]
  private let state = LockedValue(State())
  /// There are as many slots as processes that have sealed something. More slots come from somebody
  /// hostile.
  private static let most = 4096
  /// How much is spent on slots that no identity opens: each costs 1, and 1 more for each operation
  /// with a public key, which takes some 50 µs. After that, no new slot is tried: values of further
  /// slots stay sealed.
  private let budget: Int

  package init(for identities: [Identity], budget: Int = 1 << 19) {
    (self.identities, self.budget) = (identities, budget)
  }

  fileprivate func key(of slot: [UInt8]) -> SecretKey? {
    state.withLock { state in
      if let known = state.keys[slot] { return known }
      let hash = slot.hashValue
      if state.spent >= budget || state.refused.contains(hash) { return nil }
      do throws(CryptoError) {
        let key = try KeySlot.decrypt(slot, with: identities)
        if state.keys.count >= Self.most { state.keys = [:] }
        state.keys[slot] = key
        return key
      } catch {
        switch error {
        // There may be memory, and random bytes, the next time.
        case .system, .library, .missingLibrary: break
        case .malformed, .wrongIdentity, .notAuthentic:
          state.refused.insert(hash)
          state.spent += 1 + KeySlot.operations(toRefuse: slot, for: identities)
        }
        return nil
      }
    }
  }
}
