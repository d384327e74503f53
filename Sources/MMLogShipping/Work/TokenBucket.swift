import MMLogSystem

/// How much may be done now, at a maximum number a second.
struct TokenBucket {
  private let perSecond: Int
  private var tokens: Double
  private var last: UInt64

  init(perSecond: Int) {
    self.perSecond = perSecond
    (tokens, last) = (Double(perSecond), Clock.monotonic())
  }

  /// Takes tokens, also more than there are.
  ///
  /// - Returns: How long to wait before the tokens may be used, in nanoseconds.
  mutating func take(_ count: Int) -> Int64 {
    let now = Clock.monotonic()
    let new = Double(now &- last) / 1e9 * Double(perSecond)
    (tokens, last) = (min(Double(perSecond), tokens + new) - Double(count), now)
    return tokens >= 0 ? 0 : Int64(-tokens / Double(perSecond) * 1e9)
  }
}
