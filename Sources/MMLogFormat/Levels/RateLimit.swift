/// How often each statement of some labels is recorded: the first times in an interval, and then
/// once in so many times.
public struct RateLimit: Hashable, Sendable, CustomStringConvertible {
  /// How many records of a statement are made in an interval, before ``every`` counts.
  public let first: UInt32
  /// How long an interval is, in nanoseconds; 0: there is no limit.
  package let nanoseconds: UInt64
  /// After the first records, one in so many is made; 0: none.
  public let every: UInt32

  /// Makes a limit.
  ///
  /// - Parameters:
  ///   - first: How many records of a statement are made in an interval, before `every` counts.
  ///   - interval: How long an interval is: a millisecond to 30 days; a value beyond becomes the
  ///     bound.
  ///   - every: After the first records, one in so many is made. Default: 0, none.
  public init(first: UInt32, per interval: Duration, thenEvery every: UInt32 = 0) {
    // Clamped before it is taken apart, which traps for the longest durations.
    let clamped = min(max(interval, .milliseconds(1)), .seconds(30 * 86400))
    let (seconds, attoseconds) = clamped.components
    let nanoseconds = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000
    self.init(first: first, nanoseconds: nanoseconds, every: every)
  }

  /// Takes a limit as it stands in a request.
  package init(first: UInt32, nanoseconds: UInt64, every: UInt32) {
    (self.first, self.nanoseconds, self.every) = (first, nanoseconds, every)
  }

  /// No limit.
  public static let none = RateLimit(first: 0, nanoseconds: 0, every: 0)

  /// How long an interval may be in a text, in nanoseconds.
  private static let intervals: ClosedRange<UInt64> = 1_000_000...30 * 86400 * 1_000_000_000
  private static let units: [(name: String, nanoseconds: UInt64)] = [
    ("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
  ]

  /// The limit as a rule has it: `100/1s`, or `100/1s/1000`; `unlimited`.
  public var description: String {
    if nanoseconds == 0 { return "unlimited" }
    let unit = Self.units.last { nanoseconds % $0.nanoseconds == 0 } ?? Self.units[0]
    let interval = "\(nanoseconds / unit.nanoseconds)\(unit.name)"
    return every == 0 ? "\(first)/\(interval)" : "\(first)/\(interval)/\(every)"
  }

  /// Reads what ``description`` gives: a number, an interval with one of the units `ns`, `us`,
  /// `ms`, `s`, `m` and `h`, and perhaps another number. Nil for anything else.
  public init?(_ text: String) {
    if text == "unlimited" {
      self = .none
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let first = UInt32(parts[0]),
      let interval = Self.interval(parts[1]), let every = parts.count < 3 ? 0 : UInt32(parts[2])
    else { return nil }
    self.init(first: first, nanoseconds: interval, every: every)
  }

  private static func interval(_ text: Substring) -> UInt64? {
    let unit = text.drop { ("0"..."9").contains($0) }
    guard let length = units.first(where: { $0.name == unit })?.nanoseconds,
      let count = UInt64(text.dropLast(unit.count))
    else { return nil }
    let (product, isTooLong) = count.multipliedReportingOverflow(by: length)
    return !isTooLong && intervals.contains(product) ? product : nil
  }
}
