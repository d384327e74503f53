/// How much effort was spent on a frame's text. The text is read in the same way for each. Raw
/// values stand on disk.
package enum TextEffort: UInt8, Sendable, CaseIterable {
  /// As much as the level of compression asks for.
  case full
  /// As little as the coder can.
  case reduced
  /// None: the text is stored as it is.
  case none
  /// More than the level of compression asks for: the frame's records came so slowly, or are so few
  /// at a session's end, that it costs next to nothing.
  case thorough
}
