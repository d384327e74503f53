import MMLogFormat

/// What was given of a living ring's segments and is not in an archive yet. The frame that has it
/// later is then not given again.
///
/// A frame says which part of which segment it holds, but not where in the segment a row stood.
/// Therefore each given record leaves a key behind. Records with equal keys are equal in everything
/// that is shown except their times. Of a thread's equal records, the first one was given first.
final class EmittedSegments {
  private var segments: [UInt64: Segment] = [:]

  private struct Segment {
    /// Up to which offset the segment has been read.
    var end = 0
    /// The records given from the ring, in order.
    var records: [(offset: UInt32, key: UInt64)] = []
    /// Flight records, which come in frames of their own.
    var flight: [(offset: UInt32, key: UInt64)] = []
  }

  /// How many records are remembered.
  var count: Int { segments.values.reduce(0) { $0 + $1.records.count + $1.flight.count } }

  /// Up to which offset a segment's generation has been read; nil if it is new.
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

  /// Notes up to which offset a segment's generation has been read.
  func move(_ generation: UInt64, to end: Int) {
    segments[generation, default: Segment()].end = end
  }

  /// Forgets all generations except some. The segments of the others are not in use any more: their
  /// records are in frames that were taken, or were evicted.
  func forget(besides generations: Set<UInt64>) {
    segments = segments.filter { generations.contains($0.key) }
  }

  /// Takes out the records of a frame that were given before.
  func take(of header: FrameHeader) -> EmittedRecords {
    var records = EmittedRecords()
    let kind = header.isFlight ? \Segment.flight : \Segment.records
    for range in header.ranges where range.from < range.to {
      if end(of: range.generation) ?? 0 < range.to { records.isPartial = true }
      guard let given = segments[range.generation]?[keyPath: kind] else { continue }
      // A range mostly begins with the first record: only a capture of some spans leaves earlier
      // ones.
      let first = given.firstIndex { $0.offset >= range.from } ?? given.count
      let end = given[first...].firstIndex { $0.offset >= range.to } ?? given.count
      for record in given[first..<end] { records.insert(record.key) }
      let start = header.isFlight ? first : 0
      segments[range.generation]?[keyPath: kind].removeSubrange(start..<end)
    }
    return records
  }
}
