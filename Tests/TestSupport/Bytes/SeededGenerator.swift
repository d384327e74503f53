/// Random numbers that are the same in every run: SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) { (self.seed, state) = (seed, seed) }

  /// Returns a generator with a new random seed, and prints the seed.
  package static func fresh(_ test: String = #function) -> SeededGenerator {
    let seed = UInt64.random(in: 0 ... .max)
    print("\(test): seed \(seed)")
    return SeededGenerator(seed: seed)
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// Returns one of the choices.
  package mutating func pick<T>(_ choices: T...) -> T {
    choices[Int.random(in: choices.indices, using: &self)]
  }

  /// Returns true in one of `count` cases.
  package mutating func oneIn(_ count: Int) -> Bool {
    Int.random(in: 0..<count, using: &self) == 0
  }

  /// Returns a number of a range. Small numbers are as likely as large ones.
  package mutating func scaled(_ range: ClosedRange<Int>) -> Int {
    let bits = Int.random(
      in: 0...(Int.bitWidth - range.upperBound.leadingZeroBitCount), using: &self)
    return range.clamped(to: range.lowerBound...max(range.lowerBound, 1 << bits))
      .randomElement(using: &self) ?? range.lowerBound
  }

  /// Returns `count` bytes.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
