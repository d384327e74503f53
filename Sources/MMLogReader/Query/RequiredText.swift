import MMLogFormat
import MMLogSystem

/// A part of a pattern that has to stand within single values of a call site's records for them to
/// match. It is searched for in the values, which takes much less time than making messages.
final class RequiredText {
  /// The text that has to be within a string, and has no digit; empty if there is none.
  let text: [UInt8]
  /// The longest part of ``text`` that stands in one piece in the text of a frame in columns.
  let textOfFrame: [UInt8]
  /// Whether ``text`` has to be in a string even if a record has metadata.
  let isOfMetadataToo: Bool
  private let textPlace: StableArray<UInt8>
  private let digits: DigitSearch?
  private let keyNames: KeyNames
  /// Whether ``text`` is in the name of a key set, and how many key sets there were when that was
  /// found.
  private var (isInKeyName, knownKeySets) = (false, 0)

  /// Nil if the pattern has no such part.
  init?(_ pattern: TextPattern, of site: CallSiteInfo, _ sites: SiteTable) {
    // If sealed values are opened, more is shown of them than stands in a file.
    if pattern.ignoresCase || sites.slots != nil { return nil }
    let texts = pattern.literal.split { !Self.isOfText($0) }.sorted { $0.count > $1.count }
    text = Array(texts.first { !Self.isWord($0) && !site.mayShow($0, isHex: Self.isHex($0)) } ?? [])
    textOfFrame = Array(Self.partOfFrames(text))
    isOfMetadataToo = !Self.isHex(text[...])
    textPlace = StableArray(text)
    keyNames = sites.keyNames
    let digits = pattern.literal.split { !(48...57).contains($0) }.max { $0.count < $1.count }
    self.digits = digits.flatMap { DigitSearch($0, of: site) }
    if text.isEmpty && self.digits == nil { return nil }
  }

  /// Whether a record may match.
  @inline(__always)
  func isMet(by view: RecordView) -> Bool {
    let hasMetadata = !view.flags.isDisjoint(with: .withPairs)
    if isOfMetadataToo || !hasMetadata {
      let text = UnsafeRawBufferPointer(textPlace.elements)
      if !ByteSearch.contains(view.bytes, text), !(hasMetadata && mayBeInKeyName) { return false }
    }
    return hasMetadata ? true : digits?.isMet(by: view) ?? true
  }

  /// Whether ``text`` may be in a name that records with metadata have by their key set.
  var mayBeInKeyName: Bool {
    if knownKeySets != keyNames.count {
      (isInKeyName, knownKeySets) = (keyNames.contain(text), keyNames.count)
    }
    return isInKeyName
  }

  /// Whether a byte is neither a digit, nor beside a value of metadata, in a container or in a
  /// number, nor part of a character that may stand in place of bytes that are not UTF-8.
  private static func isOfText(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x21...0x7E: !"0123456789+-.<>:[],=".utf8.contains(byte)
    default: false
    }
  }

  /// Whether the text may be part of a hash, which metadata may have.
  private static func isHex(_ text: ArraySlice<UInt8>) -> Bool {
    text.allSatisfy { (97...102).contains($0) }
  }

  /// The longest part without letters that may belong to a hexadecimal number: columns of strings
  /// have such letters elsewhere.
  private static func partOfFrames(_ text: [UInt8]) -> ArraySlice<UInt8> {
    var (longest, start, index) = (text[..<0], 0, 0)
    while index < text.count {
      let end = text[index...].firstIndex { !isLetter($0) } ?? text.count
      if mayBeNumber(text[index..<end]) {
        if index - start > longest.count { longest = text[start..<index] }
        start = end
      }
      index = end + 1
    }
    return text.count - start > longest.count ? text[start...] : longest
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

  /// Whether letters in a row may be all letters of a hexadecimal number, behind `0x` or without
  /// it.
  private static func mayBeNumber(_ letters: ArraySlice<UInt8>) -> Bool {
    let digits =
      letters.first.map { $0 | 0x20 } == UInt8(ascii: "x") ? letters.dropFirst() : letters
    return !digits.isEmpty && digits.allSatisfy { (97...102).contains($0 | 0x20) }
  }

  /// Whether the text is in a word that shows a value that is no string.
  private static func isWord(_ text: ArraySlice<UInt8>) -> Bool {
    let text = text.map { (65...90).contains($0) ? $0 + 32 : $0 }
    return words.contains { ByteSearch.contains(Array($0.utf8)[...], text[...]) }
  }

  private static let words = [
    "true", "false", "nil", "private", "hash", "sealed", "inf", "snan(", "e",
  ]
}

extension ValueStyle {
  /// Whether a number of this style may be shown with a text in it that has no digit and is no
  /// word. That is never true of a floating-point number, and of an integer only if its base is not
  /// ten.
  fileprivate func mayShow(_ text: ArraySlice<UInt8>) -> Bool {
    !isPlain && float == nil && text.allSatisfy { "abcdefox".utf8.contains($0 | 0x20) }
  }
}

extension CallSiteInfo {
  /// Whether a text may be in the static text, or begin or end in it, or be in a number with a
  /// style. A hexadecimal text may also be in a value as metadata have it. False if the text can
  /// only be within one string or plain number.
  func mayShow(_ text: ArraySlice<UInt8>, isHex: Bool) -> Bool {
    var isBehindArgument = false
    for (index, part) in parts.enumerated() {
      switch part {
      case .argument where isBehindArgument: return true
      case .argument(let argument):
        isBehindArgument = true
        if argument.style.mayShow(text) || isHex && !Self.isSimple(argument.type) { return true }
      case .literal(let string):
        let literal = Array(string.utf8)[...]
        if literal.isEmpty { continue }
        defer { isBehindArgument = false }
        if ByteSearch.contains(literal, text) || ByteSearch.contains(text, literal) { return true }
        let isBeforeArgument = index + 1 < parts.count
        let isBeside = (1..<text.count).contains {
          isBehindArgument && literal.starts(with: text.suffix($0))
            || isBeforeArgument && literal.suffix($0).elementsEqual(text.prefix($0))
        }
        if isBeside { return true }
      }
    }
    return false
  }

  /// Whether a value is shown without letters, except those of words and of a string.
  static func isSimple(_ type: UInt8) -> Bool {
    switch ValueType(rawValue: type & ~ValueType.optionalBit) {
    case .int, .uint, .double, .float, .bool, .int128, .uint128, .string, .bytes, .redacted, .null:
      true
    case .hash, .sealed, .array, .dictionary, nil: false
    }
  }
}
