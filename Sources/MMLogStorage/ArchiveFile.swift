package import MMLogFormat
package import MMLogSystem

/// An archive opened for reading: its head, where its frames are, and what of it is damaged.
///
/// A file may hold several, one after the other: a store that goes on with the last archive there appends its own. All offsets
/// count from the start of the file.
package final class ArchiveFile {
  package struct Frame: Sendable {
    package let offset: Int
    package let header: FrameHeader
  }

  package let path: String
  package let head: ArchiveHead
  /// Every frame whose header is right, in the order of the file.
  package private(set) var frames: [Frame] = []
  /// Bytes between frames that are no frame of this archive.
  package private(set) var damage: [Range<Int>] = []
  /// Frames of other archives that stand in this one by a fault, such as a write to the wrong place, or
  /// a block that an older file left. Each begins one of ``damage``.
  package private(set) var foreign: [Frame] = []
  /// Where in the file it begins.
  package let start: Int
  /// Where the file's next archive begins; nil if this is the last.
  package private(set) var next: Int?
  /// The end of the last frame: where an archive without a trailer would be continued.
  package private(set) var end: Int
  /// How long it is up to there.
  package var length: Int { end - start }
  /// How many bytes of an unfinished frame follow ``end``.
  package private(set) var tornBytes = 0
  /// True if the trailer is there and right: the archive was closed, and nothing of its end is missing.
  package private(set) var isClosed = false
  private let handle: Handle
  private var size: Int
  private var file: File { _read { yield handle.file } }

  /// An open file that several archives are in.
  private final class Handle {
    let file: File
    init(_ file: consuming File) { self.file = file }
  }

  /// Opens the first archive in `file` and reads the headers of its frames, not their payloads.
  ///
  /// - Throws: ``LogError`` if it is no archive, a newer one, or cannot be read.
  /// - Complexity: O(frames) if nothing is damaged; bounded by the file's size otherwise.
  package convenience init(_ file: consuming File) throws(LogError) {
    try self.init(Handle(file), at: 0)
  }

  /// Opens all archives in `file`, in their order; at least one.
  ///
  /// - Throws: as ``init(_:)``.
  package static func all(in file: consuming File) throws(LogError) -> [ArchiveFile] {
    let first = try ArchiveFile(file)
    return try [first] + first.following()
  }

  /// Opens those that follow in the same file, also such as were begun since this one was opened.
  package func following() throws(LogError) -> [ArchiveFile] {
    do throws(SystemError) {
      try lookBehind()
    } catch {
      throw LogError(error, while: "Reading the archive failed")
    }
    var archives: [ArchiveFile] = []
    var place = next
    while let start = place {
      let archive = try ArchiveFile(handle, at: start)
      archives.append(archive)
      place = archive.next
    }
    return archives
  }

  private init(_ handle: Handle, at start: Int) throws(LogError) {
    self.handle = handle
    self.start = start
    end = start + HeadLayout.size
    path = handle.file.path
    do {
      size = try Self.size(of: handle.file)
      let count = min(HeadLayout.size, size - start)
      let head = try Self.read(handle.file, at: start, count: count)
      self.head = try head.withUnsafeBytes { try ArchiveHead($0) }
    } catch {
      throw LogError(error, while: "Reading the archive failed", path: path)
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
  /// - Parameter mayPass: Asked of a frame that has only whole records which are as their call sites say.
  package func payload(
    of frame: Frame, ifWanted mayPass: (FrameText) -> Bool
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
    while let last = damage.last, last.lowerBound >= end { damage.removeLast() }
    while let last = foreign.last, last.offset >= end { foreign.removeLast() }
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
    var limit = size
    // Mostly it ends where the file does.
    if try hasTrailer(at: size - TrailerLayout.size, &window) { close(at: &limit, size) }
    var budget = CheckBudget(size)
    // `known` is where what has not been told apart yet begins.
    var (offset, known) = (end, end)
    while offset < limit {
      let header = try header(at: offset, &window, &budget)
      if let header, header.archive != head.id {
        noteDamage(known..<offset)
        foreign.append(Frame(offset: offset, header: header))
        known = offset
        // Not behind it: of a block in the wrong place, only its beginning may be here.
        offset = try nextMarker(after: offset, limit: limit, &window)
      } else if let header, header.frameSize <= limit - offset {
        noteDamage(known..<offset)
        frames.append(Frame(offset: offset, header: header))
        end = offset + header.frameSize
        (offset, known) = (end, end)
      } else if !isClosed, try hasTrailer(at: offset, &window) {
        close(at: &limit, offset + TrailerLayout.size)
        try lookBehind(&window)
      } else if budget.spend(HeadLayout.size), try hasHead(at: offset, &window) {
        // This one's own end is damaged.
        (limit, next) = (offset, offset)
      } else {
        offset = try nextMarker(after: offset, limit: limit, &window)
      }
    }
    if let closedEnd, next == nil, closedEnd < size, try !isTornHead(closedEnd, &window) {
      damage.append(closedEnd..<size)
    }
    // Somebody may have cut the file since its frames were found.
    guard known < limit else { return }
    if known == end, try isTorn(limit, &window) {
      tornBytes = limit - end
    } else {
      noteDamage(known..<limit)
    }
  }

  private func noteDamage(_ range: Range<Int>) {
    if !range.isEmpty { damage.append(range) }
  }

  /// What one of ``damage`` is, in words.
  package func description(of damage: Range<Int>) -> String {
    let found = foreign.first { $0.offset == damage.lowerBound }
    guard let archive = found?.header.archive else { return "between frames" }
    if archive.session != head.identity.session { return "a frame of \(archive)" }
    let age = archive.number < head.number ? "an older" : "a newer"
    return "a frame of \(age) archive of the same session, number \(archive.number)"
  }

  /// Takes in that there is a trailer before `end`.
  private func close(at limit: inout Int, _ end: Int) {
    isClosed = true
    closedEnd = end
    limit = end - TrailerLayout.size
  }

  /// Where its trailer ends; nil without one.
  package private(set) var closedEnd: Int?

  /// Looks for another archive behind this one's trailer, in a file that may have grown.
  private func lookBehind() throws(SystemError) {
    guard isClosed, next == nil else { return }
    size = try Self.size(of: file)
    var window = FileWindow(size: size)
    try lookBehind(&window)
  }

  private func lookBehind(_ window: inout FileWindow) throws(SystemError) {
    guard let closedEnd, closedEnd < size else { return }
    if try hasHead(at: closedEnd, &window) { next = closedEnd }
  }

  /// Whether what is there was to become another archive's head: a part of one, or bytes that never reached the disk.
  private func isTornHead(
    _ offset: Int, _ window: inout FileWindow
  ) throws(SystemError) -> Bool {
    let count = min(wordSize, size - offset)
    guard let bytes = try window.bytes(file, offset, count) else { return true }
    if bytes.allSatisfy({ $0 == 0 }) { return true }
    let isBeginning = HeadLayout.archiveMagic.withUTF8Buffer {
      bytes.elementsEqual($0.prefix(count))
    }
    return isBeginning && size - offset < HeadLayout.size
  }

  private func hasHead(
    at offset: Int, _ window: inout FileWindow
  ) throws(SystemError) -> Bool {
    guard let bytes = try window.bytes(file, offset, HeadLayout.size) else { return false }
    return bytes.withUnsafeBytes { (try? ArchiveHead($0)) != nil }
  }

  /// Whether what follows the last frame is the beginning of one that was being written: what there is
  /// of it is right, or never reached the disk. If the archive was closed, it cannot be.
  private func isTorn(_ limit: Int, _ window: inout FileWindow) throws(SystemError) -> Bool {
    if isClosed || next != nil { return false }
    guard let fixed = try window.bytes(file, end, FrameLayout.size) else { return true }
    if fixed.prefix(wordSize).allSatisfy({ $0 == 0 }) { return true }
    guard let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }) else { return false }
    guard let whole = try window.bytes(file, end, size) else { return true }
    return whole.withUnsafeBytes { FrameHeader($0) }?.archive == head.id
  }

  /// Whether this archive's trailer is there: it knows how far from the head it ends.
  private func hasTrailer(
    at offset: Int, _ window: inout FileWindow
  ) throws(SystemError) -> Bool {
    guard offset >= start + HeadLayout.size,
      let bytes = try window.bytes(file, offset, TrailerLayout.size),
      let trailer = bytes.withUnsafeBytes({ Trailer($0) })
    else { return false }
    return trailer.archive == head.id
      && trailer.fileSize == UInt64(offset + TrailerLayout.size - start)
  }

  /// The header of a frame at an offset, of whatever archive; how long it is, is as it says.
  private func header(
    at offset: Int, _ window: inout FileWindow, _ budget: inout CheckBudget
  ) throws(SystemError) -> FrameHeader? {
    guard let fixed = try window.bytes(file, offset, FrameLayout.size),
      let size = fixed.withUnsafeBytes({ FrameHeader.size($0) }), budget.spend(size),
      let whole = try window.bytes(file, offset, size),
      let header = whole.withUnsafeBytes({ FrameHeader($0) })
    else { return nil }
    return header
  }

  /// The offset of what may be the next frame, this archive's trailer or another's head, or the limit.
  private func nextMarker(
    after offset: Int, limit: Int, _ window: inout FileWindow
  ) throws(SystemError) -> Int {
    var offset = offset + wordSize
    let step = 1 << 16
    let (trailer, head) = Self.otherMarkers
    while offset < limit {
      let count = min(step, limit - offset) & ~(wordSize - 1)
      guard count > 0, let bytes = try window.bytes(file, offset, count) else { return limit }
      let found = bytes.withUnsafeBytes { bytes in
        stride(from: 0, to: bytes.count, by: wordSize).first {
          let word = bytes.load($0, as: UInt64.self)
          return word == FrameLayout.markerValue || word == trailer || word == head
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

extension ArchiveFile {
  /// What trailers and heads begin with.
  fileprivate static let otherMarkers = (
    word(TrailerLayout.magicValue), word(HeadLayout.archiveMagic)
  )

  private static func word(_ magic: StaticString) -> UInt64 {
    magic.withUTF8Buffer { UnsafeRawBufferPointer($0).load(0, as: UInt64.self) }
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
