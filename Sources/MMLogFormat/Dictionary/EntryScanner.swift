/// Walks over dictionary entries, passing over what is corrupted.
package struct EntryScanner {
  private let bytes: UnsafeRawBufferPointer
  private let seed: UInt32
  /// Where the next entry begins, or would.
  package private(set) var offset = 0
  package private(set) var corruption: [Range<Int>] = []
  /// One budget for all calls: valid entries between hostile ones must not renew it.
  private var budget: CheckBudget

  package init(_ bytes: UnsafeRawBufferPointer, seed: UInt32) {
    self.bytes = bytes
    self.seed = seed
    budget = CheckBudget(bytes.count)
  }

  /// The next valid entry with the bytes that it stands in, or nil at a zero word or the end.
  /// Entries of kinds that this version does not know are passed over.
  package mutating func next() -> (entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)? {
    var start = offset
    while bytes.count - offset >= wordSize {
      if offset == start, bytes.load(offset, as: UInt64.self) == 0 { return nil }
      guard let entry = entryAtOffset() else {
        offset += wordSize
        continue
      }
      if offset > start { corruption.append(start..<offset) }
      offset += entry.bytes.count
      if let known = entry.known { return (known, entry.bytes) }
      start = offset
    }
    if offset > start { corruption.append(start..<offset) }
    return nil
  }

  /// The entry at ``offset``, if its checksum is right and it is what its kind has to be; `known`
  /// is nil for an entry of an unknown kind.
  private mutating func entryAtOffset() -> (known: DictionaryEntry?, bytes: UnsafeRawBufferPointer)?
  {
    guard let length = framedLength(bytes, offset), budget.spend(length) else { return nil }
    let entry = bytes.slice(offset, length)
    guard entryChecksum(entry, seed: seed) == entry.load(4, as: UInt32.self) else { return nil }
    let known = try? DictionaryEntry(entry)
    return known == nil && DictionaryEntry.isKnown(entry) ? nil : (known, entry)
  }
}
