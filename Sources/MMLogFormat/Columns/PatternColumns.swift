/// Which columns the values of patterns are in, for the encoder and the decoder.
///
/// Placeholders of different patterns share a column if the patterns are the same up to and with
/// that placeholder: so the dates and times of all lines are in a few columns, in the lines' order.
final class PatternColumns {
  /// How many patterns and columns there are.
  private(set) var (patterns, count) = (0, 0)
  /// Where each pattern's placeholders begin among those of all patterns, and where those of the
  /// last pattern end.
  private let firsts = WordBuffer()
  /// For each placeholder: where in its pattern it is, and its column.
  let places = WordBuffer()
  let columns = WordBuffer()
  /// For each column: what its placeholders stand for, how many values it has, and where they begin
  /// among those of all.
  private let kinds = WordBuffer()
  let sizes = WordBuffer()
  let starts = WordBuffer()
  /// How many values there are in all columns.
  private(set) var total = 0
  /// The ranges of values that are written as one column of numbers each.
  private(set) var parts: [Range<Int>] = []

  init() { firsts.base[0] = 0 }

  func removeAll() { (patterns, count) = (0, 0) }

  func placeholders(of pattern: Int) -> Range<Int> {
    Int(firsts.base[pattern])..<Int(firsts.base[pattern + 1])
  }

  /// How many bytes a pattern has up to its first `shared` placeholders, these included; nil if it
  /// has fewer placeholders, or there is no such pattern.
  func prefixLength(_ shared: UInt64, of pattern: Int) -> Int? {
    if shared == 0 { return 0 }
    guard pattern >= 0, shared <= UInt64(placeholders(of: pattern).count) else { return nil }
    return Int(places.base[Int(firsts.base[pattern]) + Int(shared) - 1]) + 1
  }

  /// Adds a pattern. Its first `shared` placeholders have the columns that they have in the last
  /// pattern.
  ///
  /// - Returns: False if there are too many placeholders.
  func add(_ pattern: UnsafeRawBufferPointer, shared: Int) -> Bool {
    let first = Int(firsts.base[patterns])
    let last = patterns > 0 ? Int(firsts.base[patterns - 1]) : 0
    var found = first
    for place in pattern.indices where pattern[place] < Placeholder.limit {
      guard found < ColumnLayout.maximumPlaceholders else { return false }
      places.grow(for: found + 1, keeping: found)
      columns.grow(for: found + 1, keeping: found)
      places.base[found] = UInt64(place)
      columns.base[found] =
        found - first < shared
        ? columns.base[last + found - first] : addColumn(of: pattern[place])
      found += 1
    }
    patterns += 1
    firsts.grow(for: patterns + 1, keeping: patterns)
    firsts.base[patterns] = UInt64(found)
    return true
  }

  private func addColumn(of placeholder: UInt8) -> UInt64 {
    kinds.grow(for: count + 1, keeping: count)
    kinds.base[count] = UInt64(placeholder)
    count += 1
    return UInt64(count - 1)
  }

  // MARK: - Values

  /// Finds out where the values of each column are, if pattern *i* is that of `uses[i]` strings.
  ///
  /// - Returns: False if there are more than `maximum` values.
  func arrange(_ uses: UnsafePointer<UInt64>, maximum: Int) -> Bool {
    sizes.grow(for: count)
    starts.grow(for: count)
    sizes.base.update(repeating: 0, count: count)
    total = 0
    for pattern in 0..<patterns {
      let placeholders = placeholders(of: pattern)
      // Both factors are less than 2³².
      total += placeholders.count * Int(uses[pattern])
      guard total <= maximum else { return false }
      for index in placeholders { sizes.base[Int(columns.base[index])] += uses[pattern] }
    }
    place()
    return true
  }

  /// Places the columns: first those with many values, each by itself, then those with few values,
  /// together by kind of placeholder.
  private func place() {
    parts.removeAll(keepingCapacity: true)
    var next = 0
    for column in 0..<count where isSeparate(column) {
      place(column, &next)
      parts.append(next - Int(sizes.base[column])..<next)
    }
    for kind in Placeholder.allCases {
      let start = next
      for column in 0..<count where !isSeparate(column) && kinds.base[column] == kind.rawValue {
        place(column, &next)
      }
      if next > start { parts.append(start..<next) }
    }
  }

  func isSeparate(_ column: Int) -> Bool { sizes.base[column] >= ColumnLayout.minimumValues }

  private func place(_ column: Int, _ next: inout Int) {
    starts.base[column] = UInt64(next)
    next += Int(sizes.base[column])
  }
}
