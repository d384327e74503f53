/// How a block of numbers is best packed.
struct PackedBlock {
  private let count: Int
  /// What is subtracted from each number: the least of them as signed numbers, or a lesser number
  /// after ``widen(for:)``.
  private(set) var base: UInt64
  /// Bits that suffice for all numbers, less the base.
  let width: Int
  /// Bits that are kept of each number if the higher bits of a few numbers stand elsewhere.
  private(set) var patchedWidth: Int
  private var exceptions = 0
  private var patchedExtra = 0

  /// What a block costs before its numbers, in bytes: base and width, mostly.
  static let overhead = 3

  /// What its numbers cost, in bytes.
  var packedSize: Int { MMLogFormat.packedSize(count, width: width) }
  var patchedSize: Int {
    1 &+ MMLogFormat.packedSize(count, width: patchedWidth) &+ patchedExtra
  }

  /// - Parameters:
  ///   - count: At least 1, at most ``ColumnLayout/block``.
  ///   - isPatched: Whether to search for the best ``patchedWidth``.
  init(_ values: UnsafePointer<UInt64>, count: Int, isPatched: Bool = true) {
    self.count = count
    let range = ColumnRange(values, count: count)
    (base, width, patchedWidth) = (range.base, range.width, range.width)
    if isPatched, width > 1, hasExceptions(values) { choosePatchedWidth(values) }
  }

  /// Whether only a few numbers take all the bits. Mostly, more numbers do, and then no smaller
  /// width helps.
  private func hasExceptions(_ values: UnsafePointer<UInt64>) -> Bool {
    var wide: UInt64 = 0
    for index in 0..<count { wide &+= (values[index] &- base) &>> UInt64(width &- 1) }
    return wide <= count / 8
  }

  /// Tries every width. A number that does not fit costs its position, and the bits above the
  /// width, seven bits a byte.
  private mutating func choosePatchedWidth(_ values: UnsafePointer<UInt64>) {
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 65) { ofWidth in
      ofWidth.initialize(repeating: 0)
      for index in 0..<count { ofWidth[bitWidth(values[index] &- base)] &+= 1 }
      var (above, best) = (0, MMLogFormat.packedSize(count, width: width))
      for candidate in stride(from: width - 1, through: 0, by: -1) {
        above &+= Int(ofWidth[candidate + 1])
        // More than that are no exceptions.
        guard above <= count / 8 else { break }
        let extra = above &* (2 &+ (width &- candidate) / 7)
        let size = MMLogFormat.packedSize(count, width: candidate) &+ extra
        if size < best {
          (best, patchedWidth, patchedExtra, exceptions) = (size, candidate, extra, above)
        }
      }
    }
  }

  // MARK: - One block after the other

  /// Moves the base so that as much room is left below the numbers as above them: mostly, the base
  /// then suits the next blocks, too.
  mutating func widen(for values: UnsafePointer<UInt64>) {
    let mask = lowestBits(patchedWidth)
    var largest: UInt64 = 0
    for index in 0..<count {
      let rest = values[index] &- base
      largest = max(largest, rest <= mask ? rest : 0)
    }
    base &-= (mask &- largest) / 2
  }

  /// Whether the same base and width suit other numbers as well. To check this is much faster than
  /// to find a base and a width.
  func fits(_ values: UnsafePointer<UInt64>, count: Int) -> Bool {
    if patchedWidth == width {
      var all: UInt64 = 0
      for index in 0..<count { all |= values[index] &- base }
      return bitWidth(all) == width
    }
    let mask = lowestBits(patchedWidth)
    var (all, kept, above): (UInt64, UInt64, Int) = (0, 0, 0)
    for index in 0..<count {
      let rest = values[index] &- base
      all |= rest
      above &+= rest > mask ? 1 : 0
      kept |= rest > mask ? 0 : rest
    }
    return above <= exceptions &+ 1 && bitWidth(kept) == patchedWidth
      && bitWidth(all) <= width &+ 7
  }
}
