import MMLogFormat

/// The keys of records that were given.
struct EmittedRecords {
  private var counts: [UInt64: Int] = [:]
  private(set) var count = 0
  /// Whether a part of the frame's records was still to be read in the ring.
  var isPartial = false

  var isEmpty: Bool { count == 0 }

  mutating func insert(_ key: UInt64) {
    counts[key, default: 0] += 1
    count += 1
  }

  /// Whether a record was given. Each given record is taken once.
  mutating func take(_ view: RecordView, thread: UInt32) -> Bool {
    let key = recordKey(view, thread: thread)
    guard let equal = counts[key] else { return false }
    counts[key] = equal == 1 ? nil : equal - 1
    count -= 1
    return true
  }
}

/// A number that stands for everything in a record except its checksum and its ticks. If ticks go
/// back, the frame may have others than the ring: they depend on what was archived together.
func recordKey(_ view: RecordView, thread: UInt32) -> UInt64 {
  var key = UInt64(thread) << 40
  let words = view.bytes.count / wordSize
  for index in RecordLayout.identityWord..<words {
    key = (key ^ view.word(index)) &* 0x9E37_79B9_7F4A_7C15
    key ^= key >> 29
  }
  return key ^ UInt64(words) << 56
}
