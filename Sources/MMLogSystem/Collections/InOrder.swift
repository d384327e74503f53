extension Sequence {
  /// The elements in an order. Two elements of which neither precedes the other stay as they were.
  ///
  /// For lists that are short, or sorted rarely. The standard library's sort is compiled anew for
  /// each type of element, to four thousand bytes of code. This function sorts indexes, with one
  /// sort for all types.
  ///
  /// - Complexity: O(*n* log *n*).
  package func inOrder(_ precedes: (Element, Element) -> Bool) -> [Element] {
    let elements = Array(self)
    return order(ofCount: elements.count) { precedes(elements[$0], elements[$1]) }
      .map { elements[$0] }
  }
}

extension Sequence where Element: Comparable {
  /// The elements, the least first. See ``inOrder(_:)``.
  package func inOrder() -> [Element] { inOrder(<) }
}

/// The indexes of `count` elements, in the order of the elements.
@inline(never)
private func order(ofCount count: Int, _ precedes: (Int, Int) -> Bool) -> [Int] {
  (0..<count).sorted(by: precedes)
}
