package import MMLogFormat

extension TestLog {
  /// Writes a state slot into a place, without the copies of a text.
  package func putSlot(_ place: Int, _ name: String, _ type: UInt8, _ value: UInt64 = 0) {
    let start = areas.stateSlots?.lowerBound ?? 0
    let slot = start + place * StateSlotLayout.size
    let name = Array(name.utf8)
    let lead = [type, UInt8(name.count), 0, 0]
    put(lead, at: slot)
    store(crc32c(lead + name), at: slot + StateSlotLayout.checksum)
    put([value], at: slot + StateSlotLayout.value)
    put(name, at: slot + StateSlotLayout.name)
  }

  /// Writes a copy of a text into its place.
  package func putCopy(_ place: Int, _ text: String, ordinal: UInt32) {
    let copy = (areas.stateSlots?.lowerBound ?? 0) + place * StateSlotLayout.size
    let lead = UInt32(text.utf8.count) | ordinal << 8
    let bytes = Array(text.utf8)
    let words = bytes + [UInt8](repeating: 0, count: paddedSize(bytes.count) - bytes.count)
    store(lead, at: copy)
    store(crc32c(words + withUnsafeBytes(of: lead.littleEndian) { Array($0) }), at: copy + 4)
    put(words, at: copy + StateSlotLayout.copyText)
  }

  /// Writes one slot of each type, among them a text that was stored twice.
  package func putState() {
    putSlot(0, "queue.depth", 1, UInt64(bitPattern: -17))
    putSlot(1, "bytes", 2, .max)
    putSlot(2, "phase", 6)
    putCopy(3, "ready ✓", ordinal: 4)
    putCopy(4, "loading", ordinal: 3)
    putSlot(5, "load", 3, (0.75).bitPattern)
    putSlot(6, "ratio", 4, UInt64(Float(1.5).bitPattern))
    putSlot(7, "is.leader", 5, 1)
    putSlot(8, "of a later version", 99, 7)
    putSlot(9, "never stored", 6)
    putSlot(12, "after a free place", 1, 2)
  }

  /// The values that ``putState()`` has written.
  package static let state: [(name: String, value: Value)] = [
    ("queue.depth", .int(-17)), ("bytes", .uint(.max)), ("phase", .text("ready ✓")),
    ("load", .double(0.75)), ("ratio", .float(1.5)), ("is.leader", .bool(true)),
    ("never stored", .text("")), ("after a free place", .int(2)),
  ]

  private func crc32c(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { MMLogFormat.crc32c($0) }
  }
}
