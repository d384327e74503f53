import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Copies a sealed archive as it is, except that other recipients get its key.
///
/// Encrypted frames stay as they were written. Only the key slots change, and the places where
/// frames stand. Therefore records keep their ids, and cursors stay right.
struct ArchiveCopy {
  private let recipients: [Recipient]
  private var end = 0

  init(for recipients: [Recipient]) { self.recipients = recipients }

  /// Appends a copy of `archive` to `copy`.
  ///
  /// - Throws: ``LogError`` for an archive that is not sealed or is corrupted, ``FormatError`` if
  ///   no identity opens it, ``SystemError``.
  mutating func append(_ archive: ArchiveFile, to copy: borrowing File) throws {
    try check(archive)
    let slot = archive.isEncrypted ? try archive.cipher.get().key.slot(for: recipients) : []
    let hasRingKey = archive.frames.contains { $0.header.type == .ringKeySlot }
    let ringSlot = hasRingKey ? try archive.ringCipher.get().key.slot(for: recipients) : []
    let start = end
    let headerEnd = archive.frames.first?.offset ?? archive.end
    try append(archive.bytes(archive.start..<headerEnd), copy)
    var index: [IndexEntry] = []
    // Ordinals that a repair has left out count, too.
    let frameCount = archive.frames.last.map { $0.header.ordinal + 1 } ?? 0
    var trailer = Trailer(of: archive.fileHeader.id, frameCount: UInt32(clamping: frameCount))
    for frame in archive.frames {
      let place = end - start
      var header = frame.header
      // The dictionary at the end stands right before the index. A recovery may have written none.
      if header.type != .index { trailer.dictionaryOffset = 0 }
      switch header.type {
      case .keySlot: try append(&header, slot, copy)
      case .ringKeySlot: try append(&header, ringSlot, copy)
      case .index:
        trailer.indexOffset = UInt64(place)
        try append(&header, IndexEntry.encode(index), copy)
      case .dictionary, .records, .losses, .sessionEnd, .crash, .other:
        if header.type == .dictionary { trailer.dictionaryOffset = UInt64(place) }
        if header.type == .records { trailer.recordCount += UInt64(header.summary.count) }
        try append(archive.bytes(frame.offset..<frame.offset + header.frameSize), copy)
      }
      if header.isInIndex { index.append(IndexEntry(offset: place, header: header)) }
    }
    trailer.fileSize = UInt64(end - start + TrailerLayout.size)
    try append(trailer.encoded, copy)
  }

  private func check(_ archive: ArchiveFile) throws {
    guard archive.isClosed else {
      throw LogError(
        .archiveInUse,
        "\(archive.path) is not sealed: its process may go on with it, or its recovery. "
          + "'mmlogctl rotate' has it sealed, or, if its process is dead, 'mmlog-decode recover'",
        path: archive.path)
    }
    if let corruption = archive.corruption.first ?? archive.tail.corruption {
      throw LogError(
        .corruptedFile,
        "\(archive.path) is corrupted (\(corruption.summary)): 'mmlog-decode verify' has all of it",
        path: archive.path)
    }
  }

  private mutating func append(
    _ header: inout FrameHeader, _ payload: [UInt8], _ copy: borrowing File
  ) throws(SystemError) {
    (header.codec, header.rawSize) = (.rows, payload.count)
    var bytes: [UInt8] = []
    header.encode(storing: payload, into: &bytes)
    try append(bytes, copy)
  }

  private mutating func append(_ bytes: [UInt8], _ copy: borrowing File) throws(SystemError) {
    try copy.write(all: bytes, at: end)
    end += bytes.count
  }
}
