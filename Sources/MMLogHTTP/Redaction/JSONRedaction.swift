/// Redacts fields of JSON by their names.
///
/// One pass over bytes that may come in pieces, without a tree and without a stack. What stands
/// between two quotes is a name if a colon follows it, whether or not the first quote began a text.
/// So neither depth nor size take memory, and nothing before a name, such as a quote too many, can
/// hide it: what is no JSON is redacted as well as what is. Names are compared as a parser decodes
/// them, also those of JSON in a text of JSON, whose quotes have backslashes or are `\u0022`.
///
/// A redacted value ends where its object or array goes on, whatever stands in between; one of JSON
/// in a text ends with the text.
struct JSONRedaction {
  private enum Phase {
    /// Behind a quote, or the beginning.
    case name
    /// Behind the next one.
    case behindName
    /// In a value that is not kept, in a text in it, and in the rest of a text that it is in.
    case redacting, redactingText, redactingRest
  }

  private let redactor: Redactor.Compiled
  private var phase = Phase.name
  private var name: NameReader
  /// How many bytes of `\u0022` there are.
  private var quoteEscape: UInt8 = 0
  private var action = Redactor.Action.keep
  private var quote: UInt8 = 0
  /// Whether the last byte of a text was a backslash that says something of the next one.
  private var isEscaped = false
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
        if isOver { endValue(at: start[place], &place, to: &output) }
      }
    }
    if !isRedacting { output.append(start + kept, count - kept) }
  }

  /// Ends the JSON.
  mutating func finish(to output: inout RedactedOutput) {
    if isRedacting { appendHash(to: &output) }
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
      // Of most texts, the byte behind them says that they are none.
      if place < count, start[place] > 0x20, start[place] != UInt8(ascii: ":") {
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
    while place < count, start[place] <= 0x20 { place += 1 }
    guard place < count else { return }
    let state = name.state
    (phase, name) = (.name, NameReader(redactor.names))
    guard start[place] == UInt8(ascii: ":") else { return }
    action = redactor.action(of: state, unlisted: .keep)
    if action == .keep { return }
    place += 1
    output.append(start + kept, place - kept)
    (phase, depth, isValueEmpty, isEscaped) = (.redacting, 0, true, false)
    hash = action == .hash ? ValueHash() : nil
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
        quoteEscape = 0
        return true
      case (UInt8(ascii: "\\"), _): quoteEscape = 1
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
      // The highest bit of each byte that is zero (Mycroft, 1987); the lowest of them is right.
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

  /// - Returns: Whether the value is over.
  private mutating func redact(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) -> Bool {
    var hashed = place
    defer { hash?.combine(start + hashed, place - hashed) }
    while place < count {
      let byte = start[place]
      let before = phase
      switch phase {
      case .redactingText, .redactingRest:
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == quote {
          // The quote ends a text that is kept.
          if phase == .redactingRest { return true }
          phase = .redacting
        }
      default:
        if depth == 0, Self.endsValue(byte) { return true }
        readValue(byte, &output)
      }
      // Where a quote too many has hidden the end, this shows that a name has ended instead.
      name.take(byte, redactor.names)
      // White space outside of texts, and the quotes of a value that is a text, do not count.
      if before == .redacting && byte <= 0x20 || depth == 0 && phase != before {
        hash?.combine(start + hashed, place - hashed)
        hashed = place + 1
      }
      place += 1
    }
    return false
  }

  private mutating func readValue(_ byte: UInt8, _ output: inout RedactedOutput) {
    let isInText = byte == UInt8(ascii: "\\")
    if isValueEmpty, byte > 0x20 {
      isValueEmpty = false
      begin(isInText ? "\\\"" : "\"", to: &output)
    }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): (quote, phase) = (byte, .redactingText)
    case UInt8(ascii: "\\"):
      // Its quote has a backslash: it is in a text itself.
      (quote, phase, isEscaped) = (UInt8(ascii: "\""), .redactingRest, true)
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
    default: break
    }
  }

  private static func endsValue(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
  }

  private func begin(_ quote: StaticString, to output: inout RedactedOutput) {
    switch action {
    case .drop: output.append("null")
    case .redact:
      output.append(quote)
      output.append(Redactor.placeholder)
      output.append(quote)
    case .keep, .hash: break
    }
  }

  /// - Parameter byte: What ends the value, and is kept.
  private mutating func endValue(
    at byte: UInt8, _ place: inout Int, to output: inout RedactedOutput
  ) {
    appendHash(to: &output)
    phase = .name
    guard byte == UInt8(ascii: "\"") else { return }
    // It may end a name, where it was wrong that a text goes on.
    phase = .behindName
    place += 1
  }

  private mutating func appendHash(to output: inout RedactedOutput) {
    if let hash, !isValueEmpty {
      let quote: StaticString = phase == .redactingRest ? "\\\"" : "\""
      output.append(quote)
      output.append(hash: hash.value)
      output.append(quote)
    }
    hash = nil
  }
}

/// Reads a name with escapes, which may come in pieces.
private struct NameReader {
  var state: NameMatcher.State
  /// What there is of an escape: 1: a backslash; else how many digits are missing, and 1.
  private var escape: UInt8 = 0
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

  /// Reads up to a backslash, and gives how many bytes that are.
  @inline(__always)
  private mutating func readLetters(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ names: NameMatcher
  ) -> Int {
    // A copy that nobody else gets, so that it stays in registers.
    var (state, index) = (self.state, 0)
    while index < count, start[index] != UInt8(ascii: "\\") {
      names.take(start[index], &state)
      index += 1
    }
    self.state = state
    return index
  }

  /// Reads a byte of what may be no name at all: a quote begins another one.
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

  /// A backslash, or what is behind it.
  private mutating func readEscape(
    _ byte: UInt8, _ names: NameMatcher, _ state: inout NameMatcher.State
  ) {
    if byte == UInt8(ascii: "\\") {
      // Several are one: that of JSON in a text.
      escape = 1
    } else if escape == 1 {
      (escape, unit) = (byte == UInt8(ascii: "u") ? 5 : 0, 0)
      // Those of one letter stand for what does not count in a name, as this does not.
      if escape == 0 { names.take(UInt8(ascii: "/"), &state) }
    } else {
      unit = unit << 4 | UInt32(hexDigit(byte) ?? 0)
      escape -= 1
      if escape > 1 { return }
      escape = 0
      names.take(unit < 0x80 ? UInt8(unit) : 0xFF, &state)
    }
  }
}
