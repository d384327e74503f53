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
    max(0, geometry.dictionarySize - dictionaryEnd - leaving)
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
    dictionaryEnd += entry.size
    return true
  }
}
