/// The different patterns of a column, in the order in which they first occur.
struct PatternTable: ~Copyable {
  struct Pattern {
    fileprivate let hash: UInt64
    /// Where it is in the table's bytes.
    fileprivate let start: Int
    let length: Int
    /// How many placeholders it has.
    let placeholders: Int
    /// How many strings it is the pattern of.
    var uses: Int
  }

  /// More patterns are not worth it.
  static let maximum = 8192
  private static let maximumSlots = 2 * maximum
  /// How many slots are searched for a pattern at most.
  private static let maximumSteps = 32

  private let table = UnsafeMutablePointer<UInt16>.allocate(capacity: maximumSlots)
  private var slots = 0
  /// Small at first: mostly there are few patterns, and the allocator keeps large memory after each
  /// store.
  private(set) var patterns = UnsafeMutablePointer<Pattern>.allocate(capacity: 256)
  private var capacity = 256
  private(set) var count = 0
  /// The number of placeholders of all patterns.
  private var placeholders = 0
  private var bytes = TextBuffer(capacity: 16 << 10)

  deinit {
    table.deallocate()
    patterns.deallocate()
  }

  /// Forgets all patterns, and makes room for those of `strings` strings.
  mutating func removeAll(strings: Int) {
    slots = min(Self.maximumSlots, 2 << bitWidth(UInt64(strings)))
    table.initialize(repeating: 0, count: slots)
    (count, placeholders) = (0, 0)
    bytes.removeAll()
  }

  func bytes(of pattern: Int) -> UnsafeRawBufferPointer {
    bytes.bytes.slice(patterns[pattern].start, patterns[pattern].length)
  }

  /// Whether a pattern comes before another, so that those which begin alike are together.
  func precedes(_ first: Int, _ second: Int) -> Bool {
    let (a, b) = (patterns[first], patterns[second])
    for offset in stride(from: 0, to: min(a.length, b.length), by: wordSize) {
      let words = (word(a.start + offset), word(b.start + offset))
      if words.0 != words.1 { return words.0 < words.1 }
    }
    return a.length < b.length
  }

  /// A word whose first byte is the highest.
  private func word(_ offset: Int) -> UInt64 {
    UInt64(bigEndian: bytes.base.load(fromByteOffset: offset, as: UInt64.self))
  }

  /// How many placeholders two patterns have in common before they differ.
  func shared(_ first: Int, _ second: Int) -> Int {
    let (a, b) = (bytes(of: first), bytes(of: second))
    var count = 0
    for index in 0..<min(a.count, b.count) {
      if a[index] != b[index] { break }
      if a[index] < Placeholder.limit { count += 1 }
    }
    return count
  }

  /// A hash of a pattern up to its first placeholder. The pattern must have one.
  func hashOfStart(_ pattern: Int) -> Int {
    let start = bytes.base + patterns[pattern].start
    var (hash, place) = (0 as UInt64, 0)
    while true {
      let byte = start.load(fromByteOffset: place, as: UInt8.self)
      hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
      if byte < Placeholder.limit { return Int(truncatingIfNeeded: hash >> 40) }
      place &+= 1
    }
  }

  /// Counts a use of a pattern, and returns its number. A new pattern gets a number; nil if there
  /// is no room.
  ///
  /// - Parameter bytes: Aligned to a word, with zeros behind them up to the next word.
  @inline(__always)
  mutating func use(_ bytes: UnsafeRawBufferPointer, placeholders: Int) -> Int? {
    guard let start = bytes.baseAddress else { return nil }
    let hash = hash(of: start, bytes.count)
    var slot = Int(truncatingIfNeeded: hash >> 40) & (slots &- 1)
    for _ in 0..<Self.maximumSteps {
      let found = Int(table[slot]) &- 1
      if found < 0 { return add(bytes, placeholders: placeholders, hash, slot) }
      if patterns[found].hash == hash, isEqual(found, start, bytes.count) {
        patterns[found].uses &+= 1
        return found
      }
      slot = (slot &+ 1) & (slots &- 1)
    }
    return nil
  }

  @inline(__always)
  private func isEqual(_ pattern: Int, _ start: UnsafeRawPointer, _ length: Int) -> Bool {
    patterns[pattern].length == length
      && equalWords(UnsafeRawPointer(bytes.base) + patterns[pattern].start, start, length)
  }

  @inline(never)
  private mutating func add(
    _ new: UnsafeRawBufferPointer, placeholders added: Int, _ hash: UInt64, _ slot: Int
  ) -> Int? {
    guard count < Self.maximum, placeholders + added <= ColumnLayout.maximumPlaceholders else {
      return nil
    }
    if count == capacity { grow() }
    (patterns + count).initialize(
      to: Pattern(
        hash: hash, start: bytes.count, length: new.count, placeholders: added, uses: 1))
    bytes.append(new)
    bytes.append(0, count: paddedSize(new.count) - new.count)
    placeholders += added
    count += 1
    table[slot] = UInt16(count)
    return count - 1
  }

  private mutating func grow() {
    let grown = UnsafeMutablePointer<Pattern>.allocate(capacity: 2 * capacity)
    grown.moveInitialize(from: patterns, count: count)
    patterns.deallocate()
    (patterns, capacity) = (grown, 2 * capacity)
  }
}
