package import MMLogFormat
package import MMLogSystem

/// An archive opened for reading: its file header, where its frames are, and its corruption.
///
/// A file may hold several archives, one after the other: a store that goes on with the last
/// archive there appends its own archive. All offsets count from the start of the file.
package final class ArchiveFile {
  package struct Frame: Sendable {
    package let offset: Int
    package let header: FrameHeader
  }

  package let path: String
  /// Its file header. If it is lost, this has only what the frames say: the session, and the
  /// number.
  package let fileHeader: ArchiveHeader
  /// Whether its file header cannot be read.
  package let isFileHeaderLost: Bool
  /// Where in the file it begins.
  package let start: Int
  /// Whether it is the last archive in its file.
  package private(set) var isLast: Bool
  /// The end of the last frame: where an archive without a trailer would be continued.
  package private(set) var end: Int
  /// Where its trailer ends; nil without one.
  package private(set) var closedEnd: Int?
  /// What follows its last frame, or its trailer, up to the end of the file.
  package private(set) var tail = ArchiveTail.nothing
  private var sequence: FrameSequence
  let scanner: ArchiveScanner
  let identities: LogIdentities
  /// What decrypts its frames, if some are encrypted.
  package private(set) lazy var cipher = openKey(.keySlot).map(FrameCipher.init)
  /// What decrypts rows as they stood in the session's ring; or why nothing does.
  package private(set) lazy var ringCipher = openKey(.ringKeySlot).map(RingCipher.init)

  /// Every frame whose header is right, by rising ordinal, each once.
  package var frames: [Frame] { sequence.frames }
  /// What is wrong up to ``end``: bytes that are no frame of its own, and frames that are missing,
  /// repeated or out of order.
  package var corruption: [Corruption] { sequence.corruption }
  /// Whether it is encrypted for somebody: it has a key slot, or a frame that is encrypted.
  package var isEncrypted: Bool { sequence.isEncrypted }
  /// How long it is up to ``end``.
  package var length: Int { end - start }
  /// True if the trailer is there and right: the archive was closed, and nothing of its end is
  /// missing.
  package var isClosed: Bool { closedEnd != nil }
  /// Whether its file has no name any more.
  package var isDeleted: Bool { (try? scanner.file.status().linkCount) == 0 }
  /// Whether a file is the one that it was read from.
  func isIn(_ file: borrowing File) throws(SystemError) -> Bool {
    try scanner.file.status().identity == file.status().identity
  }

  /// Whether all of it can be read, so that more may be put behind it.
  package var isSound: Bool { !isFileHeaderLost && corruption.isEmpty && tail.corruption == nil }

  /// What is missing if the archive has to have `count` frames; nil if nothing is. A trailer says
  /// that itself.
  ///
  /// - Parameter count: As the session's ring notes it: see ``SessionStateLayout``.
  package func lack(ofFrames count: UInt32) -> Corruption? {
    if isClosed { return nil }
    if count == SessionStateLayout.allFrames {
      return Corruption(end..<end, "the end is missing, though the archive was sealed", in: path)
    }
    return sequence.end(ofFrames: UInt64(count & ~SessionStateLayout.mayBeSealed), at: end)
  }

  /// Opens all archives in `file`, in their order; at least one.
  ///
  /// Reads file headers, headers of frames and trailers, not payloads. Where a file header cannot
  /// be read, the frames say whose archive it is.
  ///
  /// - Parameter identities: Who decrypts encrypted archives.
  /// - Throws: ``LogError`` if the file has no archive, or a newer one, or cannot be read.
  /// - Complexity: O(frames) if nothing is corrupted; bounded by the file's size otherwise.
  package static func all(
    in file: consuming File, identities: LogIdentities = LogIdentities()
  ) throws(LogError) -> [ArchiveFile] {
    let (path, scanner) = (file.path, ArchiveScanner(file))
    do {
      let problem = try scanner.problemOfFirstFileHeader()
      try scanner.scan()
      let archives = try archives(scanner, from: 0, identities)
      if archives.isEmpty { throw problem ?? .truncated }
      return archives
    } catch {
      throw LogError(error, while: "Reading the archive failed", path: path)
    }
  }

  /// Opens the archives that follow in the same file, also those that were begun since this one was
  /// opened.
  package func following() throws(LogError) -> [ArchiveFile] {
    guard let closedEnd, isLast else { return [] }
    do {
      try scanner.scan()
      let archives = try Self.archives(scanner, from: closedEnd, identities)
      if archives.isEmpty {
        tail = try scanner.tail(from: closedEnd, behind: nil)
      } else {
        (isLast, tail) = (false, .nothing)
      }
      return archives
    } catch {
      throw LogError(error, while: "Reading the archive failed", path: path)
    }
  }

  private static func archives(
    _ scanner: ArchiveScanner, from place: Int, _ identities: LogIdentities
  ) throws(SystemError) -> [ArchiveFile] {
    let parts = ArchivePart.parts(of: scanner.takeElements(), from: place)
    var archives: [ArchiveFile] = []
    for (index, part) in parts.enumerated() {
      archives.append(
        try ArchiveFile(scanner, part, identities, isLast: index == parts.count - 1))
    }
    return archives
  }

  private init(
    _ scanner: ArchiveScanner, _ part: ArchivePart, _ identities: LogIdentities, isLast: Bool
  ) throws(SystemError) {
    (self.scanner, self.identities, self.isLast) = (scanner, identities, isLast)
    path = scanner.file.path
    sequence = FrameSequence(in: path)
    start = part.start
    end = part.place
    let found = part.elements.first { $0.offset == part.start && $0.archive == part.id }?.fileHeader
    isFileHeaderLost = found == nil
    fileHeader = found ?? ArchiveHeader(attributed: part, in: path)
    try take(part.elements)
    if !isLast && !isClosed {
      let what = "the end is missing, though another archive follows"
      sequence.report(Corruption(end..<end, what, in: path))
    }
  }

  /// Searches for frames that were appended since the archive was opened, or since the last call.
  ///
  /// - Returns: How many frames there were before.
  package func refresh() throws(SystemError) -> Int {
    let known = frames.count
    guard isLast, !isClosed, try scanner.scan() else { return known }
    try take(scanner.takeElements { $0.isTrailer && $0.archive == self.fileHeader.id }[...])
    return known
  }

  /// Takes in what was found in the file, up to the archive's trailer or the file's end.
  private func take(_ elements: ArraySlice<ArchiveElement>) throws(SystemError) {
    var gaps: [Int: ArchiveGap] = [:]
    var (frames, stray) = ([Frame](), ArchiveElement?.none)
    let last = elements.last { $0.archive == fileHeader.id }?.offset
    for element in elements {
      let isFileHeader = element.fileHeader != nil
      // Written to a wrong place, even a trailer of its own ends nothing.
      let isMisplaced =
        element.isTrailer && element.archiveStart != start && element.offset != last
      guard element.archive == fileHeader.id, !isClosed, element.offset >= start,
        !isFileHeader || element.offset == start, !isMisplaced
      else {
        stray = stray ?? element
        continue
      }
      if element.offset > end { gaps[element.offset] = gap(end..<element.offset, stray) }
      (stray, end) = (nil, element.end)
      switch element.kind {
      case .fileHeader:
        if let gap = gaps[element.offset] { sequence.report(gap) }
      case .frame(let header): frames.append(Frame(offset: element.offset, header: header))
      case .trailer(let trailer):
        take(frames, gaps)
        frames = []
        close(trailer, at: element, gaps)
      }
    }
    take(frames, gaps)
    if isLast {
      tail = try scanner.tail(from: closedEnd ?? end, behind: isClosed ? nil : fileHeader.id)
    }
  }

  private func take(_ frames: [Frame], _ gaps: [Int: ArchiveGap]) {
    sequence.take(frames, gaps: gaps) { frame in
      (try? scanner.hasPayload(frame.header, at: frame.offset)) ?? false
    }
  }

  private func close(_ trailer: Trailer, at element: ArchiveElement, _ gaps: [Int: ArchiveGap]) {
    closedEnd = element.end
    end = element.offset
    sequence.end(trailer, at: element.offset, gaps: gaps)
    let size = element.end - start
    if trailer.fileSize != UInt64(size), !isFileHeaderLost {
      let what = "the archive has \(size) bytes, and its trailer says \(trailer.fileSize)"
      sequence.report(Corruption(element.offset..<element.end, what, in: path))
    }
  }

  /// Bytes of the file as they are, with the zeros behind the last payload if the file lacks them.
  package func bytes(_ range: Range<Int>) throws -> [UInt8] {
    let bytes = try scanner.bytes(range)
    guard bytes.count == range.count else { throw FormatError.truncated }
    return bytes
  }

  /// What stands between two elements of this archive.
  private func gap(_ range: Range<Int>, _ stray: ArchiveElement?) -> ArchiveGap {
    if isFileHeaderLost, frames.isEmpty, range.lowerBound <= start {
      return ArchiveGap(range: range, content: "the file header of \(fileHeader.id)")
    }
    let content = range.upperBound <= start ? "between archives" : nil
    return ArchiveGap(range: range, content: stray.map { description(of: $0) } ?? content)
  }

  private func description(of stray: ArchiveElement) -> String {
    let id = stray.archive
    if id.session != fileHeader.id.session || id.number == fileHeader.id.number {
      return "\(stray.name) of \(id)"
    }
    let age = id.number < fileHeader.id.number ? "an older" : "a newer"
    return "\(stray.name) of \(age) archive of the same session, number \(id.number)"
  }
}

extension ArchiveHeader {
  /// What can be determined of an archive whose file header is lost.
  fileprivate init(attributed part: ArchivePart, in path: String) {
    let times = part.elements.lazy.compactMap { element -> Timestamp? in
      guard case .frame(let header) = element.kind, header.type == .records,
        header.archive == part.id
      else { return nil }
      return header.summary.firstWall
    }
    let (start, name) = (times.first ?? .zero, path.splitAtLastSlash.name)
    let identity = SessionIdentity(
      session: part.id.session, bootID: [UInt8](repeating: 0, count: 16), processID: 0,
      startTime: start, processName: "", hostName: "", timeZone: "",
      storeName: FileNames.Archive(fileName: name)?.store ?? "")
    self.init(identity: identity, number: part.id.number, created: start)
  }
}
