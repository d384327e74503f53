import MMLogFormat

/// What was given of a living ring's segments and is not in an archive yet, so that the frame which
/// then has it is not given again.
///
/// A frame says which part of which segment it holds, but not of a row where in the segment it
/// stood. So each record given leaves a key behind; records with equal keys are equal in all that
/// is shown.
final class EmittedSegments {
  private var segments: [UInt64: Segment] = [:]

  private struct Segment {
    /// Up to where it has been read.
    var end = 0
    var records = Places()
    /// Flight records, which come in frames of their own.
    var flight = Places()
  }

  /// Of records given from the ring, in order: offset and key.
  private struct Places {
    var offsets: [UInt32] = []
    var keys: [UInt64] = []
  }

  /// Up to where a segment's generation has been read; nil if it is new.
  func end(of generation: UInt64) -> Int? { segments[generation]?.end }

  /// Notes that a record has been given, or passed over for good.
  func add(
    _ view: RecordView, ticks: UInt64, thread: UInt32, isFlight: Bool, generation: UInt64,
    offset: Int
  ) {
    let places = isFlight ? \Segment.flight : \Segment.records
    let key = recordKey(view, ticks: ticks, thread: thread)
    segments[generation, default: Segment()][keyPath: places].offsets.append(
      UInt32(truncatingIfNeeded: offset))
    segments[generation]?[keyPath: places].keys.append(key)
  }

  /// Notes up to where a segment's generation has been read.
  func move(_ generation: UInt64, to end: Int) {
    segments[generation, default: Segment()].end = end
  }

  /// How much of what a frame took from the ring was given before.
  enum Share {
    case nothing
    case everything
    case some(EmittedRecords)
  }

  /// Reports what of a frame was given before, and forgets it.
  func takeShare(of header: FrameHeader) -> Share {
    var records = EmittedRecords()
    let kind = header.isFlight ? \Segment.flight : \Segment.records
    for range in header.ranges where range.from < range.to {
      guard var places = segments[range.generation]?[keyPath: kind] else { continue }
      let count = places.offsets.prefix { $0 < range.to }.count
      for index in 0..<count where places.offsets[index] >= range.from {
        records.insert(places.keys[index])
      }
      places.offsets.removeFirst(count)
      places.keys.removeFirst(count)
      segments[range.generation]?[keyPath: kind] = places
    }
    if records.isEmpty { return .nothing }
    return records.count == header.summary.count ? .everything : .some(records)
  }

  /// Forgets generations that are neither in the ring any more nor can come in a frame.
  func forget(where isGone: (UInt64) -> Bool) {
    segments = segments.filter { !isGone($0.key) }
  }
}
