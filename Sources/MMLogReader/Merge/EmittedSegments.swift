import MMLogFormat

/// What was given of a living ring's segments and is not in an archive yet, so that the frame which
/// then has it is not given again.
///
/// A frame says which part of which segment it holds, but not of a row where in the segment it
/// stood. So each record given leaves a key behind; records with equal keys are equal in all that
/// is shown but their times, and of a thread's equal ones the first was given first.
final class EmittedSegments {
  private var segments: [UInt64: Segment] = [:]

  private struct Segment {
    /// Up to where it has been read.
    var end = 0
    /// The records given from the ring, in order.
    var records: [(offset: UInt32, key: UInt64)] = []
    /// Flight records, which come in frames of their own.
    var flight: [(offset: UInt32, key: UInt64)] = []
  }

  /// Up to where a segment's generation has been read; nil if it is new.
  func end(of generation: UInt64) -> Int? { segments[generation]?.end }

  /// Notes that a record has been given, or passed over for good.
  func add(
    _ view: RecordView, thread: UInt32, isFlight: Bool, generation: UInt64, offset: Int
  ) {
    let kind = isFlight ? \Segment.flight : \Segment.records
    let key = recordKey(view, thread: thread)
    segments[generation, default: Segment()][keyPath: kind].append(
      (UInt32(truncatingIfNeeded: offset), key))
  }

  /// Notes up to where a segment's generation has been read.
  func move(_ generation: UInt64, to end: Int) {
    segments[generation, default: Segment()].end = end
  }

  /// Forgets generations whose segments are not in use any more, but some: what they had is in
  /// frames that were taken, or evicted.
  func forget(besides generations: Set<UInt64>) {
    segments = segments.filter { generations.contains($0.key) }
  }

  /// What of a frame was given before; it is forgotten here.
  func take(of header: FrameHeader) -> EmittedRecords {
    var records = EmittedRecords()
    let kind = header.isFlight ? \Segment.flight : \Segment.records
    for range in header.ranges where range.from < range.to {
      if end(of: range.generation) ?? 0 < range.to { records.isPartial = true }
      guard let given = segments[range.generation]?[keyPath: kind] else { continue }
      // Mostly they begin with the first: only a capture of some spans leaves what is before.
      let first = given.firstIndex { $0.offset >= range.from } ?? given.count
      let end = given[first...].firstIndex { $0.offset >= range.to } ?? given.count
      for record in given[first..<end] { records.insert(record.key) }
      let start = header.isFlight ? first : 0
      segments[range.generation]?[keyPath: kind].removeSubrange(start..<end)
    }
    return records
  }
}
