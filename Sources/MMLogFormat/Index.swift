/// What an index says of one frame.
package struct IndexEntry: Equatable, Sendable {
  package var offset: Int
  package var type: FrameType
  package var summary: RecordSummary
  package var rawSize: Int
  package var frameSize: Int

  package init(offset: Int, header: FrameHeader) {
    self.offset = offset
    type = header.type
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
    out.store(type.rawValue, start + IndexEntryLayout.type)
    out.store(summary.levels, start + IndexEntryLayout.levels)
    out.store(summary.firstTicks, start + IndexEntryLayout.firstTicks)
    out.store(summary.lastTicks, start + IndexEntryLayout.lastTicks)
    out.store(summary.firstWall, start + IndexEntryLayout.firstWall)
    out.store(summary.lastWall, start + IndexEntryLayout.lastWall)
    out.store(UInt32(rawSize), start + IndexEntryLayout.rawSize)
    out.store(UInt32(frameSize), start + IndexEntryLayout.frameSize)
  }
}

/// The last bytes of a closed archive.
package struct Trailer: Equatable, Sendable {
  package var dictionaryOffset: UInt64
  package var indexOffset: UInt64
  package var recordCount: UInt64
  package var fileSize: UInt64
  package var frameCount: UInt32
  /// Which archive ends with it.
  package var archive: ArchiveID

  package init(
    of archive: ArchiveID, dictionaryOffset: UInt64, indexOffset: UInt64, recordCount: UInt64,
    fileSize: UInt64, frameCount: UInt32
  ) {
    self.archive = archive
    self.dictionaryOffset = dictionaryOffset
    self.indexOffset = indexOffset
    self.recordCount = recordCount
    self.fileSize = fileSize
    self.frameCount = frameCount
  }

  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: TrailerLayout.size)
    bytes.withUnsafeMutableBytes { out in
      TrailerLayout.magicValue.withUTF8Buffer { out.store(bytes: $0, TrailerLayout.magic) }
      out.store(dictionaryOffset, TrailerLayout.dictionaryOffset)
      out.store(indexOffset, TrailerLayout.indexOffset)
      out.store(recordCount, TrailerLayout.recordCount)
      out.store(fileSize, TrailerLayout.fileSize)
      out.store(frameCount, TrailerLayout.frameCount)
      archive.encode(into: out, at: TrailerLayout.archive)
      out.store(
        crc32c(UnsafeRawBufferPointer(out).slice(0, TrailerLayout.checksum)), TrailerLayout.checksum
      )
    }
    return bytes
  }

  /// Reads the trailer that the last bytes of a file are, or gives nil if they are none.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == TrailerLayout.size, bytes.starts(with: TrailerLayout.magicValue),
      crc32c(bytes.slice(0, TrailerLayout.checksum))
        == bytes.load(TrailerLayout.checksum, as: UInt32.self)
    else { return nil }
    dictionaryOffset = bytes.load(TrailerLayout.dictionaryOffset, as: UInt64.self)
    indexOffset = bytes.load(TrailerLayout.indexOffset, as: UInt64.self)
    recordCount = bytes.load(TrailerLayout.recordCount, as: UInt64.self)
    fileSize = bytes.load(TrailerLayout.fileSize, as: UInt64.self)
    frameCount = bytes.load(TrailerLayout.frameCount, as: UInt32.self)
    archive = ArchiveID(bytes, at: TrailerLayout.archive)
  }
}
