import Glibc

/// How far the clocks of a time zone are ahead of UTC at each moment, as the system's database
/// says: tzfile(5), RFC 9636.
///
/// A value that can be used from any thread, for as many zones as needed: the C library knows only
/// the one zone of the process.
package struct ZoneRules: Equatable, Sendable {
  /// The moments at which the offset changes, in seconds since 1970, rising.
  private var transitions: [Int64] = []
  /// The offset from each transition on.
  private var offsets: [Int64] = []
  /// The offset before the first transition.
  private var first: Int64 = 0
  /// The rule that holds after the last transition, if not the last offset.
  private var later: YearlyRule?

  /// Coordinated Universal Time.
  package static let utc = ZoneRules()

  private init() {}

  /// Reads the zone of that name from the system's database; nil if there is none, or it cannot be
  /// read.
  ///
  /// - Parameter name: `UTC`, which needs no database, or a name such as `Europe/Berlin`.
  package init?(named name: String) {
    if name == "UTC" {
      self = .utc
      return
    }
    guard let file = LocalTime.openZone(name), let size = try? file.status().size,
      (44...(1 << 20)).contains(size)
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: size)
    let count = bytes.withUnsafeMutableBytes { try? file.readFully(into: $0, at: 0) }
    guard count == size else { return nil }
    self.init(file: bytes)
  }

  /// Reads the zone that a file of the database describes; nil if these bytes are no such file.
  package init?(file bytes: [UInt8]) {
    var reader = ZoneFileReader(bytes)
    // The first block has 4-byte times, for old readers.
    guard let old = reader.header(), old.version >= UInt8(ascii: "2"),
      reader.skip(old.size(timeSize: 4)), let header = reader.header(),
      (1...256).contains(header.types)
    else { return nil }
    var (indexes, types): ([Int], [Int64]) = ([], [])
    for _ in 0..<header.times {
      guard let time = reader.number(8) else { return nil }
      transitions.append(time)
    }
    for _ in 0..<header.times {
      guard let index = reader.byte(), index < header.types else { return nil }
      indexes.append(Int(index))
    }
    for _ in 0..<header.types {
      guard let offset = reader.number(4), abs(offset) < 7 * 86400, reader.skip(2) else {
        return nil
      }
      types.append(offset)
    }
    guard reader.skip(header.size(timeSize: 8) - header.sizeBeforeNames(timeSize: 8)),
      zip(transitions, transitions.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    offsets = indexes.map { types[$0] }
    first = types[0]
    later = reader.line().flatMap { YearlyRule($0) }
  }

  /// How many seconds the zone's clocks are ahead of UTC at `moment`, in seconds since 1970.
  ///
  /// - Complexity: O(log *n*) for *n* changes of the offset that the database lists.
  package func offset(at moment: Int64) -> Int64 {
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= moment { low = middle + 1 } else { high = middle }
    }
    if low == transitions.count, let later { return later.offset(at: moment) }
    return low == 0 ? first : offsets[low - 1]
  }

  /// The moments at which the zone's clocks show `local`, in seconds as if it were UTC.
  ///
  /// Mostly one moment. Two, in order, for a time that clocks show again after they were set back.
  /// For a time that they skip, the moment at which they skip it.
  package func moments(showing local: Int64) -> [Int64] {
    let (before, after) = (offset(at: local - 86400), offset(at: local + 86400))
    // The greater offset shows the time first.
    let offsets = before == after ? [before] : [max(before, after), min(before, after)]
    let found = offsets.map { local - $0 }.filter { $0 + offset(at: $0) == local }
    return found.isEmpty ? [firstMoment(after: local - 2 * 86400, notAt: before)] : found
  }

  /// When the offset `old` ends, within four days from `start`.
  private func firstMoment(after start: Int64, notAt old: Int64) -> Int64 {
    var (low, high) = (start, start + 4 * 86400)
    while low < high {
      let middle = low + (high - low) / 2
      if offset(at: middle) == old { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Reads numbers out of a zone's file, never behind its end.
private struct ZoneFileReader {
  struct Header {
    let version: UInt8
    let (isUTC, isStandard, leaps, times, types, names): (Int, Int, Int, Int, Int, Int)

    func sizeBeforeNames(timeSize: Int) -> Int { times * (timeSize + 1) + types * 6 }

    func size(timeSize: Int) -> Int {
      sizeBeforeNames(timeSize: timeSize) + names + leaps * (timeSize + 4) + isStandard + isUTC
    }
  }

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func header() -> Header? {
    guard bytes[position...].starts(with: "TZif".utf8), skip(4), let version = byte(), skip(15)
    else { return nil }
    var counts: [Int] = []
    for _ in 0..<6 {
      guard let count = number(4), (0...(1 << 20)).contains(count) else { return nil }
      counts.append(Int(count))
    }
    return Header(
      version: version, isUTC: counts[0], isStandard: counts[1], leaps: counts[2],
      times: counts[3], types: counts[4], names: counts[5])
  }

  mutating func skip(_ count: Int) -> Bool {
    guard count <= bytes.count - position else { return false }
    position += count
    return true
  }

  mutating func byte() -> UInt8? {
    guard position < bytes.count else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  /// A signed number of `size` bytes, the highest first.
  mutating func number(_ size: Int) -> Int64? {
    guard size <= bytes.count - position else { return nil }
    defer { position += size }
    let value = bytes[position..<position + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: value << (64 - 8 * size)) >> (64 - 8 * size)
  }

  /// The text between two line ends, of which the first is the next byte.
  mutating func line() -> Substring? {
    guard byte() == UInt8(ascii: "\n"),
      let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    return Substring(decoding: bytes[position..<end], as: UTF8.self)
  }
}

/// What a zone does every year: a POSIX TZ string, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
private struct YearlyRule: Equatable {
  /// A day of the year, and the second of that day by the clocks before the change.
  private struct Change: Equatable {
    enum Day: Equatable {
      /// Month, week (5: the last) and day of the week (0: Sunday).
      case weekday(Int64, Int64, Int64)
      /// 1 to 365; 29 February is never counted.
      case ordinary(Int64)
      /// 0 to 365.
      case counted(Int64)
    }
    var day: Day
    var second: Int64 = 7200
  }

  private var standard: Int64
  private var summer: Int64?
  private var starts = Change(day: .weekday(3, 2, 0))
  private var ends = Change(day: .weekday(11, 1, 0))

  init?(_ text: Substring) {
    var text = text
    guard Self.name(&text), let offset = Self.time(&text) else { return nil }
    standard = -offset
    if text.isEmpty { return }
    guard Self.name(&text) else { return nil }
    summer = Self.time(&text).map { -$0 } ?? standard + 3600
    if text.isEmpty { return }
    guard let starts = Self.change(&text), let ends = Self.change(&text), text.isEmpty else {
      return nil
    }
    (self.starts, self.ends) = (starts, ends)
  }

  func offset(at moment: Int64) -> Int64 {
    guard let summer else { return standard }
    // The calendar begins anew every 400 years.
    let moment = (moment % Self.cycle + Self.cycle) % Self.cycle
    var year = 1970 + (moment + standard) / 31_556_952
    while Self.firstDay(of: year) * 86400 > moment + standard { year -= 1 }
    while Self.firstDay(of: year + 1) * 86400 <= moment + standard { year += 1 }
    let start = Self.second(starts, year) - standard
    let end = Self.second(ends, year) - summer
    let isSummer =
      start < end ? (start..<end).contains(moment) : !(end..<start).contains(moment)
    return isSummer ? summer : standard
  }

  // MARK: - The calendar

  /// 400 years, in seconds.
  private static let cycle: Int64 = 146_097 * 86400

  /// When a change is due by the clocks before it, in seconds as if they were UTC's.
  private static func second(_ change: Change, _ year: Int64) -> Int64 {
    let first = firstDay(of: year)
    let isLeap = firstDay(of: year + 1) - first == 366
    let day: Int64
    switch change.day {
    case .ordinary(let number): day = first + number - (isLeap && number >= 60 ? 0 : 1)
    case .counted(let number): day = first + number
    case .weekday(let month, let week, let weekday):
      let start = firstDay(of: year, month: month)
      let next = month == 12 ? firstDay(of: year + 1) : firstDay(of: year, month: month + 1)
      // Day 0 was a Thursday.
      let toFirst = (weekday - (start + 4) % 7 + 7) % 7
      let wanted = start + toFirst + (week - 1) * 7
      day = wanted < next ? wanted : wanted - 7
    }
    return day * 86400 + change.second
  }

  /// Days from 1970 to the first day of a month.
  private static func firstDay(of year: Int64, month: Int64 = 1) -> Int64 {
    var date = CivilTime()
    // A year beyond the possible dates counts as the nearest possible one.
    (date.year, date.month) = (Int(min(max(year, 1), 9999)), Int(month))
    return Int64(LocalTime.utcSecond(at: date) ?? 0) / 86400
  }

  // MARK: - Reading

  private static func name(_ text: inout Substring) -> Bool {
    let rest: Substring
    if text.first == "<" {
      guard let end = text.firstIndex(of: ">") else { return false }
      rest = text[text.index(after: end)...]
    } else {
      rest = text.drop { $0.isASCII && $0.isLetter }
    }
    defer { text = rest }
    return rest.startIndex > text.startIndex
  }

  /// `[+-]hh[:mm[:ss]]` in seconds.
  private static func time(_ text: inout Substring) -> Int64? {
    let isNegative = text.first == "-"
    if isNegative || text.first == "+" { text = text.dropFirst() }
    guard var seconds = number(&text, atMost: 167).map({ $0 * 3600 }) else { return nil }
    for unit: Int64 in [60, 1] where text.first == ":" {
      text = text.dropFirst()
      guard let part = number(&text, atMost: 59) else { return nil }
      seconds += part * unit
    }
    return isNegative ? -seconds : seconds
  }

  private static func number(_ text: inout Substring, atMost limit: Int64) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let value = Int64(digits), value <= limit else { return nil }
    text = text[digits.endIndex...]
    return value
  }

  private static func change(_ text: inout Substring) -> Change? {
    guard text.first == ",", let day = day(&text) else { return nil }
    var change = Change(day: day)
    if text.first == "/" {
      text = text.dropFirst()
      guard let second = time(&text) else { return nil }
      change.second = second
    }
    return change
  }

  private static func day(_ text: inout Substring) -> Change.Day? {
    text = text.dropFirst()
    if text.first == "J" {
      text = text.dropFirst()
      return number(&text, atMost: 365).flatMap { $0 > 0 ? .ordinary($0) : nil }
    }
    guard text.first == "M" else { return number(&text, atMost: 365).map { .counted($0) } }
    var parts: [Int64] = []
    for limit: Int64 in [12, 5, 6] {
      text = text.dropFirst()
      guard let part = number(&text, atMost: limit) else { return nil }
      parts.append(part)
    }
    return parts[0] > 0 && parts[1] > 0 ? .weekday(parts[0], parts[1], parts[2]) : nil
  }
}
