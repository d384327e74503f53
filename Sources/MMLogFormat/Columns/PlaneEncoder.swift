/// Writes the columns of numbers that belong to text: mostly in byte planes. A sample of a column
/// shows which encoding is the smallest.
final class PlaneEncoder {
  /// Differences are written if they take less than this share of what the numbers themselves take.
  private static let shareOfSteps: Float = 0.9
  /// A dictionary is written if it takes less than this share of what the numbers take otherwise.
  private static let shareOfDictionary: Float = 0.95
  /// Packed bits may take this multiple of what planes take: zlib has no work with them.
  private static let shareOfPacked: Float = 1.12
  /// The minimum number of numbers for which a dictionary is tried.
  private static let minimumIndexed = 33

  private let numbers: NumberEncoder
  private let planes: PlaneWriter
  private let distinct = DistinctTable()
  private let steps = WordBuffer()
  private let indexes = WordBuffer()

  init(_ numbers: NumberEncoder) { (self.numbers, planes) = (numbers, numbers.planes) }

  /// Appends a column of `count` numbers.
  func encode(
    _ values: UnsafePointer<UInt64>, count: Int, into sections: inout ColumnSections, depth: Int = 0
  ) {
    let range = ColumnRange(values, count: count)
    if count < 2 || range.width == 0 {
      return numbers.encode(values, count: count, depth: depth, into: &sections)
    }
    let profile = planes.profile(values, count: count, range)
    var (bits, isStepped) = (profile.bits, false)
    if depth == 0 {
      let stepped = planes.profileOfSteps()
      isStepped = stepped.bits < bits * Self.shareOfSteps
      if isStepped { bits = stepped.bits }
    }
    if range.width > 8, bits > (depth == 0 ? 1 : 8),
      encodeDictionary(values, count, below: bits, depth, into: &sections)
    {
      return
    }
    if isStepped { return encodeSteps(values, count, into: &sections) }
    encode(values, count, range, profile, depth, into: &sections)
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

  /// Writes a dictionary if there are few different numbers.
  ///
  /// - Parameter bits: What each number would cost otherwise.
  private func encodeDictionary(
    _ values: UnsafePointer<UInt64>, _ count: Int, below bits: Float, _ depth: Int,
    into sections: inout ColumnSections
  ) -> Bool {
    indexes.grow(for: count)
    let (indexes, sampled) = (indexes.base, planes.sampled)
    let limit = min(count / 2, DistinctTable.maximum)
    guard count >= Self.minimumIndexed,
      distinct.index(planes.sample, count: sampled, limit: sampled * 3 / 4, indexes),
      distinct.index(values, count: count, limit: limit, indexes)
    else { return false }
    let number = distinct.count
    let entryBits = min(bits, Float(ColumnRange(distinct.values, count: number).width))
    let range = ColumnRange(below: number)
    let profile = planes.profile(indexes, count: count, range)
    let size = profile.bits * Float(count) + entryBits * Float(number)
    guard size < bits * Float(count) * Self.shareOfDictionary else { return false }
    sections.numbers.append(NumberEncoding.dictionary.rawValue)
    sections.numbers.append(varint: number)
    numbers.encode(distinct.values, count: number, depth: depth + 1, into: &sections)
    encode(indexes, count, range, profile, depth + 1, into: &sections)
    return true
  }

  /// Writes planes, or packed bits if these are about as small.
  private func encode(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ range: ColumnRange, _ profile: PlaneProfile,
    _ depth: Int, into sections: inout ColumnSections
  ) {
    if Float(range.width) <= profile.bits * Self.shareOfPacked {
      return numbers.encode(values, count: count, depth: depth, into: &sections)
    }
    planes.append(values, count: count, range, profile, to: &sections)
  }
}
