package import MMLogCrypto
import MMLogFormat
package import MMLogStorage
import MMLogSystem

extension Catalog {
  /// Gives the keys of a sealed archive, or the key of a ring, to other recipients, in place of the
  /// current ones.
  ///
  /// A ring's key slots are overwritten one after the other, even while its process runs. Archives
  /// that a recovery makes of the ring are for the new recipients. Archives that its process begins
  /// are for the recipients of the process.
  ///
  /// A copy takes the archive's place when it is complete and on the disk: rename(2). The archive's
  /// notes stay. A process that has the archive open still reads the old file. Whoever could read
  /// the archive before can still read a copy that they have.
  ///
  /// - Parameters:
  ///   - identities: The identities, one of which opens the archive now.
  ///   - recipients: The recipients that open it from then on: 1 to ``KeySlot/mostRecipients``.
  /// - Returns: Whether the archive is marked as uploaded. It was uploaded as it was before.
  /// - Throws: `missingArchive`; `archiveInUse` if it is not sealed, or leased; `encrypted` if no
  ///   identity opens it; `invalidConfiguration` if it is not encrypted; `corruptedFile`; errors of
  ///   the system.
  @discardableResult
  package func rewrap(
    _ fileName: String, with identities: LogIdentities, for recipients: [Recipient]
  ) throws(LogError) -> Bool {
    try withDirectory { (directory) throws(LogError) in
      do {
        let isRing = FileNames.Ring(fileName: fileName) != nil
        let path = directory.path(of: fileName)
        guard let status = try directory.ownStatus(of: fileName) else {
          throw isRing ? LogError.missingRing(path) : .missingArchive(path)
        }
        if isRing {
          try Self.rewrap(ring: fileName, in: directory, with: identities, for: recipients)
          return false
        }
        return try Self.rewrap(fileName, status, in: directory, with: identities, for: recipients)
      } catch {
        throw LogError(
          error, while: "Giving the key to other recipients failed",
          path: directory.path(of: fileName))
      }
    }
  }

  private static func rewrap(
    _ name: String, _ status: FileStatus, in directory: borrowing Directory,
    with identities: LogIdentities, for recipients: [Recipient]
  ) throws -> Bool {
    let original = try directory.openFile(name, [.read])
    let state = try ArchiveInfo.State(of: original, name: name, in: directory)
    // An uploader would send some bytes of the old file, and others of the new one.
    if let lease = state.lease, lease.isInForce(at: .now) {
      let path = directory.path(of: name)
      throw LogError(
        .archiveInUse, "The archive \(path) \(lease.obstacle). It was not changed.", path: path)
    }
    let archives = try ArchiveFile.all(in: original, identities: identities)
    guard archives.contains(where: \.isEncrypted) else {
      throw LogError.notEncrypted(directory.path(of: name))
    }
    let unfinished = name + FileNames.unfinishedSuffix
    let copy = try LockedFile.make(unfinished, in: directory)
    do {
      let others = FileAccess(mode: status.permissions, group: status.group)
      try copy.file.set(FileAccess.asOf(status) ?? others)
      var writer = ArchiveCopy(for: recipients)
      for archive in archives { try writer.append(archive, to: copy.file) }
      try state.store(of: copy.file, name: name, in: directory)
      try copy.file.sync()
      try directory.rename(unfinished, to: name)
      try directory.sync()
    } catch {
      try? directory.remove(unfinished)
      throw error
    }
    return state.isUploaded
  }

  private static func rewrap(
    ring name: String, in directory: borrowing Directory, with identities: LogIdentities,
    for recipients: [Recipient]
  ) throws {
    let file = try directory.openFile(name, [.read, .write])
    guard let area = try RingImage.fileHeader(of: file).areas.keySlots else {
      throw LogError.notEncrypted(directory.path(of: name))
    }
    let bytes = try file.bytes(at: area.lowerBound, count: area.count)
    guard bytes.count == area.count else { throw FormatError.truncated }
    let (slots, places) = bytes.withUnsafeBytes {
      (KeySlotPlaces.slots(in: $0), KeySlotPlaces.order(in: $0))
    }
    let key = try RingCipher.open(slots, with: identities.all).get().key
    let place = try KeySlotPlaces.encoded(
      RingKeySlot(key.slot(for: recipients), for: recipients))
    // At any moment, one of the places is complete.
    for offset in places {
      try place.withUnsafeBytes { try file.writeFully($0, at: area.lowerBound + offset) }
      try file.sync()
    }
  }
}

extension LogError {
  fileprivate static func missingRing(_ path: String) -> LogError {
    LogError(
      .missingArchive, "There is no ring \(path): its process may have ended meanwhile", path: path)
  }

  fileprivate static func notEncrypted(_ path: String) -> LogError {
    LogError(
      .invalidConfiguration, "\(path) is not encrypted: everybody who may read the file reads it",
      path: path)
  }
}
