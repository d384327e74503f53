/// Writes columns of strings. FORMAT.md, 10, says how: numbers into one sink, bytes into another.
///
/// Allocates nothing once its buffers are large enough, but to sort a dictionary.
final class StringEncoder {
  /// Strings inspected before all are.
  private static let sampleSize = 256
  /// Skeletons that occur so often have columns of their own for their numbers.
  private static let maximumShared = 32

  private let numbers: NumberEncoder
  private let distinct = DistinctTable()
  private let entries = StringList()
  private let skeletons = Skeletons()
  private let indexes = WordBuffer()
  private let order = WordBuffer()
  private let uses = WordBuffer()
  private let column = WordBuffer()

  init(_ numbers: NumberEncoder) { self.numbers = numbers }

  /// Appends a column to `sink`, and what of its strings remains to `text`.
  func encode(_ strings: StringList, into sink: inout TextBuffer, text: inout TextBuffer) {
    guard strings.count > 0 else { return }
    if encodeDictionary(strings, into: &sink, text: &text) > 0 { return }
    if encodeSkeletons(strings, into: &sink, text: &text) { return }
    encodePlain(strings, into: &sink, text: &text)
  }

  private func encodePlain(
    _ strings: StringList, into sink: inout TextBuffer, text: inout TextBuffer
  ) {
    sink.append(StringEncoding.plain.rawValue)
    append(strings, into: &sink, text: &text)
  }

  private func append(_ strings: StringList, into sink: inout TextBuffer, text: inout TextBuffer) {
    numbers.encode(strings.lengths.base, count: strings.count, into: &sink)
    text.reserve(strings.size)
    for index in 0..<strings.count { text.append(strings[index]) }
  }

  /// - Returns: How many entries the dictionary has; 0 if it was not worth one, and nothing was
  ///   written.
  private func encodeDictionary(
    _ strings: StringList, into sink: inout TextBuffer, text: inout TextBuffer
  ) -> Int {
    let count = strings.count
    indexes.grow(for: count)
    let sample = min(count, DistinctTable.sample)
    let maximum = min(count / 2, DistinctTable.maximum)
    // With more of them different, the whole column has more entries than strings.
    let limit = sample - sample * sample / (2 * count)
    guard distinct.index(strings, count: sample, limit: limit, indexes.base),
      count == sample || distinct.index(strings, count: count, limit: maximum, indexes.base),
      distinct.count <= max(maximum, 1)
    else { return 0 }
    distinct.sort(indexes.base, count: count)
    entries.fill(distinct.count) { number in
      let string = strings[Int(distinct.firsts[number])]
      return string.baseAddress.map { ($0, string.count) }
    }
    sink.append(StringEncoding.dictionary.rawValue)
    sink.append(varint: entries.count)
    append(entries, into: &sink, text: &text)
    numbers.encode(indexes.base, count: count, into: &sink)
    return entries.count
  }

  private func encodeSkeletons(
    _ strings: StringList, into sink: inout TextBuffer, text: inout TextBuffer
  ) -> Bool {
    let sample = min(strings.count, Self.sampleSize)
    guard strings.size <= ColumnLayout.maximumNumbers, haveDigits(strings),
      skeletons.make(from: strings, count: sample), areAlike(sample) || numbersPay(strings, sample),
      sample == strings.count || skeletons.make(from: strings, count: strings.count)
    else { return false }
    sink.append(StringEncoding.skeletons.rawValue)
    let entries = encodeDictionary(skeletons.strings, into: &sink, text: &text)
    if entries == 0 { encodePlain(skeletons.strings, into: &sink, text: &text) }
    let minimumUses = entries == 0 ? 0 : Self.maximumShared
    sink.append(varint: minimumUses)
    sortBySkeleton(count: strings.count, entries: max(entries, 1), isSorted: entries > 0)
    encodeNumbers(entries: entries, minimumUses: minimumUses, count: strings.count, into: &sink)
    return true
  }

  /// Whether half of the first strings have any.
  private func haveDigits(_ strings: StringList) -> Bool {
    let sample = min(strings.count, 16)
    let having = (0..<sample).count { index in
      strings[index].contains { $0 &- UInt8(ascii: "0") <= 9 }
    }
    return having * 2 > sample
  }

  /// Whether at most half of the first skeletons are different.
  private func areAlike(_ sample: Int) -> Bool {
    indexes.grow(for: sample)
    let maximum = max(sample / 2, 1)
    return distinct.index(skeletons.strings, count: sample, limit: maximum, indexes.base)
  }

  /// Whether columns of numbers are smaller than zlib makes digits among random text: of hashes and
  /// the like, they are not.
  private func numbersPay(_ strings: StringList, _ sample: Int) -> Bool {
    var digits = 0
    for index in 0..<sample {
      digits += strings[index].count - skeletons.strings[index].count + skeletons.count(of: index)
    }
    var cost = 0
    for position in 0..<ColumnLayout.maximumPositions {
      let used = gatherShared(position, count: sample, minimumUses: 0)
      if used == 0 { break }
      let profile = NumberProfile(column.base, count: used)
      cost += min(profile.packed, profile.patched, profile.differences)
    }
    return cost < digits * Self.deflatedDigitBits / 8
  }

  /// Bits that zlib needs for a digit.
  private static let deflatedDigitBits = 4

  /// Puts the strings' numbers in `order`, those of a skeleton together, and into `uses` where
  /// those of each end.
  private func sortBySkeleton(count: Int, entries: Int, isSorted: Bool) {
    order.grow(for: count)
    uses.grow(for: entries + 1)
    let (order, ends) = (order.base, uses.base)
    ends.update(repeating: 0, count: entries + 1)
    guard isSorted else {
      for index in 0..<count { order[index] = UInt64(index) }
      ends[0] = UInt64(count)
      return
    }
    let indexes = indexes.base
    for index in 0..<count { ends[Int(indexes[index]) &+ 1] &+= 1 }
    for entry in 0..<entries { ends[entry &+ 1] &+= ends[entry] }
    // Each entry's place moves from its beginning to its end.
    for index in 0..<count {
      let entry = Int(indexes[index])
      order[Int(ends[entry])] = UInt64(index)
      ends[entry] &+= 1
    }
  }

  private func encodeNumbers(
    entries: Int, minimumUses: Int, count: Int, into sink: inout TextBuffer
  ) {
    column.grow(for: count)
    var start = 0
    for entry in 0..<entries {
      let end = Int(uses.base[entry])
      defer { start = end }
      guard end - start >= minimumUses else { continue }
      for position in 0..<skeletons.count(of: Int(order.base[start])) {
        for index in start..<end {
          column.base[index &- start] = skeletons.number(of: Int(order.base[index]), position)
        }
        numbers.encode(column.base, count: end - start, into: &sink)
      }
    }
    encodeSharedNumbers(hasOwn: minimumUses, count: count, into: &sink)
  }

  /// The numbers of the other skeletons, by their position in the string.
  private func encodeSharedNumbers(hasOwn minimumUses: Int, count: Int, into sink: inout TextBuffer)
  {
    var positions = 0
    for string in 0..<count where !hasOwnColumns(string, minimumUses) {
      positions = max(positions, skeletons.count(of: string))
    }
    for position in 0..<min(positions, ColumnLayout.maximumPositions) {
      let used = gatherShared(position, count: count, minimumUses: minimumUses)
      numbers.encode(column.base, count: used, into: &sink)
    }
  }

  /// Collects a shared column.
  ///
  /// - Returns: How many numbers it has.
  private func gatherShared(_ position: Int, count: Int, minimumUses: Int) -> Int {
    // The last column has all that follow, too.
    let width = position == ColumnLayout.maximumPositions - 1 ? Int.max : 1
    var used = 0
    for string in 0..<count where !hasOwnColumns(string, minimumUses) {
      let rest = min(width, skeletons.count(of: string) - position)
      guard rest > 0 else { continue }
      column.grow(for: used + rest, keeping: used)
      for index in 0..<rest {
        column.base[used &+ index] = skeletons.number(of: string, position &+ index)
      }
      used &+= rest
    }
    return used
  }

  private func hasOwnColumns(_ string: Int, _ minimumUses: Int) -> Bool {
    guard minimumUses > 0 else { return false }
    let entry = Int(indexes.base[string])
    let start = entry == 0 ? 0 : uses.base[entry - 1]
    return uses.base[entry] - start >= minimumUses
  }
}
