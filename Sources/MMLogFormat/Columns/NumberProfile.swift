/// What a column of numbers would cost in the ways that need no trying, in bytes: an estimate from
/// a few blocks.
struct NumberProfile {
  /// How often a number differs from the one before it.
  private(set) var changes = 0
  private(set) var packed = 0
  private(set) var patched = 0
  /// Of the differences, packed or patched.
  private(set) var differences = 0

  /// Blocks that are inspected.
  private static let sampleSize = 4

  /// Inspects `count` numbers, at least one.
  init(_ values: UnsafePointer<UInt64>, count: Int) {
    let blocks = (count + ColumnLayout.block - 1) / ColumnLayout.block
    let sample = min(blocks, Self.sampleSize)
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ColumnLayout.block) { steps in
      for number in 0..<sample {
        let start = number * blocks / sample * ColumnLayout.block
        add(values + start, min(ColumnLayout.block, count - start), isFirst: start == 0, steps)
      }
    }
    changes = changes * blocks / sample
    packed = packed * blocks / sample
    patched = patched * blocks / sample
    differences = differences * blocks / sample
  }

  private mutating func add(
    _ block: UnsafePointer<UInt64>, _ count: Int, isFirst: Bool,
    _ steps: UnsafeMutableBufferPointer<UInt64>
  ) {
    guard let steps = steps.baseAddress else { return }
    var previous = isFirst ? block[0] : block[-1]
    for index in 0..<count {
      let value = block[index]
      steps[index] = value &- previous
      changes &+= value == previous ? 0 : 1
      previous = value
    }
    let plain = PackedBlock(block, count: count)
    packed += plain.packedSize
    patched += plain.patchedSize
    let stepped = PackedBlock(steps, count: count)
    differences += min(stepped.packedSize, stepped.patchedSize)
  }
}
