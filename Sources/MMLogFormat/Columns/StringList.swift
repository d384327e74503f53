/// The strings of a column, where they stand: each aligned to a word, with zeros behind it up to
/// the next word.
final class StringList {
  private let starts = WordBuffer()
  let lengths = WordBuffer()
  private(set) var count = 0
  /// The length of all strings together, in bytes.
  private(set) var size = 0

  /// Replaces all strings.
  ///
  /// - Parameter string: Start and length of each of the `count` new ones, which stay where they
  ///   are until the column is written; nil if the column has no strings after all: then the
  ///   caller does not use the list.
  @inline(__always)
  func fill(_ count: Int, _ string: (Int) -> (start: UnsafeRawPointer, length: Int)?) {
    starts.grow(for: count)
    lengths.grow(for: count)
    let (starts, lengths) = (starts.base, lengths.base)
    var size = 0
    for index in 0..<count {
      guard let (start, length) = string(index) else { return }
      starts[index] = UInt64(UInt(bitPattern: start))
      lengths[index] = UInt64(truncatingIfNeeded: length)
      size &+= length
    }
    (self.count, self.size) = (count, size)
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
      UnsafeRawBufferPointer(start: start(of: index), count: length(of: index))
    }

    @inline(__always)
    func start(of index: Int) -> UnsafeRawPointer {
      // Made from a pointer by `fill`, so never zero.
      UnsafeRawPointer(bitPattern: UInt(starts[index])).unsafelyUnwrapped
    }

    @inline(__always)
    func length(of index: Int) -> Int { Int(truncatingIfNeeded: lengths[index]) }
  }
}
