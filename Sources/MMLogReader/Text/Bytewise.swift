/// A text that equals only a text of the same bytes, as filters compare. Two texts of Swift are
/// also equal if Unicode calls them equivalent, such as `é` in one scalar and in two.
package struct Bytewise: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (one: Bytewise, other: Bytewise) -> Bool {
    let (one, other) = (one.text.utf8, other.text.utf8)
    return one.count == other.count && one.elementsEqual(other)
  }

  package static func < (one: Bytewise, other: Bytewise) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
