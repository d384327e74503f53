/// Reads columns of strings from hostile bytes. Holds the bytes, and gives the strings' places in
/// them.
struct StringDecoder: ~Copyable {
  /// The text of the payload, and behind it what was put together from patterns.
  private var bytes: TextBuffer
  private let textSize: Int
  /// How far the text has been read.
  private var next = 0
  /// How many more bytes the strings that are put together may take, and how many more their
  /// patterns.
  private var (budget, patternBudget): (Int, Int)
  private let entries = WordBuffer(capacity: 1)
  private let indexes = WordBuffer(capacity: 1)
  private let patterns = PatternDecoder()

  init(_ text: UnsafeRawBufferPointer, limit: Int) {
    bytes = TextBuffer(capacity: text.count)
    bytes.append(text)
    (textSize, budget, patternBudget) = (text.count, limit, limit)
  }

  /// The start that places are counted from. Valid until the next column is read.
  var base: UnsafeRawPointer { UnsafeRawPointer(bytes.base) }

  /// All strings that were read, and what they were put together from.
  var text: UnsafeRawBufferPointer { bytes.bytes }

  var isAtEnd: Bool { next == textSize }

  /// Writes the places of a column of `count` strings to `places`, which has room for them: words
  /// as of ``StringRange``.
  mutating func column(
    _ count: Int, to places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    if count == 0 { return }
    switch try encoding(&input) {
    case .plain: try plain(count, places, &input)
    case .dictionary: try dictionary(count, places, &input)
    case .patterns: try patterns(count, places, &input)
    }
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

  private mutating func dictionary(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
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
  }

  private mutating func patterns(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    // All at once: a buffer that grows is copied, and the kernel clears its pages each time.
    bytes.reserve(patternBudget + budget)
    try readPatterns(count, places, &input)
    for index in 0..<count where indexes.base[index] > 0 {
      places[index] = try patterns.append(Int(indexes.base[index]) - 1, to: &bytes, &budget).word
    }
  }

  /// Reads a column of `count` strings, and returns whether letters may occur where a number was
  /// taken out of one.
  ///
  /// - Parameter places: Room for `count` words.
  mutating func mayShow(
    _ letters: HexadecimalLetters, _ count: Int, places: UnsafeMutablePointer<UInt64>,
    _ input: inout NumberDecoder
  ) throws(FormatError) -> Bool {
    if count == 0 { return false }
    switch try encoding(&input) {
    case .plain: try plain(count, places, &input)
    case .dictionary: try dictionary(count, places, &input)
    case .patterns:
      try readPatterns(count, places, &input)
      return patterns.mayShow(letters, bytes.bytes)
    }
    return false
  }

  private func encoding(_ input: inout NumberDecoder) throws(FormatError) -> StringEncoding {
    guard let encoding = StringEncoding(rawValue: try input.byte()) else {
      throw .invalid("encoding of a column")
    }
    return encoding
  }

  /// Reads all but the strings that have a pattern: these are still to be put together.
  private mutating func readPatterns(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    let patternCount = try input.count(maximum: count)
    entries.grow(for: patternCount)
    indexes.grow(for: count)
    let (entries, indexes) = (entries.base, indexes.base)
    try patterns.readShared(patternCount, &input)
    try plain(patternCount, entries, &input)
    try patterns.readPatterns(patternCount, entries, &bytes, &patternBudget)
    try input.column(count, to: indexes)
    try readLoose(count, places, &input)
    try patterns.readValues(of: indexes, count, maximum: budget, &input)
  }

  /// Reads the strings that have no pattern.
  private mutating func readLoose(
    _ count: Int, _ places: UnsafeMutablePointer<UInt64>, _ input: inout NumberDecoder
  ) throws(FormatError) {
    var loose = 0
    for index in 0..<count where indexes.base[index] == 0 { loose += 1 }
    try plain(loose, places, &input)
    for index in stride(from: count - 1, through: 0, by: -1) where indexes.base[index] == 0 {
      loose -= 1
      places[index] = places[loose]
    }
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
