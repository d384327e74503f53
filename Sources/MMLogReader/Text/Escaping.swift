extension [UInt8] {
  /// Appends text from a log so that it can be shown on a terminal and stays on its line: control
  /// characters as `\n`, `\t`, `\r` or `\u{1b}`, bytes that are not UTF-8 as `\xff`.
  ///
  /// - Parameter quote: Whether `"` and `\` get a backslash too, for text between quotes.
  mutating func append(escaping bytes: UnsafeRawBufferPointer, quote: Bool = false) {
    var start = 0
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let isPlain = byte >= 0x20 && byte < 0x7F
      if isPlain && !(quote && (byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\"))) {
        index += 1
        continue
      }
      let character = bytes.character(at: index)
      if case .scalar(let scalar, let count) = character, !isPlain, !isUnsafeToShow(scalar) {
        index += count
        continue
      }
      append(contentsOf: bytes[start..<index])
      append(escape: character)
      if case .scalar(_, let count) = character { index += count } else { index += 1 }
      start = index
    }
    append(contentsOf: bytes[start..<index])
  }

  /// The same for a string, from a log or from outside.
  mutating func append(escaping text: String, quote: Bool = false) {
    var text = text
    text.withUTF8 { append(escaping: UnsafeRawBufferPointer($0), quote: quote) }
  }

  private mutating func append(escape character: DecodedCharacter) {
    append(UInt8(ascii: "\\"))
    switch character {
    case .scalar(0x0A, _): append(UInt8(ascii: "n"))
    case .scalar(0x09, _): append(UInt8(ascii: "t"))
    case .scalar(0x0D, _): append(UInt8(ascii: "r"))
    case .scalar(0x22, _): append(UInt8(ascii: "\""))
    case .scalar(0x5C, _): append(UInt8(ascii: "\\"))
    case .scalar(let scalar, _):
      append("u{")
      append(digits: scalar, base: 16)
      append(UInt8(ascii: "}"))
    case .invalid(let byte):
      append(UInt8(ascii: "x"))
      append(digits: byte, base: 16, least: 2)
    }
  }
}

extension String {
  /// The text with everything escaped that could move a terminal's cursor or fake a line.
  ///
  /// - Complexity: O(bytes).
  public var escapedForTerminal: String {
    var bytes: [UInt8] = []
    bytes.append(escaping: self)
    return String(decoding: bytes, as: UTF8.self)
  }
}
