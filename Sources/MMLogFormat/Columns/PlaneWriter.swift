/// What planes would cost, as a sample says.
struct PlaneProfile {
  /// Bits for each number.
  fileprivate(set) var bits: Float = 0
  /// Which planes look random: zlib would make these no smaller.
  fileprivate(set) var random: UInt8 = 0
}

/// Writes numbers in byte planes, which zlib compresses, and estimates from a sample what they
/// would cost.
final class PlaneWriter {
  /// How many numbers are inspected.
  private static let sampleSize = 128
  /// How many of these follow one another.
  private static let sampleRun = 32
  /// From this many bits of information in a byte on, zlib saves nothing. The limit is less than
  /// eight, because a sample of random bytes has less.
  private static let randomBits: Float = 6.6
  /// Bits that a run of the same byte takes, beside that byte.
  private static let runBits: Float = 4

  private let samples = WordBuffer(capacity: sampleSize)
  private let steps = WordBuffer(capacity: sampleSize)
  /// How many numbers there are in ``sample``.
  private(set) var sampled = 0
  /// The bytes of a plane in the sample, and those of them that differ from the byte before.
  private let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: sampleSize)
  private let changes = UnsafeMutablePointer<UInt8>.allocate(capacity: sampleSize + 1)
  private let frequencies = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
  /// The logarithm to base 2, in 64ths, of each number up to the sample's size.
  private let logarithms = UnsafeMutablePointer<UInt32>.allocate(capacity: sampleSize + 1)

  init() {
    logarithms[0] = 0
    for number in 1...Self.sampleSize {
      let part = Float(number).significand - 1
      let logarithm = Float(Float(number).exponent) + part + 0.344 * part * (1 - part)
      logarithms[number] = UInt32(64 * logarithm)
    }
  }

  deinit {
    bytes.deallocate()
    changes.deallocate()
    frequencies.deallocate()
    logarithms.deallocate()
  }

  /// The numbers that were inspected last.
  var sample: UnsafePointer<UInt64> { UnsafePointer(samples.base) }

  /// Inspects `count` numbers, at least two.
  func profile(
    _ values: UnsafePointer<UInt64>, count: Int, _ range: ColumnRange
  ) -> PlaneProfile {
    takeSample(values, count)
    return profile(samples.base, range)
  }

  /// The same for the differences between the numbers that were inspected last and the numbers
  /// before them.
  func profileOfSteps() -> PlaneProfile {
    profile(steps.base, ColumnRange(steps.base, count: sampled))
  }

  private func takeSample(_ values: UnsafePointer<UInt64>, _ count: Int) {
    let runs = count <= Self.sampleSize ? 1 : Self.sampleSize / Self.sampleRun
    let length = count <= Self.sampleSize ? count - 1 : Self.sampleRun
    for run in 0..<runs {
      let start = 1 + (count - 1 - length) * run / max(1, runs - 1)
      for index in 0..<length {
        samples.base[run &* length &+ index] = values[start &+ index]
        steps.base[run &* length &+ index] =
          values[start &+ index] &- values[start &+ index &- 1]
      }
    }
    sampled = runs * length
  }

  private func profile(_ sample: UnsafePointer<UInt64>, _ range: ColumnRange) -> PlaneProfile {
    var result = PlaneProfile()
    let randomBits = Float(logarithms[sampled]) / 64 * Self.randomBits / 8
    for plane in 0..<range.planes {
      let bits = bits(ofPlane: plane, sample, range.base)
      result.bits += bits > randomBits ? 8 : bits
      if bits > randomBits { result.random |= 1 << UInt8(plane) }
    }
    return result
  }

  /// What a plane costs, in bits for each number: from the frequencies of its bytes, or of the
  /// bytes that differ from the byte before, each of which begins a run.
  private func bits(
    ofPlane plane: Int, _ sample: UnsafePointer<UInt64>, _ base: UInt64
  ) -> Float {
    let shift = UInt64(truncatingIfNeeded: 8 &* plane)
    let (bytes, changes) = (bytes, changes)
    var changed = 0
    var last: UInt8?
    for index in 0..<sampled {
      let byte = UInt8(truncatingIfNeeded: (sample[index] &- base) &>> shift)
      bytes[index] = byte
      changes[changed] = byte
      changed &+= byte == last ? 0 : 1
      last = byte
    }
    // No byte takes less than a bit.
    let all = max(entropy(bytes, sampled), Float(sampled))
    if changed > sampled / 2 { return all / Float(sampled) }
    return min(all, entropy(changes, changed) + Self.runBits * Float(changed)) / Float(sampled)
  }

  /// How many bits `count` bytes take, as their frequencies say.
  private func entropy(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Float {
    let (frequencies, logarithms) = (frequencies, logarithms)
    frequencies.update(repeating: 0, count: 256)
    for index in 0..<count { frequencies[Int(bytes[index])] &+= 1 }
    var sum: UInt32 = 0
    for index in 0..<count { sum &+= logarithms[Int(frequencies[Int(bytes[index])])] }
    return Float(logarithms[count] &* UInt32(count) &- sum) / 64
  }

  /// Appends a column of `count` numbers.
  ///
  /// - Parameter profile: The profile of these numbers.
  func append(
    _ values: UnsafePointer<UInt64>, count: Int, _ range: ColumnRange, _ profile: PlaneProfile,
    to sections: inout ColumnSections
  ) {
    sections.numbers.append(NumberEncoding.planes.rawValue)
    sections.numbers.append(signed: range.base)
    sections.numbers.append(UInt8(range.planes))
    sections.numbers.append(profile.random)
    for plane in 0..<range.planes {
      if profile.random >> UInt8(plane) & 1 != 0 {
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
