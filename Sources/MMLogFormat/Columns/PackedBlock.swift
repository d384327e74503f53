/// How a block of numbers is best packed.
struct PackedBlock {
  private let count: Int
  /// The least of the numbers, as signed ones.
  let base: UInt64
  /// Bits that all of them take, less the base.
  let width: Int
  /// Bits kept of each if the higher bits of a few stand elsewhere.
  private(set) var patchedWidth: Int
  private var patchedExtra: Int

  /// What a block costs before its numbers, in bytes: base and width, mostly.
  private static let overhead = 3

  var packedSize: Int { Self.overhead &+ MMLogFormat.packedSize(count, width: width) }
  var patchedSize: Int {
    Self.overhead &+ 1 &+ MMLogFormat.packedSize(count, width: patchedWidth) &+ patchedExtra
  }

  /// - Parameters:
  ///   - count: At least 1, at most ``ColumnLayout/block``.
  ///   - isPatched: Whether to search for the best ``patchedWidth``.
  init(_ values: UnsafePointer<UInt64>, count: Int, isPatched: Bool = true) {
    self.count = count
    var (minimum, maximum) = (Int64.max, Int64.min)
    for index in 0..<count {
      let value = Int64(bitPattern: values[index])
      (minimum, maximum) = (min(minimum, value), max(maximum, value))
    }
    base = UInt64(bitPattern: minimum)
    width = bitWidth(UInt64(bitPattern: maximum &- minimum))
    (patchedWidth, patchedExtra) = (width, 0)
    if isPatched, width > 1 { choosePatchedWidth(values) }
  }

  /// Tries every width: with what does not fit, each a position and the bits above in seven bits a
  /// byte.
  private mutating func choosePatchedWidth(_ values: UnsafePointer<UInt64>) {
    withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 65) { ofWidth in
      ofWidth.initialize(repeating: 0)
      for index in 0..<count { ofWidth[bitWidth(values[index] &- base)] &+= 1 }
      var (exceptions, best) = (0, MMLogFormat.packedSize(count, width: width))
      for candidate in stride(from: width - 1, through: 0, by: -1) {
        exceptions &+= Int(ofWidth[candidate + 1])
        // More than that are no exceptions.
        guard exceptions <= count / 8 else { break }
        let extra = exceptions &* (2 &+ (width &- candidate) / 7)
        let size = MMLogFormat.packedSize(count, width: candidate) &+ extra
        if size < best { (best, patchedWidth, patchedExtra) = (size, candidate, extra) }
      }
    }
  }
}
