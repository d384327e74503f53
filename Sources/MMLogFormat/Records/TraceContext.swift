/// A place in a distributed trace, as W3C Trace Context has it: which trace, and which span of it
/// was open where the work comes from.
///
/// ```swift
/// import MMLog
///
/// if let trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") {
///   print(trace.traceID)
/// }
/// ```
public struct TraceContext: Hashable, Sendable, LosslessStringConvertible {
  /// The trace's 16 bytes: the first eight as a number, and the last eight.
  package let words: (UInt64, UInt64)
  /// The span that was open, as a number; 0: none is known.
  public let spanID: UInt64
  /// The trace flags; bit 0: the trace is sampled.
  public let flags: UInt8

  package init(words: (UInt64, UInt64), spanID: UInt64, flags: UInt8) {
    (self.words, self.spanID, self.flags) = (words, spanID, flags)
  }

  /// Takes the values that a tracer gives.
  ///
  /// - Parameters:
  ///   - traceID: 32 lower-case hexadecimal digits, not all of them 0.
  ///   - spanID: 16 lower-case hexadecimal digits, not all of them 0.
  ///   - flags: The trace flags. Default: 0, not sampled.
  /// - Returns: Nil if one of the values is not valid.
  public init?(traceID: some StringProtocol, spanID: some StringProtocol, flags: UInt8 = 0) {
    let digits = Array(traceID.utf8)
    guard digits.count == 32, let first = hexadecimalValue(digits.prefix(16)),
      let last = hexadecimalValue(digits.suffix(16)),
      let span = hexadecimalValue(Array(spanID.utf8)[...]),
      first | last != 0, span != 0
    else { return nil }
    self.init(words: (first, last), spanID: span, flags: flags)
  }

  /// Reads the value of a `traceparent` header: version, trace, span and flags, with hyphens
  /// between. Of versions after 00, what follows the flags is not read.
  ///
  /// - Returns: Nil if the header is not valid: W3C Trace Context, 3.2.
  public init?(_ traceparent: String) {
    let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, let version = Self.byte(parts[0]), version != 255,
      version > 0 || parts.count == 4, let flags = Self.byte(parts[3])
    else { return nil }
    self.init(traceID: parts[1], spanID: parts[2], flags: flags)
  }

  /// 32 lower-case hexadecimal digits.
  public var traceID: String { words.0.allHexDigits + words.1.allHexDigits }

  /// The value of a `traceparent` header.
  public var description: String {
    "00-\(traceID)-\(spanID.allHexDigits)-\(flags.allHexDigits)"
  }

  /// Two are equal if all their parts are.
  public static func == (a: TraceContext, b: TraceContext) -> Bool {
    a.words == b.words && a.spanID == b.spanID && a.flags == b.flags
  }

  /// Feeds all parts to `hasher`.
  public func hash(into hasher: inout Hasher) {
    for word in [words.0, words.1, spanID, UInt64(flags)] { hasher.combine(word) }
  }

  private static func byte(_ text: Substring) -> UInt8? {
    let digits = Array(text.utf8)
    guard digits.count == 2, let high = hexadecimalValue(digits[0]),
      let low = hexadecimalValue(digits[1])
    else { return nil }
    return high << 4 | low
  }
}
