/// Reads columns of numbers from hostile bytes.
struct NumberDecoder: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private let planes: UnsafeRawBufferPointer
  /// How far the planes have been read.
  private var planesOffset = 0
  /// Buffers for encodings within encodings, two for each depth.
  private let scratch = (0..<2 * ColumnLayout.deepest).map { _ in WordBuffer(capacity: 1) }

  /// - Parameters:
  ///   - bytes: Kept alive by the caller; the last ``slack`` of them hold no numbers.
  ///   - planes: Kept alive by the caller, too.
  init(_ bytes: UnsafeRawBufferPointer, planes: UnsafeRawBufferPointer) {
    (self.bytes, self.planes) = (bytes, planes)
  }

  /// How many bytes behind the numbers may be read, and mean nothing.
  static let slack = 16

  private var end: Int { bytes.count - Self.slack }
  var isAtEnd: Bool { offset == end && planesOffset == planes.count }

  mutating func byte() throws(FormatError) -> UInt8 {
    guard offset < end else { throw .truncated }
    defer { offset += 1 }
    return bytes[offset]
  }

  mutating func take(_ count: Int) throws(FormatError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= end - offset else { throw .truncated }
    defer { offset += count }
    return bytes.slice(offset, count)
  }

  mutating func varint() throws(FormatError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      let byte = try byte()
      value |= UInt64(byte & 0x7F) << shift
      // The tenth byte has the highest bit only.
      guard shift < 63 || byte <= 1 else { break }
      if byte < 0x80 { return value }
    }
    throw .invalid("number")
  }

  /// A number of things, of which there can be at most `maximum`.
  mutating func count(maximum: Int) throws(FormatError) -> Int {
    let count = try varint()
    guard count <= UInt64(maximum) else { throw .invalid("count in a column") }
    return Int(count)
  }

  private mutating func signed() throws(FormatError) -> UInt64 {
    let value = try varint()
    return value >> 1 ^ (0 &- (value & 1))
  }

  private func buffer(_ which: Int, _ depth: Int, _ count: Int) -> UnsafeMutablePointer<UInt64> {
    let buffer = scratch[2 * depth + which]
    buffer.grow(for: count)
    return buffer.base
  }

  /// Writes a column of `count` numbers to `values`, which has room for them.
  mutating func column(
    _ count: Int, to values: UnsafeMutablePointer<UInt64>, depth: Int = 0
  ) throws(FormatError) {
    if count == 0 { return }
    guard depth < ColumnLayout.deepest, let encoding = NumberEncoding(rawValue: try byte()) else {
      throw .invalid("encoding of a column")
    }
    switch encoding {
    case .constant: values.update(repeating: try signed(), count: count)
    case .packed: try packed(count, values, isPatched: false)
    case .patched: try packed(count, values, isPatched: true)
    case .differences: try differences(count, values, depth)
    case .dictionary: try dictionary(count, values, depth)
    case .decimals: try decimals(count, values, depth)
    case .runs: try runs(count, values, depth)
    case .planes: try planes(count, values)
    case .multiples: try multiples(count, values, depth)
    }
  }

  private mutating func packed(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, isPatched: Bool
  ) throws(FormatError) {
    var minimum: UInt64 = 0
    for start in stride(from: 0, to: count, by: ColumnLayout.block) {
      let size = min(ColumnLayout.block, count - start)
      minimum &+= try signed()
      let width = Int(try byte())
      let exceptions = isPatched ? Int(try byte()) : 0
      guard width <= 64, width < 64 || exceptions == 0 else { throw .invalid("width in a column") }
      let packed = try take(packedSize(size, width: width))
      guard let input = packed.baseAddress else { throw .truncated }
      unpack(input, count: size, minimum: minimum, width: width, to: values + start)
      for _ in 0..<exceptions {
        let position = Int(try byte())
        guard position < size else { throw .invalid("position in a column") }
        values[start + position] &+= try varint() << UInt64(width)
      }
    }
  }

  private mutating func differences(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, _ depth: Int
  ) throws(FormatError) {
    var value = try signed()
    try column(count - 1, to: values + 1, depth: depth + 1)
    values[0] = value
    for index in 1..<count {
      value &+= values[index]
      values[index] = value
    }
  }

  private mutating func dictionary(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, _ depth: Int
  ) throws(FormatError) {
    let entryCount = try self.count(maximum: count)
    let entries = buffer(0, depth, entryCount)
    try column(entryCount, to: entries, depth: depth + 1)
    try column(count, to: values, depth: depth + 1)
    for index in 0..<count {
      guard values[index] < entryCount else { throw .invalid("index in a column") }
      values[index] = entries[Int(values[index])]
    }
  }

  private mutating func decimals(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, _ depth: Int
  ) throws(FormatError) {
    let exponent = Int(try byte())
    guard exponent <= ColumnLayout.largestExponent else { throw .invalid("exponent in a column") }
    let power = powersOfTen[exponent]
    try column(count, to: values, depth: depth + 1)
    for index in 0..<count {
      guard let bits = decimalBits(values[index], power) else { throw .invalid("decimal") }
      values[index] = bits
    }
    let exceptionCount = try self.count(maximum: count)
    let positions = buffer(0, depth, exceptionCount)
    let exceptions = buffer(1, depth, exceptionCount)
    try column(exceptionCount, to: positions, depth: depth + 1)
    try column(exceptionCount, to: exceptions, depth: depth + 1)
    for index in 0..<exceptionCount {
      guard positions[index] < count else { throw .invalid("position in a column") }
      values[Int(positions[index])] = exceptions[index]
    }
  }

  private mutating func runs(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, _ depth: Int
  ) throws(FormatError) {
    let runCount = try self.count(maximum: count)
    let (firsts, lengths) = (buffer(0, depth, runCount), buffer(1, depth, runCount))
    try column(runCount, to: firsts, depth: depth + 1)
    try column(runCount, to: lengths, depth: depth + 1)
    var end = 0
    for run in 0..<runCount {
      guard lengths[run] <= count - end else { throw .invalid("run in a column") }
      (values + end).update(repeating: firsts[run], count: Int(lengths[run]))
      end += Int(lengths[run])
    }
    guard end == count else { throw .invalid("run in a column") }
  }

  private mutating func multiples(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>, _ depth: Int
  ) throws(FormatError) {
    let factor = try varint()
    let remainders = buffer(0, depth, count)
    try column(count, to: values, depth: depth + 1)
    try column(count, to: remainders, depth: depth + 1)
    for index in 0..<count { values[index] = values[index] &* factor &+ remainders[index] }
  }

  private mutating func planes(
    _ count: Int, _ values: UnsafeMutablePointer<UInt64>
  ) throws(FormatError) {
    values.update(repeating: try signed(), count: count)
    let width = try byte()
    let random = try byte()
    guard (1...8).contains(width), UInt64(random) >> UInt64(width) == 0 else {
      throw .invalid("planes of a column")
    }
    for plane in 0..<width {
      let (shift, isRandom) = (UInt64(plane) * 8, random >> plane & 1 != 0)
      let bytes = isRandom ? try take(count) : try takePlane(count)
      guard let bytes = bytes.baseAddress else { throw .truncated }
      for index in 0..<count {
        let byte = bytes.load(fromByteOffset: index, as: UInt8.self)
        values[index] &+= UInt64(byte) &<< shift
      }
    }
  }

  private mutating func takePlane(_ count: Int) throws(FormatError) -> UnsafeRawBufferPointer {
    guard count <= planes.count - planesOffset else { throw .truncated }
    defer { planesOffset += count }
    return planes.slice(planesOffset, count)
  }
}
