import CMMLogCore

/// Splits strings into patterns and the values of their placeholders. Numbers, hexadecimal ids and
/// UUIDs are taken out, and what is left is often the same.
struct TokenSplitter: ~Copyable {
  /// Longer strings are not split.
  static let maximumLength = 16 << 10
  /// A run of letters and digits that has more numbers in it is something random.
  private static let maximumNumbers = 3
  /// Fewer digits are hexadecimal only behind `0x`.
  private static let minimumHexadecimal = 4
  private static let block = 64

  /// The string, and behind it bytes that may be read with it.
  private let text = UnsafeMutableRawPointer.allocate(
    byteCount: maximumLength + 2 * block, alignment: block)
  /// Which bytes of the string are digits, and which are neither digits nor letters.
  private let digits = UnsafeMutablePointer<UInt64>.allocate(capacity: maximumLength / block + 1)
  private let others = UnsafeMutablePointer<UInt64>.allocate(capacity: maximumLength / block + 1)
  /// The pattern, with zeros behind it up to the next word.
  private let memory = UnsafeMutableRawPointer.allocate(
    byteCount: maximumLength + block, alignment: block)
  private let powers = UnsafeMutablePointer<UInt64>.allocate(capacity: wordSize + 1)
  /// The string's length.
  private var size = 0
  private(set) var pattern: UnsafeRawBufferPointer
  /// How many values were taken out of the last string.
  private(set) var count = 0

  init() {
    pattern = UnsafeRawBufferPointer(start: memory, count: 0)
    for exponent in 0...wordSize {
      powers[exponent] = exponent == 0 ? 1 : powers[exponent - 1] * 10
    }
  }

  deinit {
    text.deallocate()
    digits.deallocate()
    others.deallocate()
    memory.deallocate()
    powers.deallocate()
  }

  /// Splits a string.
  ///
  /// - Parameter values: Receives the value of each placeholder; with room for as many as the
  ///   string has bytes.
  /// - Precondition: The string is no longer than ``maximumLength``.
  /// - Returns: False if the string holds bytes that stand for placeholders.
  mutating func split(
    _ string: UnsafeRawBufferPointer, to values: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    precondition(string.count <= Self.maximumLength)
    guard inspect(string) else { return false }
    var output = Output(pattern: memory, values: values, input: UnsafeRawPointer(text))
    var end = 0
    while let digit = first(in: digits, from: end) {
      let length = plainLength(digit)
      if length > 0 {
        end = digit &+ length
        output = takeDecimal(digit, end, output)
      } else {
        (output, end) = takeRun(from: end, digit, output)
      }
    }
    output.copy(to: text + size)
    output.pattern.storeBytes(of: 0, as: UInt64.self)
    count = output.values - values
    pattern = UnsafeRawBufferPointer(start: memory, count: output.pattern - memory)
    return true
  }

  /// How far the pattern, its values and the input have come. Functions pass it on as a value, so
  /// that a processor's registers hold it.
  private struct Output {
    var pattern: UnsafeMutableRawPointer
    var values: UnsafeMutablePointer<UInt64>
    var input: UnsafeRawPointer

    @inline(__always)
    mutating func copy(to end: UnsafeRawPointer) {
      let length = end - input
      var place = 0
      // Copies whole words: too many bytes do no harm.
      while place < length {
        pattern.storeBytes(
          of: input.loadUnaligned(fromByteOffset: place, as: SIMD2<UInt64>.self),
          toByteOffset: place, as: SIMD2<UInt64>.self)
        place &+= 2 &* wordSize
      }
      pattern += length
      input = end
    }

    /// Puts a placeholder in the place of a token.
    @inline(__always)
    mutating func take(
      _ placeholder: Placeholder, _ value: UInt64, _ start: UnsafeRawPointer,
      _ end: UnsafeRawPointer
    ) {
      copy(to: start)
      pattern.storeBytes(of: placeholder.rawValue, as: UInt8.self)
      pattern += 1
      values.pointee = value
      values += 1
      input = end
    }
  }

  /// Copies a string, and finds its digits, its letters and bytes that stand for placeholders.
  @inline(__always)
  private mutating func inspect(_ string: UnsafeRawBufferPointer) -> Bool {
    size = string.count
    if let base = string.baseAddress { text.copyMemory(from: base, byteCount: size) }
    (text + size).initializeMemory(as: UInt8.self, repeating: 0x20, count: Self.block)
    var isText = true
    for index in 0...size / Self.block {
      let masks = mmlog_text_masks(text + index &* Self.block, Placeholder.limit)
      digits[index] = masks.digits
      others[index] = ~masks.alphanumerics
      isText = isText && masks.below == 0
    }
    return isText
  }

  @inline(__always)
  private func byte(_ place: Int) -> UInt8 { text.load(fromByteOffset: place, as: UInt8.self) }

  @inline(__always)
  private func word(_ place: Int) -> UInt64 {
    UInt64(littleEndian: text.loadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  // MARK: - Letters and digits in a row

  /// The first byte from `start` on whose bit is set.
  ///
  /// - Parameter flipped: All bits, to find the first bit that is not set.
  @inline(__always)
  private func first(
    in bits: UnsafeMutablePointer<UInt64>, from start: Int, _ flipped: UInt64 = 0
  ) -> Int? {
    var index = start / Self.block
    var found = (bits[index] ^ flipped) & (.max &<< UInt64(truncatingIfNeeded: start))
    while found == 0 {
      index &+= 1
      guard index &* Self.block < size else { return nil }
      found = bits[index] ^ flipped
    }
    return index &* Self.block &+ found.trailingZeroBitCount
  }

  /// How many digits there are, if they stand alone and one word of bits shows it, as for the most
  /// frequent tokens; else 0.
  @inline(__always)
  private func plainLength(_ digit: Int) -> Int {
    let bit = digit % Self.block
    guard bit > 0 else { return 0 }
    // The byte before, and what follows.
    let others = others[digit / Self.block] >> UInt64(truncatingIfNeeded: bit &- 1)
    let length = (others >> 1).trailingZeroBitCount
    let numbers = ~digits[digit / Self.block] >> UInt64(truncatingIfNeeded: bit)
    guard others & 1 != 0, length == numbers.trailingZeroBitCount, length <= 16,
      length != 8 || byte(digit &+ 8) != Self.hyphen
    else { return 0 }
    return length
  }

  /// Where the run of letters and digits begins that a digit is in.
  @inline(__always)
  private func runStart(_ digit: Int) -> Int {
    var index = digit / Self.block
    var found = others[index] & ~(.max &<< UInt64(truncatingIfNeeded: digit))
    while found == 0 {
      guard index > 0 else { return 0 }
      index &-= 1
      found = others[index]
    }
    return (index &+ 1) &* Self.block &- found.leadingZeroBitCount
  }

  /// Takes the tokens out of a run of letters and digits.
  ///
  /// - Parameter digit: The first digit from `end` on.
  /// - Returns: The new output, and where to go on.
  @inline(never)
  private func takeRun(from end: Int, _ digit: Int, _ output: Output) -> (Output, Int) {
    let start = max(end, runStart(digit))
    let end = first(in: others, from: digit) ?? size
    if end &- start == 8, byte(end) == Self.hyphen, let taken = takeUUID(start, output) {
      return (taken, start &+ 36)
    }
    if digit == start, (first(in: digits, from: start, .max) ?? size) >= end {
      return (takeDecimal(start, end, output), end)
    }
    return (takeMixed(start, end, output), end)
  }

  private static let hyphen = UInt8(ascii: "-")

  /// Takes a run that has letters, too.
  private func takeMixed(_ start: Int, _ end: Int, _ output: Output) -> Output {
    let isPrefixed = end &- start > 2 && byte(start) == 0x30 && byte(start &+ 1) | 0x20 == 0x78
    let first = isPrefixed ? start &+ 2 : start
    if isPrefixed || end &- start >= Self.minimumHexadecimal {
      var (place, isLower, isUpper) = (first, true, true)
      while place < end, isLower || isUpper {
        let byte = byte(place)
        let isDigit = byte &- 0x30 <= 9
        isLower = isLower && (isDigit || byte &- 0x61 < 6)
        isUpper = isUpper && (isDigit || byte &- 0x41 < 6)
        place &+= 1
      }
      if isLower || isUpper {
        return takeHexadecimal(
          first, end, isLower ? .lowerHexadecimal : .upperHexadecimal, output)
      }
    }
    return hasFewNumbers(first, end) ? takeNumbers(start, end, output) : output
  }

  private func hasFewNumbers(_ start: Int, _ end: Int) -> Bool {
    var (place, numbers) = (start, 0)
    while let digit = first(in: digits, from: place), digit < end {
      numbers &+= 1
      if numbers > Self.maximumNumbers { return false }
      place = first(in: digits, from: digit, .max) ?? end
    }
    return true
  }

  private func takeNumbers(_ start: Int, _ end: Int, _ output: Output) -> Output {
    var (place, output) = (start, output)
    while let digit = first(in: digits, from: place), digit < end {
      place = min(end, first(in: digits, from: digit, .max) ?? end)
      output = takeDecimal(digit, place, output)
    }
    return output
  }

  // MARK: - Tokens

  @inline(__always)
  private func takeDecimal(_ start: Int, _ end: Int, _ output: Output) -> Output {
    let count = end &- start
    if count > wordSize { return takeLongDecimal(start, end, output) }
    var output = output
    output.take(.decimal, powers[count] &+ decimal(start, count), text + start, text + end)
    return output
  }

  private func takeLongDecimal(_ start: Int, _ end: Int, _ output: Output) -> Output {
    var (next, output) = (start, output)
    while next < end {
      let first = next
      let last = min(end, first &+ ColumnLayout.maximumDigits)
      var number: UInt64 = 1
      while next < last {
        let count = min(wordSize, last &- next)
        number = number &* powers[count] &+ decimal(next, count)
        next &+= count
      }
      output.take(.decimal, number, text + first, text + last)
    }
    return output
  }

  /// The number of up to eight decimal digits: three times, each two neighbors become one number.
  @inline(__always)
  private func decimal(_ place: Int, _ count: Int) -> UInt64 {
    var number =
      (word(place) ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 64 &- 8 &* count)
    number = (number &* 2561) >> 8 & 0x00FF_00FF_00FF_00FF
    number = (number &* 6_553_601) >> 16 & 0x0000_FFFF_0000_FFFF
    return (number &* 42_949_672_960_001) >> 32
  }

  private func takeHexadecimal(
    _ start: Int, _ end: Int, _ placeholder: Placeholder, _ output: Output
  ) -> Output {
    var (start, output) = (start, output)
    while placeholder == .lowerHexadecimal, end &- start >= 16 {
      let value = hexadecimalNumber(word(start)) << 32 | hexadecimalNumber(word(start &+ 8))
      output.take(.wholeHexadecimal, value, text + start, text + start + 16)
      start &+= 16
    }
    while start < end {
      let count = min(end &- start, ColumnLayout.maximumHexadecimal)
      var value: UInt64 = 1
      for place in start..<start &+ count {
        let byte = UInt64(byte(place))
        value = value << 4 | (byte & 15 &+ byte >> 6 &* 9)
      }
      output.take(placeholder, value, text + start, text + start + count)
      start &+= count
    }
    return output
  }

  /// Takes a UUID as a whole, if one begins at `start`: its numbers, written again, must equal the
  /// text.
  private func takeUUID(_ start: Int, _ output: Output) -> Output? {
    guard start &+ 36 <= size, start &+ 36 == first(in: others, from: start &+ 24) ?? size,
      byte(start &+ 13) == Self.hyphen, byte(start &+ 18) == Self.hyphen,
      byte(start &+ 23) == Self.hyphen
    else { return nil }
    func groups(_ first: Int, _ second: Int) -> UInt64 {
      word(start &+ first) & 0xFFFF_FFFF | word(start &+ second) << 32
    }
    let parts = (word(start), groups(9, 14), groups(19, 24), word(start &+ 28))
    let (a, b) = (hexadecimalNumber(parts.0), hexadecimalNumber(parts.1))
    let (c, d) = (hexadecimalNumber(parts.2), hexadecimalNumber(parts.3))
    guard hexadecimalDigits(a) == parts.0, hexadecimalDigits(b) == parts.1,
      hexadecimalDigits(c) == parts.2, hexadecimalDigits(d) == parts.3
    else { return nil }
    var output = output
    output.take(.uuidStart, a << 32 | b, text + start, text + start + 18)
    output.take(.uuidEnd, c << 32 | d, text + start + 19, text + start + 36)
    return output
  }
}
