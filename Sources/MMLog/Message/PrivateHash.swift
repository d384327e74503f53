import CMMLogWriter
import MMLogSystem
import Synchronization

/// The hash that stands for a private value. It is equal for equal values of this process and its
/// children of fork. Whoever has the file cannot guess the value, because the key of the hash is
/// never written.
@usableFromInline
package enum PrivateHash {
  /// The key: zeros until it is made. It is made before the first hash, and before a store opens.
  private static let first = Atomic<UInt64>(0)
  private static let second = Atomic<UInt64>(0)

  /// Makes the key, and derives from it the key for hashes of metadata's keys and of texts that are
  /// known at run time only. Called before a store opens, by one thread at a time; called again if
  /// it failed.
  static func prepare() throws(SystemError) {
    try makeKey()
    mmlog_set_key_secret(of(1), of(2))
  }

  /// Makes the key, once. No lock: if several threads make it, one of them wins for each half. A
  /// thread that acquires the second half sees the first half, too.
  private static func makeKey() throws(SystemError) {
    var key: (UInt64, UInt64) = (0, 0)
    // The standard library's own seed is in the hasher too; this adds to it where it was made
    // predictable (SWIFT_DETERMINISTIC_HASHING).
    try withUnsafeMutableBytes(of: &key) { (bytes) throws(SystemError) in try Random.fill(bytes) }
    // Never 0, which means that there is no key.
    _ = first.compareExchange(expected: 0, desired: key.0 | 1, ordering: .relaxed)
    _ = second.compareExchange(expected: 0, desired: key.1 | 1, ordering: .acquiringAndReleasing)
  }

  /// SipHash-1-3 of the value, as the standard library's `Hasher` computes it.
  @usableFromInline @inline(never)
  package static func of<T: Hashable>(_ value: T) -> UInt64 {
    var hasher = hasher()
    hasher.combine(value)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// A hasher that makes such a hash, for values that come in pieces.
  package static func hasher() -> Hasher {
    // A hash may be made before the first store opens, as for a field of its session. If there are
    // no random bytes, no store opens either.
    if second.load(ordering: .acquiring) == 0 { try? makeKey() }
    var hasher = Hasher()
    hasher.combine(first.load(ordering: .relaxed))
    hasher.combine(second.load(ordering: .relaxed))
    return hasher
  }
}
