import MMLogStorage
import MMLogSystem

/// Writes times as RFC 3339 has them: `2026-11-21T09:00:00.123456789+01:00`.
struct Timestamp {
  private let zone: LogTimeZone
  /// The text of a second, up to its fraction, and that of its zone.
  private var second = Int64.min
  private var start: [UInt8] = []
  private var end: [UInt8] = []
  /// A quarter of an hour, and how many seconds its zone is ahead of UTC.
  private var quarter = Int64.min
  private var offset: Int64 = 0

  init(_ zone: LogTimeZone) { self.zone = zone }

  /// - Parameter time: nanoseconds since 1970.
  mutating func append(_ time: Int64, to output: inout [UInt8]) {
    let second = time.flooredQuotient(by: 1_000_000_000)
    if second != self.second || start.isEmpty { prepare(second) }
    output.append(contentsOf: start)
    // Not `second` times a billion: the first second of all does not fit.
    let fraction = time % 1_000_000_000
    output.append(
      digits: UInt64(fraction < 0 ? fraction + 1_000_000_000 : fraction), least: 9)
    output.append(contentsOf: end)
  }

  private mutating func prepare(_ second: Int64) {
    self.second = second
    let offset = offset(at: second)
    let (nanoseconds, overflow) = (second + offset).multipliedReportingOverflow(by: 1_000_000_000)
    // The last hours of what 64 bits can say, which only a damaged clock does.
    let civil = UTCTime(nanoseconds: overflow ? (second < 0 ? .min : .max) : nanoseconds)
    start.removeAll(keepingCapacity: true)
    for (value, width, after) in [
      (civil.year, 4, "-"), (civil.month, 2, "-"), (civil.day, 2, "T"), (civil.hour, 2, ":"),
      (civil.minute, 2, ":"), (civil.second, 2, "."),
    ] {
      start.append(digits: value.magnitude, least: width)
      start.append(after)
    }
    appendZone(offset)
  }

  private mutating func appendZone(_ offset: Int64) {
    end.removeAll(keepingCapacity: true)
    if case .utc = zone { return end.append(UInt8(ascii: "Z")) }
    end.append(UInt8(ascii: offset < 0 ? "-" : "+"))
    end.append(digits: (offset / 3600).magnitude, least: 2)
    end.append(UInt8(ascii: ":"))
    end.append(digits: (offset / 60 % 60).magnitude, least: 2)
  }

  /// Seconds ahead of UTC. Zones change at whole quarters of an hour since 1972.
  private mutating func offset(at second: Int64) -> Int64 {
    guard case .local = zone else { return 0 }
    let quarter = second.flooredQuotient(by: 900)
    if quarter == self.quarter && second > 100_000_000 { return offset }
    self.quarter = quarter
    let seconds = LocalTime.offset(at: Int(second))?.seconds ?? 0
    // RFC 3339 has minutes.
    offset = Int64(seconds / 60 * 60)
    return offset
  }
}
