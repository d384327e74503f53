import MMLogReader

/// How many bytes the texts of a log may take in memory. Even a few texts may have megabytes each.
struct TextBudget {
  private let maximum: Int
  private var used = 0

  init(_ maximum: Int) { self.maximum = maximum }

  /// Whether there is room for `count` bytes.
  func hasRoom(for count: Int) -> Bool { count <= maximum - used }

  /// Takes room for `count` bytes.
  ///
  /// - Returns: False if there is not enough room.
  mutating func take(_ count: Int) -> Bool {
    guard hasRoom(for: count) else { return false }
    used += count
    return true
  }

  /// Gives all room back.
  mutating func clear() { used = 0 }
}

extension CallSiteInfo {
  /// The minimum of what the texts take. The template also stands there in parts, and prepared for
  /// output.
  var textSize: Int { file.utf8.count + function.utf8.count + 3 * template.utf8.count }
}
