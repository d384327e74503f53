/// A pattern of names, in which `*` stands for any bytes, also none, and `?` for any one byte.
///
/// Upper and lower case differ. Nothing else is special.
package struct Glob: Hashable, Sendable {
  private let pattern: [UInt8]

  /// Makes a pattern: any text is one.
  package init(_ pattern: some StringProtocol) { self.pattern = Array(pattern.utf8) }

  /// How many bytes of the pattern stand for themselves: the more, the fewer names it fits.
  var literalCount: Int { pattern.count { $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") } }

  /// Whether the pattern matches all of `text`.
  ///
  /// - Complexity: O(bytes of the text × bytes of the pattern) at worst.
  package func matches(_ text: some StringProtocol) -> Bool {
    let text = Array(text.utf8)
    var (t, p) = (0, 0)
    var retry: (t: Int, p: Int)?
    while t < text.count {
      if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
        retry = (t, p)
        p += 1
      } else if p < pattern.count, pattern[p] == UInt8(ascii: "?") || pattern[p] == text[t] {
        (t, p) = (t + 1, p + 1)
      } else if let again = retry {
        // The last star takes one byte more.
        retry = (again.t + 1, again.p)
        (t, p) = (again.t + 1, again.p + 1)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
