import CMMLogCore
import Glibc

/// A regular expression of the system: regcomp(3), POSIX extended, over bytes.
///
/// Proof of `@unchecked Sendable`: nothing changes it, and regexec(3) may be called by any thread.
package final class RegularExpression: @unchecked Sendable {
  private let compiled: OpaquePointer

  /// What is wrong with a pattern, such as `Unmatched ( or \(`.
  package struct Problem: Error {
    package let text: String
  }

  /// - Parameters:
  ///   - pattern: The pattern, as the system has it.
  ///   - ignoresCase: Whether ASCII letters match in either case.
  ///   - findsGroups: Whether ``range(ofGroup:in:)`` is called: searches take longer then.
  package init(
    _ pattern: String, ignoresCase: Bool, findsGroups: Bool = false
  ) throws(Problem) {
    guard !pattern.utf8.contains(0) else { throw Problem(text: "a zero byte cannot be matched") }
    var problem = [CChar](repeating: 0, count: 128)
    guard
      let compiled = mmlog_regex_compile(
        pattern, ignoresCase, findsGroups, &problem, problem.count)
    else {
      throw Problem(
        text: problem.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    self.compiled = compiled
  }

  deinit { mmlog_regex_free(compiled) }

  /// Whether the expression matches anywhere in `text`. False, too, if there is no memory for the
  /// search.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    // An empty buffer may have no address, which regexec would inspect.
    guard let base = text.baseAddress else {
      return "".utf8CString.withUnsafeBytes {
        mmlog_regex_matches(compiled, $0.baseAddress, 0) == 1
      }
    }
    return mmlog_regex_matches(compiled, base, text.count) == 1
  }

  /// Where a group of the first match is; nil if there is no match, or if the group has no part in
  /// it.
  ///
  /// - Parameter group: 1 to 31.
  package func range(ofGroup group: Int, in text: UnsafeRawBufferPointer) -> Range<Int>? {
    guard let base = text.baseAddress else { return nil }
    var (start, end) = (0, 0)
    guard mmlog_regex_group(compiled, base, text.count, group, &start, &end) == 1 else {
      return nil
    }
    return start..<end
  }
}

/// Searches for bytes in other bytes.
package enum ByteSearch {
  /// Whether a byte is in `text`: memchr(3).
  @inline(__always)
  package static func contains(_ text: UnsafeRawBufferPointer, _ byte: UInt8) -> Bool {
    guard let base = text.baseAddress else { return false }
    return memchr(base, CInt(byte), text.count) != nil
  }

  /// Where `needle` stands in `text` first, not before `start`: memmem(3). Nil if nowhere.
  package static func first(
    _ needle: [UInt8], in text: UnsafeRawBufferPointer, from start: Int
  ) -> Int? {
    guard let base = text.baseAddress, start <= text.count else { return nil }
    let found = needle.withUnsafeBytes {
      mmlog_find(base + start, text.count - start, $0.baseAddress, $0.count)
    }
    return found.map { UnsafeRawPointer($0) - base }
  }

  /// Whether `needle` is in `text`: memmem(3).
  ///
  /// - Parameter ignoresCase: Whether ASCII letters match in either case; `needle` has none in
  ///   upper case then.
  @inline(__always)
  package static func contains(
    _ text: UnsafeRawBufferPointer, _ needle: UnsafeRawBufferPointer, ignoresCase: Bool = false
  ) -> Bool {
    if needle.isEmpty { return true }
    if text.count < needle.count { return false }
    return ignoresCase
      ? mmlog_find_any_case(text.baseAddress, text.count, needle.baseAddress, needle.count) != nil
      : mmlog_find(text.baseAddress, text.count, needle.baseAddress, needle.count) != nil
  }

  /// As ``contains(_:_:ignoresCase:)``, for arrays. The standard library's `contains` for a
  /// collection would link its regular expressions into each program, those in C included.
  package static func contains(_ text: ArraySlice<UInt8>, _ needle: ArraySlice<UInt8>) -> Bool {
    text.withUnsafeBytes { text in needle.withUnsafeBytes { contains(text, $0) } }
  }
}
