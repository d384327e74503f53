/// Entries of one writer whose numbers follow one another, as a frame's range or a segment has
/// them.
package struct NumberRange: Hashable, Sendable {
  /// The writer that numbered them: unique in the session, never 0.
  package var writer: UInt32
  /// The ordinal of the thread that the segment belonged to; 0 if several shared it.
  package var thread: UInt32
  package var first: UInt64
  package var count: UInt32

  package init(writer: UInt32, thread: UInt32, first: UInt64, count: UInt32) {
    (self.writer, self.thread, self.first, self.count) = (writer, thread, first, count)
  }

  /// The number of the next entry. A hostile file may say any number.
  package var end: UInt64 {
    let (end, overflow) = first.addingReportingOverflow(UInt64(count))
    return overflow ? .max : end
  }
}
