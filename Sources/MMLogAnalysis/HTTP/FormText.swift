/// Forms for people: a field on each line, decoded.
enum FormText {
  /// Whether a body is a form, as far as is known.
  static func isForm(_ body: String, _ contentType: String?) -> Bool {
    if let contentType { return contentType.utf8.contains("x-www-form-urlencoded".utf8) }
    return body.utf8.contains(UInt8(ascii: "="))
      && body.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "<") }
  }

  /// The fields of a form, as `name = value`.
  static func fields(_ body: String) -> [String] {
    body.unicodeScalars.split(separator: "&").map { field in
      let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return parts.map { decoded(Substring($0)) }.joined(separator: " = ")
    }
  }

  /// A text with its percent encoding decoded. Other text stays as it is.
  static func decoded(_ text: Substring) -> String {
    var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        rest.prefix(2).allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }),
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
