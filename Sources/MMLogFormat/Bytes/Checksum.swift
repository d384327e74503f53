import CMMLogCore

/// CRC32C as file headers, frames and trailers use it: initial value and complement as in RFC 3720.
package func crc32c(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
  ~crc32cState(0xFFFF_FFFF, bytes)
}

/// Continues the raw state of a CRC32C over `bytes`.
package func crc32cState(_ state: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
  mmlog_crc32c_bytes(state, bytes.baseAddress, bytes.count)
}

extension UnsafeRawBufferPointer {
  /// The checksum of the bytes before `offset`, exclusive-or the one that stands at `offset`: 0 if
  /// that one is right.
  func checksumDifference(at offset: Int) -> UInt32 {
    crc32c(slice(0, offset)) ^ load(offset, as: UInt32.self)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Stores the checksum of the bytes before `offset` at `offset`.
  func storeChecksum(at offset: Int) {
    store(crc32c(UnsafeRawBufferPointer(self).slice(0, offset)), offset)
  }
}

extension Sequence<UInt8> {
  /// Fowler, Noll and Vo's hash FNV-1a with 64 bits: for names, where there is no adversary.
  @inlinable package var fnv1a: UInt64 {
    reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// The start value of every checksum in a segment's use, or (generation 0) in the dictionary.
///
/// The value differs for each use of a segment and each session. So a page that is left from an
/// earlier use never passes for a record of this use.
package func checksumSeed(session: SessionID, generation: UInt64) -> UInt32 {
  withUnsafeBytes(of: generation.littleEndian) {
    ~mmlog_crc32c_words(session.seedState, $0.baseAddress, 1)
  }
}

extension SessionID {
  /// The CRC32C state of the session's UUID, from which ``checksumSeed(session:generation:)`` goes
  /// on.
  package var seedState: UInt32 {
    withUnsafeBytes(of: (words.0.littleEndian, words.1.littleEndian)) {
      mmlog_crc32c_words(.max, $0.baseAddress, 2)
    }
  }
}

/// The seeded checksum of a record: of its words from 3 on, then 1, 2 and the low half of 0.
///
/// The order is the one in which the hot path knows the words. `record` is whole words, at least 3.
@inline(__always)
package func recordChecksum(_ record: UnsafeRawBufferPointer, seed: UInt32) -> UInt32 {
  guard let base = record.baseAddress else { return seed }
  let body = RecordLayout.bodyWord
  var state = mmlog_crc32c_words(seed, base + body * wordSize, record.count / wordSize - body)
  state = mmlog_crc32c_words(state, base + wordSize, 2)
  guard mmlog_has_crc32c() else { return mmlog_crc32c_bytes(state, base, 4) }
  let half = base.loadUnaligned(as: UInt32.self)
  return UInt32(truncatingIfNeeded: mmlog_crc32c_half(UInt64(state), half))
}

/// The seeded checksum of a dictionary entry: of its words from 1 on, then the low half of 0.
package func entryChecksum(_ entry: UnsafeRawBufferPointer, seed: UInt32) -> UInt32 {
  guard let base = entry.baseAddress else { return seed }
  let state = mmlog_crc32c_bytes(seed, base + wordSize, entry.count - wordSize)
  return mmlog_crc32c_bytes(state, base, 4)
}
