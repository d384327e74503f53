import CMMLogCore

/// Splits strings into patterns and the values of their placeholders. Numbers, hexadecimal ids and
/// UUIDs are taken out, and what is left is often the same.
struct TokenSplitter: ~Copyable {
  /// Longer strings are not split.
  static let maximumLength = 16 << 10
  /// Letters and digits in a row that have more numbers among them are something random.
  private static let maximumNumbers = 3
  /// Fewer digits are hexadecimal only behind `0x`.
  private static let minimumHexadecimal = 4
  private static let block = 64

  /// The string, and behind it what may be read with it.
  private let text = UnsafeMutableRawPointer.allocate(
    byteCount: maximumLength + 2 * block, alignment: block)
  /// Which bytes of the string are digits, and which are neither digits nor letters.
  private let digits = UnsafeMutablePointer<UInt64>.allocate(capacity: maximumLength / block + 1)
  private let others = UnsafeMutablePointer<UInt64>.allocate(capacity: maximumLength / block + 1)
  /// The pattern, with zeros behind it up to the next word.
  private let pattern = UnsafeMutableRawPointer.allocate(
    byteCount: maximumLength + block, alignment: block)
  private(set) var length = 0
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: pattern, count: length) }
  /// How many values were taken out.
  private(set) var count = 0
  private var values: UnsafeMutablePointer<UInt64>
  private let powers: UnsafeMutablePointer<UInt64>
  /// The string's length, and how far it is in the pattern.
  private var (size, copied) = (0, 0)

  init() {
    // Until there is a string.
    values = digits
    powers = .allocate(capacity: wordSize + 1)
    for exponent in 0...wordSize {
      powers[exponent] = exponent == 0 ? 1 : powers[exponent - 1] * 10
    }
  }

  deinit {
    text.deallocate()
    digits.deallocate()
    others.deallocate()
    pattern.deallocate()
    powers.deallocate()
  }

  /// Splits a string.
  ///
  /// - Parameter values: Receives the value of each placeholder; with room for as many as the string
  ///   has bytes.
  /// - Returns: Whether it could: false if the string is too long, or holds bytes that stand for
  ///   placeholders.
  mutating func split(
    _ string: UnsafeRawBufferPointer, to values: UnsafeMutablePointer<UInt64>
  ) -> Bool {
    guard string.count <= Self.maximumLength, inspect(string) else { return false }
    (self.values, length, count, copied) = (values, 0, 0, 0)
    var end = 0
    while let digit = first(in: digits, from: end) {
      let start = max(end, runStart(digit))
      end = takeRun(start, digit, first(in: others, from: digit) ?? size)
    }
    copyText(to: size)
    pattern.storeBytes(of: 0, toByteOffset: length, as: UInt64.self)
    return true
  }

  /// Copies a string, and finds out what its bytes are.
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
  /// - Parameter flipped: All bits, for the first one that is not set.
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

  /// Where the letters and digits begin that a digit is among.
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

  /// - Parameter digit: The first digit from `start` on.
  /// - Returns: Where to go on.
  @inline(__always)
  private mutating func takeRun(_ start: Int, _ digit: Int, _ end: Int) -> Int {
    if end &- start == 8, byte(end) == Self.hyphen, takeUUID(start) { return copied }
    if digit == start, (first(in: digits, from: start, .max) ?? size) >= end {
      takeDecimal(start, end)
    } else {
      takeMixed(start, end)
    }
    return end
  }

  private static let hyphen = UInt8(ascii: "-")

  /// Takes what has letters, too.
  private mutating func takeMixed(_ start: Int, _ end: Int) {
    let isPrefixed = end &- start > 2 && byte(start) == 0x30 && byte(start &+ 1) | 0x20 == 0x78
    let first = isPrefixed ? start &+ 2 : start
    var (numbers, isLower, isUpper, wasDigit) = (0, true, true, false)
    for place in first..<end {
      let byte = byte(place)
      let isDigit = byte &- 0x30 <= 9
      isLower = isLower && (isDigit || byte &- 0x61 < 6)
      isUpper = isUpper && (isDigit || byte &- 0x41 < 6)
      if isDigit && !wasDigit { numbers &+= 1 }
      wasDigit = isDigit
    }
    if isLower || isUpper, isPrefixed || end &- start >= Self.minimumHexadecimal {
      takeHexadecimal(first, end, isLower ? .lowerHexadecimal : .upperHexadecimal)
    } else if numbers <= Self.maximumNumbers {
      takeNumbers(start, end)
    }
  }

  private mutating func takeNumbers(_ start: Int, _ end: Int) {
    var place = start
    while place < end {
      let from = place
      while place < end, byte(place) &- 0x30 <= 9 { place &+= 1 }
      if place > from { takeDecimal(from, place) } else { place &+= 1 }
    }
  }

  // MARK: - Tokens

  /// Puts a placeholder for the bytes up to `end` into the pattern.
  @inline(__always)
  private mutating func take(_ placeholder: Placeholder, _ value: UInt64, _ start: Int, _ end: Int)
  {
    copyText(to: start)
    pattern.storeBytes(of: placeholder.rawValue, toByteOffset: length, as: UInt8.self)
    values[count] = value
    length &+= 1
    count &+= 1
    copied = end
  }

  @inline(__always)
  private mutating func copyText(to end: Int) {
    let (input, output) = (text + copied, pattern + length)
    var place = 0
    // Whole words: more than is there does no harm.
    while place < end &- copied {
      output.storeBytes(
        of: input.loadUnaligned(fromByteOffset: place, as: SIMD2<UInt64>.self),
        toByteOffset: place, as: SIMD2<UInt64>.self)
      place &+= 2 &* wordSize
    }
    length &+= end &- copied
  }

  @inline(__always)
  private mutating func takeDecimal(_ start: Int, _ end: Int) {
    var next = start
    while next < end {
      let first = next
      let last = min(end, first &+ ColumnLayout.maximumDigits)
      var number: UInt64 = 1
      while next < last {
        let count = min(wordSize, last &- next)
        number = number &* powers[count] &+ decimal(next, count)
        next &+= count
      }
      take(.decimal, number, first, last)
    }
  }

  /// The number of up to eight decimal digits: neighbors become one, three times.
  @inline(__always)
  private func decimal(_ place: Int, _ count: Int) -> UInt64 {
    var number =
      (word(place) ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 64 &- 8 &* count)
    number = (number &* 2561) >> 8 & 0x00FF_00FF_00FF_00FF
    number = (number &* 6_553_601) >> 16 & 0x0000_FFFF_0000_FFFF
    return (number &* 42_949_672_960_001) >> 32
  }

  private mutating func takeHexadecimal(_ start: Int, _ end: Int, _ placeholder: Placeholder) {
    var start = start
    if placeholder == .lowerHexadecimal {
      while end &- start >= 16 {
        let value = hexadecimalNumber(word(start)) << 32 | hexadecimalNumber(word(start &+ 8))
        take(.wholeHexadecimal, value, start, start &+ 16)
        start &+= 16
      }
    }
    while start < end {
      let count = min(end &- start, ColumnLayout.maximumHexadecimal)
      var value: UInt64 = 1
      for place in start..<start &+ count {
        let byte = UInt64(byte(place))
        value = value << 4 | (byte & 15 &+ byte >> 6 &* 9)
      }
      take(placeholder, value, start, start &+ count)
      start &+= count
    }
  }

  /// Takes a UUID as a whole, if one begins there: what its numbers would be written as is compared
  /// with what is there.
  @inline(never)
  private mutating func takeUUID(_ start: Int) -> Bool {
    guard start &+ 36 <= size, start &+ 36 == first(in: others, from: start &+ 24) ?? size,
      byte(start &+ 13) == Self.hyphen, byte(start &+ 18) == Self.hyphen,
      byte(start &+ 23) == Self.hyphen
    else { return false }
    func groups(_ first: Int, _ second: Int) -> UInt64 {
      word(start &+ first) & 0xFFFF_FFFF | word(start &+ second) << 32
    }
    let parts = (word(start), groups(9, 14), groups(19, 24), word(start &+ 28))
    let (a, b) = (hexadecimalNumber(parts.0), hexadecimalNumber(parts.1))
    let (c, d) = (hexadecimalNumber(parts.2), hexadecimalNumber(parts.3))
    guard hexadecimalDigits(a) == parts.0, hexadecimalDigits(b) == parts.1,
      hexadecimalDigits(c) == parts.2, hexadecimalDigits(d) == parts.3
    else { return false }
    take(.uuidStart, a << 32 | b, start, start &+ 18)
    take(.uuidEnd, c << 32 | d, start &+ 19, start &+ 36)
    return true
  }
}
