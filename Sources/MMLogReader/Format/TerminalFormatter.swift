import MMLogFormat

/// Lines for people at a terminal: what is read first stands first, and no line is wider than the
/// terminal.
///
///     ── Saturday 2026-11-21 ──
///     09:00:00.123 INFO  orders.book  order 7 accepted venue=XETR
///     09:00:00.124 WARN  orders.book  order 8 waits for a long time, because the venue has not
///                                     answered venue=XETR
///
/// A line with the date stands before the first record of each day. Places and the digits behind
/// milliseconds are left out; ``TextFormatter`` has them. Control characters are escaped as there.
package struct TerminalFormatter: LogFormatter {
  private var timestamp: TimeFormatter
  private let colors: Bool
  private let columns: Int
  private let patterns: [TextPattern]
  private var day: [UInt8] = []
  /// As wide as the widest label so far, within bounds.
  private var labelWidth = 0

  /// A longer label moves only its own message.
  private static let widestLabel = 24

  /// Makes a formatter.
  ///
  /// - Parameters:
  ///   - colors: Whether parts have colors.
  ///   - columns: The width of the terminal.
  ///   - patterns: The texts to highlight in messages and fields, if there are colors.
  package init(
    zone: LogTimeZone = .local, colors: Bool, columns: Int,
    highlighting patterns: [TextPattern] = []
  ) {
    timestamp = TimeFormatter(zone)
    (self.colors, self.columns, self.patterns) = (colors, columns, colors ? patterns : [])
  }

  /// Appends the record's lines.
  package mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    appendDay(of: record.time, to: &output)
    var line = TextBuffer(capacity: 256)
    appendHead(record, to: &line)
    let head = Self.width(of: line)
    appendBody(record, to: &line)
    let text = line.text()
    Self.append(text, columns, indent: head, to: &output)
    output.append(UInt8(ascii: "\n"))
  }

  /// Appends a line with the date if the date differs from that of the record before.
  private mutating func appendDay(of time: Timestamp, to output: inout TextBuffer) {
    var date = TextBuffer(capacity: 16)
    timestamp.append(time, .date, to: &date)
    let day = date.withUnsafeBytes { Array($0) }
    if day == self.day { return }
    self.day = day
    let second = time.nanosecondsSince1970.flooredQuotient(by: 1_000_000_000)
    let days = (second + timestamp.offset(at: second)).flooredQuotient(by: 86400)
    // 1970 began on a Thursday.
    let weekday = Self.weekdays[Int(days - (days + 3).flooredQuotient(by: 7) * 7 + 3)]
    output.append(
      text: colored(SGR.faint, "── \(weekday) \(String(decoding: day, as: UTF8.self)) ──"))
    output.append("\n")
  }

  private static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  private mutating func appendHead(_ record: LogReader.Record, to line: inout TextBuffer) {
    if colors { line.append(SGR.faint) }
    let start = line.count
    timestamp.append(record.time, .clock, to: &line)
    line.cut(to: start + "09:00:00.123".utf8.count)
    if colors { line.append(SGR.reset) }
    line.append(" ")
    line.append(text: colored(SGR.color(of: record.level), record.level.shortName))
    line.append(UInt8(ascii: " "), count: 6 - record.level.shortName.utf8.count)
    appendLabel(record, to: &line)
  }

  private mutating func appendLabel(_ record: LogReader.Record, to line: inout TextBuffer) {
    var label = TextBuffer(capacity: 64)
    record.content.appendLabel(.plain, to: &label)
    let text = label.text()
    let width = Self.width(text)
    labelWidth = max(labelWidth, min(width, Self.widestLabel))
    if labelWidth == 0 { return }
    line.append(text: text.isEmpty ? "" : colored(SGR.cyan, text))
    line.append(UInt8(ascii: " "), count: max(0, labelWidth - width) + 2)
  }

  private func appendBody(_ record: LogReader.Record, to line: inout TextBuffer) {
    let start = line.count
    TextFormatter.appendMessage(record, to: &line)
    show(from: start, in: &line)
    let fields = line.count
    TextFormatter.appendPairs(record, colors: colors, to: &line)
    show(from: fields, in: &line)
    TextFormatter.appendContext(record, colors: colors, to: &line)
  }

  private func colored(_ color: StaticString, _ text: String) -> String {
    colors ? "\(color)\(text)\(SGR.reset)" : text
  }

  /// Highlights what was searched for.
  private func show(from start: Int, in line: inout TextBuffer) {
    if patterns.isEmpty { return }
    let bytes = line.withBytes(from: start) { Array($0) }
    // Colors are no part of the text. All other escape characters were escaped before.
    var (places, isEscape) = ([Int](), false)
    for (index, byte) in bytes.enumerated() {
      if byte == 0x1B { isEscape = true }
      if !isEscape { places.append(index) }
      if byte == UInt8(ascii: "m") { isEscape = false }
    }
    var marked = [Bool](repeating: false, count: bytes.count)
    places.map { bytes[$0] }.withUnsafeBytes { text in
      for pattern in patterns {
        for range in pattern.ranges(in: text) {
          for place in places[range] { marked[place] = true }
        }
      }
    }
    line.cut(to: start)
    var isMarked = false
    for (byte, mark) in zip(bytes, marked) {
      if mark != isMarked { line.append(mark ? SGR.found : SGR.reset) }
      isMarked = mark
      line.append(byte)
    }
    if isMarked { line.append(SGR.reset) }
  }

  // MARK: - Wrapping

  /// Appends text in lines of at most `columns` columns, if that leaves enough room.
  package static func append(
    _ text: String, _ columns: Int, indent: Int, to output: inout TextBuffer
  ) {
    let indent = columns - indent < 30 ? 4 : indent
    guard columns - indent >= 20 else { return output.append(text: text) }
    var (column, isEscape) = (0, false)
    /// The place behind the last space of the line, and the column of that place.
    var last: (count: Int, column: Int)?
    for scalar in text.unicodeScalars {
      if scalar == "\u{1b}" { isEscape = true }
      let width = isEscape ? 0 : scalar.columns
      if isEscape, scalar == "m" { isEscape = false }
      if scalar == " ", column >= columns {
        // A space behind the last column would begin a line of its own.
        last = (output.count, column)
        continue
      }
      if column + width > columns {
        let place = last ?? (output.count, column)
        let tail = output.withBytes(from: place.count) { Array($0) }
        output.cut(to: place.count)
        output.append("\n")
        output.append(UInt8(ascii: " "), count: indent)
        output.append(tail)
        (column, last) = (indent + column - place.column, nil)
      }
      output.append(text: String(scalar))
      column += width
      if scalar == " ", column > indent { last = (output.count, column) }
    }
  }

  private static func width(of line: borrowing TextBuffer) -> Int {
    width(line.text())
  }

  /// How many columns a text takes without its colors.
  private static func width(_ text: String) -> Int {
    var (sum, isEscape) = (0, false)
    for scalar in text.unicodeScalars {
      if scalar == "\u{1b}" { isEscape = true }
      if !isEscape { sum += scalar.columns }
      if isEscape, scalar == "m" { isEscape = false }
    }
    return sum
  }
}

extension Level {
  /// The name in five letters.
  fileprivate var shortName: String {
    switch self {
    case .trace: "TRACE"
    case .debug: "DEBUG"
    case .info: "INFO"
    case .notice: "NOTE"
    case .warning: "WARN"
    case .error: "ERROR"
    case .critical, .off: "CRIT"
    }
  }
}
