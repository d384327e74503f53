/// A moment: nanoseconds since 1970-01-01 00:00 UTC, without leap seconds, as `CLOCK_REALTIME`
/// counts them (clock_gettime(2)), in 64 bits: from the year 1677 to the year 2262.
///
/// Immutable; any thread. Every operation is O(1).
@frozen
public struct Timestamp: InstantProtocol {
  /// How many nanoseconds after the beginning of 1970; negative before it.
  public let nanosecondsSince1970: Int64

  /// The moment so many nanoseconds after the beginning of 1970.
  @inlinable
  public init(nanosecondsSince1970: Int64) { self.nanosecondsSince1970 = nanosecondsSince1970 }

  /// The first moment that a timestamp can hold.
  @inlinable
  public static var distantPast: Timestamp { Timestamp(nanosecondsSince1970: .min) }

  /// The last moment that a timestamp can hold.
  @inlinable
  public static var distantFuture: Timestamp { Timestamp(nanosecondsSince1970: .max) }

  /// Whether the first moment is before the second.
  @inlinable
  public static func < (first: Timestamp, second: Timestamp) -> Bool {
    first.nanosecondsSince1970 < second.nanosecondsSince1970
  }

  /// The moment that is later by `span`; ``distantPast`` or ``distantFuture`` if 64 bits do not
  /// hold it.
  public func advanced(by span: Duration) -> Timestamp {
    let sum = Int128(nanosecondsSince1970) + span.attoseconds / Self.attosecondsPerNanosecond
    return Timestamp(nanosecondsSince1970: Int64(clamping: sum))
  }

  /// How long `other` is after this moment; negative if it is before it.
  public func duration(to other: Timestamp) -> Duration {
    let span = Int128(other.nanosecondsSince1970) - Int128(nanosecondsSince1970)
    return Duration(attoseconds: span * Self.attosecondsPerNanosecond)
  }

  private static let attosecondsPerNanosecond: Int128 = 1_000_000_000
}

// Not public: a module that re-exports only the type does not re-export its operators.
extension Timestamp {
  /// The moment that is later by `span`.
  package static func + (time: Timestamp, span: Duration) -> Timestamp { time.advanced(by: span) }

  /// The moment that is earlier by `span`.
  package static func - (time: Timestamp, span: Duration) -> Timestamp {
    time.advanced(by: .zero - span)
  }

  /// How long the first moment is after the second; negative if it is before it.
  package static func - (first: Timestamp, second: Timestamp) -> Duration {
    second.duration(to: first)
  }
}

extension Timestamp: CustomStringConvertible {
  /// The moment as RFC 3339 has it, in UTC and to the nanosecond: `2026-11-21T09:00:00.123456789Z`.
  public var description: String { UTCTime(self).description }
}

/// A timestamp takes 64 bits in files.
extension Timestamp {
  /// 1970-01-01 00:00 UTC: what a field of a file holds if it has no time.
  package static var zero: Timestamp { Timestamp(nanosecondsSince1970: 0) }
}

extension UnsafeRawBufferPointer {
  package func load(_ offset: Int, as type: Timestamp.Type) -> Timestamp {
    Timestamp(nanosecondsSince1970: load(offset, as: Int64.self))
  }
}

extension UnsafeMutableRawBufferPointer {
  package func store(_ time: Timestamp, _ offset: Int) {
    store(time.nanosecondsSince1970, offset)
  }
}
