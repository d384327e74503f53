import MMLogFormat

/// A pattern of log statements: a file, and in it perhaps a line or a range of lines.
///
/// Any thread.
public struct CallSitePattern: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as it was written.
  public let description: String
  private let files: [Glob]
  private let lines: ClosedRange<Int>?

  /// Reads `Book.swift`, `Orders/Book.swift:42`, `*.swift:40-50`; nil for a text that is no
  /// pattern.
  ///
  /// A file is `Module/File.swift` or its last part alone; `*` stands for any bytes and `?` for one
  /// byte.
  public init?(_ text: String) {
    description = text
    var file = text[...]
    var lines: ClosedRange<Int>?
    if let colon = text.lastIndex(of: ":") {
      guard let found = Self.lines(text[text.index(after: colon)...]) else { return nil }
      lines = found
      file = text[..<colon]
    }
    guard !file.isEmpty else { return nil }
    files = [Glob(file), Glob("*/\(file)")]
    self.lines = lines
  }

  private static func lines(_ text: Substring) -> ClosedRange<Int>? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = Int(parts[0]), let last = Int(parts[parts.count - 1]), 0 <= first,
      first <= last
    else { return nil }
    return first...last
  }

  /// Whether the pattern matches a log statement at that place.
  func matches(file: String, line: Int) -> Bool {
    (lines?.contains(line) ?? true) && files.contains { $0.matches(file) }
  }
}
