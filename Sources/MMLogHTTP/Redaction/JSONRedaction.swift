/// Redacts fields of JSON by their names.
///
/// It passes once over bytes that may come in pieces, without a tree and without a stack. The text
/// between two quotes is a name if a colon follows it, whether or not the first quote began a text.
/// So neither depth nor size take memory, and nothing before a name, such as a quote too many, can
/// hide it: malformed JSON is redacted as well as valid JSON. Names are compared as a parser
/// decodes them. So are names of JSON in a text of JSON, whose quotes have backslashes or are
/// `\u0022`.
///
/// A redacted value ends where its object or array goes on, whatever stands in between. A value of
/// JSON in a text ends with the text. The byte behind the end has to agree: behind a comma, a
/// quote; behind a bracket, white space or a delimiter that may stand there; behind the quote that
/// ends a text, a comma or a bracket. Otherwise the value goes on: a secret may have quotes that
/// should have been escaped.
struct JSONRedaction {
  private enum Phase {
    /// Behind a quote, or at the beginning.
    case name
    /// Behind the next quote.
    case behindName
    /// In a value that is not kept, in a text in the value, and in the rest of a text around it.
    case redacting, redactingText, redactingRest
  }

  private let redactor: Redactor.Compiled
  private var phase = Phase.name
  private var name: NameReader
  /// How many bytes of `\u0022` were read.
  private var quoteEscape: UInt8 = 0
  /// How many backslashes stand before a quote of the JSON to which the last quote belongs: JSON in
  /// a text has some.
  private var backslashes: UInt8 = 0
  /// How many backslashes were read behind a name of JSON in a text: `\n` is white space there.
  private var spaceBackslashes: UInt8 = 0
  private var action = Redactor.Action.keep
  private var quote: UInt8 = 0
  /// Whether the last byte of a text was a backslash that escapes the next byte.
  private var isEscaped = false
  /// What ends the value, or a text in it, if what follows agrees; 0: nothing.
  private var delimiter: UInt8 = 0
  /// White space behind ``delimiter``.
  private var space = HeldSpace()
  /// How many objects and arrays are open in a value that is not kept.
  private var depth = 0
  private var isValueEmpty = true
  private var hash: ValueHash?

  init(_ redactor: Redactor.Compiled) {
    self.redactor = redactor
    name = NameReader(redactor.names)
  }

  /// Takes the next piece of the JSON.
  mutating func append(_ bytes: UnsafeRawBufferPointer, to output: inout RedactedOutput) {
    guard let base = bytes.baseAddress else { return }
    let start = base.assumingMemoryBound(to: UInt8.self)
    let count = bytes.count
    var (place, kept) = (0, 0)
    while place < count {
      switch phase {
      case .name: readName(start, count, &place)
      case .behindName: readBehindName(start, count, &place, kept, &output)
      case .redacting, .redactingText, .redactingRest:
        let isOver = redact(start, count, &place, &output)
        kept = place
        if isOver { endValue(to: &output) }
      }
    }
    if !isRedacting { output.append(start + kept, count - kept) }
  }

  /// Ends the JSON.
  mutating func finish(to output: inout RedactedOutput) {
    guard isRedacting else { return }
    if delimiter == 0 || phase == .redactingText {
      appendHash(to: &output)
    } else {
      endValue(to: &output)
    }
  }

  private var isRedacting: Bool { phase != .name && phase != .behindName }

  // MARK: - What is kept

  private mutating func readName(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int
  ) {
    while true {
      let first = place
      guard takeQuote(start, count, &place) else {
        // The name goes on in the next piece.
        name.read(start + first, place - first, redactor.names)
        return
      }
      // For most texts, the byte behind them shows that they are no names.
      if place < count, start[place] > 0x20, start[place] != UInt8(ascii: ":"),
        start[place] != UInt8(ascii: "\\")
      {
        name = NameReader(redactor.names)
        continue
      }
      name.read(start + first, place - 1 - first, redactor.names)
      phase = .behindName
      return
    }
  }

  private mutating func readBehindName(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int, _ kept: Int,
    _ output: inout RedactedOutput
  ) {
    while place < count, isSpaceBehindName(start[place]) { place += 1 }
    guard place < count else { return }
    let state = name.state
    (phase, name) = (.name, NameReader(redactor.names))
    if spaceBackslashes > 0 {
      // It was no white space, but an escape of the next name.
      (quoteEscape, backslashes, spaceBackslashes) = (1, spaceBackslashes, 0)
      name.take(UInt8(ascii: "\\"), redactor.names)
      return
    }
    guard start[place] == UInt8(ascii: ":") else { return }
    action = redactor.action(of: state, unlisted: .keep)
    if action == .keep { return }
    place += 1
    output.append(start + kept, place - kept)
    (phase, depth, isValueEmpty, isEscaped, delimiter) = (.redacting, 0, true, false, 0)
    hash = action == .hash ? ValueHash() : nil
  }

  /// Whether a byte belongs to white space, which has escapes in JSON in a text.
  private mutating func isSpaceBehindName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\\"):
      if backslashes == 0 { return false }
      spaceBackslashes &+= 1
      return true
    case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      if spaceBackslashes == 0 { return false }
      spaceBackslashes = 0
      return true
    default: return byte <= 0x20 && spaceBackslashes == 0
    }
  }

  /// Passes over the next quote, as it is or as `\u0022`; false: there is none.
  @inline(__always)
  private mutating func takeQuote(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int
  ) -> Bool {
    while true {
      if quoteEscape == 0 { Self.skipPlain(start, count, &place) }
      guard place < count else { return false }
      let byte = start[place]
      place &+= 1
      switch (byte, quoteEscape) {
      case (UInt8(ascii: "\""), _), (UInt8(ascii: "2"), 5):
        // An even number of backslashes are characters of a text that the quote ends.
        if quoteEscape == 0 || quoteEscape == 1 && backslashes & 1 == 0 { backslashes = 0 }
        if quoteEscape == 5 { backslashes = 1 }
        quoteEscape = 0
        return true
      case (UInt8(ascii: "\\"), _):
        backslashes = quoteEscape == 1 ? backslashes &+ 1 : 1
        quoteEscape = 1
      case (UInt8(ascii: "u"), 1), (UInt8(ascii: "0"), 2...3), (UInt8(ascii: "2"), 4):
        quoteEscape += 1
      default: quoteEscape = 0
      }
    }
  }

  /// Passes over bytes that are neither quotes nor backslashes, eight at a time.
  @inline(__always)
  private static func skipPlain(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int
  ) {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    while place &+ 8 <= count {
      let word = UInt64(
        littleEndian: UnsafeRawPointer(start + place).loadUnaligned(as: UInt64.self))
      let quotes = word ^ UInt64(quote) &* ones
      let backslashes = word ^ UInt64(backslash) &* ones
      // The highest bit of each byte that is zero (Mycroft, 1987); only the lowest of these bits is
      // right for sure.
      let found =
        ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes) & highs
      if found != 0 {
        place &+= found.trailingZeroBitCount / 8
        return
      }
      place &+= 8
    }
    while place < count, start[place] != quote, start[place] != backslash { place &+= 1 }
  }

  // MARK: - What is redacted

  /// - Returns: Whether the value is over. Then its delimiter was read, and the byte at `place` was
  ///   not.
  private mutating func redact(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) -> Bool {
    var hashed = place
    defer { hash?.combine(start + hashed, place - hashed) }
    while place < count {
      let byte = start[place]
      if byte <= 0x20, delimiter == UInt8(ascii: ",") || delimiter != 0 && phase == .redactingText {
        hash?.combine(start + hashed, place - hashed)
        space.append(byte)
        place += 1
        hashed = place
        continue
      }
      if delimiter != 0 {
        let isEnd = endsWithDelimiter(before: byte)
        if isEnd, phase != .redactingText { return true }
        // If a quote too many has hidden the end, this shows that a name has ended instead.
        name.take(delimiter, redactor.names)
        if isEnd { phase = .redacting }
        (delimiter, space) = (0, HeldSpace())
      }
      let before = phase
      if isDelimiter(byte) {
        delimiter = byte
      } else {
        readValue(byte, &output)
        name.take(byte, redactor.names)
      }
      // White space outside of texts, and the quotes of a value that is a text, do not count.
      if before == .redacting && byte <= 0x20 || depth == 0 && (delimiter != 0 || phase != before) {
        hash?.combine(start + hashed, place - hashed)
        hashed = place + 1
      }
      place += 1
    }
    return false
  }

  /// Whether a byte ends the value, or a text in it, as far as it alone says.
  private mutating func isDelimiter(_ byte: UInt8) -> Bool {
    if phase == .redacting { return depth == 0 && Self.endsValue(byte) }
    if isEscaped {
      isEscaped = false
      return false
    }
    isEscaped = byte == UInt8(ascii: "\\")
    return byte == quote
  }

  /// Whether the delimiter ends the value, or a text in it, if this byte follows.
  private func endsWithDelimiter(before byte: UInt8) -> Bool {
    switch delimiter {
    case UInt8(ascii: ","):
      byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || Self.endsValue(byte)
    case UInt8(ascii: "}"), UInt8(ascii: "]"): byte <= 0x20 || Self.isBehindBracket(byte)
    default:
      // The quote may have ended a name, if it is not the quote of the value itself.
      byte <= 0x20 || Self.endsValue(byte)
        || byte == UInt8(ascii: ":") && (depth > 0 || phase == .redactingRest)
    }
  }

  private mutating func readValue(_ byte: UInt8, _ output: inout RedactedOutput) {
    if phase != .redacting { return }
    if isValueEmpty, byte > 0x20 {
      isValueEmpty = false
      if byte == UInt8(ascii: "\\") { backslashes = max(1, backslashes) }
      begin(&output)
    }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): (quote, phase) = (byte, .redactingText)
    case UInt8(ascii: "\\"):
      // The value's quote has a backslash: the value is in a text itself.
      (quote, phase, isEscaped) = (UInt8(ascii: "\""), .redactingRest, true)
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
    default: break
    }
  }

  private static func endsValue(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }

  /// Whether a byte may stand behind an object or an array, also where that stands in another text.
  private static func isBehindBracket(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "\\"): true
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ")"), UInt8(ascii: "<"): true
    case UInt8(ascii: ";"), UInt8(ascii: "&"): true
    default: endsValue(byte)
    }
  }

  private func begin(_ output: inout RedactedOutput) {
    switch action {
    case .drop: output.append("null")
    case .redact:
      appendQuote(to: &output)
      output.append(Redactor.placeholder)
      appendQuote(to: &output)
    case .keep, .hash: break
    }
  }

  /// Adds a quote of the JSON that the value is in.
  private func appendQuote(to output: inout RedactedOutput) {
    for _ in 0..<backslashes { output.append("\\") }
    output.append("\"")
  }

  /// Ends the value. What ends it is kept.
  private mutating func endValue(to output: inout RedactedOutput) {
    appendHash(to: &output)
    output.append(&delimiter, 1)
    space.append(to: &output)
    if delimiter == UInt8(ascii: "\"") {
      // The quote may end a name, if the text had already ended before.
      (phase, backslashes) = (.behindName, 0)
    } else {
      (phase, name) = (.name, NameReader(redactor.names))
    }
    (delimiter, space) = (0, HeldSpace())
  }

  private mutating func appendHash(to output: inout RedactedOutput) {
    if let hash, !isValueEmpty {
      appendQuote(to: &output)
      output.append(hash: hash.value)
      appendQuote(to: &output)
    }
    hash = nil
  }
}

/// White space of JSON that is added later: as much as lines begin with.
private struct HeldSpace {
  private static let kinds: StaticString = " \t\n\r"
  private static let maximum = 32

  /// Two bits for each byte of white space, the last one lowest.
  private var bytes: UInt64 = 0
  private var count = 0

  /// Takes a byte of white space; leaves it out if there is no room.
  mutating func append(_ byte: UInt8) {
    if count == Self.maximum { return }
    let kind: UInt64 =
      switch byte {
      case UInt8(ascii: "\t"): 1
      case UInt8(ascii: "\n"): 2
      case UInt8(ascii: "\r"): 3
      default: 0
      }
    (bytes, count) = (bytes << 2 | kind, count + 1)
  }

  func append(to output: inout RedactedOutput) {
    for index in stride(from: count - 1, through: 0, by: -1) {
      output.append(Self.kinds.utf8Start + Int(bytes >> (2 * UInt64(index)) & 3), 1)
    }
  }
}

/// Reads a name with escapes, which may come in pieces.
private struct NameReader {
  var state: NameMatcher.State
  /// How much of an escape was read: 1: a backslash; more: the number of missing digits plus 1.
  private var escape: UInt8 = 0
  /// The digits of the last escape, and above them those of the one before, which may be the first
  /// half of a character.
  private var unit: UInt32 = 0

  @inline(__always)
  init(_ names: NameMatcher) { state = names.started() }

  mutating func read(_ start: UnsafePointer<UInt8>, _ count: Int, _ names: NameMatcher) {
    var index = 0
    while index < count {
      if escape == 0 { index += readLetters(start + index, count - index, names) }
      if index == count { return }
      var state = self.state
      readEscape(start[index], names, &state)
      self.state = state
      index += 1
    }
  }

  /// Reads up to a backslash, and returns the number of bytes.
  @inline(__always)
  private mutating func readLetters(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ names: NameMatcher
  ) -> Int {
    // These are copies that no other function gets, so that they stay in registers.
    var (state, index) = (self.state, 0)
    while index < count, start[index] != UInt8(ascii: "\\") {
      names.take(start[index], &state)
      index += 1
    }
    self.state = state
    return index
  }

  /// Reads a byte that may be part of no name: a quote begins another name.
  mutating func take(_ byte: UInt8, _ names: NameMatcher) {
    if byte == UInt8(ascii: "\"") {
      self = NameReader(names)
    } else if escape == 0 && byte != UInt8(ascii: "\\") {
      names.take(byte, &state)
    } else {
      var state = self.state
      readEscape(byte, names, &state)
      self.state = state
    }
  }

  /// Reads a backslash, or a byte of its escape.
  private mutating func readEscape(
    _ byte: UInt8, _ names: NameMatcher, _ state: inout NameMatcher.State
  ) {
    if byte == UInt8(ascii: "\\") {
      // Several backslashes count as one: JSON in a text has several.
      escape = 1
    } else if escape == 1 {
      escape = byte == UInt8(ascii: "u") ? 5 : 0
      // Escapes of one letter stand for characters that do not count in a name, such as this slash.
      if escape == 0 { names.take(UInt8(ascii: "/"), &state) }
    } else {
      unit = unit << 4 | UInt32(hexDigit(byte) ?? 0)
      escape -= 1
      if escape > 1 { return }
      escape = 0
      takeUnit(names, &state)
    }
  }

  /// Takes what an escape stands for, as the bytes that it would be without one.
  private func takeUnit(_ names: NameMatcher, _ state: inout NameMatcher.State) {
    let (first, second) = (unit >> 16, unit & 0xFFFF)
    if second < 0x80 { return names.take(UInt8(second), &state) }
    let isPair = 0xD800..<0xDC00 ~= first && 0xDC00..<0xE000 ~= second
    let value = isPair ? 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00) : second
    // Half a pair alone stands for nothing.
    guard let scalar = Unicode.Scalar(value) else { return }
    for byte in scalar.utf8 { names.take(byte, &state) }
  }
}
