package import MMLogCrypto
package import MMLogFormat
package import MMLogSystem

/// An archive being written: frames are appended whole, each with one write.
///
/// A write that fails leaves the archive as it was: the next write begins at the same place. The
/// next sync makes up for a sync that failed; see ``sync()``.
package final class ArchiveWriter {
  package let fileHeader: ArchiveHeader
  /// Its name in the directory, when it was begun.
  package let fileName: String
  package let path: String
  /// How long the file is.
  package private(set) var end: Int
  /// Where in its file it begins: not at 0 if it follows others.
  private let start: Int
  /// The file as it was before this archive; nil if there was none.
  private let before: ArchiveInfo?
  /// Whether it has its trailer, so that nothing can follow.
  package private(set) var isComplete = false
  /// Whether the disk has lost bytes of the archive that were written, or cannot read them. Nothing
  /// more should go into it.
  package internal(set) var isCorrupted = false
  /// Locked as long as the archive is written: by that, others know that it is.
  private var lock: LockedFile
  var file: File { _read { yield lock.file } }
  var unsynced: UnsyncedBytes
  /// How many syncs have failed since the last one that succeeded.
  package var failedSyncs: Int { unsynced.failedSyncs }
  /// Compresses all but records, which come encoded. The format is always zlib's, so that readers
  /// that have no other coder can read the call sites, too.
  private let compressor: Compressor?
  /// What encrypts it; nil if it has no recipients.
  private let cipher: FrameCipher?
  /// The archive's key for its recipients; empty if it has none.
  private let keySlot: [UInt8]
  /// The key of the session's ring for its recipients; empty until there are rows as they stood in
  /// the ring.
  private var ringKeySlot: [UInt8] = []
  /// What its next frame is chained to; nil if its frames are not chained.
  private var chain: FrameChain?
  private var index: [IndexEntry] = []
  /// How many frames the archive has. In a copy, the frames that its original has lost count, too.
  package private(set) var frameCount: UInt32 = 0
  private var recordCount: UInt64 = 0
  /// The summary of all records, and how many there are of each level.
  private var summary = RecordSummary()
  private var archiveCounts = ArchiveCounts()
  /// How many bytes of the session's dictionary the archive has already.
  private var dictionaryWritten = 0
  /// How many bytes of the file its frames of these entries take.
  private var dictionarySize = 0
  /// Whether a write that failed may have left something behind ``end``.
  private var isTorn = false
  /// Whether an earlier process has left something behind the last whole frame. The next write
  /// replaces that: first the file is cut to the end of the write, and then overwritten. So at no
  /// moment is the beginning of a lost frame gone, or a rest of it behind a whole frame.
  private var hasOldEnd = false
  /// Whether this is a copy: its frames are copied, its key slot included.
  private var isCopy = false

  /// Begins a new archive in `directory`: an existing file of that name is never touched.
  ///
  /// - Parameter recipients: For whom it is encrypted; none: it is not.
  package convenience init(
    in directory: borrowing Directory, _ fileHeader: ArchiveHeader, compressionLevel: Int,
    recipients: [Recipient] = []
  ) throws(SystemError) {
    let cipher = try Self.cipher(for: recipients, directory.path)
    try self.init(
      in: directory, fileHeader, fileHeader.encoded(pageSize: UInt32(Host.pageSize)),
      compressionLevel: compressionLevel, cipher, cipher?.key.slot ?? [])
  }

  /// Begins a copy of an archive: frames are appended as they stand there, and others between them.
  ///
  /// - Parameter fileHeader: The file header of the copy.
  package convenience init(
    copying archive: ArchiveFile, _ fileHeader: ArchiveHeader, in directory: borrowing Directory,
    compressionLevel: Int
  ) throws {
    let isAsItWas = !archive.isFileHeaderLost && !fileHeader.isCorrected
    let bytes =
      isAsItWas
      ? try archive.bytes(archive.start..<archive.start + FileHeaderLayout.size)
      : fileHeader.encoded(pageSize: UInt32(Host.pageSize))
    try self.init(
      in: directory, fileHeader, bytes, compressionLevel: compressionLevel,
      try? archive.cipher.get(), archive.slot(.keySlot))
    isCopy = true
  }

  private init(
    in directory: borrowing Directory, _ fileHeader: ArchiveHeader, _ bytes: [UInt8],
    compressionLevel: Int, _ cipher: FrameCipher?, _ keySlot: [UInt8]
  ) throws(SystemError) {
    (self.fileHeader, self.cipher, self.keySlot) = (fileHeader, cipher, keySlot)
    compressor = Compressor(level: compressionLevel)
    let identity = fileHeader.identity
    let name = FileNames.Archive(
      store: identity.storeName, created: fileHeader.created, session: identity.session,
      number: fileHeader.number
    ).fileName
    fileName = name
    path = directory.path(of: name)
    guard try directory.status(of: name) == nil else {
      throw SystemError.alreadyThere(.openat, path)
    }
    chain = try Self.chain(fileHeader, bytes, path)
    (start, before) = (0, nil)
    end = bytes.count
    unsynced = UnsyncedBytes(bytes, from: 0)
    // The file gets its name when it has a file header, so that nobody ever sees an archive without
    // one. The session's recovery removes what a crash leaves before that.
    lock = try LockedFile.make(named: name, in: directory) { (file) throws(SystemError) in
      TestPoint.reach(.archiveCreated)
      try file.write(all: bytes, at: 0)
      TestPoint.reach(.archiveHeaderWritten)
    }
    TestPoint.reach(.archiveNamed)
  }

  /// Begins an archive behind those that a file holds already.
  ///
  /// - Parameters:
  ///   - before: The file as it is: closed, and no process writes it.
  ///   - lock: The file.
  ///   - recipients: For whom it is encrypted; none: it is not.
  package init(
    _ fileHeader: ArchiveHeader, behind before: ArchiveInfo, in lock: consuming LockedFile,
    compressionLevel: Int, recipients: [Recipient]
  ) throws(SystemError) {
    cipher = try Self.cipher(for: recipients, before.path)
    keySlot = cipher?.key.slot ?? []
    self.fileHeader = fileHeader
    (self.before, fileName, path) = (before, before.fileName, before.path)
    compressor = Compressor(level: compressionLevel)
    let bytes = fileHeader.encoded(pageSize: UInt32(Host.pageSize))
    chain = try Self.chain(fileHeader, bytes, before.path)
    start = before.size
    end = start + bytes.count
    unsynced = UnsyncedBytes(bytes, from: start)
    do throws(SystemError) {
      try lock.file.write(all: bytes, at: start)
    } catch {
      // A part of a file header is of no use to anybody.
      try? lock.file.truncate(to: start)
      throw error
    }
    self.lock = lock
    TestPoint.reach(.archiveResumed)
  }

  private static func cipher(
    for recipients: [Recipient], _ path: String
  ) throws(SystemError) -> FrameCipher? {
    if recipients.isEmpty { return nil }
    // Random bytes and memory may be there the next time.
    return try withLibrary(path) { () throws(CryptoError) in
      try FrameCipher(SlottedKey(for: recipients))
    }
  }

  private static func chain(
    _ fileHeader: ArchiveHeader, _ bytes: [UInt8], _ path: String
  ) throws(SystemError) -> FrameChain? {
    if fileHeader.previousHead == nil { return nil }
    return try withLibrary(path) { () throws(CryptoError) in
      try bytes.withUnsafeBufferPointer { (bytes) throws(CryptoError) in
        try FrameChain(fileHeader: UnsafeRawBufferPointer(bytes))
      }
    }
  }

  /// Goes on with an archive whose process died. The first write overwrites what follows the last
  /// whole frame: until then, that is the only sign of a frame that is lost.
  ///
  /// - Parameter recipients: For whom the archive is encrypted, if it has no frame yet. Another one
  ///   that is encrypted can only be closed, without a dictionary: its key is gone.
  package init(
    resuming archive: ArchiveFile, _ lock: consuming LockedFile, compressionLevel: Int,
    recipients: [Recipient] = []
  ) throws(SystemError) {
    fileHeader = archive.fileHeader
    if archive.frames.isEmpty {
      cipher = try Self.cipher(for: recipients, archive.path)
      (keySlot, ringKeySlot) = (cipher?.key.slot ?? [], [])
    } else {
      // The archive's end repeats its key slots.
      (cipher, keySlot, ringKeySlot) = (nil, archive.slot(.keySlot), archive.slot(.ringKeySlot))
    }
    chain = try archive.head().map { FrameChain(head: $0.hash) }
    (start, before) = (archive.start, nil)
    path = archive.path
    fileName = archive.path.splitAtLastSlash.name
    compressor = Compressor(level: compressionLevel)
    end = archive.end
    unsynced = UnsyncedBytes(from: archive.end)
    let size = try lock.file.status().size
    hasOldEnd = size > archive.end
    // Zeros behind the last payload may be missing.
    if size < archive.end { try lock.file.truncate(to: archive.end) }
    self.lock = lock
    for frame in archive.frames {
      frameCount += 1
      if !frame.header.isInIndex { continue }
      index.append(IndexEntry(offset: frame.offset - start, header: frame.header))
      if frame.header.type == .records {
        count(frame.header.summary)
        archiveCounts.add(unknown: frame.header.summary.count)
      }
    }
  }

  /// Appends a frame of records, and before it the dictionary entries that this archive does not
  /// have yet.
  ///
  /// - Parameters:
  ///   - dictionary: All entries of the session so far.
  ///   - slot: The ring's key slot, if the records are as they stood in an encrypted ring.
  package func append(
    _ frame: EncodedFrame, dictionary: UnsafeRawBufferPointer, ringKeySlot slot: [UInt8] = []
  ) throws(SystemError) {
    var batch = try beginBatch()
    if frame.header.codec == .sealedRows { try addRingKeySlot(slot, to: &batch) }
    let before = batch.bytes.count
    if dictionary.count > dictionaryWritten {
      let new = dictionary.slice(dictionaryWritten, dictionary.count - dictionaryWritten)
      try batch.add(FrameHeader(.dictionary), Array(new), compressor)
    }
    let added = batch.bytes.count - before
    try batch.add(frame.header, stored: frame.payload)
    try write(batch)
    dictionarySize += added
    if frame.header.codec == .sealedRows { ringKeySlot = slot }
    dictionaryWritten = dictionary.count
    count(frame.header.summary)
    archiveCounts.add(frame.levels)
  }

  private func count(_ frame: RecordSummary) {
    recordCount += UInt64(frame.count)
    summary.add(frame)
  }

  /// Appends the losses counted so far.
  package func append(_ losses: LossLedger) throws(SystemError) {
    try append(FrameHeader(.losses), losses.encoded)
  }

  /// Appends the report of the crash that the process died of.
  ///
  /// - Parameter slot: The ring's key slot, if the report is as it stood in an encrypted ring.
  package func append(
    _ crash: CrashReport, ringKeySlot slot: [UInt8]
  ) throws(SystemError) {
    var batch = try beginBatch()
    if crash.isEncrypted { try addRingKeySlot(slot, to: &batch) }
    try batch.add(FrameHeader(.crash), crash.encoded, nil)
    try write(batch)
    if crash.isEncrypted { ringKeySlot = slot }
  }

  private func addRingKeySlot(_ slot: [UInt8], to batch: inout FrameBatch) throws(SystemError) {
    if ringKeySlot.isEmpty { try batch.add(.ringKeySlot, slot) }
  }

  /// Appends how the session ended.
  package func append(_ end: SessionEnd) throws(SystemError) {
    try append(FrameHeader(.sessionEnd), end.encoded)
    archiveCounts.add(end)
  }

  private func append(_ header: FrameHeader, _ payload: [UInt8]) throws(SystemError) {
    var batch = try beginBatch()
    try batch.add(header, payload, nil)
    try write(batch)
  }

  // MARK: - Copies

  /// Appends a frame of the archive that this is a copy of, as it stands there. Its ordinal must
  /// not be lower than ``frameCount``.
  ///
  /// - Parameter levels: The levels of its records; nil if they are not known.
  package func append(
    _ frame: ArchiveFile.Frame, of archive: ArchiveFile, _ levels: LevelCounts?
  ) throws {
    let header = frame.header
    skip(to: header.ordinal)
    var batch = try beginBatch()
    try batch.add(header, asIs: archive.bytes(frame.offset..<frame.offset + header.frameSize))
    try write(batch)
    switch header.type {
    case .records:
      count(header.summary)
      if let levels {
        archiveCounts.add(levels)
      } else {
        archiveCounts.add(unknown: header.summary.count)
      }
    case .sessionEnd: try countEnd(archive.payload(of: frame))
    default: break
    }
  }

  private func countEnd(_ payload: [UInt8]) {
    if let end = payload.withUnsafeBytes({ SessionEnd($0) }) { archiveCounts.add(end) }
  }

  /// Appends the payload of a frame of that archive that has no records, under the next ordinal:
  /// another frame has the frame's own ordinal.
  package func append(displaced type: FrameType, _ payload: [UInt8]) throws(SystemError) {
    var header = FrameHeader(type)
    header.isSubstitute = true
    try append(header, payload)
    if type == .sessionEnd { countEnd(payload) }
  }

  /// Leaves out the ordinals of frames that are lost.
  package func skip(to ordinal: UInt64) { frameCount = max(frameCount, UInt32(clamping: ordinal)) }

  /// Appends all entries of the session, in place of a lost frame that may have had some.
  package func append(substitute dictionary: [UInt8]) throws(SystemError) {
    var batch = try beginBatch()
    var header = FrameHeader(.dictionary)
    header.isSubstitute = true
    try batch.add(header, dictionary, compressor)
    try write(batch)
  }

  /// Completes a copy that has all frames of its original, with the original's trailer.
  package func close(asIn archive: ArchiveFile) throws {
    let trailer = try archive.bytes(archive.end..<(archive.closedEnd ?? archive.end))
    try file.write(all: trailer, at: end)
    unsynced.add(trailer)
    end += trailer.count
    isComplete = true
    try sync()
  }

  // MARK: - State

  /// Whether the entries of the session's dictionary take more of it than everything else.
  package var isMostlyDictionary: Bool { end - start < 2 * dictionarySize }

  /// Whether it has anything but its file header.
  package var isEmpty: Bool { frameCount == 0 }

  /// What the next frame is chained to, or else the session's next archive; nil if frames are not
  /// chained.
  package var head: ArchiveHead? {
    chain.map { ArchiveHead(of: fileHeader, frames: UInt64(frameCount), $0.head) }
  }

  /// What a catalog would say of the archive once it is complete, even if a limit has deleted it
  /// since.
  package var info: ArchiveInfo {
    let own = ArchiveInfo.Contents(summary, archiveCounts)
    let status = try? file.status()
    return ArchiveInfo(
      fileName: fileName, directory: path.splitAtLastSlash.directory,
      storeName: fileHeader.identity.storeName,
      session: before?.session ?? fileHeader.identity.session,
      number: before?.number ?? fileHeader.number,
      created: created,
      modified: status.map { Timestamp(nanosecondsSince1970: $0.modified) } ?? created,
      size: end, allocatedSize: status?.allocatedBytes ?? end, isSealed: isComplete,
      isActive: !isComplete, contents: before?.contents.map { $0 + own } ?? own, head: sealedHead,
      state: ArchiveInfo.State())
  }

  /// The head as the index has it. ``head`` is the one behind the index.
  private var sealedHead: ArchiveHead? {
    guard isComplete, let head else { return nil }
    return ArchiveHead(of: fileHeader, frames: head.frames - 1, head.hash)
  }

  /// When its file was begun.
  package var created: Timestamp { before?.created ?? fileHeader.created }

  /// Whether the file can be written to. False if the program has closed its descriptor: the
  /// descriptor's number may be another file's by now.
  package var isStillOpen: Bool { file.isStillOpen }

  /// What has become of the file of an archive that is being written.
  package enum Place {
    /// Where it was made.
    case unchanged
    /// Its name was changed or removed, but the file is somewhere, whole.
    case elsewhere
    /// The file is nowhere, or was cut, or the program has closed its descriptor.
    case gone
  }

  /// Finds out whether the archive's name still leads to its file.
  package func place(in directory: borrowing Directory) throws(SystemError) -> Place {
    if !isStillOpen { return .gone }
    let file = try self.file.status()
    if file.linkCount == 0 || file.size < end { return .gone }
    let named = try directory.status(of: fileName)
    return named?.identity == file.identity ? .unchanged : .elsewhere
  }

  /// Opens the file again whose descriptor the program has closed.
  ///
  /// - Returns: Whether the archive can be written to again. False if its descriptor is open, or
  ///   its path does not lead to the whole file.
  package func reopen() -> Bool {
    guard !isStillOpen, let identity = file.identity else { return false }
    lock.abandon()
    do {
      let directory = try Directory.open(path.splitAtLastSlash.directory)
      guard let new = try LockedFile.open(path.splitAtLastSlash.name, in: directory),
        case let status = try new.file.status(), status.identity == identity, status.size >= end
      else { return false }
      lock = new
      return true
    } catch {
      return false
    }
  }

  /// Cuts off what was written last: of an archive that could not be closed, its end.
  package func cut(to end: Int) throws(SystemError) { try file.truncate(to: end) }

  /// Completes the archive: dictionary, index, trailer; then makes it safe from a power cut. After
  /// a failure, it can be called again.
  package func close(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    TestPoint.reach(.archiveBeforeTrailer)
    if !isComplete { try complete(dictionary: dictionary) }
    TestPoint.reach(.archiveTrailerWritten)
    try sync()
    TestPoint.reach(.archiveSynced)
  }

  private func complete(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    let place = end - start
    var batch = try beginBatch()
    // The key slot once more, for readers that have lost the beginning of the file.
    if frameCount > 0 { try batch.add(.keySlot, keySlot) }
    try batch.add(.ringKeySlot, ringKeySlot)
    var trailer = Trailer(of: fileHeader.id, recordCount: recordCount)
    if dictionary.count > 0 {
      trailer.dictionaryOffset = UInt64(place + batch.bytes.count)
      try batch.add(FrameHeader(.dictionary), Array(dictionary), compressor)
    }
    trailer.indexOffset = UInt64(place + batch.bytes.count)
    var header = FrameHeader(.index)
    (header.summary, header.archiveCounts) = (summary, archiveCounts)
    try batch.add(header, IndexEntry.encode(index + batch.index), compressor)
    trailer.fileSize = UInt64(place + batch.bytes.count + TrailerLayout.size)
    trailer.frameCount = frameCount + batch.frameCount
    batch.bytes += trailer.encoded
    try write(batch)
    isComplete = true
  }

  /// Begins a batch of frames that are written together. The first batch of an encrypted archive
  /// begins with its key slot.
  private func beginBatch() throws(SystemError) -> FrameBatch {
    var batch = FrameBatch(
      of: fileHeader.id, at: end - start, ordinal: UInt64(frameCount), cipher, chain, path: path)
    if frameCount == 0 && !isCopy { try batch.add(.keySlot, keySlot) }
    return batch
  }

  private func write(_ batch: FrameBatch) throws(SystemError) {
    if isTorn { try dropTornEnd() }
    do throws(SystemError) {
      if hasOldEnd, try file.status().size > end + batch.bytes.count {
        try file.truncate(to: end + batch.bytes.count)
      }
      try file.write(all: batch.bytes, at: end)
    } catch {
      if hasOldEnd { throw error }
      isTorn = true
      try? dropTornEnd()
      throw error
    }
    hasOldEnd = false
    unsynced.add(batch.bytes)
    TestPoint.reach(.archiveFrameWritten)
    let place = end
    end += batch.bytes.count
    beginWriteBack(behind: place)
    index += batch.index
    frameCount += batch.frameCount
    chain = batch.chain
  }

  /// Lets the kernel begin to write the pieces of the file to the disk that have become whole since
  /// the file ended at `place`: no later write is to a page of them. Otherwise a fast logger's
  /// archive would be written when it is closed, and the drainer would wait for all of it.
  private func beginWriteBack(behind place: Int) {
    let from = place / Self.pieceSize * Self.pieceSize
    let to = end / Self.pieceSize * Self.pieceSize
    if from < to { file.beginWriteBack(of: from..<to) }
  }

  /// Small enough that a disk writes a piece in some milliseconds, and large enough that a slow
  /// logger fills no piece: its archive is written when the kernel wants.
  private static let pieceSize = 4 << 20

  /// Cuts off what a failed write has left. The next write may be shorter, and then a rest of the
  /// failed one would stand behind the end.
  private func dropTornEnd() throws(SystemError) {
    try file.truncate(to: end)
    isTorn = false
  }
}
