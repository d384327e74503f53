import CMMLogWriter
import MMLogSystem

/// The hash that stands for a private value: equal for equal values of this process, and not to be
/// guessed by whoever has the file, since its key is never written.
@usableFromInline
package enum PrivateHash {
  private static let key: (UInt64, UInt64) = {
    var key: (UInt64, UInt64) = (0, 0)
    // The standard library's own seed is in the hasher too; this adds to it where it was made
    // predictable (SWIFT_DETERMINISTIC_HASHING).
    withUnsafeMutableBytes(of: &key) { try? Random.fill($0) }
    return key
  }()

  /// Makes the key, which would else be made by the first log call that needs it; and another for
  /// the hashes of keys of metadata, and of texts that are known at run time only.
  static func prepare() {
    _ = key
    mmlog_set_key_secret(of(1), of(2))
  }

  /// SipHash-1-3 of the value, as the standard library's `Hasher` computes it.
  @usableFromInline @inline(never)
  package static func of<T: Hashable>(_ value: T) -> UInt64 {
    var hasher = hasher()
    hasher.combine(value)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// What makes such a hash, for values that come in pieces.
  package static func hasher() -> Hasher {
    var hasher = Hasher()
    hasher.combine(key.0)
    hasher.combine(key.1)
    return hasher
  }
}
