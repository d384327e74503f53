import MMLogSystem

extension TextPattern {
  /// More are not shown in a text, and none is longer.
  private static let (mostRanges, longestRange) = (50, 200)

  /// Where it is found in `text`, one place after the other, for showing that.
  ///
  /// The expressions of the system are asked only whether they are found; so the end of a place is
  /// searched for by halving, and then its beginning.
  ///
  /// - Complexity: O(places × (log(bytes) + 200)) searches.
  package func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var start = 0
    while start < text.count, ranges.count < Self.mostRanges, finds(text, start, text.count) {
      let end = first(in: start + 1...text.count) { finds(text, start, $0) }
      let latest = first(in: start...end) { !finds(text, $0, end) } - 1
      // What matches nothing at all is shown nowhere.
      guard latest >= start, latest < end else { return ranges }
      let range = widened(latest..<end, text, notBefore: start)
      ranges.append(range)
      start = range.upperBound
    }
    return ranges
  }

  /// The place as long as it may be.
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

  /// The first number for which `holds`, if it holds for all behind that; else one behind the last.
  private func first(in numbers: ClosedRange<Int>, _ holds: (Int) -> Bool) -> Int {
    var (low, high) = (numbers.lowerBound, numbers.upperBound + 1)
    while low < high {
      let middle = (low + high) / 2
      if holds(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
