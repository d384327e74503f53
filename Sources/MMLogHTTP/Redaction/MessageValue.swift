/// Finds the end of a value in a message, behind a name and a colon. The value ends at a comma, at
/// a semicolon, at a bracket that closes one from before the value, or with its line; but not in
/// quotes or brackets of its own.
struct MessageValue {
  /// What a byte is to the value.
  enum Part {
    /// It ends the value, and is not part of it.
    case end
    /// A comma or a semicolon. It ends the value, unless a pair of the same value follows.
    case separator
    /// A quote around the value.
    case quote
    /// White space outside of quotes.
    case space
    case content
  }

  private var depth = 0
  private var quote: UInt8 = 0
  /// How many backslashes stand before the quote: the quote of a text in a text has some.
  private var quoteBackslashes = 0
  private var backslashes = 0
  /// How many letters of a prefix of a quote, as in `b"…"`, were read behind a delimiter before
  /// which quotes begin. More than ``longestPrefix``: no quote begins here.
  private var prefix = 0
  private static let longestPrefix = 2

  mutating func take(_ byte: UInt8) -> Part {
    if byte == UInt8(ascii: "\\") {
      backslashes += 1
      return .content
    }
    defer {
      backslashes = 0
      readPrefix(byte)
    }
    if quote != 0 { return takeQuoted(byte) }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      // Behind other letters, the quote is an apostrophe, or ends a text that the value is in.
      guard prefix <= Self.longestPrefix else { return .content }
      (quote, quoteBackslashes) = (byte, backslashes)
      return depth == 0 ? .quote : .content
    case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
    case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
      if depth == 0 { return .end }
      depth -= 1
    case UInt8(ascii: ","), UInt8(ascii: ";"): return depth == 0 ? .separator : .content
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return depth == 0 ? .end : .space
    case 0x00...0x20: return .space
    default: break
    }
    return .content
  }

  private mutating func takeQuoted(_ byte: UInt8) -> Part {
    guard byte == quote, backslashes <= quoteBackslashes else { return .content }
    quote = 0
    return depth == 0 ? .quote : .content
  }

  private mutating func readPrefix(_ byte: UInt8) {
    switch byte {
    case 0x00...0x20, UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
      prefix = 0
    // Of the languages that there are.
    case UInt8(ascii: "b"), UInt8(ascii: "c"), UInt8(ascii: "f"), UInt8(ascii: "l"),
      UInt8(ascii: "r"), UInt8(ascii: "u"), UInt8(ascii: "B"), UInt8(ascii: "C"),
      UInt8(ascii: "F"), UInt8(ascii: "L"), UInt8(ascii: "R"), UInt8(ascii: "U"):
      prefix = min(prefix + 1, Self.longestPrefix + 1)
    default: prefix = Self.longestPrefix + 1
    }
  }

  /// Whether `name=` begins behind a comma or a semicolon, as in cookies and in what some schemes
  /// of authorization have.
  static func isPair(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let name = bytes.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let delimiter = name.first {
      $0 <= 0x20 || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ",")
        || $0 == UInt8(ascii: ";")
    }
    return delimiter == UInt8(ascii: "=")
  }
}
