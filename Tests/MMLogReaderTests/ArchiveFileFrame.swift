import MMLogFormat

/// The place of a frame in an archive, found without the search of the code under test.
struct ArchiveFileFrame: Equatable {
  let offset: Int
  let size: Int

  /// The frames of an archive that has no corruption and no trailer.
  static func all(_ archive: some Sequence<UInt8>) throws -> [ArchiveFileFrame] {
    let archive = Array(archive)
    var frames: [ArchiveFileFrame] = []
    var offset = FileHeaderLayout.size
    while offset < archive.count {
      let size = archive.withUnsafeBytes { bytes in
        let rest = bytes.slice(offset, bytes.count - offset)
        return FrameHeader.size(rest).flatMap { FrameHeader(rest.slice(0, $0))?.frameSize }
      }
      guard let size else { throw FormatError.invalid("frame at \(offset)") }
      frames.append(ArchiveFileFrame(offset: offset, size: size))
      offset += size
    }
    return frames
  }

  /// Corrects the checksum of a frame header.
  static func resign(_ archive: inout [UInt8], at offset: Int) {
    let checksum = offset + FrameLayout.checksum
    archive.withUnsafeMutableBytes { bytes in
      bytes.store(UInt32(0), checksum)
      let all = UnsafeRawBufferPointer(bytes)
      let size = Int(all.load(offset + FrameLayout.headerSize, as: UInt32.self))
      let header = all.slice(offset, size)
      bytes.store(crc32c(header), checksum)
    }
  }
}
