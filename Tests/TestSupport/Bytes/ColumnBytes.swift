/// Columns written by hand, in whatever way a test wants them: FORMAT.md, 10.
package struct ColumnBytes {
  package var numbers: [UInt8] = []
  package var planes: [UInt8] = []
  package var text: [UInt8] = []

  package init(numbers: [UInt8] = [], planes: [UInt8] = [], text: [UInt8] = []) {
    (self.numbers, self.planes, self.text) = (numbers, planes, text)
  }

  package static func + (a: ColumnBytes, b: ColumnBytes) -> ColumnBytes {
    ColumnBytes(
      numbers: a.numbers + b.numbers, planes: a.planes + b.planes, text: a.text + b.text)
  }

  package static func bytes(_ bytes: UInt8...) -> ColumnBytes { ColumnBytes(numbers: bytes) }

  package static func varint(_ value: some BinaryInteger) -> ColumnBytes {
    var (rest, bytes) = (UInt64(value), [] as [UInt8])
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return ColumnBytes(numbers: bytes + [UInt8(rest)])
  }

  package static func signed(_ value: UInt64) -> ColumnBytes {
    varint(value << 1 ^ (value >> 63 == 0 ? 0 : .max))
  }
}

// MARK: - Columns of numbers

extension ColumnBytes {
  package typealias Numbers = ([UInt64]) -> ColumnBytes

  package static func constant(_ value: UInt64) -> ColumnBytes { bytes(0) + signed(value) }
  package static func constant(_ values: [UInt64]) -> ColumnBytes { constant(values[0]) }

  /// - Parameter width: The minimum number of bits; a block that needs more gets more.
  package static func packed(_ values: [UInt64], width: Int = 0) -> ColumnBytes {
    blocks(1, values) { block, last in
      let base = block.min { Int64(bitPattern: $0) < Int64(bitPattern: $1) } ?? 0
      let offsets = block.map { $0 &- base }
      let needed = max(width, offsets.map { 64 - $0.leadingZeroBitCount }.max() ?? 0)
      defer { last = base }
      return signed(base &- last) + bytes(UInt8(needed)) + bits(offsets, needed)
    }
  }

  package static func packed(_ values: [UInt64]) -> ColumnBytes { packed(values, width: 0) }

  /// Packed with `width` bits, and an exception for each number that has more.
  package static func patched(_ values: [UInt64], width: Int) -> ColumnBytes {
    blocks(6, values) { block, last in
      let base = block.min { Int64(bitPattern: $0) < Int64(bitPattern: $1) } ?? 0
      let offsets = block.map { $0 &- base }
      let exceptions = offsets.enumerated().filter { width < 64 && $1 >> width != 0 }
      defer { last = base }
      return exceptions.reduce(
        signed(base &- last) + bytes(UInt8(width), UInt8(exceptions.count)) + bits(offsets, width)
      ) { $0 + bytes(UInt8($1.offset)) + varint($1.element >> width) }
    }
  }

  private static func blocks(
    _ encoding: UInt8, _ values: [UInt64], _ block: ([UInt64], inout UInt64) -> ColumnBytes
  ) -> ColumnBytes {
    var (result, last) = (bytes(encoding), 0 as UInt64)
    for start in stride(from: 0, to: values.count, by: 128) {
      result = result + block(Array(values[start..<min(start + 128, values.count)]), &last)
    }
    return result
  }

  private static func bits(_ values: [UInt64], _ width: Int) -> ColumnBytes {
    var bytes = [UInt8](repeating: 0, count: (values.count * width + 7) / 8)
    for (index, value) in values.enumerated() {
      for bit in 0..<width where value >> bit & 1 == 1 {
        bytes[(index * width + bit) / 8] |= 1 << ((index * width + bit) % 8)
      }
    }
    return ColumnBytes(numbers: bytes)
  }

  package static func differences(_ values: [UInt64], _ steps: Numbers = packed) -> ColumnBytes {
    let found = zip(values.dropFirst(), values).map { $0 &- $1 }
    return bytes(2) + signed(values[0]) + (found.isEmpty ? ColumnBytes() : steps(found))
  }

  package static func dictionary(
    _ values: [UInt64], entries: Numbers = packed, indexes: Numbers = packed
  ) -> ColumnBytes {
    let found = values.distinct
    return bytes(3) + varint(found.count) + entries(found)
      + indexes(values.map { UInt64(found.firstIndex(of: $0) ?? 0) })
  }

  /// - Parameter exceptions: Doubles that replace those of the whole numbers, by position.
  package static func decimals(
    _ exponent: UInt8, _ wholes: [Int64], _ exceptions: [(position: UInt64, bits: UInt64)] = [],
    numbers: Numbers = packed
  ) -> ColumnBytes {
    let head = bytes(4, exponent) + numbers(wholes.map { UInt64(bitPattern: $0) })
    if exceptions.isEmpty { return head + varint(0) }
    return head + varint(exceptions.count) + packed(exceptions.map(\.position))
      + packed(exceptions.map(\.bits))
  }

  package static func runs(
    _ values: [UInt64], firsts: Numbers = packed, lengths: Numbers = packed
  ) -> ColumnBytes {
    var found: [(value: UInt64, count: UInt64)] = []
    for value in values {
      if found.last?.value != value { found.append((value, 0)) }
      found[found.count - 1].count += 1
    }
    return bytes(5) + varint(found.count) + firsts(found.map(\.value))
      + lengths(found.map(\.count))
  }

  package static func multiples(_ values: [UInt64], of factor: UInt64) -> ColumnBytes {
    bytes(8) + varint(factor) + packed(values.map { $0 / factor })
      + packed(values.map { $0 % factor })
  }
}

extension ColumnBytes {
  /// - Parameters:
  ///   - width: How many bytes each number has after the minimum is subtracted.
  ///   - random: Bit *i* is set if plane *i* stands among the numbers.
  package static func planes(_ values: [UInt64], width: Int, random: UInt8) -> ColumnBytes {
    let base = values.min { Int64(bitPattern: $0) < Int64(bitPattern: $1) } ?? 0
    return (0..<width).reduce(
      bytes(7) + signed(base) + bytes(UInt8(width), random)
    ) { column, plane in
      let bytes = values.map { UInt8(truncatingIfNeeded: ($0 &- base) >> (8 * plane)) }
      let isRandom = random >> plane & 1 != 0
      return column + (isRandom ? ColumnBytes(numbers: bytes) : ColumnBytes(planes: bytes))
    }
  }
}

// MARK: - Columns of strings

extension ColumnBytes {
  package static func plain(_ strings: [[UInt8]], lengths: Numbers = packed) -> ColumnBytes {
    bytes(0) + lengths(strings.map { UInt64($0.count) })
      + ColumnBytes(text: Array(strings.joined()))
  }

  package static func plain(_ strings: [[UInt8]]) -> ColumnBytes { plain(strings, lengths: packed) }

  package static func dictionary(_ strings: [[UInt8]]) -> ColumnBytes {
    let found = strings.distinct
    var entries = plain(found)
    entries.numbers.removeFirst()
    return bytes(1) + varint(found.count) + entries
      + packed(strings.map { UInt64(found.firstIndex(of: $0) ?? 0) })
  }

  /// A string: a pattern and its values, or, if it is loose, the string itself.
  package struct Patterned {
    package let pattern: [UInt8]
    package let values: [UInt64]
    package let isLoose: Bool

    package init(_ pattern: [UInt8], _ values: [UInt64] = [], isLoose: Bool = false) {
      (self.pattern, self.values, self.isLoose) = (pattern, values, isLoose)
    }
  }

  private static func isPlaceholder(_ byte: UInt8) -> Bool { byte < 6 }

  /// Patterns stand in the order in which they first occur.
  ///
  /// - Parameter sharesAll: Whether each pattern shares as many placeholders with the one before as
  ///   it can; if not, it shares none.
  package static func patterns(
    _ strings: [Patterned], sharesAll: Bool = true, column: Numbers = packed
  ) -> ColumnBytes {
    let patterns = strings.filter { !$0.isLoose }.map(\.pattern).distinct
    var (shared, rests, columns, kinds): ([Int], [[UInt8]], [[Int]], [UInt8]) = ([], [], [], [])
    for (index, pattern) in patterns.enumerated() {
      let before = index > 0 && sharesAll ? patterns[index - 1] : []
      let length = zip(before, pattern).prefix { $0 == $1 }.count
      let common = pattern.prefix(length).count(where: isPlaceholder)
      shared.append(common)
      let end = pattern.prefix(length).lastIndex(where: isPlaceholder).map { $0 + 1 } ?? 0
      rests.append(Array(pattern[end...]))
      let new = pattern[end...].filter(isPlaceholder)
      columns.append(
        (columns.last ?? []).prefix(common) + new.indices.map { kinds.count + $0 })
      kinds += new
    }
    var result = bytes(2) + varint(patterns.count)
    func append(_ values: [UInt64], _ text: [[UInt8]] = []) {
      if !values.isEmpty { result = result + column(values) }
      result.text += text.joined()
    }
    append(shared.map { UInt64($0) })
    append(rests.map { UInt64($0.count) }, rests)
    let loose = strings.filter(\.isLoose).map(\.pattern)
    let indexes = strings.map { string in
      string.isLoose ? 0 : UInt64((patterns.firstIndex(of: string.pattern) ?? 0) + 1)
    }
    append(indexes)
    append(loose.map { UInt64($0.count) }, loose)
    var values = [[UInt64]](repeating: [], count: kinds.count)
    for (string, index) in zip(strings, indexes) where index > 0 {
      for (place, value) in zip(columns[Int(index) - 1], string.values) {
        values[place].append(value)
      }
    }
    for found in values where found.count >= 24 { append(found) }
    for kind in 0..<6 as Range<UInt8> {
      append(zip(kinds, values).filter { $0 == kind && $1.count < 24 }.flatMap(\.1))
    }
    return result
  }
}

extension Array where Element: Hashable {
  /// The different elements, in the order in which they first occur.
  fileprivate var distinct: [Element] {
    var known: Set<Element> = []
    return filter { known.insert($0).inserted }
  }
}

// MARK: - The payload

extension ColumnBytes {
  /// The whole payload.
  ///
  /// - Parameter isDeflated: Whether its parts go through zlib, which here makes them no smaller.
  package func payload(isDeflated: Bool = false) -> [UInt8] {
    let parts = [numbers, planes, text]
    let stored = isDeflated ? parts.map(Self.deflated) : parts
    let sizes = zip(stored, parts).flatMap { [$0.count, $1.count] }
    return sizes.flatMap { size in (0..<4).map { UInt8(size >> ($0 * 8) & 255) } }
      + stored.joined()
  }

  /// A zlib stream whose blocks are stored as they are: the same bytes with every zlib.
  private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
    var (result, a, b): ([UInt8], UInt32, UInt32) = ([0x78, 0x01], 1, 0)
    let starts = bytes.isEmpty ? [0] : Array(stride(from: 0, to: bytes.count, by: 0xFFFF))
    for start in starts {
      let block = bytes[start..<min(start + 0xFFFF, bytes.count)]
      let size = UInt16(block.count)
      result.append(start == starts.last ? 1 : 0)
      for word in [size, ~size] { result += [UInt8(word & 255), UInt8(word >> 8)] }
      result += block
    }
    for byte in bytes {
      a = (a + UInt32(byte)) % 65521
      b = (b + a) % 65521
    }
    return result + [UInt8(b >> 8), UInt8(b & 255), UInt8(a >> 8), UInt8(a & 255)]
  }
}
