import MMLogReader

/// JSON for people: a member on each line, and characters in the place of escapes.
///
/// It takes one pass, for any text. Text that is not JSON is shown as it is, and depth takes no
/// memory.
enum JSONText {
  /// No line begins with more spaces than this.
  private static let deepest = 40

  /// Appends a text with a prefix before each line.
  ///
  /// - Complexity: O(bytes).
  static func append(pretty text: String, indentedBy prefix: String, to output: inout TextBuffer) {
    let isJSON = ["{", "["].contains { text.drop { $0.isWhitespace }.hasPrefix($0) }
    // Without a limit, each of many brackets would take a line with its indentation.
    let longest = 8 * text.utf8.count + 256
    let shown = isJSON ? pretty(text, upTo: longest, linesBy: prefix.utf8.count) ?? text : text
    // A line end of two characters is one `Character`.
    let lines = shown.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for line in lines {
      output.append(text: prefix)
      output.append(String(line), .plain)
      output.append("\n")
    }
  }

  /// The text with a line for each member, and with characters in place of escapes.
  ///
  /// - Parameters:
  ///   - longest: The maximum number of bytes.
  ///   - addition: The number of further bytes that each line takes.
  /// - Returns: Nil if the text would be longer.
  static func pretty(
    _ text: String, upTo longest: Int = .max, linesBy addition: Int = 0
  ) -> String? {
    var printer = Printer()
    for scalar in text.unicodeScalars {
      printer.take(scalar)
      if printer.text.utf8.count + printer.lines * addition > longest { return nil }
    }
    printer.flush()
    return printer.text
  }

  private struct Printer {
    private(set) var text = ""
    private(set) var lines = 1
    private var depth = 0
    private var isInText = false
    /// The part of an escape that was read: the backslash, or also `u` and the digits behind it.
    private var escape: String?
    /// The first half of a character that takes two escapes.
    private var high: UInt32?
    /// Whether nothing follows the last opening bracket yet. Its next line begins when something
    /// does.
    private var isEmpty = false

    mutating func take(_ scalar: Unicode.Scalar) {
      if isInText { return takeInText(scalar) }
      if scalar.properties.isWhitespace { return }
      switch scalar {
      case "}", "]":
        depth -= 1
        if !isEmpty { beginLine() }
        isEmpty = false
        append(scalar)
      case "{", "[":
        beginIfEmpty()
        append(scalar)
        depth += 1
        isEmpty = true
      case ",":
        append(scalar)
        beginLine()
      case ":": text += ": "
      default:
        beginIfEmpty()
        append(scalar)
        isInText = scalar == "\""
      }
    }

    private mutating func beginIfEmpty() {
      if isEmpty { beginLine() }
      isEmpty = false
    }

    private mutating func beginLine() {
      lines += 1
      text += "\n" + String(repeating: "  ", count: min(max(depth, 0), JSONText.deepest / 2))
    }

    private mutating func append(_ scalar: Unicode.Scalar) { text.unicodeScalars.append(scalar) }

    private mutating func takeInText(_ scalar: Unicode.Scalar) {
      guard let begun = escape else {
        if scalar == "\\" { return escape = "\\" }
        flushHigh()
        append(scalar)
        isInText = scalar != "\""
        return
      }
      escape = begun + String(Character(scalar))
      if begun == "\\", scalar == "u" { return }
      if begun.hasPrefix("\\u"), scalar.properties.isASCIIHexDigit, begun.utf8.count < 5 { return }
      finishEscape()
    }

    private mutating func finishEscape() {
      guard let all = escape else { return }
      escape = nil
      guard all.hasPrefix("\\u"), all.utf8.count == 6,
        let unit = UInt32(all.dropFirst(2), radix: 16)
      else {
        flushHigh()
        return text += all
      }
      if let first = high, (0xDC00..<0xE000).contains(unit) {
        high = nil
        let value = 0x10000 + (first - 0xD800) << 10 + (unit - 0xDC00)
        if let scalar = Unicode.Scalar(value) { append(scalar) }
        return
      }
      flushHigh()
      if (0xD800..<0xDC00).contains(unit) {
        high = unit
      } else if unit >= 0x20, unit != 0x22, unit != 0x5C, let scalar = Unicode.Scalar(unit) {
        append(scalar)
      } else {
        text += all
      }
    }

    private mutating func flushHigh() {
      guard let unit = high else { return }
      high = nil
      text += "\\u" + String(unit, radix: 16)
    }

    /// Ends a text that stops in the middle of an escape or a character.
    mutating func flush() {
      flushHigh()
      if let escape { text += escape }
    }
  }
}
