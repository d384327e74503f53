/// Bytes of a file that are not what should stand there; without any bytes, a place where something
/// is missing.
package struct Corruption: Equatable, Sendable {
  /// Where in the file.
  package var range: Range<Int>
  /// What is wrong: part of a sentence.
  package var what: String

  package init(_ range: Range<Int>, _ what: String) { (self.range, self.what) = (range, what) }
}
