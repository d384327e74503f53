package import MMLogFormat
import MMLogSystem

extension ArchiveInfo {
  /// Finds out about an archive. Reads only its file header, its trailer and its index's header. If
  /// the file header is lost, the time of the file's last change stands for the time of its
  /// beginning.
  ///
  /// - Parameters:
  ///   - name: Its file name, taken apart.
  ///   - fileName: Its file name.
  ///   - status: Receives what the file system says of it.
  /// - Returns: nil if the file is gone, if it is no archive of mmlog's, or if it may have been
  ///   planted: such a file is left alone.
  static func read(
    _ name: FileNames.Archive, _ fileName: String, in directory: borrowing Directory,
    status reported: (FileStatus) -> Void = { _ in }
  ) throws(SystemError) -> ArchiveInfo? {
    let file: File
    do throws(SystemError) {
      file = try directory.openFile(fileName, [.read, .nonBlocking])
    } catch  where error.isNotFound || error.isSymbolicLink {
      return nil
    }
    let status = try file.status()
    guard status.isRegularFile, try !Ownership(of: directory).isForeign(status),
      let (session, begun) = try beginning(of: file), session == name.session
    else { return nil }
    reported(status)
    let (isSealed, contents, head) = try contents(of: file, size: status.size)
    let isActive = isSealed ? false : try file.isLockedByAnother()
    let modified = Timestamp(nanosecondsSince1970: status.modified)
    return ArchiveInfo(
      fileName: fileName, directory: directory.path, storeName: name.store, session: name.session,
      number: name.number, created: begun ?? modified, modified: modified, size: status.size,
      allocatedSize: status.allocatedBytes, isSealed: isSealed, isActive: isActive,
      contents: contents, head: head,
      state: try ArchiveInfo.State(of: file, name: fileName, in: directory))
  }

  /// Whether a file ends with a trailer. Reads nothing else. False if the file is gone.
  static func isSealed(
    _ fileName: String, in directory: borrowing Directory
  ) throws(SystemError) -> Bool {
    do throws(SystemError) {
      let file = try directory.openFile(fileName, [.read, .nonBlocking])
      let status = try file.status()
      guard status.isRegularFile else { return false }
      return try indexHeader(of: file, endingAt: status.size) != nil
    } catch  where error.isNotFound || error.isSymbolicLink {
      return false
    }
  }

  /// The session of the archive that a file begins with, and when the archive was begun. If the
  /// file header is lost, the first frame says the session, and nothing says when.
  ///
  /// - Returns: nil if there is no archive, or one of another version.
  private static func beginning(
    of file: borrowing File
  ) throws(SystemError) -> (session: SessionID, begun: Timestamp?)? {
    let (size, most) = (FileHeaderLayout.size, FrameLayout.size + FrameHashLayout.size)
    return try file.bytes(at: 0, count: size + most).withUnsafeBytes { bytes in
      do throws(FormatError) {
        let fileHeader = try ArchiveHeader(bytes)
        return (fileHeader.identity.session, fileHeader.created)
      } catch .newerFormat, .olderFormat {
        return nil
      } catch {
        guard bytes.count > size, case let rest = bytes.slice(size, bytes.count - size) else {
          return nil
        }
        return frameHeader(rest).map { ($0.archive.session, nil) }
      }
    }
  }

  /// The header that bytes begin with, of a frame without ranges: the first and the last frame of
  /// an archive have none.
  private static func frameHeader(_ bytes: UnsafeRawBufferPointer) -> FrameHeader? {
    FrameHeader.size(bytes).flatMap { $0 <= bytes.count ? FrameHeader(bytes.slice(0, $0)) : nil }
  }

  /// The file header of the archive at an offset; nil if it cannot be read.
  static func fileHeader(
    of file: borrowing File, at start: Int = 0
  ) throws(SystemError) -> ArchiveHeader? {
    let bytes = try file.bytes(at: start, count: FileHeaderLayout.size)
    return bytes.withUnsafeBytes { bytes in try? ArchiveHeader(bytes) }
  }

  /// The identity of the session whose archive is at a path.
  ///
  /// - Throws: `missingArchive` if there is none; `corruptedFile` if its file header cannot be
  ///   read; or what the system refuses.
  package static func identity(ofArchiveAt path: String) throws(LogError) -> SessionIdentity {
    let fileHeader: ArchiveHeader?
    do throws(SystemError) {
      fileHeader = try self.fileHeader(of: File.open(path, [.read, .nonBlocking]))
    } catch  where error.isNotFound {
      throw .missingArchive(path)
    } catch {
      throw LogError(error, while: "Reading an archive failed")
    }
    guard let fileHeader else {
      throw LogError(
        .corruptedFile,
        "The file header of \(path) cannot be read: repair the archive with 'mmlog-decode repair'",
        path: path)
    }
    return fileHeader.identity
  }

  /// The maximum number of archives in one file that are read.
  private static let maximumParts = 4096

  /// Whether the file is closed, and what it holds. Reads from the last archive back to the first,
  /// since a trailer says how far back its archive's file header is.
  private static func contents(
    of file: borrowing File, size: Int
  ) throws(SystemError) -> (isSealed: Bool, Contents?, ArchiveHead?) {
    var (sum, head, end) = (Contents?.none, ArchiveHead?.none, size)
    for part in 0..<maximumParts {
      guard let (start, header) = try indexHeader(of: file, endingAt: end) else {
        return (part > 0, nil, head)
      }
      if part == 0 { head = try self.head(header, of: file, start) }
      guard let archiveCounts = header.archiveCounts else { return (true, nil, head) }
      let own = Contents(header.summary, archiveCounts)
      sum = sum.map { own + $0 } ?? own
      if start == 0 { return (true, sum, head) }
      end = start
    }
    return (true, nil, head)
  }

  /// The head of the archive that begins at `start`, by the header of its index.
  private static func head(
    _ index: FrameHeader, of file: borrowing File, _ start: Int
  ) throws(SystemError) -> ArchiveHead? {
    guard let hash = index.previous, let header = try fileHeader(of: file, at: start) else {
      return nil
    }
    return ArchiveHead(of: header, frames: index.ordinal, hash)
  }

  /// Where the archive that ends at `end` begins, and the header of the index that its trailer
  /// names; nil without a right trailer.
  private static func indexHeader(
    of file: borrowing File, endingAt end: Int
  ) throws(SystemError) -> (start: Int, FrameHeader)? {
    let place = end - TrailerLayout.size
    guard place >= FileHeaderLayout.size else { return nil }
    let last = try file.bytes(at: place, count: TrailerLayout.size)
    guard let trailer = last.withUnsafeBytes({ Trailer($0) }), let space = trailer.indexSpace,
      space.upperBound <= place
    else { return nil }
    let start = place - space.upperBound
    let bytes = try file.bytes(
      at: start + space.lowerBound,
      count: min(FrameLayout.size + FrameHashLayout.size, space.count))
    let index = bytes.withUnsafeBytes { frameHeader($0) }
    // A closed archive whose index is corrupted is still closed.
    guard let index, index.archive == trailer.archive else { return (start, FrameHeader(.index)) }
    return (start, index)
  }
}
