import MMLogCrypto
package import MMLogFormat
package import MMLogSystem

extension ArchiveFile {
  /// The payload of a frame, checked and decompressed.
  ///
  /// - Throws: ``FormatError`` if it is corrupted or no identity opens it, ``SystemError`` if it
  ///   cannot be read, ``CryptoError`` if it cannot be decrypted though an identity opens it.
  package func payload(of frame: Frame) throws -> [UInt8] {
    guard let payload = try payload(of: frame, ifWanted: { _, _ in true }) else {
      throw FormatError.truncated
    }
    if frame.header.type == .dictionary, isClearInEncrypted(frame.header), !isOfRepair(payload) {
      throw Self.inClear
    }
    return payload
  }

  /// Whether a frame is not encrypted although its archive is, and its payload should be. Anybody
  /// can have written such a frame, without a key.
  package func isClearInEncrypted(_ header: FrameHeader) -> Bool {
    header.type.isSecret && !header.isEncrypted && isEncrypted
  }

  private static let inClear = FormatError.invalid("payload: it is in clear, and others are not")

  /// The label of the notes that a repair writes.
  package static let repairLabel = "mmlog.repair"
  /// What the text of each such note begins with.
  package static let noteBeginning = "corrupted: "

  /// Whether entries are those that a repair without a key writes: only labels of its notes.
  private func isOfRepair(_ entries: [UInt8]) -> Bool {
    entries.withUnsafeBytes { entries in
      var scanner = EntryScanner(
        entries, seed: checksumSeed(session: fileHeader.identity.session, generation: 0))
      while let (entry, _) = scanner.next() {
        guard case .label(_, Self.repairLabel) = entry else { return false }
      }
      return true
    }
  }

  /// Whether rows are those that a repair without a key writes: only notes.
  private func areNotes(_ rows: [UInt8]) throws -> Bool {
    try rows.withUnsafeBytes {
      var reader = try RowReader($0)
      while let row = try reader.next() {
        if row.isFragment { return false }
        let parts = try RecordParts(row.body)
        let beginning = try parts.inlineCallSite()?.parts.first
        guard parts.level == .error, parts.flags == .inlineCallSite,
          beginning == .literal(Self.noteBeginning)
        else { return false }
      }
      return true
    }
  }

  /// As ``payload(of:)``; nil for a frame in columns that is not wanted.
  ///
  /// - Parameter mayPass: Called only if all records are whole and as their call sites say; see
  ///   ``ColumnDecoder``.
  package func payload(
    of frame: Frame, ifWanted mayPass: (ColumnText, Bool) -> Bool
  ) throws -> [UInt8]? {
    let header = frame.header
    let start = frame.offset + header.headerSize
    var stored = try bytes(start..<start + header.payloadSize)
    guard stored.withUnsafeBytes({ crc32c($0) }) == header.payloadChecksum else {
      throw FormatError.wrongChecksum
    }
    // Of a later version: nobody looks into it.
    if header.type == .other { return stored }
    if header.isEncrypted {
      stored = try decrypted(stored, of: frame)
    } else if header.type != .dictionary, isClearInEncrypted(header) {
      // Notes of a repair without a key. A verification reports them.
      guard header.type == .records, header.isSubstitute,
        let rows = try rows(of: header, stored, ifWanted: { _, _ in true }), try areNotes(rows)
      else { throw Self.inClear }
      return rows
    }
    if header.type == .crash { stored = clearReport(stored) }
    return try rows(of: header, stored, ifWanted: mayPass)
  }

  /// Decompresses what is stored of a frame.
  private func rows(
    of header: FrameHeader, _ stored: [UInt8], ifWanted mayPass: (ColumnText, Bool) -> Bool
  ) throws -> [UInt8]? {
    // Not one decompressor for each archive: there may be thousands of archives, and a decompressor
    // takes less than a frame does.
    let decompressor = try Decompressor.make(for: header.codec)
    return try stored.withUnsafeBytes {
      switch header.codec {
      case .rows: return stored
      case .sealedRows: return try rows($0, of: header)
      case .zlibRows: return try decompressor.decompress($0, size: header.rawSize)
      case .columns, .zstdColumns:
        return try ColumnDecoder.rows(
          $0, size: header.rawSize, count: Int(header.summary.count), decompressor,
          ifWanted: mayPass)
      }
    }
  }

  /// How many records the archive has. In frames that cannot be read, each fragment counts.
  ///
  /// - Complexity: O(frames) if its index says it, else as reading the numbers of all columns.
  package var recordCount: Int {
    if let total = countsInIndex?.total { return total }
    return frames.reduce(0) { $0 + recordCount(of: $1) }
  }

  /// How many records a frame has; 0 for a frame of another type. If the frame cannot be read, each
  /// fragment counts.
  package func recordCount(of frame: Frame) -> Int {
    if frame.header.type != .records { return 0 }
    let rowCount = Int(frame.header.summary.count)
    if hasNoFragments { return rowCount }
    // If a frame has only whole records, less is decompressed.
    guard let payload = try? payload(of: frame, ifWanted: { _, _ in false }) else {
      return rowCount
    }
    let counted = try? payload.withUnsafeBytes { bytes in
      var rows = try RowReader(bytes)
      var count = 0
      while let row = try rows.next() { if row.isCounted { count += 1 } }
      return count
    }
    return counted ?? rowCount
  }

  /// Whether its index says that all rows are whole records.
  private var hasNoFragments: Bool {
    guard let total = countsInIndex?.total else { return false }
    return total == Int(frames.last?.header.summary.count ?? 0)
  }

  /// What the index says of the archive's records, if the archive is closed and sound.
  private var countsInIndex: ArchiveCounts? {
    isClosed && isSound ? frames.last?.header.archiveCounts : nil
  }

  /// The rows of a frame that a recovery has made of an encrypted ring.
  private func rows(_ sealed: UnsafeRawBufferPointer, of header: FrameHeader) throws -> [UInt8] {
    try SealedRows.decrypt(sealed, size: header.rawSize, with: ringCipher.get())
  }

  /// The report of a crash, decrypted if there is a key for it; else as it is.
  private func clearReport(_ stored: [UInt8]) -> [UInt8] {
    guard let report = stored.withUnsafeBytes({ CrashReport($0) }), report.isEncrypted else {
      return stored
    }
    return report.clear(with: try? ringCipher.get()).encoded
  }

  private func decrypted(_ stored: [UInt8], of frame: Frame) throws -> [UInt8] {
    let header = try bytes(frame.offset..<frame.offset + frame.header.headerSize)
    // Otherwise, to decrypt a key slot would take the key that it holds.
    guard frame.header.type.isSecret else { throw FormatError.invalid("flag: it is encrypted") }
    let cipher = try cipher.get()
    do {
      return try stored.withUnsafeBytes { stored in
        try header.withUnsafeBytes { try cipher.decrypt(stored, header: $0) }
      }
    } catch let error as CryptoError {
      // A reader that has the key, but no memory for it, is told so: no key is missing.
      throw error == .notAuthentic
        ? FormatError.invalid("payload: it was changed after it was encrypted") : error
    }
  }

  /// The maximum number of slots of a type that are tried: each takes long. An archive has a slot
  /// at its beginning and again at its end, and each repair adds one.
  private static let mostSlots = 16

  /// Opens the first slot that one of the identities opens. Without a slot, nobody can read what is
  /// encrypted.
  ///
  /// - Parameter type: The type of the slots.
  func openKey(_ type: FrameType) -> Result<SlottedKey, any Error> {
    var failure: any Error = FormatError.missingKey
    for slot in frames.lazy.filter({ $0.header.type == type }).prefix(Self.mostSlots) {
      do {
        return .success(try SlottedKey(opening: payload(of: slot), with: identities.all))
      } catch let error as CryptoError {
        failure = FormatError.encrypted(error)
      } catch is FormatError {
        // Another slot may be right.
      } catch {
        failure = error
      }
    }
    return .failure(failure)
  }

  /// The archive's or the ring's key for its recipients; empty if the archive has no such slot that
  /// can be read.
  ///
  /// - Parameter type: The type of the slot.
  func slot(_ type: FrameType) -> [UInt8] {
    frames.lazy.filter { $0.header.type == type }.compactMap { try? self.payload(of: $0) }.first
      ?? []
  }

  /// Why encrypted frames cannot be read without the archive's key; nil if they can be read, if
  /// nothing is encrypted, or if nobody can read them.
  package var lock: FormatError? {
    guard frames.contains(where: \.header.isEncrypted), case .failure(let error) = cipher,
      let reason = error as? FormatError, case .encrypted = reason
    else { return nil }
    return reason
  }

  /// Why a frame cannot be read without a key; nil if it can be read, or if nobody can read it.
  package func lock(of frame: Frame) -> FormatError? {
    if frame.header.isEncrypted, let lock { return lock }
    guard frame.header.codec == .sealedRows, case .failure(let error) = ringCipher,
      let reason = error as? FormatError, case .encrypted = reason
    else { return nil }
    return reason
  }

  /// Waits until the archive's bytes are on the disk, whoever wrote them: fdatasync(2).
  package func sync() throws(SystemError) { try scanner.file.syncData() }
}
