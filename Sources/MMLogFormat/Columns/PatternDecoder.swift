/// Puts patterns and the values of their placeholders together, read from hostile bytes.
final class PatternDecoder {
  private let columns = PatternColumns()
  /// Where the patterns are.
  private let patterns = WordBuffer(capacity: 1)
  private let shared = WordBuffer(capacity: 1)
  private let uses = WordBuffer(capacity: 1)
  /// The values, column by column, and for each column the next value.
  private let values = WordBuffer(capacity: 1)
  private let next = WordBuffer(capacity: 1)
  /// Bytes that a value takes at most: the digits of 2⁶⁴ − 1 without the first.
  private static let maximumSize = 19

  /// Reads how many placeholders each of `count` patterns has in common with the one before it.
  func readShared(_ count: Int, _ input: inout NumberDecoder) throws(FormatError) {
    shared.grow(for: count)
    try input.column(count, to: shared.base)
  }

  /// Puts the patterns together.
  ///
  /// - Parameters:
  ///   - rests: Where `bytes` has the part of each pattern that is not in common. The patterns are
  ///     appended to `bytes`.
  ///   - budget: How large the patterns may be; their size is subtracted.
  func readPatterns(
    _ count: Int, _ rests: UnsafePointer<UInt64>, _ bytes: inout TextBuffer, _ budget: inout Int
  ) throws(FormatError) {
    columns.removeAll()
    patterns.grow(for: count)
    for index in 0..<count {
      let (common, rest) = (shared.base[index], StringRange(rests[index]))
      guard let prefix = columns.prefixLength(common, of: index - 1),
        prefix + rest.length <= budget
      else { throw .invalid("pattern") }
      budget -= prefix + rest.length
      let start = bytes.count
      bytes.reserve(prefix + rest.length)
      if prefix > 0 {
        bytes.append(bytes.bytes.slice(StringRange(patterns.base[index - 1]).start, prefix))
      }
      bytes.append(bytes.bytes.slice(rest.start, rest.length))
      patterns.base[index] = StringRange(start, prefix + rest.length).word
      guard columns.add(bytes.bytes.slice(start, prefix + rest.length), shared: Int(common)) else {
        throw .invalid("count of placeholders")
      }
    }
  }

  /// Reads the values of `count` strings.
  ///
  /// - Parameters:
  ///   - indexes: Which of the patterns each string has, from 1 on; 0 for none.
  ///   - maximum: How many values there may be.
  func readValues(
    of indexes: UnsafePointer<UInt64>, _ count: Int, maximum: Int, _ input: inout NumberDecoder
  ) throws(FormatError) {
    uses.grow(for: columns.patterns + 1)
    uses.base.update(repeating: 0, count: columns.patterns + 1)
    for index in 0..<count {
      guard indexes[index] <= columns.patterns else { throw .invalid("pattern of a string") }
      uses.base[Int(indexes[index])] += 1
    }
    guard columns.arrange(uses.base + 1, maximum: min(ColumnLayout.maximumValues, maximum)) else {
      throw .invalid("count of values")
    }
    values.grow(for: columns.total)
    for part in columns.parts { try input.column(part.count, to: values.base + part.lowerBound) }
    next.grow(for: columns.count)
    next.base.update(from: columns.starts.base, count: columns.count)
  }

  /// Whether letters may occur where a number was taken out of a string: in one of the values, or
  /// where a value stands beside letters or another number.
  ///
  /// - Parameter bytes: Where the patterns are.
  func mayShow(_ letters: HexadecimalLetters, _ bytes: UnsafeRawBufferPointer) -> Bool {
    var found: Set<Int> = []
    for pattern in 0..<columns.patterns {
      let range = StringRange(patterns.base[pattern])
      let text = bytes.slice(range.start, range.length)
      for index in columns.placeholders(of: pattern) {
        let place = Int(columns.places.base[index])
        if !Placeholder.isOfLetters(text[place]) { continue }
        if place > 0, Self.mayEndInLetter(text[place - 1]) { return true }
        if place + 1 < text.count, Self.mayEndInLetter(text[place + 1]) { return true }
        found.insert(Int(columns.columns.base[index]))
      }
    }
    return found.contains { column in
      let start = Int(columns.starts.base[column])
      return (start..<start + Int(columns.sizes.base[column])).contains {
        letters.isIn(values.base[$0])
      }
    }
  }

  private static func mayEndInLetter(_ byte: UInt8) -> Bool {
    Placeholder.isOfLetters(byte) || HexadecimalLetters.isLetter(byte)
  }

  /// Puts the next string of a pattern together, behind the others in `bytes`.
  ///
  /// - Parameter budget: How large the string may be; its size is subtracted.
  func append(
    _ pattern: Int, to bytes: inout TextBuffer, _ budget: inout Int
  ) throws(FormatError) -> StringRange {
    let (place, placeholders) = (
      StringRange(patterns.base[pattern]), columns.placeholders(of: pattern)
    )
    guard place.length <= budget else { throw .invalid("length of a string") }
    let start = bytes.count
    // A value is written as whole words.
    bytes.reserve(place.length + placeholders.count * Self.maximumSize + wordSize)
    let input = UnsafeRawPointer(bytes.base) + place.start
    var output = bytes.base + start
    var copied = 0
    for index in placeholders {
      let offset = Int(columns.places.base[index])
      Self.copy(input + copied, offset &- copied, to: &output)
      let column = Int(columns.columns.base[index])
      let value = values.base[Int(next.base[column])]
      next.base[column] &+= 1
      try Self.write(value, input.load(fromByteOffset: offset, as: UInt8.self), to: &output)
      copied = offset &+ 1
    }
    Self.copy(input + copied, place.length &- copied, to: &output)
    let length = output - (bytes.base + start)
    budget -= length
    guard budget >= 0 else { throw .invalid("length of a string") }
    bytes.append(maximum: 0) { _ in length }
    return StringRange(start, length)
  }

  @inline(__always)
  private static func copy(
    _ input: UnsafeRawPointer, _ count: Int, to output: inout UnsafeMutableRawPointer
  ) {
    output.copyMemory(from: input, byteCount: count)
    output += count
  }

  // MARK: - Values

  @inline(__always)
  private static func write(
    _ value: UInt64, _ placeholder: UInt8, to output: inout UnsafeMutableRawPointer
  ) throws(FormatError) {
    guard let placeholder = Placeholder(rawValue: placeholder) else { throw .invalid("pattern") }
    switch placeholder {
    case .decimal: try writeDecimal(value, to: &output)
    case .lowerHexadecimal: try writeHexadecimal(value, letters: 0x27, to: &output)
    case .upperHexadecimal: try writeHexadecimal(value, letters: 0x07, to: &output)
    case .wholeHexadecimal: writeWhole(value, to: &output)
    case .uuidStart: writeStart(value, to: &output)
    case .uuidEnd: writeEnd(value, to: &output)
    }
  }

  /// Writes the digits of a number but the first, which has to be a 1.
  @inline(__always)
  private static func writeDecimal(
    _ number: UInt64, to output: inout UnsafeMutableRawPointer
  ) throws(FormatError) {
    var power: UInt64 = 1
    var digits = 0
    while number / 10 >= power, digits < 19 {
      power &*= 10
      digits &+= 1
    }
    guard digits > 0, number - power < power else { throw .invalid("number in a string") }
    var rest = number
    for index in stride(from: digits - 1, through: 0, by: -1) {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      output.storeBytes(
        of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit), toByteOffset: index,
        as: UInt8.self)
      rest = quotient
    }
    output += digits
  }

  private static func writeHexadecimal(
    _ number: UInt64, letters: UInt8, to output: inout UnsafeMutableRawPointer
  ) throws(FormatError) {
    let digits = (bitWidth(number) - 1) / 4
    guard digits > 0, number >> UInt64(4 * digits) == 1 else {
      throw .invalid("number in a string")
    }
    for index in 0..<digits {
      let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * (digits - 1 - index))) & 15
      let byte = UInt8(ascii: "0") &+ digit &+ (digit > 9 ? letters : 0)
      output.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
    }
    output += digits
  }

  private static func store(_ digits: UInt64, to output: UnsafeMutableRawPointer) {
    output.storeBytes(of: digits.littleEndian, as: UInt64.self)
  }

  private static let hyphen = UInt8(ascii: "-")

  private static func writeWhole(_ value: UInt64, to output: inout UnsafeMutableRawPointer) {
    store(hexadecimalDigits(value >> 32), to: output)
    store(hexadecimalDigits(value), to: output + 8)
    output += 16
  }

  /// Eight digits, four and four.
  private static func writeStart(_ value: UInt64, to output: inout UnsafeMutableRawPointer) {
    let digits = hexadecimalDigits(value)
    store(hexadecimalDigits(value >> 32), to: output)
    store(digits << 8 | UInt64(hyphen), to: output + 8)
    output.storeBytes(of: hyphen, toByteOffset: 13, as: UInt8.self)
    store(digits >> 32, to: output + 14)
    output += 18
  }

  /// Four digits and twelve.
  private static func writeEnd(_ value: UInt64, to output: inout UnsafeMutableRawPointer) {
    let digits = hexadecimalDigits(value >> 32)
    store(digits, to: output)
    output.storeBytes(of: hyphen, toByteOffset: 4, as: UInt8.self)
    store(digits >> 32, to: output + 5)
    store(hexadecimalDigits(value), to: output + 9)
    output += 17
  }
}
