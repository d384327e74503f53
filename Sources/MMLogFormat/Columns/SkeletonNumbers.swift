/// The numbers that were taken out of the strings of a column, read from hostile bytes.
final class SkeletonNumbers {
  /// Of 2⁶⁴ − 1, less the first.
  static let maximumDigits = 19

  /// The numbers of all strings, one string after the other.
  private let numbers = WordBuffer(capacity: 1)
  /// Where the numbers of each string begin, and where those of the last one end.
  private let firsts = WordBuffer(capacity: 1)
  /// How many numbers each skeleton has.
  private let counts = WordBuffer(capacity: 1)
  /// Of each skeleton, where its strings end in ``order``.
  private let ends = WordBuffer(capacity: 1)
  /// The strings, those of a skeleton together.
  private let order = WordBuffer(capacity: 1)
  private let column = WordBuffer(capacity: 1)

  func range(of string: Int) -> Range<Int> {
    Int(firsts.base[string])..<Int(firsts.base[string + 1])
  }

  subscript(index: Int) -> UInt64 { numbers.base[index] }

  /// Counts the numbers of so many skeletons.
  func count(
    _ skeletons: UnsafePointer<UInt64>, _ count: Int, in text: UnsafeRawPointer
  ) {
    counts.grow(for: count)
    for index in 0..<count {
      let place = StringRange(skeletons[index])
      let bytes = UnsafeRawBufferPointer(start: text + place.start, count: place.length)
      var found: UInt64 = 0
      for byte in bytes where byte == ColumnLayout.placeholder { found &+= 1 }
      counts.base[index] = found
    }
  }

  /// Finds where the numbers of each of `count` strings begin.
  ///
  /// - Parameter indexes: The skeleton of each string; nil if each has its own.
  func addUp(
    _ indexes: UnsafePointer<UInt64>?, _ count: Int, maximum: Int
  ) throws(FormatError) {
    firsts.grow(for: count + 1)
    var total: UInt64 = 0
    for string in 0..<count {
      firsts.base[string] = total
      total += counts.base[indexes.map { Int($0[string]) } ?? string]
      guard total <= UInt64(maximum) else { throw .invalid("count of numbers") }
    }
    firsts.base[count] = total
    numbers.grow(for: Int(total))
  }

  /// Reads the numbers of `count` strings.
  ///
  /// - Parameters:
  ///   - entries: How many skeletons there are, each string's in `indexes`; 0 if each string has
  ///     its own.
  ///   - minimumUses: How often a skeleton occurs that has columns of its own; 0 if none has.
  func read(
    _ count: Int, _ entries: Int, _ indexes: UnsafePointer<UInt64>, minimumUses: UInt64,
    _ input: inout NumberDecoder
  ) throws(FormatError) {
    column.grow(for: count)
    order.grow(for: count)
    var shared = 0
    if entries == 0 || minimumUses == 0 {
      for string in 0..<count { order.base[string] = UInt64(string) }
      shared = count
    } else {
      sort(count, entries, indexes)
      try readOwn(entries, minimumUses, &input)
      for string in 0..<count where uses(Int(indexes[string])) < minimumUses {
        order.base[shared] = UInt64(string)
        shared += 1
      }
    }
    try readShared(shared, &input)
  }

  private func start(_ entry: Int) -> Int { entry == 0 ? 0 : Int(ends.base[entry - 1]) }
  private func uses(_ entry: Int) -> Int { Int(ends.base[entry]) - start(entry) }

  /// Sorts the strings by their skeletons.
  private func sort(_ count: Int, _ entries: Int, _ indexes: UnsafePointer<UInt64>) {
    ends.grow(for: entries + 1)
    let (ends, order) = (ends.base, order.base)
    ends.update(repeating: 0, count: entries + 1)
    for string in 0..<count { ends[Int(indexes[string]) + 1] += 1 }
    for entry in 0..<entries { ends[entry + 1] += ends[entry] }
    // Each entry's place moves from its beginning to its end.
    for string in 0..<count {
      let entry = Int(indexes[string])
      order[Int(ends[entry])] = UInt64(string)
      ends[entry] += 1
    }
  }

  private func readOwn(
    _ entries: Int, _ minimumUses: UInt64, _ input: inout NumberDecoder
  ) throws(FormatError) {
    for entry in 0..<entries where uses(entry) >= minimumUses {
      let (start, count) = (start(entry), uses(entry))
      for position in 0..<Int(counts.base[entry]) {
        try input.column(count, to: column.base)
        for index in 0..<count {
          let string = Int(order.base[start + index])
          numbers.base[Int(firsts.base[string]) + position] = column.base[index]
        }
      }
    }
  }

  /// Reads the columns of all positions; the last one has those that follow, too.
  ///
  /// - Parameter count: How many strings there are, at the beginning of ``order``.
  private func readShared(_ count: Int, _ input: inout NumberDecoder) throws(FormatError) {
    let last = ColumnLayout.maximumPositions - 1
    var remaining = count
    for position in 0...last {
      let size = dropShort(&remaining, position, width: position == last ? .max : 1)
      column.grow(for: size)
      try input.column(size, to: column.base)
      var next = 0
      for index in 0..<remaining {
        let range = range(of: Int(order.base[index]))
        let end = position == last ? range.upperBound : range.lowerBound + position + 1
        for number in range.lowerBound + position..<end {
          numbers.base[number] = column.base[next]
          next &+= 1
        }
      }
    }
  }

  /// Keeps those strings that have a number at a position.
  ///
  /// - Returns: How many numbers they have from there on, of each at most `width`.
  private func dropShort(_ remaining: inout Int, _ position: Int, width: Int) -> Int {
    var (kept, size) = (0, 0)
    for index in 0..<remaining {
      let string = order.base[index]
      let rest = range(of: Int(string)).count - position
      guard rest > 0 else { continue }
      order.base[kept] = string
      kept &+= 1
      size &+= min(rest, width)
    }
    remaining = kept
    return size
  }

  // MARK: - Digits

  private static let powers = (0..<maximumDigits).reduce(into: [1 as UInt64]) { powers, index in
    powers.append(powers[index] * 10)
  }

  /// Writes the digits of a number but the first, which has to be a 1.
  ///
  /// - Returns: How many they are: 1 to ``maximumDigits``.
  @inline(__always)
  static func write(
    _ number: UInt64, to output: UnsafeMutableRawPointer
  ) throws(FormatError) -> Int {
    // 1233 / 4096 is just above the logarithm of 2.
    var digits = (bitWidth(number) &* 1233) >> 12
    if number < powers[digits] { digits &-= 1 }
    guard digits > 0, number - powers[digits] < powers[digits] else {
      throw .invalid("number in a string")
    }
    var rest = number
    for index in stride(from: digits - 1, through: 0, by: -1) {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      output.storeBytes(
        of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit), toByteOffset: index,
        as: UInt8.self)
      rest = quotient
    }
    return digits
  }
}
