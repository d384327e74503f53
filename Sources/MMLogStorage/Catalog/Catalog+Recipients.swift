package import MMLogCrypto
import MMLogFormat
import MMLogSystem

extension Catalog {
  /// Gives the keys of a sealed archive to other recipients, in place of those that it has.
  ///
  /// A copy takes the archive's place when it is whole and on the disk: rename(2). What is noted
  /// about the archive stays. Whoever has the archive open reads on in what was there before. Who
  /// could read it before can still do so with a copy of their own.
  ///
  /// - Parameters:
  ///   - identities: One of them opens the archive now.
  ///   - recipients: Who opens it from then on: 1 to ``KeySlot/mostRecipients``.
  /// - Throws: `missingArchive`; `archiveInUse` if it is not sealed; `encrypted` if no identity
  ///   opens it; `invalidConfiguration` if it is not encrypted; `corruptedFile`; what the system
  ///   refuses.
  package func rewrap(
    _ fileName: String, with identities: LogIdentities, for recipients: [Recipient]
  ) throws(LogError) {
    try withDirectory { (directory) throws(LogError) in
      do {
        try Self.rewrap(fileName, in: directory, with: identities, for: recipients)
      } catch {
        throw LogError(
          error, while: "Giving the archive's key to other recipients failed",
          path: directory.path(of: fileName))
      }
    }
  }

  private static func rewrap(
    _ name: String, in directory: borrowing Directory, with identities: LogIdentities,
    for recipients: [Recipient]
  ) throws {
    let path = directory.path(of: name)
    guard let status = try directory.status(of: name) else { throw LogError.missingArchive(path) }
    try Ownership(of: directory).check(status, path)
    let original = try directory.openFile(name, [.read])
    let state = try ArchiveInfo.State(of: original, name: name, in: directory)
    let archives = try ArchiveFile.all(in: original, identities: identities)
    guard archives.contains(where: { $0.frames.contains(where: \.header.isEncrypted) }) else {
      throw LogError(
        .invalidConfiguration, "\(path) is not encrypted: everybody who may read the file reads it",
        path: path)
    }
    let unfinished = name + FileNames.unfinishedSuffix
    let copy = try LockedFile.make(unfinished, in: directory)
    do {
      try copy.file.set(FileAccess(mode: status.permissions, group: status.group))
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
  }
}
