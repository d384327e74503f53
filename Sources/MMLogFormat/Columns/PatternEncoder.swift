/// Writes columns of strings that are patterns with values in them: FORMAT.md, 10.
///
/// Allocates nothing once its buffers are large enough.
final class PatternEncoder {
  private let encoder: PlaneEncoder
  private var splitter = TokenSplitter()
  private var table = PatternTable()
  private let columns = PatternColumns()
  /// The number of each string's pattern, from 1 on; 0 for strings without a pattern.
  private let ofString = WordBuffer()
  /// The values of all strings, string by string.
  private let values = WordBuffer()
  /// The patterns in the order in which they are written; and the place of each pattern in this
  /// order, from 1 on, or 0 if it is not written.
  private let order = WordBuffer()
  private let ranks = WordBuffer()
  private let uses = WordBuffer()
  /// How many placeholders each pattern has in common with the one before.
  private let shared = WordBuffer()
  private let lengths = WordBuffer()
  private let column = WordBuffer()
  private let cursors = WordBuffer()

  private static let maximumSlots = 4096

  init(_ encoder: PlaneEncoder) { self.encoder = encoder }

  /// Appends a column.
  ///
  /// - Returns: Whether it was worth it: if not, nothing was written.
  func encode(
    _ strings: StringList, into sections: inout ColumnSections
  ) -> Bool {
    split(strings)
    guard arrange() else { return false }
    sections.numbers.append(StringEncoding.patterns.rawValue)
    appendPatterns(into: &sections)
    rank(strings.count)
    encoder.encode(column.base, count: strings.count, into: &sections)
    appendLoose(strings, into: &sections)
    appendValues(strings.count, into: &sections)
    return true
  }

  // MARK: - Patterns

  private func split(_ strings: StringList) {
    table.removeAll(strings: strings.count)
    ofString.grow(for: strings.count)
    strings.withStarts { Self.split($0, strings.count, &splitter, &table, ofString, values) }
  }

  /// Not a part of the method above: there, each access to splitter and table would be checked.
  private static func split(
    _ strings: StringList.Strings, _ count: Int, _ splitter: inout TokenSplitter,
    _ table: inout PatternTable, _ ofString: WordBuffer, _ values: WordBuffer
  ) {
    let ofString = ofString.base
    var taken = 0
    for index in 0..<count {
      let string = strings[index]
      ofString[index] = 0
      guard string.count <= TokenSplitter.maximumLength,
        taken + string.count <= ColumnLayout.maximumValues
      else { continue }
      values.grow(for: taken + string.count, keeping: taken)
      guard splitter.split(string, to: values.base + taken),
        let pattern = table.use(splitter.pattern, placeholders: splitter.count)
      else { continue }
      ofString[index] = UInt64(truncatingIfNeeded: pattern) &+ 1
      taken &+= splitter.count
    }
  }

  /// Puts patterns that begin alike beside each other, and leaves out those that are not worth it.
  ///
  /// - Returns: Whether any is left.
  private func arrange() -> Bool {
    let candidates = findCandidates()
    sort(candidates)
    findColumns(candidates)
    var kept = 0
    for index in 0..<candidates where pays(index) {
      order.base[kept] = order.base[index]
      kept += 1
    }
    if kept < candidates { findColumns(kept) }
    ranks.grow(for: table.count + 1)
    ranks.base.update(repeating: 0, count: table.count + 1)
    for index in 0..<kept { ranks.base[Int(order.base[index]) + 1] = UInt64(index) + 1 }
    return kept > 0
  }

  /// Puts the patterns that may pay into ``order``. In random text, few patterns do, and sorting
  /// all others would take more time than anything else.
  ///
  /// A pattern that occurs once pays if other patterns share a column with it. Then they also share
  /// the column of its first placeholder. Slots count the strings that have a value in that column,
  /// and maybe some more.
  ///
  /// - Returns: How many there are.
  private func findCandidates() -> Int {
    let slots = min(Self.maximumSlots, 2 << bitWidth(UInt64(table.count)))
    uses.grow(for: slots)
    uses.base.update(repeating: 0, count: slots)
    lengths.grow(for: table.count)
    for pattern in 0..<table.count where table.patterns[pattern].placeholders > 0 {
      let slot = table.hashOfStart(pattern) & (slots - 1)
      lengths.base[pattern] = UInt64(slot)
      uses.base[slot] += UInt64(table.patterns[pattern].uses)
    }
    order.grow(for: table.count)
    var count = 0
    for pattern in 0..<table.count {
      let found = table.patterns[pattern]
      if found.uses > 1 || found.placeholders > 0 && isShared(pattern) {
        order.base[count] = UInt64(pattern)
        count += 1
      }
    }
    return count
  }

  private func isShared(_ pattern: Int) -> Bool {
    uses.base[Int(lengths.base[pattern])] >= ColumnLayout.minimumValues
  }

  private func sort(_ count: Int) {
    var places = UnsafeMutableBufferPointer(start: order.base, count: count)
    places.sort { table.precedes(Int($0), Int($1)) }
  }

  /// Finds the columns of the first `count` patterns in ``order``.
  private func findColumns(_ count: Int) {
    columns.removeAll()
    uses.grow(for: count)
    shared.grow(for: count)
    for index in 0..<count {
      let pattern = Int(order.base[index])
      uses.base[index] = UInt64(table.patterns[pattern].uses)
      let common = index == 0 ? 0 : table.shared(Int(order.base[index - 1]), pattern)
      shared.base[index] = UInt64(common)
      // The table takes no more placeholders than there may be, and `split` no more values.
      _ = columns.add(table.bytes(of: pattern), shared: common)
    }
    _ = columns.arrange(uses.base, maximum: ColumnLayout.maximumValues)
  }

  /// Whether a pattern occurs again, or its values are in columns with others.
  private func pays(_ index: Int) -> Bool {
    if uses.base[index] > 1 { return true }
    return columns.placeholders(of: index).contains {
      columns.isSeparate(Int(columns.columns.base[$0]))
    }
  }

  private func appendPatterns(into sections: inout ColumnSections) {
    let count = columns.patterns
    sections.numbers.append(varint: count)
    encoder.encode(shared.base, count: count, into: &sections)
    lengths.grow(for: count)
    for index in 0..<count {
      let prefix = columns.prefixLength(shared.base[index], of: index - 1) ?? 0
      let bytes = table.bytes(of: Int(order.base[index])).dropFirst(prefix)
      lengths.base[index] = UInt64(bytes.count)
      sections.text.append(UnsafeRawBufferPointer(rebasing: bytes))
    }
    encoder.encode(lengths.base, count: count, into: &sections)
  }

  // MARK: - Strings

  /// Puts the place of each string's pattern into ``column``.
  private func rank(_ count: Int) {
    column.grow(for: count)
    for index in 0..<count { column.base[index] = ranks.base[Int(ofString.base[index])] }
  }

  private func appendLoose(
    _ strings: StringList, into sections: inout ColumnSections
  ) {
    lengths.grow(for: strings.count)
    var loose = 0
    for index in 0..<strings.count where column.base[index] == 0 {
      lengths.base[loose] = UInt64(strings[index].count)
      loose += 1
    }
    encoder.encode(lengths.base, count: loose, into: &sections)
    for index in 0..<strings.count where column.base[index] == 0 {
      sections.text.append(strings[index])
    }
  }

  private func appendValues(
    _ count: Int, into sections: inout ColumnSections
  ) {
    scatter(count)
    for part in columns.parts {
      encoder.encode(lengths.base + part.lowerBound, count: part.count, into: &sections)
    }
  }

  /// Puts the values into ``lengths``, column by column.
  private func scatter(_ count: Int) {
    lengths.grow(for: columns.total)
    cursors.grow(for: columns.count)
    cursors.base.update(from: columns.starts.base, count: columns.count)
    let (output, cursors) = (lengths.base, cursors.base)
    var next = values.base
    for index in 0..<count {
      let pattern = Int(ofString.base[index]) - 1
      if pattern < 0 { continue }
      let rank = Int(column.base[index]) - 1
      defer { next += table.patterns[pattern].placeholders }
      if rank < 0 { continue }
      let placeholders = columns.placeholders(of: rank)
      for (offset, placeholder) in placeholders.enumerated() {
        let column = Int(columns.columns.base[placeholder])
        output[Int(cursors[column])] = next[offset]
        cursors[column] &+= 1
      }
    }
  }
}
