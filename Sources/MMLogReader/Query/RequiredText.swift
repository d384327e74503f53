import MMLogFormat
import MMLogSystem

/// What of a pattern has to stand within single values of a call site's records for them to match:
/// it is searched for where the values are, which takes much less than making messages.
final class RequiredText {
  /// Has to be within a string, and has no digit; empty if nothing has to.
  let text: [UInt8]
  /// Whether ``text`` has to be in a string of a record with metadata too.
  let isOfMetadataToo: Bool
  private let textPlace: StableArray<UInt8>
  private let digits: DigitSearch?

  /// Nil if there is nothing of that kind.
  init?(_ pattern: TextPattern, of site: CallSiteInfo) {
    if pattern.ignoresCase { return nil }
    let texts = pattern.literal.split { !Self.isOfText($0) }.sorted { $0.count > $1.count }
    text = Array(texts.first { !Self.isWord($0) && !site.mayShow($0, isHex: Self.isHex($0)) } ?? [])
    isOfMetadataToo = !Self.isHex(text[...])
    textPlace = StableArray(text)
    let digits = pattern.literal.split { !(48...57).contains($0) }.max { $0.count < $1.count }
    self.digits = digits.flatMap { DigitSearch($0, of: site) }
    if text.isEmpty && self.digits == nil { return nil }
  }

  /// Whether a record may match.
  @inline(__always)
  func isMet(by view: RecordView) -> Bool {
    let hasMetadata = view.flags.contains(.metadata)
    if isOfMetadataToo || !hasMetadata {
      let text = UnsafeRawBufferPointer(textPlace.elements)
      if !ByteSearch.contains(view.bytes, text) { return false }
    }
    return hasMetadata ? true : digits?.isMet(by: view) ?? true
  }

  /// Neither a digit nor what is beside a value of metadata, in a container, or in a number; nor
  /// part of a character that may stand in place of what is not UTF-8.
  private static func isOfText(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x21...0x7E: !"0123456789+-.<>:[],=".utf8.contains(byte)
    default: false
    }
  }

  /// Whether it may be part of a hash, as metadata may have them.
  private static func isHex(_ text: ArraySlice<UInt8>) -> Bool {
    text.allSatisfy { (97...102).contains($0) }
  }

  /// Whether it is in a word that a value is shown by which is no string.
  private static func isWord(_ text: ArraySlice<UInt8>) -> Bool {
    let text = text.map { (65...90).contains($0) ? $0 + 32 : $0 }
    return words.contains { $0.utf8.contains(text) }
  }

  private static let words = ["true", "false", "nil", "private", "hash", "inf", "snan(", "e"]
}

/// Digits that are searched for in values.
struct DigitSearch: ~Copyable {
  private let digits: StableArray<UInt8>
  private let number: UInt64
  /// The minimum number of so many digits.
  private let minimum: UInt64
  /// Of the arguments.
  private let kinds: StableArray<Kind>

  private enum Kind: BitwiseCopyable {
    case int, uint, double, text
    /// A word that is shown by no digit.
    case bool
    /// Not even a word.
    case redacted
  }

  /// Nil where something else than one plain number or string may show them.
  fileprivate init?(_ digits: ArraySlice<UInt8>, of site: CallSiteInfo) {
    let steps = site.message.steps.filter(\.hasArgument)
    let kinds = steps.compactMap { $0.isPlain ? Self.kind($0.type) : nil }
    // More than most floating-point numbers have behind the point, and no more than 64 bits hold.
    guard (5...18).contains(digits.count), !site.mayShow(digits, isHex: false),
      kinds.count == steps.count
    else { return nil }
    self.digits = StableArray(Array(digits))
    self.kinds = StableArray(kinds)
    number = digits.reduce(0) { $0 * 10 + UInt64($1 - 48) }
    minimum = (1..<digits.count).reduce(1) { power, _ in power * 10 }
  }

  private static func kind(_ type: UInt8) -> Kind? {
    switch ValueType(rawValue: type) {
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string, .bytes: .text
    case .bool: .bool
    case .redacted: .redacted
    default: nil
    }
  }

  /// Of a record without metadata. One that cannot be read may be what is searched for: that is
  /// reported when it is inspected.
  fileprivate func isMet(by view: RecordView) -> Bool {
    do {
      var reader = WordReader(try RecordParts(view.body).values)
      for kind in kinds.elements where try mayShow(kind, &reader) { return true }
      return false
    } catch {
      return true
    }
  }

  @inline(__always)
  private func mayShow(_ kind: Kind, _ reader: inout WordReader) throws(FormatError) -> Bool {
    switch kind {
    case .int: return mayShow(Int64(bitPattern: try reader.word()).magnitude)
    case .uint: return mayShow(try reader.word())
    case .double: return mayShow(Double(bitPattern: try reader.word()).magnitude)
    case .text:
      let text = try reader.string()
      // For short texts, a search for one byte takes much less.
      return ByteSearch.contains(text, digits.elements[0])
        && ByteSearch.contains(text, UnsafeRawBufferPointer(digits.elements))
    case .bool:
      _ = try reader.word()
      return false
    case .redacted: return false
    }
  }

  private func mayShow(_ number: UInt64) -> Bool {
    if number < minimum { return false }
    return number / 10 < minimum ? number == self.number : true
  }

  private func mayShow(_ number: Double) -> Bool {
    guard number < 1e10 else { return true }
    // With up to four digits behind the point, only those before it are enough.
    let scaled = UInt64(number * 10_000 + 0.5)
    return Double(scaled) / 10_000 == number ? mayShow(scaled / 10_000) : true
  }
}

extension CallSiteInfo {
  /// Whether text may be in the static text, or begin or end in it, or be in a number with a style,
  /// or, if it is hexadecimal, in a value in metadata's manner: false if it can only be within one
  /// string or plain number.
  fileprivate func mayShow(_ text: ArraySlice<UInt8>, isHex: Bool) -> Bool {
    var isBehindArgument = false
    for part in parts {
      switch part {
      case .argument where isBehindArgument: return true
      case .argument(let argument):
        isBehindArgument = true
        if !argument.style.isPlain || isHex && !Self.isSimple(argument.type) { return true }
      case .literal(let literal):
        isBehindArgument = false
        if literal.isEmpty { continue }
        if literal.contains(text) || text.contains(literal) { return true }
        let isBeside = (1..<text.count).contains {
          literal.starts(with: text.suffix($0)) || literal.suffix($0).elementsEqual(text.prefix($0))
        }
        if isBeside { return true }
      }
    }
    return false
  }

  /// Whether it is shown without letters, but for words, and those of a string.
  private static func isSimple(_ type: UInt8) -> Bool {
    switch ValueType(rawValue: type & ~ValueType.optionalBit) {
    case .int, .uint, .double, .float, .bool, .int128, .uint128, .string, .bytes, .redacted, .null:
      true
    case .hash, .array, .dictionary, nil: false
    }
  }
}
