/// How the numbers of a column are written. Raw values stand on disk; FORMAT.md, 10, describes
/// them.
enum NumberEncoding: UInt8 {
  case constant
  case packed
  case differences
  case dictionary
  case decimals
  case runs
  case patched
  case planes
  case multiples
}

/// How the strings of a column are written. Raw values stand on disk.
enum StringEncoding: UInt8 {
  case plain
  case dictionary
  case patterns
}

/// What stands in a pattern for a token that was taken out. Raw values stand on disk: bytes that
/// are rare in text.
enum Placeholder: UInt8, CaseIterable {
  /// Digits, with a 1 before them.
  case decimal
  /// Hexadecimal digits in lower case, with a 1 before them.
  case lowerHexadecimal
  case upperHexadecimal
  /// Sixteen hexadecimal digits in lower case.
  case wholeHexadecimal
  /// The same with hyphens behind the eighth and the twelfth: how a UUID begins.
  case uuidStart
  /// The same with a hyphen behind the fourth: how a UUID ends.
  case uuidEnd

  /// Bytes below this one are placeholders.
  static let limit = UInt8(allCases.count)

  /// Whether a text has a placeholder of a token that may have letters.
  static func isOfLetters(in text: UnsafeRawBufferPointer) -> Bool {
    text.contains { isOfLetters($0) }
  }

  static func isOfLetters(_ byte: UInt8) -> Bool {
    byte &- lowerHexadecimal.rawValue < limit - lowerHexadecimal.rawValue
  }
}

/// A field that all records of a group have. Raw values stand on disk.
enum ColumnField: UInt8 {
  case word
  case string
  /// All that follows in the record.
  case rest
  /// A word that is a floating-point number. Only the encoder distinguishes it from ``word``.
  case double

  /// The raw value as it is written.
  var onDisk: UInt8 { self == .double ? ColumnField.word.rawValue : rawValue }
}

enum ColumnLayout {
  static let numbersStored = 0
  static let numbersSize = numbersStored + 4
  static let planesStored = numbersSize + 4
  static let planesSize = planesStored + 4
  static let textStored = planesSize + 4
  static let textSize = textStored + 4
  /// Where the numbers begin.
  static let size = textSize + 4

  /// How many numbers are packed with one width.
  static let block = 128
  /// Encodings within encodings: deeper ones are not read.
  static let deepest = 4
  /// Decimal digits that become one number, with a 1 before them.
  static let maximumDigits = 18
  /// The same for hexadecimal digits.
  static let maximumHexadecimal = 15
  /// Placeholders in all patterns of a column: more are not read.
  static let maximumPlaceholders = 1 << 16
  /// Values that are taken out of the strings of a column: more are not read.
  static let maximumValues = 1 << 20
  /// Placeholders that stand for fewer values have no column of their own.
  static let minimumValues: UInt64 = 24
  /// The largest exponent of decimals: 10²² is the last power of ten that a double holds exactly.
  static let largestExponent = 22
}

/// 10ᵉ for every exponent of decimals, each exact.
let powersOfTen: [Double] = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  1e18, 1e19, 1e20, 1e21, 1e22,
]
