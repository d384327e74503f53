/// What stands at a place in bytes that should be UTF-8.
enum DecodedCharacter {
  /// A character of so many bytes.
  case scalar(UInt32, count: Int)
  /// So many bytes that are no character, and are shown as one U+FFFD: the longest start of a
  /// character (Unicode 15, 3.9, "maximal subpart"), or a single byte. Swift's
  /// `String(decoding:as:)` and browsers do the same.
  case invalid(count: Int)

  /// The number of its bytes.
  var count: Int {
    switch self {
    case .scalar(_, let count), .invalid(let count): count
    }
  }
}

extension UnsafeRawBufferPointer {
  /// What stands at `index`, which must be within the bytes: the table of Unicode 15, 3.9 (no
  /// overlong forms, no surrogates, nothing above U+10FFFF). Nothing else says what is UTF-8, and
  /// what is not.
  func character(at index: Int) -> DecodedCharacter {
    let first = self[index]
    if first < 0x80 { return .scalar(UInt32(first), count: 1) }
    let (count, second): (Int, ClosedRange<UInt8>)
    switch first {
    case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
    case 0xE0: (count, second) = (3, 0xA0...0xBF)
    case 0xED: (count, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
    case 0xF0: (count, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
    case 0xF4: (count, second) = (4, 0x80...0x8F)
    default: return .invalid(count: 1)
    }
    var scalar = UInt32(first) & (0x7F >> UInt32(count))
    for offset in 1..<count {
      guard index + offset < self.count else { return .invalid(count: offset) }
      let byte = self[index + offset]
      guard (offset == 1 ? second : 0x80...0xBF).contains(byte) else {
        return .invalid(count: offset)
      }
      scalar = scalar << 6 | UInt32(byte & 0x3F)
    }
    return .scalar(scalar, count: count)
  }

  /// How many characters there are. A part that is no character counts as the one that it is shown
  /// as.
  var characterCount: Int {
    var (index, characters) = (0, 0)
    while index < count {
      index += character(at: index).count
      characters += 1
    }
    return characters
  }

  /// Whether all bytes are UTF-8.
  package var isUTF8: Bool {
    var index = 0
    while index < count {
      // ASCII, by words.
      while index &+ 8 <= count,
        loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        index &+= 8
      }
      if index == count { return true }
      guard case .scalar(_, let length) = character(at: index) else { return false }
      index += length
    }
    return true
  }
}
