package import MMLogFormat
package import MMLogSystem

/// An archive opened for reading: its head, where its frames are, and what of it is damaged.
package final class ArchiveFile {
  package struct Frame: Sendable {
    package let offset: Int
    package let header: FrameHeader
  }

  package let path: String
  package let head: ArchiveHead
  /// Every frame whose header is right, in the order of the file.
  package private(set) var frames: [Frame] = []
  /// Bytes between frames that are no frame.
  package private(set) var damage: [Range<Int>] = []
  /// The end of the last frame: where an archive without a trailer would be continued.
  package private(set) var end = HeadLayout.size
  /// How many bytes of an unfinished frame follow ``end``.
  package private(set) var tornBytes = 0
  /// True if the trailer is there and right: the archive was closed, and nothing of its end is missing.
  package private(set) var isClosed = false
  private let file: File
  private var size: Int

  /// Opens the archive in `file` and reads the headers of its frames, not their payloads.
  ///
  /// - Throws: ``LogError`` if it is no archive, a newer one, or cannot be read.
  /// - Complexity: O(frames) if nothing is damaged; bounded by the file's size otherwise.
  package init(_ file: consuming File) throws(LogError) {
    path = file.path
    do {
      size = try Self.size(of: file)
      let head = try Self.read(file, at: 0, count: min(HeadLayout.size, size))
      self.head = try head.withUnsafeBytes { try ArchiveHead($0) }
      self.file = file
    } catch let error as FormatError {
      throw LogError(error, path: path)
    } catch let error as SystemError {
      throw LogError(error, while: "Reading the archive failed")
    } catch {
      throw LogError(.system, "\(error)", path: path)
    }
    do { try scan() } catch { throw LogError(error, while: "Reading the archive failed") }
  }

  /// The payload of a frame, checked and decompressed.
  ///
  /// - Throws: ``FormatError`` if it is damaged, ``SystemError`` if it cannot be read.
  package func payload(of frame: Frame) throws -> [UInt8] {
    guard let payload = try payload(of: frame, ifWanted: { _ in true }) else {
      throw FormatError.truncated
    }
    return payload
  }

  /// The same, or nil for a frame in columns that is not wanted.
  ///
  /// - Parameter mayPass: Asked of a frame that has only whole records which are as their call sites say, with the text
  ///   of all their strings, in which digits may be missing.
  package func payload(
    of frame: Frame, ifWanted mayPass: (UnsafeRawBufferPointer) -> Bool
  ) throws -> [UInt8]? {
    let header = frame.header
    let stored = try Self.read(
      file, at: frame.offset + header.headerSize, count: header.payloadSize)
    guard stored.withUnsafeBytes({ crc32c($0) }) == header.payloadCheck else {
      throw FormatError.wrongCheck
    }
    // Not one for each archive: there may be thousands, and it takes less than a frame does.
    guard let inflater = Inflater() else { throw FormatError.invalid("size: zlib has no memory") }
    return try stored.withUnsafeBytes {
      switch (header.codec.arrangement, header.codec.compression) {
      case (.rows, .none): return stored
      case (.rows, .zlib): return try inflater.decompress($0, size: header.rawSize)
      case (.columns, _):
        return try ColumnDecoder.rows(
          $0, size: header.rawSize, count: Int(header.summary.count), inflater, ifWanted: mayPass)
      }
    }
  }

  /// Looks for frames that were appended since the archive was opened, or looked at like this.
  ///
  /// - Returns: How many frames there were before.
  package func refresh() throws(SystemError) -> Int {
    let known = frames.count
    let newSize = try Self.size(of: file)
    guard newSize != size, !isClosed else { return known }
    size = newSize
    tornBytes = 0
    // What was behind the last frame then may be one now.
    if let last = damage.last, last.lowerBound >= end { damage.removeLast() }
    try scan()
    return known
  }

  /// Waits until what is in it is on the disk, whoever wrote it: fdatasync(2).
  package func sync() throws(SystemError) { try file.syncData() }

  /// So large that offsets near it can be added to.
  private static func size(of file: borrowing File) throws(SystemError) -> Int {
    min(try file.status().size, 1 << 62)
  }

  /// Reads so many bytes, or throws if there are fewer.
  private static func read(_ file: borrowing File, at offset: Int, count: Int) throws -> [UInt8] {
    let bytes = try file.bytes(at: offset, count: count)
    guard bytes.count == count else { throw FormatError.truncated }
    return bytes
  }

  private func scan() throws(SystemError) {
    var window = FileWindow(size: size)
    let limit = try trailerOffset(&window) ?? size
    isClosed = limit < size
    var budget = CheckBudget(size)
    var offset = end
    while offset < limit {
      if let header = try header(at: offset, limit: limit, &window, &budget) {
        if offset > end { damage.append(end..<offset) }
        frames.append(Frame(offset: offset, header: header))
        end = offset + header.frameSize
        offset = end
      } else {
        offset = try nextMarker(after: offset, limit: limit, &window)
      }
    }
    guard end < limit else { return }
    if try isTorn(limit, &window) { tornBytes = limit - end } else { damage.append(end..<limit) }
  }

  /// Whether what follows the last frame is the beginning of one that was being written: what there is
  /// of it is right, or never reached the disk. If the archive was closed, it cannot be.
  private func isTorn(_ limit: Int, _ window: inout FileWindow) throws(SystemError) -> Bool {
    if isClosed { return false }
    guard let fixed = try window.bytes(file, end, FrameLayout.size) else { return true }
    if fixed.prefix(wordSize).allSatisfy({ $0 == 0 }) { return true }
    guard let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }) else { return false }
    guard let whole = try window.bytes(file, end, size) else { return true }
    return whole.withUnsafeBytes { FrameHeader($0) } != nil
  }

  private func trailerOffset(_ window: inout FileWindow) throws(SystemError) -> Int? {
    let offset = size - TrailerLayout.size
    guard offset >= HeadLayout.size, let bytes = try window.bytes(file, offset, TrailerLayout.size),
      let trailer = bytes.withUnsafeBytes({ Trailer($0) }), trailer.fileSize == UInt64(size)
    else { return nil }
    return offset
  }

  private func header(
    at offset: Int, limit: Int, _ window: inout FileWindow, _ budget: inout CheckBudget
  ) throws(SystemError) -> FrameHeader? {
    guard let fixed = try window.bytes(file, offset, FrameLayout.size),
      let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }), budget.spend(size),
      let whole = try window.bytes(file, offset, size),
      let header = whole.withUnsafeBytes({ FrameHeader($0) }),
      header.frameSize <= limit - offset
    else { return nil }
    return header
  }

  /// The offset of the next sync marker, or the limit.
  private func nextMarker(
    after offset: Int, limit: Int, _ window: inout FileWindow
  ) throws(SystemError) -> Int {
    var offset = offset + wordSize
    let step = 1 << 16
    while offset < limit {
      let count = min(step, limit - offset) & ~(wordSize - 1)
      guard count > 0, let bytes = try window.bytes(file, offset, count) else { return limit }
      let found = bytes.withUnsafeBytes { bytes in
        stride(from: 0, to: bytes.count, by: wordSize).first {
          bytes.load($0, as: UInt64.self) == FrameLayout.markerValue
        }
      }
      if let found { return offset + found }
      offset += count
      // A file of nothing but a hole may be larger than any disk.
      if bytes.allSatisfy({ $0 == 0 }) {
        guard let data = try file.nextData(from: offset) else { return limit }
        offset = max(offset, data & ~(wordSize - 1))
      }
    }
    return limit
  }
}

/// Reads parts of a file through one buffer, so that small parts close together cost one call, and far apart little.
private struct FileWindow {
  private let size: Int
  private var buffer: [UInt8] = []
  private var start = 0

  init(size: Int) { self.size = size }

  /// So many bytes of `file`, or nil if it ends before.
  mutating func bytes(
    _ file: borrowing File, _ offset: Int, _ count: Int
  ) throws(SystemError) -> ArraySlice<UInt8>? {
    guard count <= size - offset else { return nil }
    if offset < start || offset + count > start + buffer.count {
      // Headers of large frames are far apart; what is near was small, and so may be what follows.
      let isNear = offset >= start && offset - (start + buffer.count) < 1 << 12
      try fill(file, offset, max(count, isNear ? 1 << 14 : 1 << 9))
    }
    guard offset + count <= start + buffer.count else { return nil }
    return buffer[offset - start..<offset - start + count]
  }

  private mutating func fill(
    _ file: borrowing File, _ offset: Int, _ count: Int
  ) throws(SystemError) {
    buffer = try file.bytes(at: offset, count: min(count, size - offset))
    start = offset
  }
}
