import MMLogFormat

extension Logger {
  /// Records a line, or a piece of one, as the bytes that it is.
  ///
  /// - Parameters:
  ///   - line: The bytes, without the line's end. More than 16 MiB are cut.
  ///   - level: The level.
  ///   - isTerminated: Whether a line end followed; if not, the decoder prints none either.
  package func record(line: UnsafeRawBufferPointer, _ level: Level, isTerminated: Bool) {
    log(
      level, { "\(line)" }, { nil }, "", "", 0, 0,
      flags: isTerminated ? [] : .unterminated)
  }

  /// The longest line that is not cut, in bytes.
  package static var longestLine: Int { RecordLayout.longestValue }
}
