package import MMLogFormat
package import MMLogSystem

extension ArchiveFile {
  /// The payload of a frame, checked and decompressed.
  ///
  /// - Throws: ``FormatError`` if it is corrupted, ``SystemError`` if it cannot be read.
  package func payload(of frame: Frame) throws -> [UInt8] {
    guard let payload = try payload(of: frame, ifWanted: { _, _ in true }) else {
      throw FormatError.truncated
    }
    return payload
  }

  /// The same, or nil for a frame in columns that is not wanted.
  ///
  /// - Parameter mayPass: Asked of a frame that has only whole records which are as their call
  ///   sites say; see ``ColumnDecoder``.
  package func payload(
    of frame: Frame, ifWanted mayPass: (ColumnText, Bool) -> Bool
  ) throws -> [UInt8]? {
    let header = frame.header
    let stored = try scanner.file.bytes(
      at: frame.offset + header.headerSize, count: header.payloadSize)
    guard stored.count == header.payloadSize else { throw FormatError.truncated }
    guard stored.withUnsafeBytes({ crc32c($0) }) == header.payloadChecksum else {
      throw FormatError.wrongChecksum
    }
    // Not one for each archive: there may be thousands, and it takes less than a frame does.
    let decompressor = try Decompressor.make(for: header.codec)
    return try stored.withUnsafeBytes {
      switch header.codec {
      case .rows: return stored
      case .zlibRows: return try decompressor.decompress($0, size: header.rawSize)
      case .columns, .zstdColumns:
        return try ColumnDecoder.rows(
          $0, size: header.rawSize, count: Int(header.summary.count), decompressor,
          ifWanted: mayPass)
      }
    }
  }

  /// Waits until what is in it is on the disk, whoever wrote it: fdatasync(2).
  package func sync() throws(SystemError) { try scanner.file.syncData() }
}
