/// The characters between brackets, read as other programs read them, and written as POSIX has
/// them.
struct PatternBrackets {
  private var isNegated = false
  /// ASCII characters, none twice.
  private var members: Set<UInt8> = []
  /// `[:digit:]` and the like, as they are.
  private var classes = ""
  /// Alternatives to the bracket: characters of more than one byte, and opposites of classes.
  private var others: [String] = []

  /// Reads what follows an opening bracket, including the closing one.
  init(_ reader: inout PatternReader) throws(TextPattern.Invalid) {
    let start = reader.position - 1
    isNegated = reader.take("^")
    var isFirst = true
    while isFirst || reader.next != "]" {
      guard let next = reader.pop() else {
        throw reader.refusal(#"this [ has no ]; a backslash in brackets is written \\"#, at: start)
      }
      isFirst = false
      if next == "[", let kind = reader.next, ":.=".unicodeScalars.contains(kind) {
        classes += try Self.named(&reader, kind)
      } else {
        try addElement(next, &reader)
      }
    }
    reader.skip(1)
  }

  private static let classNames = [
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "xdigit",
  ]

  private static func named(
    _ reader: inout PatternReader, _ kind: Unicode.Scalar
  ) throws(TextPattern.Invalid) -> String {
    let start = reader.position - 1
    reader.skip(1)
    let name = reader.take { $0 != kind && $0 != "]" }
    guard reader.take("\(kind)]") else {
      throw reader.refusal("[\(kind) has no \(kind)] behind it", at: start)
    }
    guard kind == ":" ? classNames.contains(name) : name.utf8.count == 1 else {
      throw reader.refusal(
        kind == ":"
          ? "there is no [:\(name):]; there are \(classNames.joined(separator: ", "))"
          : "between [\(kind) and \(kind)] stands one ASCII character", at: start)
    }
    return "[\(kind)\(name)\(kind)]"
  }

  /// Adds a character, a class, or a range.
  private mutating func addElement(
    _ next: Unicode.Scalar, _ reader: inout PatternReader
  ) throws(TextPattern.Invalid) {
    let start = reader.position - 1
    guard let first = try character(next, &reader) else { return }
    guard reader.next == "-", let end = reader.peek(1), end != "]" else { return add(first) }
    reader.skip(2)
    guard let last = try character(end, &reader), first.isASCII, last.isASCII, first <= last else {
      throw reader.refusal(
        "a range is of ASCII characters, the lower one first; write others one by one", at: start)
    }
    members.formUnion(UInt8(ascii: first)...UInt8(ascii: last))
  }

  /// The character that begins with `next`; nil if it was a class, which has been added.
  private mutating func character(
    _ next: Unicode.Scalar, _ reader: inout PatternReader
  ) throws(TextPattern.Invalid) -> Unicode.Scalar? {
    guard next == "\\" else { return next }
    let start = reader.position - 1
    switch try PatternEscape(&reader, isInBrackets: true) {
    case .character(let scalar): return scalar
    case .set(let byteClass, isNegated: false): classes += byteClass.members
    case .set(let byteClass, isNegated: true):
      guard !isNegated else {
        throw reader.refusal(
          "the opposite of an opposite; write what it is, as [\(byteClass.shown)]", at: start)
      }
      others.append("[^\(byteClass.members)]")
    case .place, .reference: break
    }
    return nil
  }

  private mutating func add(_ scalar: Unicode.Scalar) {
    if scalar.isASCII {
      members.insert(UInt8(ascii: scalar))
    } else {
      others.append(String(scalar))
    }
  }

  /// The text as the system reads it.
  var text: String {
    // In a negated bracket, each byte counts by itself: the expression sees bytes.
    if isNegated { return "[^\(list)\(others.joined())\(members.contains(0x2D) ? "-" : "")]" }
    let end = members.contains(0x2D) ? "-" : ""
    let choices = (list.isEmpty && end.isEmpty ? [] : [Self.bracket(list, end)]) + others
    return choices.count == 1 && choices[0].utf8.count == choices[0].unicodeScalars.count
      ? choices[0] : "(\(choices.joined(separator: "|")))"
  }

  /// Whether ``text`` begins a group.
  var isGroup: Bool { text.hasPrefix("(") }

  /// A hat must not be the first character.
  private static func bracket(_ list: String, _ end: String) -> String {
    if list == "^" { return end.isEmpty ? #"\^"# : "[-^]" }
    return "[\(list)\(end)]"
  }

  /// The members in an order in which none of them is special: a bracket first, then the hat last.
  private var list: String {
    let plain = members.subtracting([0x5D, 0x5E, 0x2D]).sorted()
    return (members.contains(0x5D) ? "]" : "") + classes
      + String(decoding: plain, as: UTF8.self) + (members.contains(0x5E) ? "^" : "")
  }
}

extension PatternEscape.ByteClass {
  fileprivate var shown: String {
    switch self {
    case .digits: "0-9"
    case .word: "[:alnum:]_"
    case .space: "[:space:]"
    }
  }
}
