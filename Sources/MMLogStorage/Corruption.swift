/// Bytes of a file that could not be read, or a place in it where something is missing.
public struct Corruption: Equatable, Sendable {
  /// The file.
  public let path: String
  /// Where in the file, in bytes from its start.
  public let offset: Int
  /// How many bytes; 0 where something is missing.
  public let size: Int
  /// What the bytes should have been, and what is wrong with them: a part of a sentence.
  public let what: String

  package init(_ range: Range<Int>, _ what: String, in path: String) {
    (self.path, offset, size, self.what) = (path, range.lowerBound, range.count, what)
  }

  package var range: Range<Int> { offset..<offset + size }

  /// `512 bytes at 4096: between frames`; without any bytes, `at 4096: frame 3 is missing`
  package var summary: String {
    size == 0 ? "at \(offset): \(what)" : "\(size) bytes at \(offset): \(what)"
  }
}

extension Corruption: CustomStringConvertible {
  /// The file, and what is wrong with it: `/var/log/a.mmlog: 512 bytes at 4096: between frames`.
  public var description: String { "\(path): \(summary)" }
}
