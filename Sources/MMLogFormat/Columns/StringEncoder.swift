/// Writes columns of strings. FORMAT.md, 10, says how.
///
/// Allocates nothing once its buffers are large enough, but to sort a dictionary.
final class StringEncoder {
  private let numbers: NumberEncoder
  private let distinct = DistinctTable()
  private let entries = StringList()
  private let indexes = WordBuffer()
  private let patterns: PatternEncoder

  init(_ numbers: NumberEncoder) {
    self.numbers = numbers
    patterns = PatternEncoder(PlaneEncoder(numbers))
  }

  /// Appends a column to `sections`.
  func encode(_ strings: StringList, into sections: inout ColumnSections) {
    guard strings.count > 0 else { return }
    if encodeDictionary(strings, into: &sections) { return }
    if patterns.encode(strings, into: &sections) { return }
    encodePlain(strings, into: &sections)
  }

  private func encodePlain(
    _ strings: StringList, into sections: inout ColumnSections
  ) {
    sections.numbers.append(StringEncoding.plain.rawValue)
    append(strings, into: &sections)
  }

  private func append(_ strings: StringList, into sections: inout ColumnSections) {
    numbers.encode(strings.lengths.base, count: strings.count, into: &sections)
    sections.text.reserve(strings.size)
    for index in 0..<strings.count { sections.text.append(strings[index]) }
  }

  /// - Returns: Whether it was worth it: if not, nothing was written.
  private func encodeDictionary(
    _ strings: StringList, into sections: inout ColumnSections
  ) -> Bool {
    let count = strings.count
    indexes.grow(for: count)
    let sample = min(count, DistinctTable.sample)
    let maximum = min(count / 2, DistinctTable.maximum)
    // If more strings of the sample differ, the estimate is more entries than the column has
    // strings.
    let limit = sample - sample * sample / (2 * count)
    guard distinct.index(strings, count: sample, limit: limit, indexes.base),
      count == sample || distinct.index(strings, count: count, limit: maximum, indexes.base),
      distinct.count <= max(maximum, 1)
    else { return false }
    distinct.sort(indexes.base, count: count)
    entries.fill(distinct.count) { number in
      let string = strings[Int(distinct.firsts[number])]
      return string.baseAddress.map { ($0, string.count) }
    }
    sections.numbers.append(StringEncoding.dictionary.rawValue)
    sections.numbers.append(varint: entries.count)
    append(entries, into: &sections)
    numbers.encode(indexes.base, count: count, into: &sections)
    return true
  }
}
