/// Finds the different numbers or strings of a column, in the order in which they first occur.
final class DistinctTable {
  /// With more entries, a dictionary is not worth it.
  static let maximum = 4096
  /// So many values are inspected before all of them are.
  static let sample = 64
  private static let slots = 2 * maximum
  /// How many occupied slots are passed over at most, on average for a value. Values that differ at
  /// random pass over less than one, and regular numbers seldom over more than seven. Values that
  /// somebody has chosen for one slot pass over thousands.
  private static let maximumSteps = 16
  /// A hash table of the entries' numbers plus one; 0 for none.
  private let table = UnsafeMutablePointer<UInt16>.allocate(capacity: slots)
  /// The entries, if they are numbers; for strings, their hashes.
  let values = UnsafeMutablePointer<UInt64>.allocate(capacity: maximum)
  /// The index of the first string that equals each entry.
  let firsts = UnsafeMutablePointer<UInt32>.allocate(capacity: maximum)
  private(set) var count = 0

  deinit {
    table.deallocate()
    values.deallocate()
    firsts.deallocate()
  }

  /// Estimates how many entries the whole column has, from its first `sample` values, of which some
  /// are equal. It assumes that as many pairs of these are equal as of values chosen at random.
  func estimate(sample: Int) -> Int { sample * sample / (2 * (sample - count)) }

  /// Writes the number of each value's entry to `indexes`, unless there are too many different
  /// ones, or to find them takes too long.
  ///
  /// - Parameters:
  ///   - total: How many values to inspect.
  ///   - limit: Gives up when there are more entries; at most ``maximum``.
  /// - Returns: Whether all were written.
  func index(
    _ input: UnsafePointer<UInt64>, count total: Int, limit: Int,
    _ indexes: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    let values = values
    return index(
      count: total, limit: limit, indexes,
      hash: { (input[$0] ^ input[$0] >> 32) &* 0x9E37_79B9_7F4A_7C15 },
      isEntry: { number, index, _ in values[number] == input[index] },
      add: { number, index, _ in values[number] = input[index] })
  }

  /// The same for strings.
  func index(
    _ strings: StringList, count total: Int, limit: Int, _ indexes: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    let (hashes, firsts) = (values, firsts)
    return strings.withStarts { strings in
      index(
        count: total, limit: limit, indexes,
        hash: { MMLogFormat.hash(of: strings.start(of: $0), strings.length(of: $0)) },
        isEntry: { number, index, hash in
          hashes[number] == hash && equal(strings, Int(firsts[number]), index)
        },
        add: { number, index, hash in
          hashes[number] = hash
          firsts[number] = UInt32(truncatingIfNeeded: index)
        })
    }
  }

  /// Sorts the entries of strings by their hashes, so that the same strings make the same
  /// dictionary, whichever occurs first.
  ///
  /// - Parameter indexes: What ``index(_:count:limit:_:)`` wrote; changed to the new order.
  func sort(_ indexes: UnsafeMutablePointer<UInt64>, count total: Int) {
    let order = (0..<count).sorted { values[$0] < values[$1] }
    let sortedFirsts = order.map { firsts[$0] }
    for (place, number) in order.enumerated() {
      firsts[place] = sortedFirsts[place]
      table[number] = UInt16(place)
    }
    for index in 0..<total {
      indexes[index] = UInt64(table[Int(truncatingIfNeeded: indexes[index])])
    }
  }

  /// - Parameters:
  ///   - hash: The hash of a thing.
  ///   - isEntry: Whether an entry, by number, is a thing of that hash.
  ///   - add: Makes a thing of that hash an entry, of that number.
  @inline(__always)
  private func index(
    count total: Int, limit: Int, _ indexes: UnsafeMutablePointer<UInt64>, hash: (Int) -> UInt64,
    isEntry: (_ number: Int, _ thing: Int, UInt64) -> Bool,
    add: (_ number: Int, _ thing: Int, UInt64) -> Void
  ) -> Bool {
    let slots = min(Self.slots, 1 << bitWidth(UInt64(4 * limit)))
    table.update(repeating: 0, count: slots)
    var found = 0
    var steps = Self.maximumSteps &* total
    for index in 0..<total {
      let hash = hash(index)
      var slot = Int(truncatingIfNeeded: hash >> 40) & (slots &- 1)
      while table[slot] > 0, !isEntry(Int(table[slot]) &- 1, index, hash) {
        slot = (slot &+ 1) & (slots &- 1)
        steps &-= 1
        if steps < 0 { return false }
      }
      if table[slot] == 0 {
        guard found < limit else { return false }
        add(found, index, hash)
        found &+= 1
        table[slot] = UInt16(found)
      }
      indexes[index] = UInt64(table[slot]) &- 1
    }
    count = found
    return true
  }
}

/// Hashes a string. It does not resist strings that are made to collide. Therefore tables bound how
/// many slots they search.
///
/// - Parameter start: Aligned to a word, with zeros behind the string up to the next word.
@inline(__always)
func hash(of start: UnsafeRawPointer, _ length: Int) -> UInt64 {
  var hash = UInt64(truncatingIfNeeded: length)
  var offset = 0
  while offset < length {
    hash = (hash ^ start.load(fromByteOffset: offset, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 29
    offset &+= wordSize
  }
  return hash
}

@inline(__always)
private func equal(_ strings: StringList.Strings, _ a: Int, _ b: Int) -> Bool {
  let length = strings.length(of: b)
  return strings.length(of: a) == length
    && equalWords(strings.start(of: a), strings.start(of: b), length)
}

/// Whether two strings of the same length are equal. Both are aligned to a word, with zeros behind.
@inline(__always)
func equalWords(_ first: UnsafeRawPointer, _ second: UnsafeRawPointer, _ length: Int) -> Bool {
  if length > 0, length <= 2 &* wordSize {
    // In a string of one word, the last word is the first one.
    let last = (length &- 1) & wordSize
    return first.load(as: UInt64.self) == second.load(as: UInt64.self)
      && first.load(fromByteOffset: last, as: UInt64.self)
        == second.load(fromByteOffset: last, as: UInt64.self)
  }
  var offset = 0
  while offset < length {
    guard
      first.load(fromByteOffset: offset, as: UInt64.self)
        == second.load(fromByteOffset: offset, as: UInt64.self)
    else { return false }
    offset &+= wordSize
  }
  return true
}
