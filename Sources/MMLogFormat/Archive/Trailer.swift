/// The last bytes of a closed archive.
package struct Trailer: Equatable, Sendable {
  package var dictionaryOffset: UInt64
  package var indexOffset: UInt64
  package var recordCount: UInt64
  package var fileSize: UInt64
  package var frameCount: UInt32
  /// The archive that ends with the trailer.
  package var archive: ArchiveID

  package init(
    of archive: ArchiveID, dictionaryOffset: UInt64 = 0, indexOffset: UInt64 = 0,
    recordCount: UInt64 = 0, fileSize: UInt64 = 0, frameCount: UInt32 = 0
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
      out.storeChecksum(at: TrailerLayout.checksum)
    }
    return bytes
  }

  /// Reads a trailer from the last bytes of a file; nil if they are no trailer.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == TrailerLayout.size, bytes.starts(with: TrailerLayout.magicValue),
      bytes.checksumDifference(at: TrailerLayout.checksum) == 0
    else { return nil }
    dictionaryOffset = bytes.load(TrailerLayout.dictionaryOffset, as: UInt64.self)
    indexOffset = bytes.load(TrailerLayout.indexOffset, as: UInt64.self)
    recordCount = bytes.load(TrailerLayout.recordCount, as: UInt64.self)
    fileSize = bytes.load(TrailerLayout.fileSize, as: UInt64.self)
    frameCount = bytes.load(TrailerLayout.frameCount, as: UInt32.self)
    archive = ArchiveID(bytes, at: TrailerLayout.archive)
  }

  /// Where the index may stand: from its offset to the trailer, counted from the archive's file
  /// header; nil if that is not between the two.
  package var indexSpace: Range<Int>? {
    guard let size = Int(exactly: fileSize), let index = Int(exactly: indexOffset),
      index >= FileHeaderLayout.size, index < size - TrailerLayout.size
    else { return nil }
    return index..<size - TrailerLayout.size
  }
}
