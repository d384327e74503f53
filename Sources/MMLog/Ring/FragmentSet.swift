import CMMLogCore
import MMLogSystem

/// Remembers some thousand fragmented records, each by its thread and ticks. Lock-free and
/// async-signal-safe.
///
/// A newer record may take the place of an older one. That only makes a count less exact.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
final class FragmentSet: @unchecked Sendable {
  private let words: UnsafeMutablePointer<UInt64>?
  private static let bucketBits: UInt64 = 11
  private static let ways = 8
  private static let size = MemoryLayout<UInt64>.size * ways << Int(bucketBits)

  /// Touches no memory until something is added. If there is no memory, the set remembers nothing.
  init() {
    words = PrivateMemory.allocate(Self.size)?.bindMemory(to: UInt64.self, capacity: Self.size / 8)
  }

  /// Frees its memory. Nobody may use it any more.
  func free() { if let words { PrivateMemory.free(words, count: Self.size) } }

  private static func key(thread: UInt32, ticks: UInt64) -> UInt64 {
    (ticks ^ UInt64(thread) << 40) &* 0x9E37_79B9_7F4A_7C15 | 1
  }

  private func bucket(of key: UInt64) -> UnsafeMutablePointer<UInt64>? {
    words.map { $0 + Int(key >> (64 - Self.bucketBits)) * Self.ways }
  }

  /// Whether a record was added.
  func contains(thread: UInt32, ticks: UInt64) -> Bool {
    let key = Self.key(thread: thread, ticks: ticks)
    guard let bucket = bucket(of: key) else { return false }
    return (0..<Self.ways).contains { mmlog_load_acquire_u64(bucket + $0) == key }
  }

  /// Adds a record.
  ///
  /// - Returns: False if it was there.
  func insert(thread: UInt32, ticks: UInt64) -> Bool {
    let key = Self.key(thread: thread, ticks: ticks)
    guard let bucket = bucket(of: key) else { return true }
    while true {
      // Which word a key takes follows from the key and the bucket. If two threads add the same
      // key, one finds the word taken and checks again.
      var chosen = bucket + Int(key >> 20) & (Self.ways - 1)
      var old = mmlog_load_acquire_u64(chosen)
      for way in (0..<Self.ways).reversed() {
        let word = mmlog_load_acquire_u64(bucket + way)
        if word == key { return false }
        if word == 0 { (chosen, old) = (bucket + way, 0) }
      }
      if mmlog_compare_exchange_u64(chosen, &old, key) { return true }
    }
  }
}
