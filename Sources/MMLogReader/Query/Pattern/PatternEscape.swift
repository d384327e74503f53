/// What a backslash and the characters behind it mean.
enum PatternEscape {
  /// One character that stands for itself.
  case character(Unicode.Scalar)
  /// One byte of a set, or one that is not in the set.
  case set(ByteClass, isNegated: Bool)
  /// A place between characters, as the system writes it.
  case place(String)
  /// The text that a group found, again.
  case reference(Int)

  /// The sets that have a letter.
  enum ByteClass: Character {
    case digits = "d"
    case word = "w"
    case space = "s"

    /// The members as they stand within brackets.
    var members: String {
      switch self {
      case .digits: "0-9"
      case .word: "0-9A-Z_a-z"
      case .space: "\t\n\u{B}\u{C}\r "
      }
    }
  }

  private static let characters: [Unicode.Scalar: Unicode.Scalar] = [
    "t": "\t", "n": "\n", "r": "\r", "f": "\u{C}", "v": "\u{B}", "a": "\u{7}", "e": "\u{1B}",
  ]
  private static let places: [Unicode.Scalar: String] = [
    "b": #"\b"#, "B": #"\B"#, "<": #"\<"#, ">": #"\>"#, "A": "^", "z": "$", "Z": "$",
  ]

  /// Reads what follows a backslash.
  ///
  /// - Parameter isInBrackets: Whether the backslash stands in brackets: then `\b` is a character,
  ///   and there are no places.
  init(_ reader: inout PatternReader, isInBrackets: Bool) throws(TextPattern.Invalid) {
    let start = reader.position - 1
    guard let letter = reader.pop() else {
      throw reader.refusal(#"a backslash has nothing behind it; write \\ for one"#, at: start)
    }
    if let byteClass = ByteClass(rawValue: Character(letter)) {
      self = .set(byteClass, isNegated: false)
    } else if letter.isASCII,
      let byteClass = ByteClass(rawValue: Character(letter.properties.lowercaseMapping))
    {
      self = .set(byteClass, isNegated: true)
    } else if isInBrackets, letter == "b" {
      self = .character("\u{8}")
    } else if let character = Self.characters[letter] {
      self = .character(character)
    } else if !isInBrackets, let place = Self.places[letter] {
      self = .place(place)
    } else if letter == "x" || letter == "u" {
      self = .character(try Self.number(&reader, letter, start))
    } else if !isInBrackets, ("1"..."9").contains(letter) {
      self = .reference(Int(letter.value) - 0x30)
    } else {
      self = .character(try Self.punctuation(letter, reader, start))
    }
  }

  private static func punctuation(
    _ letter: Unicode.Scalar, _ reader: PatternReader, _ start: Int
  ) throws(TextPattern.Invalid) -> Unicode.Scalar {
    let isLetter =
      letter.isASCII && (letter.properties.isAlphabetic || ("0"..."9").contains(letter))
    guard isLetter else { return letter }
    switch letter {
    case "p", "P":
      throw reader.refusal(
        "\\\(letter) is unknown; write [[:alpha:]], [[:upper:]] or [[:punct:]] for ASCII",
        at: start)
    case "Q", "E":
      throw reader.refusal(
        "\\\(letter) is unknown; write \\ before what is special, or give --fixed-strings",
        at: start)
    case "0": throw reader.refusal("a zero byte cannot be searched for", at: start)
    case "c":
      throw reader.refusal(#"\c is unknown; write the character's number, as \x01"#, at: start)
    default:
      throw reader.refusal(
        "\\\(letter) is unknown; write \(letter), or \\\\\(letter) for a backslash before it",
        at: start)
    }
  }

  /// `41`, `{1f600}`; `00e9` behind a `u`.
  private static func number(
    _ reader: inout PatternReader, _ letter: Unicode.Scalar, _ start: Int
  ) throws(TextPattern.Invalid) -> Unicode.Scalar {
    let isBraced = reader.take("{")
    var left = isBraced ? 8 : letter == "x" ? 2 : 4
    let (minimum, wanted) = (isBraced ? 1 : left, left)
    let digits = reader.take {
      left -= 1
      return left >= 0 && $0.isASCII && $0.properties.isASCIIHexDigit
    }
    guard digits.utf8.count >= minimum, digits.utf8.count <= wanted,
      !isBraced || reader.take("}"),
      let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value)
    else {
      throw reader.refusal(#"a number of a character is written \x41, \u00e9 or \u{e9}"#, at: start)
    }
    if value == 0 { throw reader.refusal("a zero byte cannot be searched for", at: start) }
    if letter == "x", !isBraced, value >= 0x80 {
      throw reader.refusal(
        "a byte above 7f is no character; write \\u{\(digits)} for the character of that number",
        at: start)
    }
    return scalar
  }
}
