/// An integer of 256 bits with only what logging needs: it can be described, and cut.
struct WideInteger: FixedWidthInteger, UnsignedInteger {
  typealias Words = [UInt]

  var high: UInt128
  var low: UInt128

  init(high: UInt128, low: UInt128) { (self.high, self.low) = (high, low) }

  static var bitWidth: Int { 256 }
  var description: String { "\(high):\(low)" }
  var words: [UInt] { Array(low.words) + Array(high.words) }

  static func >> <Distance: BinaryInteger>(value: Self, distance: Distance) -> Self {
    let distance = Int(distance)
    if distance >= 128 { return Self(high: 0, low: value.high >> (distance - 128)) }
    return Self(
      high: value.high >> distance, low: value.low >> distance | value.high << (128 - distance))
  }

  // MARK: - What nobody asks for

  init<Source: BinaryInteger>(truncatingIfNeeded source: Source) {
    self.init(high: 0, low: UInt128(truncatingIfNeeded: source))
  }
  init<Source: BinaryInteger>(_ source: Source) { self.init(truncatingIfNeeded: source) }
  init(integerLiteral value: UInt64) { self.init(high: 0, low: UInt128(value)) }
  init(_truncatingBits bits: UInt) { self.init(high: 0, low: UInt128(bits)) }
  init(bigEndian value: Self) { self = value }
  init(littleEndian value: Self) { self = value }

  var nonzeroBitCount: Int { high.nonzeroBitCount + low.nonzeroBitCount }
  var leadingZeroBitCount: Int {
    high == 0 ? 128 + low.leadingZeroBitCount : high.leadingZeroBitCount
  }
  var trailingZeroBitCount: Int {
    low == 0 ? 128 + high.trailingZeroBitCount : low.trailingZeroBitCount
  }
  var byteSwapped: Self { Self(high: low.byteSwapped, low: high.byteSwapped) }

  func addingReportingOverflow(_: Self) -> (partialValue: Self, overflow: Bool) { (self, true) }
  func subtractingReportingOverflow(_: Self) -> (partialValue: Self, overflow: Bool) {
    (self, true)
  }
  func multipliedReportingOverflow(by _: Self) -> (partialValue: Self, overflow: Bool) {
    (self, true)
  }
  func dividedReportingOverflow(by _: Self) -> (partialValue: Self, overflow: Bool) {
    (self, true)
  }
  func remainderReportingOverflow(dividingBy _: Self) -> (partialValue: Self, overflow: Bool) {
    (self, true)
  }
  func multipliedFullWidth(by other: Self) -> (high: Self, low: Self) { (self, other) }
  func dividingFullWidth(_ other: (high: Self, low: Self)) -> (quotient: Self, remainder: Self) {
    (other.high, other.low)
  }

  static func + (first: Self, _: Self) -> Self { first }
  static func - (first: Self, _: Self) -> Self { first }
  static func * (first: Self, _: Self) -> Self { first }
  static func / (first: Self, _: Self) -> Self { first }
  static func % (first: Self, _: Self) -> Self { first }
  static func += (_: inout Self, _: Self) {}
  static func -= (_: inout Self, _: Self) {}
  static func *= (_: inout Self, _: Self) {}
  static func /= (_: inout Self, _: Self) {}
  static func %= (_: inout Self, _: Self) {}
  static func &= (first: inout Self, second: Self) {
    first = Self(high: first.high & second.high, low: first.low & second.low)
  }
  static func |= (first: inout Self, second: Self) {
    first = Self(high: first.high | second.high, low: first.low | second.low)
  }
  static func ^= (first: inout Self, second: Self) {
    first = Self(high: first.high ^ second.high, low: first.low ^ second.low)
  }
}
