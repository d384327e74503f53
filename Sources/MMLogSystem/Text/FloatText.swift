import CMMLogCore

/// How C writes a floating-point number: `%f`, `%e`, `%g`.
package enum FloatText: UInt8, BitwiseCopyable, Sendable {
  /// `precision` digits after the point.
  case fixed = 0x66
  /// One digit, `precision` digits after the point, and an exponent.
  case exponential = 0x65
  /// The shorter of both, with `precision` significant digits.
  case hybrid = 0x67

  /// A number's text, with a point whatever the process's locale: snprintf(3).
  ///
  /// - Parameters:
  ///   - precision: 0 to 254 digits.
  ///   - body: Receives the text, which is valid as long as `body` runs.
  /// - Returns: What `body` returned; nil if there is no memory for the text.
  package func withText<Result>(
    _ value: Double, precision: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    // The longest: a sign, 309 digits, a point, 254 digits, a zero.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 640) { buffer in
      let count = mmlog_format_double(
        buffer.baseAddress, buffer.count, CChar(rawValue), CInt(precision), value)
      guard count >= 0 else { return nil }
      return body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<Int(count)]))
    }
  }
}
