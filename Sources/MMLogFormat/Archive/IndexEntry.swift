/// What an index says of one frame.
package struct IndexEntry: Equatable, Sendable {
  package var offset: Int
  /// May be a type of a later version.
  package var rawType: UInt8
  package var summary: RecordSummary
  package var rawSize: Int
  package var frameSize: Int

  package init(offset: Int, header: FrameHeader) {
    self.offset = offset
    rawType = header.rawType
    summary = header.summary
    rawSize = header.rawSize
    frameSize = header.frameSize
  }

  /// The payload of an index frame.
  package static func encode(_ entries: [IndexEntry]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: entries.count * IndexEntryLayout.size)
    bytes.withUnsafeMutableBytes { out in
      for (index, entry) in entries.enumerated() {
        entry.encode(into: out, at: index * IndexEntryLayout.size)
      }
    }
    return bytes
  }

  private func encode(into out: UnsafeMutableRawBufferPointer, at start: Int) {
    out.store(UInt64(offset), start + IndexEntryLayout.offset)
    out.store(summary.count, start + IndexEntryLayout.count)
    out.store(rawType, start + IndexEntryLayout.type)
    out.store(summary.levels, start + IndexEntryLayout.levels)
    out.store(summary.firstTicks, start + IndexEntryLayout.firstTicks)
    out.store(summary.lastTicks, start + IndexEntryLayout.lastTicks)
    out.store(summary.firstWall, start + IndexEntryLayout.firstWall)
    out.store(summary.lastWall, start + IndexEntryLayout.lastWall)
    out.store(UInt32(rawSize), start + IndexEntryLayout.rawSize)
    out.store(UInt32(frameSize), start + IndexEntryLayout.frameSize)
  }
}
