import MMLogFormat

/// Where the frames of an archive begin.
package enum ArchiveFrames {
  package static func offsets(_ archive: [UInt8]) throws -> [Int] {
    archive.withUnsafeBytes { bytes in
      stride(from: FileHeaderLayout.size, through: bytes.count - FrameLayout.size, by: 8).filter {
        FrameHeader.size(bytes.slice($0, bytes.count - $0)) != nil
      }
    }
  }
}
