import CMMLogCore
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

extension Ring {
  /// The part of the dictionary's area that is filled with entries.
  var dictionary: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: base + geometry.dictionaryOffset, count: dictionaryEnd.load(ordering: .acquiring))
  }

  /// How many bytes are left for entries. Under the dictionary's lock.
  func dictionaryRoom(leaving: Int) -> Int {
    let size = dictionarySize.load(ordering: .acquiring)
    return max(0, size - dictionaryEnd.load(ordering: .relaxed) - leaving)
  }

  /// The factor by which a dictionary may grow in all.
  static var dictionaryGrowth: Int { 8 }

  /// Whether more than half of the dictionary is used, and it is about to become larger.
  var dictionaryGrows: Bool {
    isDictionaryHalfUsed && dictionaryMayGrow && !dictionaryIsRefused.load(ordering: .relaxed)
  }

  private var isDictionaryHalfUsed: Bool {
    dictionaryEnd.load(ordering: .relaxed) > dictionarySize.load(ordering: .relaxed) / 2
  }

  /// Whether the dictionary is smaller than it may become.
  var dictionaryMayGrow: Bool {
    dictionarySize.load(ordering: .relaxed) < geometry.dictionarySize
  }

  /// Doubles the dictionary if half of it is used. For the drainer: a log call does not wait for
  /// space on the disk.
  ///
  /// Nobody stores to a part that has no space yet: if the disk has none, the store would be a
  /// SIGBUS.
  ///
  /// - Parameter isShort: Whether an entry needs more room than there is, however much is used.
  /// - Returns: Whether it has grown.
  func growDictionary(isShort: Bool) -> Bool {
    guard dictionaryMayGrow, isShort || isDictionaryHalfUsed, dictionaryRetry.isDue else {
      return false
    }
    let size = dictionarySize.load(ordering: .relaxed)
    let added = min(size, geometry.dictionarySize - size)
    let hasGrown = takeSpace(offset: geometry.dictionaryOffset + size, count: added)
    if hasGrown {
      dictionarySize.store(size + added, ordering: .releasing)
      dictionaryRetry.reset()
    } else {
      dictionaryRetry.postpone()
    }
    dictionaryIsRefused.store(!hasGrown, ordering: .relaxed)
    return hasGrown
  }

  /// Adds an entry. Under the dictionary's lock. Allocates nothing if `write` does not.
  ///
  /// - Parameters:
  ///   - kind: The entry's kind, such as label or call site, as in the layout.
  ///   - leaving: How many bytes of the area have to stay free.
  ///   - write: Writes the entry.
  /// - Returns: False if there is no room for it.
  func appendEntry(kind: UInt64, leaving: Int, _ write: (inout EntryWriter) -> Void) -> Bool {
    let end = dictionaryEnd.load(ordering: .relaxed)
    let area = UnsafeMutableRawBufferPointer(
      start: base + geometry.dictionaryOffset + end,
      count: dictionaryRoom(leaving: leaving))
    guard area.count >= wordSize else { return false }
    var writer = EntryWriter(into: area)
    write(&writer)
    let seed = checksumSeed(session: identity.session, generation: 0)
    guard let entry = writer.finish(kind: kind, seed: seed), let start = area.baseAddress else {
      // The part that was written must not look like entries to whoever reads the area.
      area.initializeMemory(as: UInt8.self, repeating: 0)
      return false
    }
    TestPoint.reach(.dictionaryAdding)
    // Stored last: a crash before that leaves a zero word, the end of the dictionary.
    mmlog_store_release_u64(start.assumingMemoryBound(to: UInt64.self), entry.header)
    let grew = dictionaryGrows
    dictionaryEnd.store(end + entry.size, ordering: .releasing)
    if dictionaryGrows, !grew { eventCounts.requestPass() }
    return true
  }
}
