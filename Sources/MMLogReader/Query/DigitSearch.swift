import MMLogFormat
import MMLogSystem

/// Digits that are searched for in values.
struct DigitSearch: ~Copyable {
  private let digits: StableArray<UInt8>
  private let number: UInt64
  /// The minimum number that has as many digits as those that are searched for.
  private let minimum: UInt64
  /// The types of the arguments.
  private let types: StableArray<ValueType>

  /// Nil if anything other than one plain number or string may show the digits.
  init?(_ digits: ArraySlice<UInt8>, of site: CallSiteInfo) {
    let steps = site.message.steps.filter(\.hasArgument)
    let types = steps.compactMap { $0.isPlain ? ValueType(rawValue: $0.type) : nil }
    // More than most floating-point numbers have after the point, and no more than 64 bits hold.
    guard (5...18).contains(digits.count), !site.mayShow(digits, isHex: false),
      types.count == steps.count, types.allSatisfy(Self.isSimple)
    else { return nil }
    self.digits = StableArray(Array(digits))
    self.types = StableArray(types)
    number = digits.reduce(0) { $0 * 10 + UInt64($1 - 48) }
    minimum = (1..<digits.count).reduce(1) { power, _ in power * 10 }
  }

  private static func isSimple(_ type: ValueType) -> Bool {
    switch type {
    case .int, .uint, .double, .string, .bytes, .bool, .redacted: true
    default: false
    }
  }

  /// For a record without metadata. A record that cannot be read may match: it is reported when it
  /// is inspected.
  func isMet(by view: RecordView) -> Bool {
    do {
      var reader = WordReader(try RecordParts(view.body).values)
      for type in types.elements where try mayShow(type, &reader) { return true }
      return false
    } catch {
      return true
    }
  }

  @inline(__always)
  private func mayShow(_ type: ValueType, _ reader: inout WordReader) throws(FormatError) -> Bool {
    switch type {
    case .int: return mayShow(Int64(bitPattern: try reader.word()).magnitude)
    case .uint: return mayShow(try reader.word())
    case .double: return mayShow(Double(bitPattern: try reader.word()).magnitude)
    case .string, .bytes:
      let text = try reader.string()
      // For short texts, a search for one byte takes much less.
      return ByteSearch.contains(text, digits.elements[0])
        && ByteSearch.contains(text, UnsafeRawBufferPointer(digits.elements))
    case .bool:
      // No digit shows a Boolean.
      _ = try reader.word()
      return false
    case .redacted: return false
    default: return true
    }
  }

  private func mayShow(_ number: UInt64) -> Bool {
    if number < minimum { return false }
    return number / 10 < minimum ? number == self.number : true
  }

  private func mayShow(_ number: Double) -> Bool {
    guard number < 1e10 else { return true }
    // If a number has up to four digits after the point, only the digits before the point are
    // enough.
    let scaled = UInt64(number * 10_000 + 0.5)
    return Double(scaled) / 10_000 == number ? mayShow(scaled / 10_000) : true
  }
}
