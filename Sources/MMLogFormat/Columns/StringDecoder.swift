/// Reads columns of strings from hostile bytes: the places of bytes that it holds.
struct StringDecoder: ~Copyable {
  /// The text of the payload, and behind it what was put together from skeletons.
  private var bytes: TextBuffer
  private let textSize: Int
  /// How far the text has been read.
  private var next = 0
  /// How large all that is put together may become.
  private var budget: Int
  private let entries = WordBuffer(capacity: 1)
  private let indexes = WordBuffer(capacity: 1)
  private let numbers = SkeletonNumbers()

  init(_ text: UnsafeRawBufferPointer, limit: Int) {
    bytes = TextBuffer(capacity: text.count)
    bytes.append(text)
    (textSize, budget) = (text.count, limit)
  }

  /// What places are counted from; until the next column is read.
  var base: UnsafeRawPointer { UnsafeRawPointer(bytes.base) }
  var isAtEnd: Bool { next == textSize }

  /// Writes the places of a column of `count` strings to `places`, which has room for them: words
  /// as of ``StringRange``.
  mutating func column(
    _ count: Int, to places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    if count == 0 { return }
    switch try encoding(&input) {
    case .plain: try plain(count, places, &input)
    case .dictionary: _ = try dictionary(count, places, &input)
    case .skeletons: try skeletons(count, places, &input)
    }
  }

  private func encoding(_ input: inout NumberDecoder) throws(FormatError) -> StringEncoding {
    guard let encoding = StringEncoding(rawValue: try input.byte()) else {
      throw .invalid("encoding of a column")
    }
    return encoding
  }

  private mutating func plain(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    try input.column(count, to: places)
    for index in 0..<count {
      let length = places[index]
      guard length <= UInt64(textSize - next) else { throw .invalid("length of a string") }
      places[index] = StringRange(next, Int(length)).word
      next += Int(length)
    }
  }

  /// - Returns: How many entries there are; ``indexes`` has which of them each string is.
  private mutating func dictionary(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) -> Int {
    let entryCount = try input.count(maximum: count)
    entries.grow(for: entryCount)
    indexes.grow(for: count)
    let (entries, indexes) = (entries.base, indexes.base)
    try plain(entryCount, entries, &input)
    try input.column(count, to: indexes)
    for index in 0..<count {
      guard indexes[index] < entryCount else { throw .invalid("index of a string") }
      places[index] = entries[Int(indexes[index])]
    }
    return entryCount
  }

  private mutating func skeletons(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    var entryCount = 0
    switch try encoding(&input) {
    case .plain: try plain(count, places, &input)
    case .dictionary: entryCount = try dictionary(count, places, &input)
    case .skeletons: throw .invalid("encoding of a column")
    }
    // Each number is a byte, at least, of what is put together.
    let maximum = min(ColumnLayout.maximumNumbers, budget)
    if entryCount > 0 {
      numbers.count(entries.base, entryCount, in: base)
      try numbers.addUp(indexes.base, count, maximum: maximum)
    } else {
      numbers.count(places, count, in: base)
      try numbers.addUp(nil, count, maximum: maximum)
    }
    let minimumUses = try input.varint()
    try numbers.read(count, entryCount, indexes.base, minimumUses: minimumUses, &input)
    for index in 0..<count { places[index] = try fill(StringRange(places[index]), index).word }
  }

  /// Puts a skeleton together with the numbers of that string.
  private mutating func fill(
    _ skeleton: StringRange, _ string: Int
  ) throws(FormatError) -> StringRange {
    let range = numbers.range(of: string)
    guard skeleton.length - range.count <= budget else { throw .invalid("length of a string") }
    bytes.reserve(skeleton.length + range.count * SkeletonNumbers.maximumDigits)
    let output = bytes.base + bytes.count
    let input = UnsafeRawPointer(bytes.base) + skeleton.start
    var (length, number) = (0, range.lowerBound)
    for index in 0..<skeleton.length {
      let byte = input.load(fromByteOffset: index, as: UInt8.self)
      if byte == ColumnLayout.placeholder {
        length &+= try SkeletonNumbers.write(numbers[number], to: output + length)
        number &+= 1
      } else {
        output.storeBytes(of: byte, toByteOffset: length, as: UInt8.self)
        length &+= 1
      }
    }
    budget -= length
    guard budget >= 0 else { throw .invalid("length of a string") }
    let start = bytes.count
    bytes.append(maximum: 0) { _ in length }
    return StringRange(start, length)
  }
}

/// Where a string stands: offset and length, of 32 bits each, in one word.
struct StringRange {
  let word: UInt64

  init(_ word: UInt64) { self.word = word }
  init(_ start: Int, _ length: Int) {
    word = UInt64(truncatingIfNeeded: start) << 32 | UInt64(truncatingIfNeeded: length)
  }

  var start: Int { Int(truncatingIfNeeded: word >> 32) }
  var length: Int { Int(truncatingIfNeeded: word & 0xFFFF_FFFF) }
  /// With the zeros up to the next word.
  var paddedLength: Int { paddedSize(length) }
}
