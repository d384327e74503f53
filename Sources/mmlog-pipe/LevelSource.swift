import CommandLineTool
import MMLog
import MMLogJSON
import MMLogReader

/// How the level of a line is found in it. The line is hostile, so only a level is taken from it.
/// Except for JSON, only the beginning of the line is searched, whatever its length.
struct LevelSource {
  enum Kind {
    /// A prefix of sd-daemon(3), or a usual word.
    case prefix
    /// A member of an object.
    case json
    /// A field.
    case logfmt
    /// The first group of an expression.
    case regex(TextPattern.Group)
  }

  let kind: Kind
  private let names = LevelNames()

  /// - Parameter text: As on the command line.
  init(_ text: String) throws(UsageError) {
    switch text {
    case "prefix": kind = .prefix
    case "json": kind = .json
    case "logfmt": kind = .logfmt
    default:
      guard let pattern = regex(text) else {
        throw .badValue(text, of: .levelFrom, expected: "prefix, json, logfmt or regex:PATTERN")
      }
      do throws(TextPattern.Invalid) { kind = .regex(try TextPattern.Group(pattern)) } catch {
        throw UsageError("--level-from: \(error)")
      }
    }
  }

  /// Returns the level of a line, if it has one, and the line's message: all except a prefix of
  /// sd-daemon(3).
  func read(_ line: UnsafeRawBufferPointer) -> (level: Level?, message: UnsafeRawBufferPointer) {
    switch kind {
    case .prefix:
      if let severity = Self.severity(line) {
        return (severity, UnsafeRawBufferPointer(rebasing: line[3...]))
      }
      return (word(line), line)
    case .json: return (member(line), line)
    case .logfmt: return (field(line), line)
    case .regex(let group):
      return (group.first(in: line.beginning(4096)).flatMap { names[$0] }, line)
    }
  }

  // MARK: - Prefixes and words

  /// `<3>`, as of sd-daemon(3).
  private static func severity(_ line: UnsafeRawBufferPointer) -> Level? {
    guard line.count >= 3, line[0] == UInt8(ascii: "<"), line[2] == UInt8(ascii: ">") else {
      return nil
    }
    return Level(severity: Int(line[1]) - 0x30)
  }

  /// Returns the level of the first word that is written as loggers write levels: in capitals, in
  /// brackets, or with a colon behind it. A line that begins like a traceback is an error. The word
  /// begins in the first 128 bytes, and may go on behind them.
  private func word(_ whole: UnsafeRawBufferPointer) -> Level? {
    let longest = 128
    // A word that this cuts is longer than any level.
    let line = whole.beginning(longest + LevelNames.longest + 1)
    if Traceback.beginsAsError(line) { return .error }
    var place = 0
    while place < min(longest, line.count) {
      let byte = line[place]
      if byte == 0x1B {
        place = Self.endOfEscape(line, place)
      } else if byte.isWordByte {
        let start = place
        while place < line.count, line[place].isWordByte { place += 1 }
        let word = start..<place
        if word.count > 2, Self.isMarked(line, word), let level = names[line[word]] { return level }
      } else {
        place += 1
      }
    }
    return nil
  }

  private static func isMarked(_ line: UnsafeRawBufferPointer, _ word: Range<Int>) -> Bool {
    // No capital letter has this bit.
    if line[word].allSatisfy({ $0 & 0x20 == 0 }) { return true }
    guard word.upperBound < line.count else { return false }
    let behind = line[word.upperBound]
    if behind == UInt8(ascii: ":") { return true }
    return word.lowerBound > 0 && "[(<|:".utf8.contains(line[word.lowerBound - 1])
      && "])>|".utf8.contains(behind)
  }

  /// Returns the place behind an escape sequence of a terminal, such as a color.
  private static func endOfEscape(_ line: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var place = start + 1
    guard place < line.count, line[place] == UInt8(ascii: "[") else { return place }
    repeat { place += 1 } while place < line.count && !(0x40...0x7E ~= line[place])
    return place + 1
  }

  // MARK: - Fields

  /// Names of fields that have a level.
  static let fields = ["level", "severity", "lvl", "levelname", "log.level"]

  /// The first level among the fields of a line of logfmt, in the first 4096 bytes.
  private func field(_ whole: UnsafeRawBufferPointer) -> Level? {
    let longest = 4096
    // A value that ends behind this place is cut: it may be the beginning of another word.
    let line = whole.beginning(longest + 1)
    var place = 0
    while place < line.count {
      let key = Self.run(line, &place) { $0 > 0x20 && $0 != UInt8(ascii: "=") }
      guard place < line.count, line[place] == UInt8(ascii: "=") else {
        place += 1
        continue
      }
      place += 1
      let value = Self.value(line, &place)
      let isLevel = Self.fields.contains { line[key].elementsEqual($0.utf8) }
      if isLevel, value.upperBound <= longest, let level = names[line[value]] { return level }
    }
    return nil
  }

  /// Returns where a value is, without its quotes.
  private static func value(_ line: UnsafeRawBufferPointer, _ place: inout Int) -> Range<Int> {
    guard place < line.count, line[place] == UInt8(ascii: "\"") else {
      return run(line, &place) { $0 > 0x20 }
    }
    place += 1
    var isEscaped = false
    let value = run(line, &place) { byte in
      if isEscaped || byte != UInt8(ascii: "\"") {
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        return true
      }
      return false
    }
    place += 1
    return value
  }

  private static func run(
    _ line: UnsafeRawBufferPointer, _ place: inout Int, _ isIn: (UInt8) -> Bool
  ) -> Range<Int> {
    let start = place
    while place < line.count, isIn(line[place]) { place += 1 }
    return start..<place
  }

  // MARK: - JSON

  /// The first level among the members of an object. The rest of the line need not be JSON.
  private func member(_ line: UnsafeRawBufferPointer) -> Level? {
    var reader = JSONReader(line)
    guard reader.kind == .object else { return nil }
    var level: Level?
    _ = reader.members { reader, name in
      guard Self.fields.contains(name) else { return reader.skip() }
      switch reader.kind {
      case .string: level = reader.string().flatMap { names[$0.utf8] }
      case .number:
        if case .int(let number) = reader.number() { level = Self.level(number) }
      default: return reader.skip()
      }
      return level == nil
    }
    return level
  }

  /// The level that a member stands for.
  func level(of value: Logger.MetadataValue) -> Level? {
    switch value {
    case .string(let name): names[name.utf8]
    case .int(let number): Self.level(number)
    default: nil
    }
  }

  private static func level(_ number: Int64) -> Level? {
    Int(exactly: number).flatMap { Level(number: $0) }
  }
}

/// The pattern of `regex:PATTERN`; nil if it is none.
func regex(_ text: String) -> String? {
  text.hasPrefix("regex:") ? String(text.dropFirst("regex:".count)) : nil
}

extension UnsafeRawBufferPointer {
  /// Returns the first line, or its first `count` bytes.
  func beginning(_ count: Int) -> UnsafeRawBufferPointer {
    let start = prefix(count)
    return UnsafeRawBufferPointer(rebasing: start.firstIndex(of: 10).map { start[..<$0] } ?? start)
  }

  /// Whether it begins with a text.
  func begins(with text: StaticString) -> Bool {
    starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
