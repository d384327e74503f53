/// A moment in the proleptic Gregorian calendar, UTC.
package struct UTCTime: Equatable, Sendable {
  package var year: Int64
  package var month: Int64
  package var day: Int64
  package var hour: Int64
  package var minute: Int64
  package var second: Int64
  package var nanosecond: Int64

  /// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days to a civil date.
  package init(_ time: Timestamp) {
    let nanoseconds = time.nanosecondsSince1970
    let seconds = nanoseconds.flooredQuotient(by: 1_000_000_000)
    let days = seconds.flooredQuotient(by: 86400)
    let second = seconds - days * 86400
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    hour = second / 3600
    minute = second / 60 % 60
    self.second = second % 60
    // Wrapping, because the first second of all does not fit if it is rounded down.
    nanosecond = nanoseconds &- seconds &* 1_000_000_000
  }

  /// `YYYYMMDDThhmmssZ`, as in file names.
  package var compact: String {
    "\(digits(year, 4))\(digits(month, 2))\(digits(day, 2))"
      + "T\(digits(hour, 2))\(digits(minute, 2))\(digits(second, 2))Z"
  }

  /// `YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ`, as RFC 3339 has it.
  package var description: String {
    "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
      + "T\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2))"
      + ".\(digits(nanosecond, 9))Z"
  }

  private func digits(_ value: Int64, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}

extension Int64 {
  /// The quotient rounded toward negative infinity; `divisor` is positive.
  package func flooredQuotient(by divisor: Int64) -> Int64 {
    self / divisor - (self % divisor < 0 ? 1 : 0)
  }
}
