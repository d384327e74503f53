import Glibc

/// What varies from one order message to the next.
public struct Order {
  /// 20 bits at random.
  public let id: Int
  /// One of a hundred names, as Swift and as C have it.
  public let user: String
  /// ``user`` for C.
  public let cUser: UnsafePointer<CChar>
  /// Milliseconds, with two digits behind the point.
  public let elapsed: Double
  /// 1 to 1000.
  public let quantity: Int

  /// A pair's Boolean.
  @inlinable public var isLive: Bool { id & 1 == 0 }
  /// One of two texts.
  @inlinable public var side: String { id & 2 == 0 ? "buy" : "sell" }
  /// ``side`` for C.
  public var cSide: UnsafePointer<CChar> {
    let side: StaticString = id & 2 == 0 ? "buy" : "sell"
    return UnsafeRawPointer(side.utf8Start).assumingMemoryBound(to: CChar.self)
  }
  /// Bytes in ``side``.
  @inlinable public var sideLength: Int { id & 2 == 0 ? 3 : 4 }

  /// Bytes in ``user``.
  public static let userLength = 10
}

/// Orders by number. Each part is random, and says nothing about the others.
///
/// Proof of `@unchecked Sendable`: nothing changes the names, and they are never freed.
public struct Orders: @unchecked Sendable {
  private static let userCount: UInt64 = 100
  private let users: UnsafeMutablePointer<String>
  private let cUsers: UnsafeMutablePointer<UnsafePointer<CChar>>

  /// Makes the names.
  public init() {
    let names = (0..<Int(Self.userCount)).map { number in
      "trader-" + String("000\(number)".suffix(3))
    }
    (users, cUsers) = tables(of: names)
  }

  /// An order; equal numbers give equal orders.
  @inline(__always)
  public subscript(index: Int) -> Order {
    var random = SplitMix64(state: UInt64(truncatingIfNeeded: index) &* SplitMix64.step)
    let bits = random.next()
    let user = Int(truncatingIfNeeded: ((bits & 0xffff) &* Self.userCount) >> 16)
    return Order(
      id: Int(truncatingIfNeeded: bits >> 44), user: users[user], cUser: cUsers[user],
      elapsed: Double(((bits >> 16 & 0xffff) &* 10_000) >> 16) / 100,
      quantity: Int(truncatingIfNeeded: 1 &+ ((bits >> 32 & 0xfff) &* 1000) >> 12))
  }
}

/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
public struct SplitMix64 {
  /// The difference between two states.
  public static let step: UInt64 = 0x9e37_79b9_7f4a_7c15
  private var state: UInt64

  /// Begins with a state; equal states give equal numbers.
  @inline(__always)
  public init(state: UInt64) { self.state = state }

  /// The next number.
  @inline(__always)
  public mutating func next() -> UInt64 {
    state &+= Self.step
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  /// A number below a limit.
  @inline(__always)
  public mutating func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

/// Makes texts for Swift and for C, so that conversion is not measured. They are never freed.
func tables(
  of texts: [String]
) -> (UnsafeMutablePointer<String>, UnsafeMutablePointer<UnsafePointer<CChar>>) {
  let swift = UnsafeMutablePointer<String>.allocate(capacity: texts.count)
  let c = UnsafeMutablePointer<UnsafePointer<CChar>>.allocate(capacity: texts.count)
  for (index, text) in texts.enumerated() {
    (swift + index).initialize(to: text)
    guard let copy = strdup(text) else { preconditionFailure("no memory") }
    (c + index).initialize(to: UnsafePointer(copy))
  }
  return (swift, c)
}
