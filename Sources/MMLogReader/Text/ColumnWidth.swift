package import MMLogFormat

extension Unicode.Scalar {
  /// How many columns the character takes, as terminals count (UAX 11): none if it is put onto the
  /// one before, two for characters of East Asia and pictures.
  package var columns: Int {
    if isASCII { return 1 }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension String {
  /// How many columns of a terminal the text takes. Its characters are escaped before.
  package var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }

  /// The text, cut if it is too wide.
  ///
  /// - Parameter maximum: The maximum number of columns, at least one.
  package func cut(to maximum: Int) -> String {
    // A character has no fewer bytes than columns.
    if utf8.count <= maximum || columns <= maximum { return self }
    var (width, end) = (0, unicodeScalars.startIndex)
    while width + unicodeScalars[end].columns < maximum {
      width += unicodeScalars[end].columns
      end = unicodeScalars.index(after: end)
    }
    return String(unicodeScalars[..<end]) + "…"
  }
}

extension TextBuffer {
  /// Appends a line, and cuts it if it is too wide.
  ///
  /// - Parameter columns: The maximum width; nil: no limit.
  package mutating func append(line: String, within columns: Int?) {
    append(text: line.cut(to: columns ?? .max))
    append("\n")
  }
}
