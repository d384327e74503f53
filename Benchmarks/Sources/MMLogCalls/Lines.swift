import Glibc

/// Different texts of 100 bytes: words at random out of a thousand, as prose has them.
///
/// Proof of `@unchecked Sendable`: nothing changes them, and they are never freed.
public struct Lines: @unchecked Sendable {
  private let texts: UnsafeMutablePointer<String>
  private let cTexts: UnsafeMutablePointer<UnsafePointer<CChar>>
  /// How many there are: more than zlib remembers, and a power of two.
  private static let count = 4096

  /// Makes the texts: the same each time.
  public init() {
    texts = .allocate(capacity: Self.count)
    cTexts = .allocate(capacity: Self.count)
    var random = SplitMix64(state: 1)
    let words = (0..<1000).map { _ in Self.word(&random) }
    for index in 0..<Self.count {
      var text = ""
      while text.utf8.count < Sample.textLength {
        text += words[Int(random.next() % UInt64(words.count))] + " "
      }
      let line = String(text.prefix(Sample.textLength))
      (texts + index).initialize(to: line)
      guard let copy = strdup(line) else { preconditionFailure("no memory") }
      (cTexts + index).initialize(to: UnsafePointer(copy))
    }
  }

  private static func word(_ random: inout SplitMix64) -> String {
    let letters = Array("etaoinshrdlucmfw")
    return String((0..<2 + random.next() % 8).map { _ in letters[Int(random.next() % 16)] })
  }

  /// One of them, for Swift.
  public subscript(index: Int) -> String { texts[index & (Self.count - 1)] }
  /// The same for C.
  public func c(_ index: Int) -> UnsafePointer<CChar> { cTexts[index & (Self.count - 1)] }
}

/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
public struct SplitMix64 {
  private var state: UInt64

  /// Begins with a state; equal ones give equal numbers.
  public init(state: UInt64) { self.state = state }

  /// The next number.
  @inline(__always)
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
