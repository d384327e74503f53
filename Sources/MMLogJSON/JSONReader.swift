/// Reads JSON (RFC 8259) from beginning to end, value by value, without a tree.
///
/// The text may be hostile. A function that returns nil or false has found it wrong, and the reader
/// must not be used any more. No function calls itself: the caller that reads nested values decides
/// how deep they may be.
///
/// The bytes must live as long as the reader.
package struct JSONReader {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  /// The kind of the next value, by its first byte.
  package enum Kind: Sendable { case object, array, string, number, bool, null }

  /// A number: exact, if 64 bits hold it.
  package enum Number: Sendable, Equatable {
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    /// The digits of a number that no type holds.
    case large(String)
  }

  /// - Parameter bytes: The text. In its strings, bytes that are not UTF-8 become U+FFFD.
  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Whether only spaces are left.
  package var isAtEnd: Bool {
    mutating get { next == nil }
  }

  /// The kind of what comes next; nil if it is no value.
  package var kind: Kind? {
    mutating get {
      guard let next else { return nil }
      return switch next {
      case UInt8(ascii: "{"): .object
      case UInt8(ascii: "["): .array
      case UInt8(ascii: "\""): .string
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
      case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
      case UInt8(ascii: "n"): .null
      default: nil
      }
    }
  }

  // MARK: - Values with others in them

  /// Reads an object.
  ///
  /// - Parameter body: Gets the reader before each value, with the value's name, and must read the
  ///   value. False ends the reading.
  /// - Returns: Whether the object was read to its end.
  package mutating func members(_ body: (inout JSONReader, String) -> Bool) -> Bool {
    guard take("{") else { return false }
    if take("}") { return true }
    repeat {
      guard let name = string(), take(":"), body(&self, name) else { return false }
    } while take(",")
    return take("}")
  }

  /// Reads an array. See ``members(_:)``.
  package mutating func elements(_ body: (inout JSONReader) -> Bool) -> Bool {
    guard take("[") else { return false }
    if take("]") { return true }
    repeat {
      guard body(&self) else { return false }
    } while take(",")
    return take("]")
  }

  // MARK: - Others

  /// Reads a Boolean.
  package mutating func bool() -> Bool? {
    if take(word: "true") { return true }
    return take(word: "false") ? false : nil
  }

  /// Reads `null`. Returns whether `null` came next.
  package mutating func null() -> Bool { take(word: "null") }

  /// Reads a string. It is wrong if it has half of a character that takes two escapes.
  package mutating func string() -> String? {
    guard take("\"") else { return nil }
    let start = place
    guard let end = endOfText() else { return nil }
    let text = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    if !text.contains(UInt8(ascii: "\\")) { return String(decoding: text, as: UTF8.self) }
    return Self.unescaped(text)
  }

  /// Reads a number.
  package mutating func number() -> Number? {
    guard kind == .number else { return nil }
    let start = place
    _ = take(digit: UInt8(ascii: "-"))
    let first = place
    let digits = takeDigits()
    // No zero stands before other digits.
    guard digits > 0, digits == 1 || bytes[first] != UInt8(ascii: "0") else { return nil }
    var isInteger = true
    if take(digit: UInt8(ascii: ".")) {
      isInteger = false
      if takeDigits() == 0 { return nil }
    }
    if take(digit: UInt8(ascii: "e")) || take(digit: UInt8(ascii: "E")) {
      isInteger = false
      _ = take(digit: UInt8(ascii: "+")) || take(digit: UInt8(ascii: "-"))
      if takeDigits() == 0 { return nil }
    }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    if isInteger {
      // Minus zero is no integer.
      if text == "-0" { return .double(-0.0) }
      if let value = Int64(text) { return .int(value) }
      return UInt64(text).map { .uint($0) } ?? .large(text)
    }
    guard let value = Double(text), value.isFinite else { return .large(text) }
    return .double(value)
  }

  /// Passes over a value. Only its strings and brackets are looked at.
  package mutating func skip() -> Bool {
    var depth = 0
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        place += 1
        if endOfText() == nil { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        place += 1
        continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth < 0 { return false }
        place += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return false }
        place += 1
        continue
      default: skipWord()
      }
      if depth == 0 { return true }
    }
    return false
  }

  // MARK: - Bytes

  /// The next byte that is no space.
  private var next: UInt8? {
    mutating get {
      while place < bytes.count {
        let byte = bytes[place]
        if byte > 0x20 { return byte }
        guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
        place += 1
      }
      return nil
    }
  }

  private mutating func take(_ sign: Unicode.Scalar) -> Bool {
    guard next == UInt8(truncatingIfNeeded: sign.value) else { return false }
    place += 1
    return true
  }

  private mutating func take(word: StaticString) -> Bool {
    _ = next
    let wanted = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[place...].starts(with: wanted) else { return false }
    place += wanted.count
    return true
  }

  /// Takes a byte, without spaces before it.
  private mutating func take(digit byte: UInt8) -> Bool {
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  private mutating func takeDigits() -> Int {
    let start = place
    while place < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[place] { place += 1 }
    return place - start
  }

  /// Passes over a word, at least one byte.
  private mutating func skipWord() {
    repeat {
      place += 1
    } while place < bytes.count && bytes[place] > 0x20
      && !",:{}[]\"".utf8.contains(bytes[place])
  }

  /// Passes over the rest of a string and its closing quote. Returns where the string ends; nil if
  /// it does not end, or has a control character in it.
  private mutating func endOfText() -> Int? {
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      if byte == UInt8(ascii: "\"") { return place - 1 }
      if byte == UInt8(ascii: "\\") { place += 1 }
      if byte < 0x20 { return nil }
    }
    return nil
  }

  // MARK: - Escapes

  private static func unescaped(_ text: UnsafeRawBufferPointer) -> String? {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var place = 0
    while place < text.count {
      let byte = text[place]
      place += 1
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        continue
      }
      guard let scalar = escape(text, &place) else { return nil }
      result += Unicode.UTF8.encode(scalar) ?? Unicode.UTF8.encodedReplacementCharacter
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Reads what stands behind a backslash.
  private static func escape(_ text: UnsafeRawBufferPointer, _ place: inout Int) -> Unicode.Scalar?
  {
    guard place < text.count else { return nil }
    defer { place += 1 }
    switch text[place] {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
      return Unicode.Scalar(text[place])
    case UInt8(ascii: "u"):
      guard let high = unit(text, place + 1) else { return nil }
      place += 4
      guard 0xD800..<0xDC00 ~= high else { return Unicode.Scalar(high) }
      guard place + 2 < text.count, text[place + 1] == UInt8(ascii: "\\"),
        text[place + 2] == UInt8(ascii: "u"), let low = unit(text, place + 3),
        0xDC00..<0xE000 ~= low
      else { return nil }
      place += 6
      return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    default: return nil
    }
  }

  /// Four hexadecimal digits.
  private static func unit(_ text: UnsafeRawBufferPointer, _ start: Int) -> UInt32? {
    guard start + 4 <= text.count else { return nil }
    var value: UInt32 = 0
    for byte in text[start..<start + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        return nil
      }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
