import MMLogFormat

/// What a filter can say of a call site's records before their values are inspected.
struct SiteDecision {
  /// None of the records passes.
  var isNever = false
  /// Only a record with metadata may pass.
  var needsMetadata = false
  /// The text that the filter searches for is in the static text, and therefore in every record.
  var hasText = false

  /// The text that has to be among a record's values.
  var need: Unmanaged<RequiredText>?

  static var unknown: SiteDecision { SiteDecision() }

  init() {}

  /// - Parameter keep: Takes a text that has to be kept as long as the decision.
  init(
    _ filter: LogReader.Filter, _ site: CallSiteInfo, _ sites: SiteTable,
    keep: (RequiredText) -> Void
  ) {
    let isOfPlace =
      filter.callSites.isEmpty
      || filter.callSites.contains { $0.matches(file: site.file, line: site.line) }
    guard isOfPlace else {
      isNever = true
      return
    }
    for condition in filter.conditions {
      for name in condition.required where !site.mayHaveArgument(named: name) {
        needsMetadata = true
      }
    }
    if filter.text.isEmpty { return }
    hasText = filter.text.contains { site.hasInLiterals($0) }
    if hasText {
      isNever = filter.isTextInverted
    } else if !filter.isTextInverted {
      needsMetadata = filter.text.allSatisfy { site.cannotShow($0) }
      if filter.text.count == 1, let need = RequiredText(filter.text[0], of: site, sites) {
        keep(need)
        self.need = .passUnretained(need)
      }
    }
  }
}

extension CallSiteInfo {
  /// `request.path` may be in an argument `request`.
  fileprivate func mayHaveArgument(named name: String) -> Bool {
    let first = name.split(separator: ".").first.map(String.init) ?? name
    return parts.contains {
      guard case .argument(let argument) = $0 else { return false }
      return argument.name == name || argument.name == first
    }
  }

  fileprivate func hasInLiterals(_ pattern: TextPattern) -> Bool {
    pattern.isLiteral
      && parts.contains {
        guard case .literal(let text) = $0 else { return false }
        return Array(text.utf8).withUnsafeBytes { pattern.matches($0) }
      }
  }

  /// Whether no message can have the pattern in it. Then the pattern needs a byte that neither the
  /// static text nor the text of a number has.
  fileprivate func cannotShow(_ pattern: TextPattern) -> Bool {
    var bytes = Set(Self.bytesOfNumbers)
    for part in parts {
      switch part {
      case .literal(let text): bytes.formUnion(text.utf8)
      case .argument(let argument):
        guard Self.isNumber(argument.type) else { return false }
      }
    }
    if pattern.ignoresCase {
      bytes.formUnion(bytes.lazy.filter { (65...90).contains($0) }.map { $0 + 32 })
    }
    return !pattern.literal.allSatisfy { bytes.contains($0) }
  }

  /// All characters that show a number, a Boolean, a hash, nil or a private value, and alignment.
  private static let bytesOfNumbers = Array(
    "0123456789abcdefABCDEF+-.xXobinfatrueslpvh<>:INFATE ".utf8)

  private static func isNumber(_ type: UInt8) -> Bool {
    switch ValueType(rawValue: type & ~ValueType.optionalBit) {
    case .int, .uint, .double, .float, .bool, .int128, .uint128, .redacted, .hash, .null: true
    case .string, .bytes, .sealed, .array, .dictionary, nil: false
    }
  }
}
