public import MMLogFormat
import MMLogSystem

extension Timestamp {
  /// The present moment, as the machine's clock has it: clock_gettime(2) with `CLOCK_REALTIME`,
  /// which an administrator or NTP may set back.
  public static var now: Timestamp { Timestamp(nanosecondsSince1970: Clock.realtime()) }
}

extension Timestamp {
  /// Reads ``nanosecondsSince1970`` in decimal digits; nil for other texts.
  init?(digits: some StringProtocol) {
    guard let nanoseconds = Int64(digits) else { return nil }
    self.init(nanosecondsSince1970: nanoseconds)
  }
}
