import MMLogSystem

/// What programs may note on an archive, besides what mmlog does: attributes and receipts. Their
/// limits are known only here, for setting and for reading.
extension ArchiveInfo.State {
  /// The maximum size of a key, in bytes.
  private static let longestKey = 64
  /// The maximum size of a value or a receipt, in bytes.
  private static let longestText = 512
  /// The maximum size of all attributes of an archive as one text, in bytes.
  private static let longestAttributes = 1024

  /// Why a key and its value cannot be noted, in a few words; nil: they can.
  ///
  /// - Parameter value: Nil: the key is to be removed.
  static func problem(withKey key: String, value: String?) -> String? {
    if let problem = problem(withKey: key) { return "The key \"\(key)\" \(problem)" }
    guard let value, let problem = problem(withText: value) else { return nil }
    return "The value for the key \"\(key)\" \(problem)"
  }

  private static func problem(withKey key: String) -> String? {
    if key.isEmpty || key.utf8.count > longestKey || !key.isPlainName {
      return "is not of 1 to \(longestKey) letters of ASCII, digits, dots, hyphens and underscores"
    }
    return nil
  }

  /// Why a value or a receipt cannot be noted; nil: it can.
  static func problem(withText text: String) -> String? {
    if text.utf8.count > longestText { return "is longer than \(longestText) bytes" }
    return text.unicodeScalars.contains(where: \.isControl) ? "has a control character" : nil
  }

  /// Notes an attribute, or removes it; false if there is no room for it.
  package mutating func set(_ value: String?, for key: String) -> Bool {
    var changed = attributes
    changed[key] = value
    let isFull = Self.text(of: changed).utf8.count > Self.longestAttributes
    if value != nil && isFull { return false }
    attributes = changed
    return true
  }

  /// How much room all attributes have together, in bytes.
  static var roomForAttributes: Int { longestAttributes }

  // MARK: - As one text

  /// Each key, a space, and its value, with tabs between pairs: no key and no value has a tab.
  static func text(of attributes: [String: String]) -> String {
    attributes.map { "\($0.key) \($0.value)" }.inOrder().joined(separator: "\t")
  }

  /// The attributes in a text, whoever wrote it. What cannot be an attribute is left out.
  static func attributes(of text: String) -> [String: String] {
    if text.utf8.count > longestAttributes { return [:] }
    var attributes: [String: String] = [:]
    for pair in text.unicodeScalars.split(separator: "\t") {
      let parts = pair.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      let (key, value) = (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
      if problem(withKey: key, value: value) == nil { attributes[key] = value }
    }
    return attributes
  }
}
