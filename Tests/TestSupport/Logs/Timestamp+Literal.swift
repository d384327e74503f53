package import MMLogFormat

/// Times of tests are written as numbers: nanoseconds since 1970.
extension Timestamp: ExpressibleByIntegerLiteral {
  package init(integerLiteral value: Int64) { self.init(nanosecondsSince1970: value) }

  package init(_ nanoseconds: Int64) { self.init(nanosecondsSince1970: nanoseconds) }

  package init(seconds: Int64) { self.init(nanosecondsSince1970: seconds * 1_000_000_000) }

  package static func + (time: Timestamp, nanoseconds: Int64) -> Timestamp {
    time + .nanoseconds(nanoseconds)
  }
}
