import MMLogFormat
import MMLogStorage

/// A frame from its collection until the ring says that it is archived.
///
/// Proof of `@unchecked Sendable`: it belongs to the drainer, or, from
/// ``EncodingThread/begin(_:_:)`` to the end of ``EncodingThread/wait()``, to that thread.
final class PendingFrame: @unchecked Sendable {
  /// What the frame has of a segment.
  struct Part {
    let index: Int
    let generation: UInt64
    /// Where the part ends.
    let end: Int
    /// The greatest ticks in the segment up to there, and the number of the next entry.
    let lastTicks: UInt64
    let number: UInt64
    /// How many records the part has passed over: these stay in the ring.
    let passed: Int
    /// How many corrupted places the part has passed over.
    let corrupted: Int

    init(_ run: CollectedSegment, passed: Int, corrupted: Int) {
      (index, generation) = (run.index, run.header.generation)
      (end, lastTicks, number) = (run.taken, run.lastTicks, run.number ?? 0)
      (self.passed, self.corrupted) = (passed, corrupted)
    }
  }

  var rows = RowBuilder()
  var fields = FrameHeader(.records)
  var parts: [Part] = []
  /// How many places in the parts are corrupted.
  var corrupted: Int { parts.reduce(0) { $0 + $1.corrupted } }
  /// Segments that are empty once the frame is archived.
  var finished: [CollectedSegment] = []
  /// All entries of the session so far.
  var dictionary = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Nil if there are no rows.
  private(set) var encoded: EncodedFrame?

  /// Forgets everything, and keeps the memory.
  func begin() {
    rows.removeAll()
    (fields, parts, finished, encoded) = (FrameHeader(.records), [], [], nil)
  }

  func encode(_ encoder: FrameEncoder) {
    encoded = encoder.encode(rows, dictionary: dictionary, fields)
  }
}
