package import MMLogFormat
import MMLogSystem

/// Reads a time as people write it: `now`, `today`, `yesterday`, `boot`, `15m`, `10 min ago`,
/// `15:00`, `yesterday 15:00`, `@1795361907`, or ISO 8601 with as much as is known of date, time,
/// fraction, zone.
///
/// - Parameters:
///   - zone: The zone of a time that names none.
///   - now: The present moment.
/// - Returns: The time; nil for a text that is no time, or a time that does not fit.
package func timeArgument(_ text: String, zone: LogTimeZone, now: Timestamp) -> Timestamp? {
  switch text {
  case "now": return now
  case "today": return midnight(zone, now, daysAgo: 0)
  case "yesterday": return midnight(zone, now, daysAgo: 1)
  case "boot": return Timestamp(nanosecondsSince1970: Clock.bootTime())
  default: break
  }
  let readers: [(inout TimeScanner) -> Timestamp?] = [
    { $0.sinceEpoch() }, { $0.relative(to: now) }, { $0.ofDay(zone, now) },
    { $0.absolute(in: zone) },
  ]
  for read in readers {
    var scanner = TimeScanner(text)
    if let time = read(&scanner) { return time }
  }
  return nil
}

/// The first moment of a day.
private func midnight(_ zone: LogTimeZone, _ now: Timestamp, daysAgo: Int) -> Timestamp? {
  moment(of: day(zone, now, daysAgo: daysAgo), zone).flatMap { Timestamp(second: $0, 0) }
}

/// The date that calendars of the zone show, or showed some days ago.
private func day(_ zone: LogTimeZone, _ now: Timestamp, daysAgo: Int) -> CivilTime {
  let ahead = zone == .utc ? 0 : LocalTime.offset(at: now.second)?.seconds ?? 0
  let date = UTCTime(now.advanced(by: .seconds(ahead - daysAgo * 86400)))
  var time = CivilTime()
  (time.year, time.month, time.day) = (Int(date.year), Int(date.month), Int(date.day))
  return time
}

/// The second of a time in a zone, or in one that is `offset` seconds ahead of UTC.
private func moment(of time: CivilTime, _ zone: LogTimeZone, offset: Int? = nil) -> Int? {
  if let offset { return LocalTime.utcSecond(at: time).map { $0 - offset } }
  return zone == .utc ? LocalTime.utcSecond(at: time) : LocalTime.second(at: time)
}

extension Timestamp {
  fileprivate var second: Int { Int(nanosecondsSince1970 / 1_000_000_000) }

  /// - Returns: nil if the time does not fit.
  fileprivate init?(second: Int, _ nanoseconds: Int64) {
    let (product, overflow) = Int64(second).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooFar) = product.addingReportingOverflow(nanoseconds)
    if overflow || isTooFar { return nil }
    self.init(nanosecondsSince1970: sum)
  }
}

private struct TimeScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text[...].utf8 }

  /// `@1795361907`, `@1795361907.25`
  mutating func sinceEpoch() -> Timestamp? {
    guard take("@"), let seconds = number(1...11) else { return nil }
    var part: Int64 = 0
    if take(".") { guard fraction(&part) else { return nil } }
    return rest.isEmpty ? Timestamp(second: seconds, part) : nil
  }

  private static let units: [String: Int] = [
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60,
    "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400, "w": 604_800, "week": 604_800, "weeks": 604_800,
  ]

  /// `15m`, `-15m`, `1h 30min`, `10 minutes ago`: a time before now.
  mutating func relative(to now: Timestamp) -> Timestamp? {
    _ = take("-")
    var seconds = 0
    repeat {
      guard let count = number(1...9) else { return nil }
      while take(" ") {}
      guard let factor = Self.units[word()], count <= 1_000_000_000 / factor else { return nil }
      seconds += count * factor
      while take(" ") {}
      if rest.elementsEqual("ago".utf8) { rest = rest.suffix(0) }
    } while !rest.isEmpty && seconds <= 1_000_000_000
    return rest.isEmpty ? now.advanced(by: .seconds(-seconds)) : nil
  }

  /// `15:00`, `9:05:30`, `yesterday 15:00`
  mutating func ofDay(_ zone: LogTimeZone, _ now: Timestamp) -> Timestamp? {
    let name = word()
    guard ["", "today", "yesterday"].contains(name), name.isEmpty || take(" ") else { return nil }
    var time = day(zone, now, daysAgo: name == "yesterday" ? 1 : 0)
    var part: Int64 = 0
    guard clock(&time, &part), rest.isEmpty else { return nil }
    return moment(of: time, zone).flatMap { Timestamp(second: $0, part) }
  }

  mutating func absolute(in zone: LogTimeZone) -> Timestamp? {
    var time = CivilTime()
    var fraction: Int64 = 0
    var offset: Int?
    guard date(&time) else { return nil }
    if take("T") || take("t") || take(" ") {
      guard clock(&time, &fraction), zoneOffset(&offset) else { return nil }
    }
    guard rest.isEmpty, let second = moment(of: time, zone, offset: offset) else { return nil }
    return Timestamp(second: second, fraction)
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
    guard let hour = number(1...2), take(":"), let minute = number(2...2) else { return false }
    (time.hour, time.minute) = (hour, minute)
    guard take(":") else { return true }
    guard let second = number(2...2) else { return false }
    time.second = second
    return take(".") || take(",") ? self.fraction(&fraction) : true
  }

  /// The digits behind a point, as nanoseconds.
  private mutating func fraction(_ fraction: inout Int64) -> Bool {
    let digits = rest.count
    guard let value = number(1...9) else { return false }
    fraction = Int64(value)
    for _ in (digits - rest.count)..<9 { fraction *= 10 }
    return true
  }

  /// Letters, as they stand there.
  private mutating func word() -> String {
    let letters = rest.prefix { (97...122).contains($0 | 0x20) }
    rest.removeFirst(letters.count)
    return String(decoding: letters, as: UTF8.self)
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
