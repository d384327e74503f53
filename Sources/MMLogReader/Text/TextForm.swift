import MMLogSystem

/// How text from a log is written to an output: which of its characters are escaped, and how.
///
/// In every form except ``raw``, nothing remains that moves a terminal's cursor or ends a line.
package enum TextForm: Int, CaseIterable, BitwiseCopyable {
  /// As it is.
  case raw
  /// For people: `\n`, `\t`, `\r`, `\u{1b}`, and `\xff` for what is not UTF-8.
  case plain
  /// The same between quotes: `"` and `\` have a backslash too.
  case quoted
  /// The same within a field of CSV: `"` is doubled.
  case csv
  /// Within a string of JSON (RFC 8259): `\u001b`, and U+FFFD for what is not UTF-8.
  case json
}

extension TextBuffer {
  /// Appends text from a log in a form.
  ///
  /// - Returns: Whether all of it is UTF-8; always true in ``TextForm/raw``, which is not checked.
  @discardableResult
  mutating func append(_ bytes: UnsafeRawBufferPointer, _ form: TextForm) -> Bool {
    guard let start = bytes.baseAddress else { return true }
    if form == .raw {
      append(bytes)
      return true
    }
    let plain = appendPlain(start, bytes.count)
    if plain == bytes.count { return true }
    return append(escaping: UnsafeRawBufferPointer(rebasing: bytes[plain...]), form)
  }

  /// The same for a string.
  package mutating func append(_ text: String, _ form: TextForm) {
    var text = text
    text.withUTF8 { _ = append(UnsafeRawBufferPointer($0), form) }
  }

  /// Appends bytes as long as they are the same in every form: printable ASCII without `"` and `\`,
  /// inspected by words.
  ///
  /// - Returns: The number of bytes.
  @inline(__always)
  private mutating func appendPlain(_ source: UnsafeRawPointer, _ size: Int) -> Int {
    var index = 0
    append(maximum: size) { place in
      let target = UnsafeMutableRawPointer(place)
      while index &+ 8 <= size {
        let word = source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if word.hasSpecialByte { break }
        target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
        index &+= 8
      }
      while index < size {
        let byte = source.load(fromByteOffset: index, as: UInt8.self)
        if byte.isSpecial { break }
        place[index] = byte
        index &+= 1
      }
      return index
    }
    return index
  }

  @inline(never)
  private mutating func append(
    escaping bytes: UnsafeRawBufferPointer, _ form: TextForm
  ) -> Bool {
    var isUTF8 = true
    var (start, index) = (0, 0)
    while index < bytes.count {
      if !bytes[index].isSpecial {
        index += 1
        continue
      }
      let character = bytes.character(at: index)
      let end = index + character.count
      if case .scalar(let scalar, _) = character, !form.escapes(scalar) {
        index = end
        continue
      }
      append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
      switch character {
      case .scalar(let scalar, _): append(escape: scalar, form)
      case .invalid:
        isUTF8 = false
        append(invalid: UnsafeRawBufferPointer(rebasing: bytes[index..<end]), form)
      }
      (start, index) = (end, end)
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
    return isUTF8
  }

  private mutating func append(escape scalar: UInt32, _ form: TextForm) {
    if scalar == 0x22, form == .csv { return append("\"\"") }
    append(UInt8(ascii: "\\"))
    switch scalar {
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0x22, 0x5C: append(UInt8(truncatingIfNeeded: scalar))
    default: append(number: scalar, form)
    }
  }

  /// Appends bytes that are no character: together one U+FFFD, or each as `\xff`.
  private mutating func append(invalid bytes: UnsafeRawBufferPointer, _ form: TextForm) {
    if form == .json { return append("\u{FFFD}") }
    for byte in bytes {
      append("\\x")
      append(digits: byte, base: 16, minimum: 2)
    }
  }

  private mutating func append(number scalar: UInt32, _ form: TextForm) {
    if form == .json {
      // All characters that are unsafe to show are below U+10000: no surrogates are needed.
      append(UInt8(ascii: "u"))
      return append(digits: scalar, base: 16, minimum: 4)
    }
    append("u{")
    append(digits: scalar, base: 16)
    append(UInt8(ascii: "}"))
  }
}

extension TextForm {
  /// Whether a character has to be escaped.
  fileprivate func escapes(_ scalar: UInt32) -> Bool {
    guard scalar == 0x22 || scalar == 0x5C else { return isUnsafeToShow(scalar) }
    return switch self {
    case .raw, .plain: false
    case .quoted, .json: true
    case .csv: scalar == 0x22
    }
  }
}

extension UInt8 {
  /// Anything but printable ASCII without `"` and `\`.
  @inline(__always)
  fileprivate var isSpecial: Bool { self &- 0x20 >= 0x5F || self == 0x22 || self == 0x5C }
}

extension UInt64 {
  /// Whether one of its eight bytes is special. The tests for a byte below, equal, or above are
  /// those of "Bit Twiddling Hacks" (S. E. Anderson).
  @inline(__always)
  fileprivate var hasSpecialByte: Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let below = self &- ones &* 0x20
    let quote = (self ^ ones &* 0x22) &- ones
    let backslash = (self ^ ones &* 0x5C) &- ones
    let delete = (self ^ ones &* 0x7F) &- ones
    // A byte of 0x80 or more, which the other tests get wrong, is special anyway.
    return (below | quote | backslash | delete | self) & (ones &* 0x80) != 0
  }
}

extension String {
  /// The text with everything escaped that could move a terminal's cursor or fake a line.
  ///
  /// - Complexity: O(bytes).
  public var escapedForTerminal: String {
    var buffer = TextBuffer()
    buffer.append(self, .plain)
    return buffer.text()
  }
}
