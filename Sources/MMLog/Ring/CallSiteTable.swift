import CMMLogCore
import CMMLogWriter
import MMLogFormat
import MMLogSystem
import Synchronization

/// The call sites and key sets of a session by their hash: read without a lock, written under the
/// dictionary's lock.
///
/// A fixed table with open addressing, its memory from mmap, so that a signal handler can use it.
///
/// Proof of `@unchecked Sendable`: a slot's site is written before its hash is stored with release
/// order, and never changes afterwards.
final class CallSiteTable: @unchecked Sendable {
  private let slots: UnsafeMutablePointer<mmlog_site_slot>
  private let capacity: Int
  /// Under the dictionary's lock.
  private var count = 0
  /// The size of the dictionary in which a call site or a key set found no room; 0: all did. Until
  /// the dictionary is larger, no log call tries to add another of that kind: each would take the
  /// lock, and write an entry in vain.
  private let fullForCallSites = Atomic<Int>(0)
  private let fullForKeySets = Atomic<Int>(0)

  /// Makes a table for at least `sites` call sites; nil if there is no memory.
  init?(sites: Int) {
    var capacity = 64
    while capacity < sites * 2 { capacity *= 2 }
    let size = capacity * MemoryLayout<mmlog_site_slot>.stride
    guard let memory = PrivateMemory.allocate(size) else { return nil }
    slots = memory.bindMemory(to: mmlog_site_slot.self, capacity: capacity)
    self.capacity = capacity
  }

  /// Frees the table. Nobody may use it any more.
  func free() { PrivateMemory.free(slots, count: capacity * MemoryLayout<mmlog_site_slot>.stride) }

  /// The number of the call site with this hash, or nil.
  func find(_ hash: UInt64) -> UInt64? {
    var index = place(of: hash)
    for _ in 0..<capacity {
      let found = hashWord(index)
      if found == hash { return slots[index].site }
      if found == 0 { return nil }
      index = (index + 1) & (capacity - 1)
    }
    return nil
  }

  /// Whether there is room for another entry of a kind. Names in key sets may come from anybody,
  /// and in any number: key sets must not take the room of call sites. Under the dictionary's lock.
  func hasRoom(for kind: UInt64) -> Bool {
    count < (kind == RecordLayout.callSiteKind ? capacity / 2 : capacity / 4)
  }

  /// Whether a new entry of a kind is worth a try in a dictionary of this size.
  func takes(_ kind: UInt64, in dictionarySize: Int) -> Bool {
    let full =
      kind == RecordLayout.callSiteKind
      ? fullForCallSites.load(ordering: .relaxed) : fullForKeySets.load(ordering: .relaxed)
    return full < dictionarySize
  }

  /// Notes that a new entry of a kind is not worth a try in a dictionary of this size or a smaller
  /// one.
  func close(_ kind: UInt64, in dictionarySize: Int) {
    if kind == RecordLayout.callSiteKind {
      fullForCallSites.store(dictionarySize, ordering: .relaxed)
    } else {
      fullForKeySets.store(dictionarySize, ordering: .relaxed)
    }
  }

  /// The number that the next call site or key set gets. Under the dictionary's lock.
  var nextNumber: UInt64 { UInt64(count + 1) }

  /// Adds a call site or a key set, for which there is room. Under the dictionary's lock.
  func insert(_ hash: UInt64, site: UInt64) {
    var index = place(of: hash)
    while hashWord(index) != 0 { index = (index + 1) & (capacity - 1) }
    slots[index].site = site
    mmlog_store_release_u64(hashAddress(index), hash)
    count += 1
  }

  /// Where the search for a hash begins. Call sites of one line may differ only in the upper half
  /// of their hashes, so this mixes the hash once more.
  private func place(of hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15 >> 32) & (capacity - 1)
  }

  private func hashWord(_ index: Int) -> UInt64 { mmlog_load_acquire_u64(hashAddress(index)) }

  private func hashAddress(_ index: Int) -> UnsafeMutablePointer<UInt64> {
    UnsafeMutableRawPointer(slots + index).assumingMemoryBound(to: UInt64.self)
  }
}
