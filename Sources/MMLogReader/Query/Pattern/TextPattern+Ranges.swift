import MMLogSystem

extension TextPattern {
  /// The maximum number of ranges that are shown in a text, and the maximum length of each.
  private static let (mostRanges, longestRange) = (50, 200)

  /// The ranges where the pattern is found in `text`, one after the other, so that they can be
  /// shown.
  ///
  /// The expressions of the system only say whether they are found. Therefore the end of a range is
  /// searched for by halving, and then its beginning.
  ///
  /// - Complexity: O(places × (log(bytes) + 200)) searches.
  package func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var start = 0
    while start < text.count, ranges.count < Self.mostRanges, finds(text, start, text.count) {
      let end = first(in: start + 1...text.count) { finds(text, start, $0) }
      let latest = first(in: start...end) { !finds(text, $0, end) } - 1
      // An empty match is shown nowhere.
      guard latest >= start, latest < end else { return ranges }
      let range = widened(latest..<end, text, notBefore: start)
      ranges.append(range)
      start = range.upperBound
    }
    return ranges
  }

  /// The range, as long as it may be.
  private func widened(
    _ range: Range<Int>, _ text: UnsafeRawBufferPointer, notBefore start: Int
  ) -> Range<Int> {
    guard let whole else { return range }
    func matches(_ start: Int, _ end: Int) -> Bool {
      whole.matches(UnsafeRawBufferPointer(rebasing: text[start..<end]))
    }
    let earliest = max(start, range.upperBound - Self.longestRange)
    let beginning = (earliest...range.lowerBound).first { matches($0, range.upperBound) }
    let from = beginning ?? range.lowerBound
    let last = min(text.count, from + Self.longestRange)
    let end = stride(from: last, to: range.upperBound, by: -1).first { matches(from, $0) }
    return from..<(end ?? range.upperBound)
  }

  private func finds(_ text: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
    matches(UnsafeRawBufferPointer(rebasing: text[start..<end]))
  }

  /// The first number for which `holds` is true, if it is true for all behind that; else one behind
  /// the last.
  private func first(in numbers: ClosedRange<Int>, _ holds: (Int) -> Bool) -> Int {
    var (low, high) = (numbers.lowerBound, numbers.upperBound + 1)
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
