import CommandLineTool
import MMLogReader

/// Decides which lines belong to the record of the line before.
struct LineJoiner {
  private enum Rule {
    case indent
    case traceback(Traceback)
    /// Found in the first line of each record.
    case regex(TextPattern)
  }

  /// A record with more bytes than this is divided between two lines.
  static let largest = 1 << 20
  /// When no line follows within this time, in milliseconds, a record has ended. A traceback that
  /// is printed line by line takes less time between two lines.
  static let patience = 20
  /// After that time a record has ended in any case.
  static let longest = Duration.seconds(1)

  private var rule: Rule

  /// - Parameter text: As on the command line.
  init(_ text: String) throws(UsageError) {
    switch text {
    case "indent": rule = .indent
    case "traceback": rule = .traceback(Traceback())
    default:
      guard let pattern = regex(text) else {
        throw .badValue(text, of: .join, expected: "indent, traceback or regex:PATTERN")
      }
      do throws(TextPattern.Invalid) { rule = .regex(try TextPattern(pattern)) } catch {
        throw UsageError("--join: \(error)")
      }
    }
  }

  /// Whether the next line belongs to the lines before. The caller has to ask for each line, in
  /// order.
  mutating func takes(_ line: UnsafeRawBufferPointer) -> Bool {
    switch rule {
    case .indent: return line.isIndented
    case .traceback(var traceback):
      defer { rule = .traceback(traceback) }
      return traceback.takes(line)
    case .regex(let pattern):
      return !pattern.matches(UnsafeRawBufferPointer(rebasing: line.prefix(4096)))
    }
  }
}

/// What the tracebacks of Python, Java and Go look like.
struct Traceback {
  private enum State {
    case none
    /// In a traceback of Python, whose frames are indented.
    case python
    /// Behind its last line, after which another traceback may come that explains it.
    case pythonEnd
    /// Before that other traceback.
    case pythonLink
    /// In a traceback of Go, up to a line that does not look like a part of it.
    case go
  }

  private var state = State.none

  private static let python: StaticString = "Traceback (most recent call last):"
  /// What Go's net/http logs before the traceback of a request that panicked.
  private static let serving = TextPattern(literal: "http: panic serving ")

  /// Whether a line is the first one of a traceback, and says nothing of a level.
  static func beginsAsError(_ line: UnsafeRawBufferPointer) -> Bool {
    line.begins(with: python) || line.begins(with: "Exception in thread ")
  }

  /// Whether the next line belongs to the lines before.
  mutating func takes(_ line: UnsafeRawBufferPointer) -> Bool {
    if goesOn(line) { return true }
    state = .none
    if line.begins(with: Self.python) { state = .python }
    if Self.beginsGo(line) || Self.serving.matches(line.beginning(256)) { state = .go }
    return false
  }

  private mutating func goesOn(_ line: UnsafeRawBufferPointer) -> Bool {
    if line.isIndented || line.begins(with: "Caused by: ") { return true }
    switch state {
    case .none: return false
    case .python:
      state = .pythonEnd
      return !line.isEmpty
    case .pythonEnd:
      let isLink =
        line.begins(with: "During handling of the above exception")
        || line.begins(with: "The above exception was the direct cause")
      if isLink { state = .pythonLink }
      return isLink || line.isEmpty
    case .pythonLink:
      if line.begins(with: Self.python) { state = .python }
      return line.isEmpty || state == .python
    case .go:
      return line.isEmpty || Self.isGoCall(line) || Self.beginsGo(line)
        || line.begins(with: "created by ") || line.begins(with: "[signal ")
        || line.begins(with: "exit status ")
    }
  }

  /// Whether a line is a call such as `net/http.(*conn).serve(0xc000, {0x1, 0x2})`, and no sentence
  /// that ends in parentheses.
  private static func isGoCall(_ line: UnsafeRawBufferPointer) -> Bool {
    line.last == UInt8(ascii: ")")
      && !line.prefix { $0 != UInt8(ascii: "(") }.contains(UInt8(ascii: " "))
  }

  private static func beginsGo(_ line: UnsafeRawBufferPointer) -> Bool {
    line.begins(with: "panic: ") || line.begins(with: "goroutine ")
      || line.begins(with: "fatal error: ")
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var isIndented: Bool { first == 0x20 || first == 0x09 }
}
