import MMLogReader
import MMLogSystem

/// Reads a time on the command line: `now`, `today`, `yesterday`, `boot`, `-15m`, or ISO 8601 with
/// as much as is known of date, time, fraction, zone.
///
/// - Parameters:
///   - zone: The zone of a time that names none.
///   - now: The present moment.
/// - Returns: The time; nil for what is no time, or none that fits.
func timeArgument(_ text: String, zone: LogTimeZone, now: Timestamp) -> Timestamp? {
  switch text {
  case "now": return now
  case "today": return midnight(zone, now, daysAgo: 0)
  case "yesterday": return midnight(zone, now, daysAgo: 1)
  case "boot": return Timestamp(nanosecondsSince1970: Clock.bootTime())
  default: break
  }
  var scanner = TimeScanner(text)
  return text.hasPrefix("-") ? scanner.relative(to: now) : scanner.absolute(in: zone)
}

/// When a day began.
private func midnight(_ zone: LogTimeZone, _ now: Timestamp, daysAgo: Int) -> Timestamp? {
  let ahead = { (second: Int) in zone == .utc ? 0 : LocalTime.offset(at: second)?.seconds ?? 0 }
  let second = Int(now.nanosecondsSince1970 / 1_000_000_000) - daysAgo * 86400
  let local = second + ahead(second)
  let start = local - local % 86400 - ahead(second)
  // Clocks may have been changed between that midnight and now.
  let begun = Int64(start + ahead(second) - ahead(start))
  return Timestamp(nanosecondsSince1970: begun * 1_000_000_000)
}

private struct TimeScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  mutating func relative(to now: Timestamp) -> Timestamp? {
    let seconds = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400]
    guard take("-"), let count = number(1...9), let unit = rest.popFirst(), rest.isEmpty,
      let factor = seconds[String(UnicodeScalar(unit))]
    else { return nil }
    return count > 1_000_000_000 / factor ? nil : now.advanced(by: .seconds(-count * factor))
  }

  mutating func absolute(in zone: LogTimeZone) -> Timestamp? {
    var time = CivilTime()
    var fraction: Int64 = 0
    var offset: Int?
    guard date(&time) else { return nil }
    if take("T") || take("t") || take(" ") {
      guard clock(&time, &fraction), zoneOffset(&offset) else { return nil }
    }
    guard rest.isEmpty, let second = second(time, zone, offset) else { return nil }
    let (nanoseconds, overflow) = Int64(second).multipliedReportingOverflow(by: 1_000_000_000)
    let (result, tooFar) = nanoseconds.addingReportingOverflow(fraction)
    return overflow || tooFar ? nil : Timestamp(nanosecondsSince1970: result)
  }

  private func second(_ time: CivilTime, _ zone: LogTimeZone, _ offset: Int?) -> Int? {
    if let offset { return LocalTime.utcSecond(at: time).map { $0 - offset } }
    return zone == .utc ? LocalTime.utcSecond(at: time) : LocalTime.second(at: time)
  }

  private mutating func date(_ time: inout CivilTime) -> Bool {
    guard let year = number(4...4), take("-"), let month = number(2...2), take("-"),
      let day = number(2...2)
    else { return false }
    (time.year, time.month, time.day) = (year, month, day)
    return true
  }

  /// `09:00`, `09:00:30`, `09:00:30.25`
  private mutating func clock(_ time: inout CivilTime, _ fraction: inout Int64) -> Bool {
    guard let hour = number(2...2), take(":"), let minute = number(2...2) else { return false }
    (time.hour, time.minute) = (hour, minute)
    guard take(":") else { return true }
    guard let second = number(2...2) else { return false }
    time.second = second
    guard take(".") || take(",") else { return true }
    let digits = rest.count
    guard let value = number(1...9) else { return false }
    fraction = Int64(value)
    for _ in (digits - rest.count)..<9 { fraction *= 10 }
    return true
  }

  /// `Z`, `+01:00`, `+0100`, `+01` or nothing.
  private mutating func zoneOffset(_ offset: inout Int?) -> Bool {
    if rest.isEmpty { return true }
    offset = 0
    if take("Z") || take("z") { return true }
    let isBehind = take("-")
    guard isBehind || take("+"), let hours = number(2...2), hours < 24 else { return false }
    var minutes = 0
    if take(":") || !rest.isEmpty {
      guard let value = number(2...2), value < 60 else { return false }
      minutes = value
    }
    offset = (hours * 3600 + minutes * 60) * (isBehind ? -1 : 1)
    return true
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(character.value) else { return false }
    rest.removeFirst()
    return true
  }

  /// So many decimal digits.
  private mutating func number(_ digits: ClosedRange<Int>) -> Int? {
    let text = rest.prefix(digits.upperBound).prefix { (48...57).contains($0) }
    guard digits.contains(text.count) else { return nil }
    rest.removeFirst(text.count)
    return text.reduce(0) { $0 * 10 + Int($1 - 48) }
  }
}
