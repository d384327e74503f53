import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem

extension Ring {
  /// The area as far as it is filled with entries.
  var dictionary: UnsafeRawBufferPointer {
    let end = dictionaryLock.withLock { dictionaryEnd }
    return UnsafeRawBufferPointer(start: base + geometry.dictionaryOffset, count: end)
  }

  /// How many bytes are left for entries. Under the dictionary's lock.
  func dictionaryRoom(leaving: Int) -> Int {
    max(0, dictionarySize - dictionaryEnd - leaving)
  }

  /// How often a dictionary doubles, as a factor of its size.
  static var dictionaryGrowth: Int { 8 }

  /// Whether a half of it is used, and it may become larger. Under the dictionary's lock.
  var dictionaryGrows: Bool {
    dictionaryEnd > dictionarySize / 2 && dictionarySize < geometry.dictionarySize
      && !dictionaryIsRefused
  }

  /// Doubles the dictionary if half of it is used. For the drainer: who logs does not wait for
  /// space on the disk.
  ///
  /// Nobody stores to what has no space yet: where there is none to be had, that would be a SIGBUS.
  func growDictionary() {
    let size: Int? = dictionaryLock.withLock { dictionaryGrows ? dictionarySize : nil }
    guard let size else { return }
    let added = min(size, geometry.dictionarySize - size)
    let isThere = takeSpace(offset: geometry.dictionaryOffset + size, count: added)
    dictionaryLock.withLock {
      if isThere { dictionarySize = size + added } else { dictionaryIsRefused = true }
    }
  }

  /// Adds an entry. Under the dictionary's lock. Allocates nothing if `write` does not.
  ///
  /// - Parameters:
  ///   - kind: Of a label or a call site, as in the layout.
  ///   - leaving: How many bytes of the area have to stay free.
  ///   - write: Writes the entry.
  /// - Returns: False if there is no room for it.
  func appendEntry(kind: UInt64, leaving: Int, _ write: (inout EntryWriter) -> Void) -> Bool {
    let area = UnsafeMutableRawBufferPointer(
      start: base + geometry.dictionaryOffset + dictionaryEnd,
      count: dictionaryRoom(leaving: leaving))
    guard area.count >= wordSize else { return false }
    var writer = EntryWriter(into: area)
    write(&writer)
    let seed = checksumSeed(session: identity.session, generation: 0)
    guard let entry = writer.finish(kind: kind, seed: seed), let start = area.baseAddress else {
      // What was written of it must not look like entries to whoever reads the area.
      area.initializeMemory(as: UInt8.self, repeating: 0)
      return false
    }
    TestPoint.reach(.dictionaryAdding)
    // Stored last: a crash before leaves a zero word, the end of the dictionary.
    mmlog_store_release_u64(start.assumingMemoryBound(to: UInt64.self), entry.header)
    let grew = dictionaryGrows
    dictionaryEnd += entry.size
    if dictionaryGrows, !grew { eventCounts.requestPass() }
    return true
  }
}
