import MMLogFormat
import MMLogSystem

extension ArchiveInfo {
  /// Finds out about an archive: of its bytes, only head, trailer and the index's header are read.
  ///
  /// - Parameters:
  ///   - name: Its file name, taken apart.
  ///   - fileName: Its file name.
  ///   - status: Told what the file system says of it.
  /// - Returns: nil if it is gone, its contents are not those of an archive of mmlog's, or it may have been planted: that is left alone.
  static func read(
    _ name: FileNames.Archive, _ fileName: String, in directory: borrowing Directory,
    status told: (FileStatus) -> Void = { _ in }
  ) throws(SystemError) -> ArchiveInfo? {
    let file: File
    do throws(SystemError) {
      file = try directory.openFile(fileName, [.read, .nonBlocking])
    } catch  where error.isNotFound || error.isSymbolicLink {
      return nil
    }
    let status = try file.status()
    guard status.isRegularFile, try !Ownership(of: directory).isForeign(status),
      let head = try head(of: file), head.identity.session == name.session
    else { return nil }
    told(status)
    let index = try indexHeader(of: file, size: status.size)
    let isActive = index == nil ? try file.isLockedByAnother() : false
    return ArchiveInfo(
      fileName: fileName, directory: directory.path, storeName: name.store, session: name.session,
      number: name.number, created: head.created, size: status.size,
      allocatedSize: status.allocatedBytes, isSealed: index != nil, isActive: isActive,
      contents: index.flatMap { header in header.tally.map { Contents(header.summary, $0) } },
      state: try ArchiveState(of: file, name: fileName, in: directory))
  }

  private static func head(of file: borrowing File) throws(SystemError) -> ArchiveHead? {
    let bytes = try file.bytes(at: 0, count: HeadLayout.size)
    return bytes.withUnsafeBytes { bytes in try? ArchiveHead(bytes) }
  }

  /// The header of the index that the trailer names; nil without a right trailer.
  private static func indexHeader(
    of file: borrowing File, size: Int
  ) throws(SystemError) -> FrameHeader? {
    let end = size - TrailerLayout.size
    guard end >= HeadLayout.size else { return nil }
    let bytes = try file.bytes(at: end, count: TrailerLayout.size)
    guard let trailer = bytes.withUnsafeBytes({ Trailer($0) }), trailer.fileSize == UInt64(size),
      let offset = Int(exactly: trailer.indexOffset), (HeadLayout.size..<end).contains(offset)
    else { return nil }
    let header = try file.bytes(at: offset, count: min(FrameLayout.size, end - offset))
    // A closed archive whose index is damaged is closed all the same.
    return header.withUnsafeBytes { FrameHeader($0) } ?? FrameHeader(.index)
  }
}
