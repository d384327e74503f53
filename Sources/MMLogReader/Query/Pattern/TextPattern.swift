import MMLogSystem

/// What is searched for in the text of records: bytes as they are, or a regular expression.
///
/// Regular expressions are POSIX extended ones, as of `grep -E`, with additions from other
/// languages: `\d`, `\w`, `\s`, their opposites `\D`, `\W`, `\S`, `\b`, `\B`, `\<`, `\>`, `\A`,
/// `\z`, `\t`, `\n`, `\r`, `\f`, `\v`, `\a`, `\e`, `\x41`, `\u00e9`, `\u{e9}`, and groups `(?:…)`.
/// Backslashes have this meaning within brackets, too: a backslash that stands for itself is
/// written `\\` there. A `?` or `+` behind another sign of repetition is passed over: it changes
/// how much is found, and not whether anything is found. What no expression of the system can say
/// is refused.
///
/// Expressions see bytes: `.` is one byte of UTF-8, and classes and case are those of ASCII. `^`
/// and `$` are where the message, or a pair of metadata, begins and ends.
///
/// Any thread.
public struct TextPattern: Sendable {
  /// Bytes that every match has; empty if none are known.
  let literal: [UInt8]
  let ignoresCase: Bool
  /// Nil if there is nothing to find but ``literal``.
  private let expression: RegularExpression?
  /// Matches a text that is one place where the pattern is found, and no more; nil if not known.
  let whole: RegularExpression?

  /// The error for a text that is no pattern.
  public struct Invalid: Error, CustomStringConvertible, Sendable {
    /// One sentence without its end: what is wrong, where, and what to write instead.
    public let description: String

    fileprivate static var tooLong: Invalid {
      Invalid(description: "the pattern is longer than \(TextPattern.longest) bytes")
    }
  }

  /// Makes a pattern of a text that is searched for as it is.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - ignoresCase: Whether ASCII letters match in either case.
  public init(literal text: String, ignoresCase: Bool = false) {
    literal = Self.folded(text, ignoresCase)
    self.ignoresCase = ignoresCase
    (expression, whole) = (nil, nil)
  }

  /// Makes a pattern of a regular expression.
  ///
  /// - Parameters:
  ///   - pattern: The expression, at most 4096 bytes.
  ///   - ignoresCase: Whether ASCII letters match in either case.
  /// - Throws: what is wrong with the expression.
  public init(_ pattern: String, ignoresCase: Bool = false) throws(Invalid) {
    let translation = try Self.translation(of: pattern)
    literal = Self.folded(translation.requiredText, ignoresCase)
    self.ignoresCase = ignoresCase
    expression =
      translation.isText
      ? nil : try Self.compiled(translation, of: pattern, ignoresCase: ignoresCase)
    let result = Array(translation.result.utf8)[...]
    let refersBack = (1...9).contains { ByteSearch.contains(result, Array("\\\($0)".utf8)[...]) }
    whole =
      translation.isText || refersBack
      ? nil : try? RegularExpression("^(\(translation.result))$", ignoresCase: ignoresCase)
  }

  private static func translation(of pattern: String) throws(Invalid) -> PatternTranslation {
    guard pattern.utf8.count <= longest else { throw .tooLong }
    var translation = PatternTranslation(pattern)
    try translation.translate()
    return translation
  }

  private static func compiled(
    _ translation: PatternTranslation, of pattern: String, ignoresCase: Bool = false,
    findsGroups: Bool = false
  ) throws(Invalid) -> RegularExpression {
    do {
      return try RegularExpression(
        translation.result, ignoresCase: ignoresCase, findsGroups: findsGroups)
    } catch {
      throw Invalid(description: "'\(pattern)' is not a regular expression: \(error.text)")
    }
  }

  /// Whether the pattern is found in `text`.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    let isThere = literal.withUnsafeBytes {
      ByteSearch.contains(text, $0, ignoresCase: ignoresCase)
    }
    guard isThere else { return false }
    return expression?.matches(text) ?? true
  }

  /// A regular expression that finds its first group: see ``TextPattern/init(_:ignoresCase:)``.
  ///
  /// Any thread.
  package struct Group: Sendable {
    private let expression: RegularExpression
    private let number: Int

    /// - Throws: what is wrong with the pattern, such as that it has no group.
    package init(_ pattern: String) throws(Invalid) {
      let translation = try TextPattern.translation(of: pattern)
      guard let number = translation.groups.first else {
        throw Invalid(description: "'\(pattern)' has no group: put what is meant in ( )")
      }
      self.number = number
      expression = try TextPattern.compiled(translation, of: pattern, findsGroups: true)
    }

    /// The bytes of the group at the first place where the pattern is found; nil if the pattern is
    /// not found, or found without the group.
    package func first(in text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
      expression.range(ofGroup: number, in: text).map {
        UnsafeRawBufferPointer(rebasing: text[$0])
      }
    }
  }

  /// Whether a pattern that is found in `text` stays found, whatever stands around that text.
  var isLiteral: Bool { expression == nil }

  /// The maximum size of a pattern in bytes: more than anyone types.
  private static let longest = 4096

  private static func folded(_ text: String, _ ignoresCase: Bool) -> [UInt8] {
    text.utf8.map { ignoresCase && (65...90).contains($0) ? $0 + 32 : $0 }
  }
}
