import MMLogReader

/// How many bytes texts out of a log may take in memory: there may be few of them, each of which
/// has megabytes.
struct TextBudget {
  private let maximum: Int
  private var used = 0

  init(_ maximum: Int) { self.maximum = maximum }

  /// Whether there is room for so many bytes.
  func hasRoom(for count: Int) -> Bool { count <= maximum - used }

  /// Takes room for so many bytes.
  ///
  /// - Returns: False if there is not so much.
  mutating func take(_ count: Int) -> Bool {
    guard hasRoom(for: count) else { return false }
    used += count
    return true
  }

  /// Gives all of it back.
  mutating func clear() { used = 0 }
}

extension CallSiteInfo {
  /// What its texts take, at least: the template stands there in parts, too, and ready to be put
  /// out.
  var textSize: Int { file.utf8.count + function.utf8.count + 3 * template.utf8.count }
}
