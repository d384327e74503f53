import MMLogFormat
import MMLogSystem

/// Writes times as RFC 3339 has them: `2026-11-21T09:00:00.123456789+01:00`.
package struct TimeFormatter {
  private let zone: LogTimeZone
  /// The text of a second: 19 bytes (more after the year 9999), and that of its zone.
  private var second = Int64.min
  private var start: [UInt8] = []
  private var end: [UInt8] = []
  /// A quarter of an hour, and how many seconds its zone is ahead of UTC.
  private var quarter = Int64.min
  private var offset: Int64 = 0

  package init(_ zone: LogTimeZone) { self.zone = zone }

  /// Which parts of a time are shown.
  enum Parts {
    /// `2026-11-21T09:00:00.123456789+01:00`
    case all
    /// `2026-11-21`
    case date
    /// `09:00:00.123456789`
    case clock
    /// `2026-11-21T09`
    case hour
  }

  /// Appends a time.
  @inline(__always)
  package mutating func append(_ time: Timestamp, to output: inout TextBuffer) {
    let fraction = prepare(for: time)
    output.append(start)
    output.append(UInt8(ascii: "."))
    output.append(decimal: fraction, minimum: 9)
    output.append(end)
  }

  /// Appends parts of a time.
  mutating func append(_ time: Timestamp, _ parts: Parts, to output: inout TextBuffer) {
    if parts == .all { return append(time, to: &output) }
    let fraction = prepare(for: time)
    let date = start.count - "T00:00:00".utf8.count
    start.withUnsafeBytes { start in
      switch parts {
      case .all: return
      case .date: output.append(UnsafeRawBufferPointer(rebasing: start[..<date]))
      case .hour: output.append(UnsafeRawBufferPointer(rebasing: start[..<(date + 3)]))
      case .clock:
        output.append(UnsafeRawBufferPointer(rebasing: start[(date + 1)...]))
        output.append(UInt8(ascii: "."))
        output.append(decimal: fraction, minimum: 9)
      }
    }
  }

  /// Prepares the text of the time's second.
  ///
  /// - Returns: The nanoseconds in that second.
  @inline(__always)
  private mutating func prepare(for time: Timestamp) -> UInt64 {
    let time = time.nanosecondsSince1970
    let second = time.flooredQuotient(by: 1_000_000_000)
    if second != self.second || start.isEmpty { prepare(second) }
    // Not `second` times a billion: for the very first second, the product does not fit.
    let fraction = time % 1_000_000_000
    return UInt64(fraction < 0 ? fraction + 1_000_000_000 : fraction)
  }

  private mutating func prepare(_ second: Int64) {
    self.second = second
    let offset = offset(at: second)
    let (nanoseconds, overflow) = (second + offset).multipliedReportingOverflow(by: 1_000_000_000)
    // The last hours that 64 bits can express. Only a corrupted clock has such times.
    let civil = UTCTime(
      Timestamp(nanosecondsSince1970: overflow ? (second < 0 ? .min : .max) : nanoseconds))
    var text = TextBuffer()
    for (value, width, after) in [
      (civil.year, 4, "-"), (civil.month, 2, "-"), (civil.day, 2, "T"), (civil.hour, 2, ":"),
      (civil.minute, 2, ":"), (civil.second, 2, ""),
    ] {
      text.append(decimal: UInt64(value.magnitude), minimum: width)
      text.append(text: after)
    }
    start = text.withUnsafeBytes { Array($0) }
    end = Self.zone(zone, offset)
  }

  private static func zone(_ zone: LogTimeZone, _ offset: Int64) -> [UInt8] {
    if case .utc = zone { return [UInt8(ascii: "Z")] }
    var text = TextBuffer()
    text.append(UInt8(ascii: offset < 0 ? "-" : "+"))
    text.append(decimal: (offset / 3600).magnitude, minimum: 2)
    text.append(UInt8(ascii: ":"))
    text.append(decimal: (offset / 60 % 60).magnitude, minimum: 2)
    return text.withUnsafeBytes { Array($0) }
  }

  /// Seconds ahead of UTC. Since 1972, zones change only at whole quarters of an hour.
  package mutating func offset(at second: Int64) -> Int64 {
    guard case .local = zone else { return 0 }
    let quarter = second.flooredQuotient(by: 900)
    if quarter == self.quarter && second > 100_000_000 { return offset }
    self.quarter = quarter
    let seconds = LocalTime.offset(at: Int(second))?.seconds ?? 0
    // RFC 3339 has offsets in minutes.
    offset = Int64(seconds / 60 * 60)
    return offset
  }
}

extension TimeFormatter {
  /// The time as RFC 3339 has it, to the nanosecond.
  package mutating func text(of time: Timestamp) -> String { text(of: time, .all) }

  /// The time with `digits` digits of a second.
  package mutating func text(of time: Timestamp, digits: Int) -> String {
    let text = text(of: time)
    guard let point = text.firstIndex(of: ".") else { return text }
    let fraction = text[point...].prefix(10)
    let kept = digits > 0 ? fraction.prefix(1 + digits) : ""
    return String(text[..<point] + kept + text[fraction.endIndex...])
  }

  /// The hour of a time: `2026-11-21T09`.
  package mutating func hour(of time: Timestamp) -> String { text(of: time, .hour) }

  private mutating func text(of time: Timestamp, _ parts: Parts) -> String {
    var buffer = TextBuffer(capacity: 64)
    append(time, parts, to: &buffer)
    return buffer.text()
  }
}
