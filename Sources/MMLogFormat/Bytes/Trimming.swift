extension StringProtocol {
  /// The text without the characters at both ends that are of a kind: white space, unless another
  /// kind is given.
  package func trimmed(_ isOfKind: (Character) -> Bool = \.isWhitespace) -> SubSequence {
    guard let first = firstIndex(where: { !isOfKind($0) }),
      let last = lastIndex(where: { !isOfKind($0) })
    else { return self[endIndex...] }
    return self[first...last]
  }
}
