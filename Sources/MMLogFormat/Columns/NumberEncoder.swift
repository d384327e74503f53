/// Writes columns of numbers, each in the cheapest of a few ways. FORMAT.md, 10, says what they
/// are.
///
/// Works on words: signed and unsigned numbers, and the bits of floating-point ones. Allocates
/// nothing once its buffers are large enough.
final class NumberEncoder {
  /// Buffers for encodings within encodings, two for each depth.
  private let scratch = (0..<2 * ColumnLayout.deepest).map { _ in WordBuffer() }
  private let distinct = DistinctTable()
  let planes = PlaneWriter()
  /// Whether byte planes are written where these are smaller than bits: zlib and readers take more
  /// time for them.
  var usesPlanes = false

  /// Appends a column of `count` numbers to `sections`; for no numbers, nothing.
  ///
  /// - Parameter areDoubles: Whether they are the bits of doubles, which may be decimals.
  func encode(
    _ values: UnsafePointer<UInt64>, count: Int, areDoubles: Bool = false, depth: Int = 0,
    into sections: inout ColumnSections
  ) {
    guard count > 0 else { return }
    if isConstant(values, count) {
      sections.numbers.append(NumberEncoding.constant.rawValue)
      sections.numbers.append(signed: values[0])
      return
    }
    let mayNest = depth < ColumnLayout.deepest - 1
    if mayNest, areDoubles, encodeDecimals(values, count, depth, into: &sections) { return }
    let profile = NumberProfile(values, count: count)
    if mayNest {
      if encodeRuns(values, count, depth, profile, into: &sections) { return }
      let cost = min(profile.packed, profile.patched, profile.differences)
      // Numbers that take a byte or less are read faster as they are.
      lazy var factor = cost > count ? commonFactor(values, count: count) : nil
      if encodeDictionary(
        values, count, depth, below: cost, costOfMultiples(values, count, cost, of: factor),
        into: &sections)
      {
        return
      }
      if profile.differences + 8 < min(profile.packed, profile.patched) {
        encodeDifferences(values, count, depth, into: &sections)
        return
      }
      if let factor {
        encodeMultiples(values, count, depth, of: factor, into: &sections)
        return
      }
    }
    let bits = min(profile.packed, profile.patched)
    if usesPlanes, encodePlanes(values, count, below: bits, into: &sections) { return }
    let isPatched = profile.patched + profile.packed / 16 < profile.packed
    encodePacked(values, count, isPatched: isPatched, into: &sections.numbers)
  }

  /// Writes planes if bytes are distributed less evenly than bits.
  private func encodePlanes(
    _ values: UnsafePointer<UInt64>, _ count: Int, below cost: Int,
    into sections: inout ColumnSections
  ) -> Bool {
    // With fewer numbers, a sample says nothing.
    guard count >= 32 else { return false }
    let range = ColumnRange(values, count: count)
    let profile = planes.profile(values, count: count, range)
    let size = Int(profile.bits * Float(count)) / 8
    guard size + size / 16 < cost else { return false }
    planes.append(values, count: count, range, profile, to: &sections)
    return true
  }

  @inline(__always)
  private func isConstant(_ values: UnsafePointer<UInt64>, _ count: Int) -> Bool {
    let first = values[0]
    for index in 1..<count where values[index] != first { return false }
    return true
  }

  private func buffer(_ which: Int, _ depth: Int, _ count: Int) -> UnsafeMutablePointer<UInt64> {
    let buffer = scratch[2 * depth + which]
    buffer.grow(for: count)
    return buffer.base
  }

  private func encodePacked(
    _ values: UnsafePointer<UInt64>, _ count: Int, isPatched: Bool, into sink: inout TextBuffer
  ) {
    sink.append((isPatched ? NumberEncoding.patched : .packed).rawValue)
    var last: UInt64 = 0
    var known: PackedBlock?
    for start in stride(from: 0, to: count, by: ColumnLayout.block) {
      let (values, size) = (values + start, min(ColumnLayout.block, count - start))
      let sizeBefore = sink.count
      // Mostly, base and width of the block before suit a block, too. Packing shows whether they
      // do.
      if let known, isPatched ? known.fits(values, count: size) : true,
        append(known, values, size, after: last, isPatched, to: &sink)
      {
        last = known.base
        continue
      }
      sink.cut(to: sizeBefore)
      var block = PackedBlock(values, count: size, isPatched: isPatched)
      block.widen(for: values)
      append(block, values, size, after: last, isPatched, to: &sink)
      (known, last) = (block, block.base)
    }
  }

  /// - Parameter last: The base of the block before.
  /// - Returns: Whether the block was packed in the way that suits it.
  @inline(__always)
  @discardableResult
  private func append(
    _ block: PackedBlock, _ values: UnsafePointer<UInt64>, _ count: Int, after last: UInt64,
    _ isPatched: Bool, to sink: inout TextBuffer
  ) -> Bool {
    let width = block.patchedWidth
    sink.append(signed: block.base &- last)
    sink.append(UInt8(width))
    let countAt = sink.count
    if isPatched { sink.append(0) }
    var all: UInt64 = 0
    sink.append(maximum: packedSize(count, width: width) + 2 * wordSize) {
      all = pack(
        values, count: count, minimum: block.base, width: width, to: $0, isMasked: isPatched)
      return packedSize(count, width: width)
    }
    if !isPatched { return bitWidth(all) == width }
    guard width < block.width else { return true }
    var exceptions: UInt8 = 0
    for index in 0..<count {
      let rest = (values[index] &- block.base) >> UInt64(width)
      guard rest > 0 else { continue }
      sink.append(UInt8(index))
      sink.append(varint: rest)
      exceptions += 1
    }
    sink.set(exceptions, at: countAt)
    return true
  }

  private func encodeDifferences(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ depth: Int, into sections: inout ColumnSections
  ) {
    sections.numbers.append(NumberEncoding.differences.rawValue)
    sections.numbers.append(signed: values[0])
    let steps = buffer(0, depth, count)
    for index in 1..<count { steps[index &- 1] = values[index] &- values[index &- 1] }
    encode(steps, count: count - 1, depth: depth + 1, into: &sections)
  }

  /// About what numbers cost as multiples of a factor, if all remainders are the same: an estimate
  /// from what the numbers cost as they are.
  private func costOfMultiples(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ cost: Int, of factor: Int64?
  ) -> Int {
    guard let factor, hasOneRemainder(values, count: count, by: factor.magnitude) else {
      return cost
    }
    return cost - count * (bitWidth(factor.magnitude) - 1) / 8
  }

  /// Writes numbers that are mostly a multiple of a factor, plus a remainder that is always the
  /// same.
  private func encodeMultiples(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ depth: Int, of factor: Int64,
    into sections: inout ColumnSections
  ) {
    let (quotients, remainders) = (buffer(0, depth, count), buffer(1, depth, count))
    for index in 0..<count {
      var (quotient, remainder) = Int64(bitPattern: values[index])
        .quotientAndRemainder(dividingBy: factor)
      // Negative numbers have the same remainders as positive ones.
      if remainder < 0 { (quotient, remainder) = (quotient &- 1, remainder &+ factor) }
      quotients[index] = UInt64(bitPattern: quotient)
      remainders[index] = UInt64(bitPattern: remainder)
    }
    sections.numbers.append(NumberEncoding.multiples.rawValue)
    sections.numbers.append(varint: factor.magnitude)
    encode(quotients, count: count, depth: depth + 1, into: &sections)
    encode(remainders, count: count, depth: depth + 1, into: &sections)
  }

  /// Writes runs if numbers mostly repeat the number before.
  private func encodeRuns(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ depth: Int, _ profile: NumberProfile,
    into sections: inout ColumnSections
  ) -> Bool {
    let others = min(profile.packed, profile.patched, profile.differences)
    guard profile.changes < count / 4,
      profile.changes * (others / count + 2) + 8 < others
    else { return false }
    let (firsts, lengths) = (buffer(0, depth, count), buffer(1, depth, count))
    var runs = 0
    var index = 0
    while index < count {
      let start = index
      while index < count, values[index] == values[start] { index += 1 }
      (firsts[runs], lengths[runs]) = (values[start], UInt64(index - start))
      runs += 1
    }
    sections.numbers.append(NumberEncoding.runs.rawValue)
    sections.numbers.append(varint: runs)
    encode(firsts, count: runs, depth: depth + 1, into: &sections)
    encode(lengths, count: runs, depth: depth + 1, into: &sections)
    return true
  }

  /// - Parameter multiples: What the numbers cost as multiples. Evaluated only for the few columns
  ///   whose first numbers suit a dictionary.
  private func encodeDictionary(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ depth: Int, below cost: Int,
    _ multiples: @autoclosure () -> Int, into sections: inout ColumnSections
  ) -> Bool {
    // A hash costs a nanosecond or two for each number: too much where little can be gained.
    guard count >= 32, cost > count * 3 / 4 else { return false }
    var cost = cost
    func pays(_ number: Int) -> Bool {
      packedSize(count, width: bitWidth(UInt64(number - 1)))
        + number * min(wordSize, cost / count + 2) + 16 < cost
    }
    let indexes = buffer(0, depth, count)
    let sample = min(count, DistinctTable.sample)
    guard distinct.index(values, count: sample, limit: sample - 1, indexes),
      pays(distinct.estimate(sample: sample))
    else { return false }
    cost = multiples()
    let limit = min(count / 2, DistinctTable.maximum)
    guard pays(distinct.estimate(sample: sample)),
      distinct.index(values, count: count, limit: limit, indexes)
    else { return false }
    let number = distinct.count
    guard pays(number) else { return false }
    sections.numbers.append(NumberEncoding.dictionary.rawValue)
    sections.numbers.append(varint: number)
    let entries = buffer(1, depth, number)
    entries.update(from: distinct.values, count: number)
    encode(entries, count: number, depth: depth + 1, into: &sections)
    encode(indexes, count: count, depth: depth + 1, into: &sections)
    return true
  }

  private func encodeDecimals(
    _ values: UnsafePointer<UInt64>, _ count: Int, _ depth: Int, into sections: inout ColumnSections
  ) -> Bool {
    guard let exponent = decimalExponent(values, count: count) else { return false }
    let power = powersOfTen[exponent]
    let (wholes, exceptions) = (buffer(0, depth, count), buffer(1, depth, count))
    var exceptionCount = 0
    var last: UInt64 = 0
    for index in 0..<count {
      if let whole = scaledDecimal(values[index], power) {
        last = UInt64(bitPattern: whole)
      } else {
        exceptions[exceptionCount] = UInt64(index)
        exceptionCount &+= 1
      }
      wholes[index] = last
    }
    guard exceptionCount <= count / 8 else { return false }
    sections.numbers.append(NumberEncoding.decimals.rawValue)
    sections.numbers.append(UInt8(exponent))
    encode(wholes, count: count, depth: depth + 1, into: &sections)
    sections.numbers.append(varint: exceptionCount)
    encode(exceptions, count: exceptionCount, depth: depth + 1, into: &sections)
    // The whole numbers are written: their place is free.
    for index in 0..<exceptionCount { wholes[index] = values[Int(exceptions[index])] }
    encode(wholes, count: exceptionCount, depth: depth + 1, into: &sections)
    return true
  }
}
