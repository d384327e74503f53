/// What a column of numbers would cost in bytes, in the encodings that need no try: an estimate
/// from a few pieces of the column.
struct NumberProfile {
  /// How often a number differs from the one before it.
  private(set) var changes = 0
  private(set) var packed = 0
  private(set) var patched = 0
  /// The cost of the differences, packed or patched.
  private(set) var differences = 0

  /// How many numbers of a short column are inspected: to inspect a number costs several times as
  /// much as to write it. Of a long column three blocks are inspected, since few blocks have no
  /// exception.
  private static let pieceSize = 64

  /// Inspects `count` numbers, at least one.
  init(_ values: UnsafePointer<UInt64>, count: Int) {
    let isLong = count >= 8 * ColumnLayout.block
    let size = isLong ? ColumnLayout.block : min(count, Self.pieceSize)
    let pieces = isLong ? 3 : 1
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: size) { steps in
      for piece in 0..<pieces {
        let start = (piece + 1) * (count - size) / (pieces + 1)
        add(values + start, size, isFirst: start == 0, steps)
      }
    }
    let overhead = PackedBlock.overhead * ((count + ColumnLayout.block - 1) / ColumnLayout.block)
    let scale = { inspected in inspected * count / (pieces * size) }
    changes = scale(changes)
    packed = scale(packed) + overhead
    patched = scale(patched) + overhead
    differences = scale(differences) + overhead
  }

  private mutating func add(
    _ piece: UnsafePointer<UInt64>, _ count: Int, isFirst: Bool,
    _ steps: UnsafeMutableBufferPointer<UInt64>
  ) {
    guard let steps = steps.baseAddress else { return }
    var previous = isFirst ? piece[0] : piece[-1]
    for index in 0..<count {
      let value = piece[index]
      steps[index] = value &- previous
      changes &+= value == previous ? 0 : 1
      previous = value
    }
    let plain = PackedBlock(piece, count: count)
    packed &+= plain.packedSize
    patched &+= plain.patchedSize
    let stepped = PackedBlock(steps, count: count)
    differences &+= min(stepped.packedSize, stepped.patchedSize)
  }
}
