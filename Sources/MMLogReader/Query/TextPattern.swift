import MMLogFormat
import MMLogSystem

/// What is looked for in the text of records: bytes as they are, or a regular expression.
///
/// Regular expressions are POSIX extended ones, as of `grep -E`, with `\w`, `\W`, `\s`, `\S`, `\b`, `\<` and
/// `\>` added. They see bytes: `.` is one byte of UTF-8, and case is that of ASCII letters. `^` and `$` are
/// where the message, or a pair of metadata, begins and ends.
///
/// Any thread.
public struct TextPattern: Sendable {
  /// Bytes that are in everything that matches; empty if none are known.
  let literal: [UInt8]
  let ignoresCase: Bool
  /// Nil if ``literal`` is all there is to find.
  private let expression: RegularExpression?

  /// Why a pattern is none.
  public struct Invalid: Error, CustomStringConvertible, Sendable {
    /// One sentence without its end.
    public let description: String
  }

  /// A text that is looked for as it is.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - ignoresCase: Whether ASCII letters match in either case.
  public init(literal text: String, ignoresCase: Bool = false) {
    literal = Self.folded(text, ignoresCase)
    self.ignoresCase = ignoresCase
    expression = nil
  }

  /// A regular expression.
  ///
  /// - Parameters:
  ///   - pattern: The expression.
  ///   - ignoresCase: Whether ASCII letters match in either case.
  /// - Throws: what is wrong with it.
  public init(_ pattern: String, ignoresCase: Bool = false) throws(Invalid) {
    let required = RequiredLiteral(pattern)
    literal = Self.folded(required.text, ignoresCase)
    self.ignoresCase = ignoresCase
    if required.isAll {
      expression = nil
      return
    }
    guard pattern.utf8.count <= Self.longest else {
      throw Invalid(description: "the pattern is longer than \(Self.longest) bytes")
    }
    do {
      expression = try RegularExpression(
        Self.repeatedOnce(pattern), ignoresCase: ignoresCase)
    } catch {
      throw Invalid(description: "'\(pattern)' is not a regular expression: \(error.text)")
    }
  }

  /// Whether it is found in `text`.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    let isThere = literal.withUnsafeBytes {
      ByteSearch.contains(text, $0, ignoresCase: ignoresCase)
    }
    guard isThere else { return false }
    return expression?.matches(text) ?? true
  }

  /// Whether one that is found in `text` stays found whatever stands around that.
  var isLiteral: Bool { expression == nil }

  /// More than anyone types, and no burden.
  private static let longest = 4096

  /// The same expression with one sign of repetition where there are several, as in `.*?` or `a**`: the C library takes
  /// twice as long for each.
  private static func repeatedOnce(_ pattern: String) -> String {
    var (result, signs) = ("", "")
    var rest = pattern[...]
    func addSigns() {
      let isAfterSomething = result.last.map { !"(|^".contains($0) } ?? false
      if let first = signs.first, isAfterSomething {
        result.append(signs.allSatisfy { $0 == first } ? first : "*")
      } else {
        result += signs
      }
      signs = ""
    }
    while let character = rest.popFirst() {
      if "*+?".contains(character) {
        signs.append(character)
        continue
      }
      addSigns()
      result.append(character)
      let before = rest
      switch character {
      case "\\": _ = rest.popFirst()
      case "[": RequiredLiteral.passBrackets(&rest)
      default: continue
      }
      result += before[..<rest.startIndex]
    }
    addSigns()
    return result
  }

  private static func folded(_ text: String, _ ignoresCase: Bool) -> [UInt8] {
    text.utf8.map { ignoresCase && (65...90).contains($0) ? $0 + 32 : $0 }
  }
}

/// The longest text that whatever matches an extended regular expression must have in it, as far as is seen without
/// taking groups apart: a search for it is much faster than the expression.
struct RequiredLiteral {
  /// Empty if there is none.
  let text: String
  /// Whether the expression is nothing but it.
  let isAll: Bool

  init(_ pattern: String) {
    var (longest, run): ([Character], [Character]) = ([], [])
    var isAll = true
    var depth = 0
    var rest = pattern[...]
    func end() {
      if run.count > longest.count { longest = run }
      run = []
    }
    while let character = rest.popFirst() {
      switch character {
      case "|" where depth == 0:
        // Either side will do.
        (text, self.isAll) = ("", false)
        return
      case "\\":
        let escaped = rest.popFirst()
        if depth == 0, let escaped, "\\.[]{}()*+?^$|/-\"'".contains(escaped) {
          run.append(escaped)
          isAll = isAll && !Self.repeats(rest.first)
        } else {
          isAll = false
          end()
        }
      case "(":
        isAll = false
        end()
        depth += 1
      case ")":
        isAll = false
        end()
        depth = max(0, depth - 1)
      case "[":
        isAll = false
        end()
        Self.passBrackets(&rest)
      case ".", "^", "$", "+":
        isAll = false
        end()
      case "*", "?", "{":
        // What stands before it may be missing.
        isAll = false
        if !run.isEmpty { run.removeLast() }
        end()
        if character == "{" { while let next = rest.popFirst(), next != "}" {} }
      default:
        if depth == 0 { run.append(character) } else { isAll = false }
      }
    }
    end()
    text = String(longest)
    self.isAll = isAll
  }

  private static func repeats(_ next: Character?) -> Bool {
    next.map { "*?+{".contains($0) } ?? false
  }

  /// Passes over the rest of what a bracket has begun.
  static func passBrackets(_ rest: inout Substring) {
    if rest.first == "^" { rest.removeFirst() }
    // A bracket that comes first stands for itself.
    if rest.first == "]" { rest.removeFirst() }
    while let next = rest.popFirst(), next != "]" {
      guard next == "[", let kind = rest.first, ":.=".contains(kind) else { continue }
      rest.removeFirst()
      // `[:digit:]`
      while let inner = rest.popFirst() {
        if inner == kind, rest.first == "]" {
          rest.removeFirst()
          break
        }
      }
    }
  }
}
