import MMLogFormat

extension Logger {
  /// Records the bytes of a line, or of a piece of a line, as they are.
  ///
  /// - Parameters:
  ///   - line: The bytes, without the line's end. More than 16 MiB are cut.
  ///   - level: The level.
  ///   - isTerminated: Whether a line end followed. If not, the decoder prints none.
  package func record(line: UnsafeRawBufferPointer, _ level: Level, isTerminated: Bool) {
    log(
      level, { "\(line)" }, { nil }, "", "", 0, 0,
      flags: isTerminated ? [] : .unterminated)
  }

  /// The longest line that is not cut, in bytes.
  package static var longestLine: Int { RecordLayout.longestValue }
}
