/// Writes the columns of numbers that belong to text: mostly in byte planes, which zlib compresses.
/// A sample of a column shows what is the smallest.
final class PlaneEncoder {
  /// Numbers that are inspected.
  private static let sampleSize = 128
  /// Numbers in a row of those.
  private static let sampleRun = 32
  /// Bits of a byte, of the eight that it may have, that are too many for zlib to save any: what a
  /// sample of random bytes has is less than eight.
  private static let randomBits: Float = 6.6
  /// Differences are written where they take less than this of the numbers themselves.
  private static let shareOfSteps: Float = 0.9
  /// Packed bits may take so much more than planes: zlib has no work with them.
  private static let shareOfPacked: Float = 1.12
  /// A dictionary is tried for so many numbers and more.
  private static let minimumIndexed = 33

  private let numbers: NumberEncoder
  private let distinct = DistinctTable()
  private let sample = WordBuffer(capacity: sampleSize)
  private let sampleSteps = WordBuffer(capacity: sampleSize)
  private let steps = WordBuffer()
  private let indexes = WordBuffer()
  private let frequencies = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
  /// Each number up to the sample's size times its logarithm to base 2, in 64ths.
  private let products = UnsafeMutablePointer<UInt32>.allocate(capacity: sampleSize + 1)

  init(_ numbers: NumberEncoder) {
    self.numbers = numbers
    products[0] = 0
    for number in 1...Self.sampleSize {
      let number = Float(number)
      let part = number.significand - 1
      let logarithm = Float(number.exponent) + part + 0.344 * part * (1 - part)
      products[Int(number)] = UInt32(64 * number * logarithm)
    }
  }

  deinit {
    frequencies.deallocate()
    products.deallocate()
  }

  /// Appends a column of `count` numbers.
  func encode(
    _ values: UnsafePointer<UInt64>, count: Int, into sections: inout ColumnSections, depth: Int = 0
  ) {
    let range = range(values, count)
    if count < 2 || range.width == 0 {
      return numbers.encode(values, count: count, depth: depth, into: &sections.numbers)
    }
    let sampled = takeSample(values, count)
    let profile = self.profile(sample.base, sampled, range)
    if depth == 0 {
      let stepRange = self.range(sampleSteps.base, sampled)
      let stepped = self.profile(sampleSteps.base, sampled, stepRange)
      if stepped.bits < profile.bits * Self.shareOfSteps {
        return encodeSteps(values, count, into: &sections)
      }
    }
    if range.width > 8, depth == 0 || profile.bits > 8,
      encodeDictionary(values, count, sampled, profile.bits, depth, into: &sections)
    {
      return
    }
    if Float(range.width) <= profile.bits * Self.shareOfPacked {
      return numbers.encode(values, count: count, depth: depth, into: &sections.numbers)
    }
    encodePlanes(values, count, range, random: profile.random, into: &sections)
  }

  /// The least of the numbers, as signed ones, and how many bits they have above it.
  @inline(__always)
  private func range(_ values: UnsafePointer<UInt64>, _ count: Int) -> (base: UInt64, width: Int) {
    var (minimum, maximum) = (Int64.max, Int64.min)
    for index in 0..<count {
      let value = Int64(bitPattern: values[index])
      (minimum, maximum) = (min(minimum, value), max(maximum, value))
    }
    return (UInt64(bitPattern: minimum), bitWidth(UInt64(bitPattern: maximum &- minimum)))
  }

  /// - Returns: How many numbers there are in ``sample``, and with the one before each in
  ///   ``sampleSteps``.
  private func takeSample(_ values: UnsafePointer<UInt64>, _ count: Int) -> Int {
    let runs = count <= Self.sampleSize ? 1 : Self.sampleSize / Self.sampleRun
    let length = count <= Self.sampleSize ? count - 1 : Self.sampleRun
    for run in 0..<runs {
      let start = 1 + (count - 1 - length) * run / max(1, runs - 1)
      for index in 0..<length {
        sample.base[run &* length &+ index] = values[start &+ index]
        sampleSteps.base[run &* length &+ index] =
          values[start &+ index] &- values[start &+ index &- 1]
      }
    }
    return runs * length
  }

  /// What planes would cost, in bits for each number, and which of them look random: zlib would
  /// make these no smaller.
  private func profile(
    _ sample: UnsafePointer<UInt64>, _ count: Int, _ range: (base: UInt64, width: Int)
  ) -> (bits: Float, random: UInt8) {
    var result: (bits: Float, random: UInt8) = (0, 0)
    let all = Float(products[count]) / Float(count) / 64
    for plane in 0..<(range.width + 7) / 8 {
      let bits = all - frequencyBits(sample, count, range.base, plane) / Float(count)
      let isRandom = bits > all * Self.randomBits / 8
      result.bits += isRandom ? 8 : bits
      if isRandom { result.random |= 1 << UInt8(plane) }
    }
    return result
  }

  /// The sum of each byte's frequency times its logarithm.
  private func frequencyBits(
    _ sample: UnsafePointer<UInt64>, _ count: Int, _ base: UInt64, _ plane: Int
  ) -> Float {
    let shift = UInt64(truncatingIfNeeded: 8 &* plane)
    let (frequencies, products) = (frequencies, products)
    frequencies.update(repeating: 0, count: 256)
    for index in 0..<count {
      frequencies[Int(truncatingIfNeeded: (sample[index] &- base) &>> shift & 0xFF)] &+= 1
    }
    var sum: UInt32 = 0
    for byte in 0..<256 { sum &+= products[Int(frequencies[byte])] }
    return Float(sum) / 64
  }

  private func encodeSteps(
    _ values: UnsafePointer<UInt64>, _ count: Int, into sections: inout ColumnSections
  ) {
    sections.numbers.append(NumberEncoding.differences.rawValue)
    sections.numbers.append(signed: values[0])
    steps.grow(for: count)
    for index in 1..<count { steps.base[index &- 1] = values[index] &- values[index &- 1] }
    encode(steps.base, count: count - 1, into: &sections, depth: 1)
  }

  /// Where there are few different numbers.
  ///
  /// - Parameter bits: What planes of each would cost.
  private func encodeDictionary(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ sampled: Int, _ bits: Float,
    _ depth: Int, into sections: inout ColumnSections
  ) -> Bool {
    indexes.grow(for: count)
    let indexes = indexes.base
    let limit = min(count / 2, DistinctTable.maximum)
    guard count >= Self.minimumIndexed,
      distinct.index(sample.base, count: sampled, limit: sampled * 3 / 4, indexes),
      distinct.index(values, count: count, limit: limit, indexes)
    else { return false }
    let number = distinct.count
    let range = (base: 0 as UInt64, width: bitWidth(UInt64(number - 1)))
    let indexed = takeSample(indexes, count)
    let profile = self.profile(sample.base, indexed, range)
    guard profile.bits * Float(count) + bits * Float(number) < bits * Float(count) * 0.95 else {
      return false
    }
    sections.numbers.append(NumberEncoding.dictionary.rawValue)
    sections.numbers.append(varint: number)
    steps.grow(for: number)
    steps.base.update(from: distinct.values, count: number)
    numbers.encode(steps.base, count: number, depth: depth + 1, into: &sections.numbers)
    encodePlanes(indexes, count, range, random: profile.random, into: &sections)
    return true
  }

  private func encodePlanes(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ range: (base: UInt64, width: Int),
    random: UInt8, into sections: inout ColumnSections
  ) {
    let width = (range.width + 7) / 8
    sections.numbers.append(NumberEncoding.planes.rawValue)
    sections.numbers.append(signed: range.base)
    sections.numbers.append(UInt8(width))
    sections.numbers.append(random)
    for plane in 0..<width {
      if random >> UInt8(plane) & 1 != 0 {
        append(plane, of: values, count, range.base, to: &sections.numbers)
      } else {
        append(plane, of: values, count, range.base, to: &sections.planes)
      }
    }
  }

  @inline(__always)
  private func append(
    _ plane: Int, of values: UnsafePointer<UInt64>, _ count: Int, _ base: UInt64,
    to sink: inout TextBuffer
  ) {
    let shift = UInt64(truncatingIfNeeded: 8 &* plane)
    sink.append(maximum: count) { bytes in
      for index in 0..<count {
        bytes[index] = UInt8(truncatingIfNeeded: (values[index] &- base) &>> shift)
      }
      return count
    }
  }
}
