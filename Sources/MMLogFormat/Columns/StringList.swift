/// The strings of a column, where they stand: each at a word's edge, with zeros behind it up to the
/// next one.
final class StringList {
  private let starts = WordBuffer()
  let lengths = WordBuffer()
  private(set) var count = 0
  /// The length of all together, in bytes.
  private(set) var size = 0

  /// Replaces all strings.
  ///
  /// - Parameter string: Start and length of each of the `count` new ones, which stay where they
  ///   are until the column is written; nil for none after all.
  /// - Returns: Whether none was nil.
  @inline(__always)
  @discardableResult
  func fill(_ count: Int, _ string: (Int) -> (start: UnsafeRawPointer, length: Int)?) -> Bool {
    starts.grow(for: count)
    lengths.grow(for: count)
    let (starts, lengths) = (starts.base, lengths.base)
    var size = 0
    for index in 0..<count {
      guard let (start, length) = string(index) else { return false }
      starts[index] = UInt64(UInt(bitPattern: start))
      lengths[index] = UInt64(truncatingIfNeeded: length)
      size &+= length
    }
    (self.count, self.size) = (count, size)
    return true
  }

  @inline(__always)
  subscript(index: Int) -> UnsafeRawBufferPointer { withStarts { $0[index] } }

  /// For many strings in a row.
  @inline(__always)
  func withStarts<Result>(_ body: (Strings) -> Result) -> Result {
    body(Strings(starts: starts.base, lengths: lengths.base))
  }

  struct Strings {
    fileprivate let starts: UnsafePointer<UInt64>
    fileprivate let lengths: UnsafePointer<UInt64>

    @inline(__always)
    subscript(index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(
        start: UnsafeRawPointer(bitPattern: UInt(starts[index])),
        count: Int(truncatingIfNeeded: lengths[index]))
    }
  }
}

/// Finds the different strings of a column, in the order in which they first occur.
final class DistinctStrings {
  private let table = DistinctTable()
  private let hashes = UnsafeMutablePointer<UInt64>.allocate(capacity: DistinctTable.maximum)
  /// The entries' numbers among the strings inspected.
  private let firsts = UnsafeMutablePointer<UInt32>.allocate(capacity: DistinctTable.maximum)
  var count: Int { table.count }

  deinit {
    hashes.deallocate()
    firsts.deallocate()
  }

  /// Which of the strings was the first like entry `number`.
  func first(_ number: Int) -> Int { Int(firsts[number]) }

  /// Writes the number of each string's entry to `indexes`, as ``DistinctTable`` does.
  func index(
    _ strings: StringList, count total: Int, limit: Int, _ indexes: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    let (hashes, firsts) = (hashes, firsts)
    return strings.withStarts { strings in
      table.index(
        count: total, limit: limit, indexes, hash: { hash(of: strings[$0]) },
        isEntry: { number, index, hash in
          hashes[number] == hash && equal(strings[Int(firsts[number])], strings[index])
        },
        add: { number, index, hash in
          hashes[number] = hash
          firsts[number] = UInt32(truncatingIfNeeded: index)
        })
    }
  }
}

/// Not meant to stand against strings made to collide: those only make a column larger.
@inline(__always)
private func hash(of string: UnsafeRawBufferPointer) -> UInt64 {
  var hash = UInt64(truncatingIfNeeded: string.count)
  guard let base = string.baseAddress else { return hash }
  var offset = 0
  while offset < string.count {
    hash = (hash ^ base.load(fromByteOffset: offset, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 29
    offset &+= wordSize
  }
  return hash
}

@inline(__always)
private func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
  guard a.count == b.count else { return false }
  guard let first = a.baseAddress, let second = b.baseAddress else { return true }
  var offset = 0
  while offset < a.count {
    if first.load(fromByteOffset: offset, as: UInt64.self)
      != second.load(fromByteOffset: offset, as: UInt64.self)
    {
      return false
    }
    offset &+= wordSize
  }
  return true
}
