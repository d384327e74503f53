package import MMLogFormat
package import MMLogSystem

/// The archives of a session, one after the other: begins one when there is something to write, and the
/// next when one has reached its size.
package final class ArchiveSeries {
  package struct Settings: Sendable {
    /// The size in bytes from which on an archive is closed; 0: never.
    package var archiveSize: Int
    /// 0 (none) to 9.
    package var compressionLevel: Int

    package init(archiveSize: Int, compressionLevel: Int) {
      self.archiveSize = archiveSize
      self.compressionLevel = compressionLevel
    }
  }

  private var directory: Directory
  private let identity: SessionIdentity
  private let settings: Settings
  private var current: ArchiveWriter?
  /// The number of the newest archive.
  private var number: UInt32
  private var writtenLosses = LossLedger()
  /// Whether names were made in the directory that a power cut could still undo.
  private var hasUnsyncedNames: Bool
  /// Told of each archive that was closed, with its path.
  package var didClose: (String) -> Void = { _ in }

  /// - Parameters:
  ///   - directory: Where the archives are.
  ///   - number: The number of the session's newest archive; 0 if it has none.
  ///   - current: That archive, if it is to be continued.
  package init(
    in directory: consuming Directory, _ identity: SessionIdentity, _ settings: Settings,
    number: UInt32 = 0, current: ArchiveWriter? = nil
  ) {
    self.directory = directory
    self.identity = identity
    self.settings = settings
    self.number = number
    self.current = current
    // A process that died may not have come to sync those it made.
    hasUnsyncedNames = number > 0
  }

  /// Appends rows to the current archive. To be followed by ``rotateIfFull(dictionary:)``, once it is noted that
  /// they are in it: were both one, a failure to close the archive would have them appended again.
  package func append(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ fields: FrameHeader
  ) throws(SystemError) {
    // Again, if it failed the last time.
    try rotateIfFull(dictionary: dictionary)
    try writer().append(rows, dictionary: dictionary, fields)
  }

  /// Closes the current archive if it has its size.
  package func rotateIfFull(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    guard settings.archiveSize > 0, let current, current.end >= settings.archiveSize else { return }
    try close(dictionary: dictionary)
  }

  /// Appends the losses if they have grown since they were written last.
  package func append(_ losses: LossLedger) throws(SystemError) {
    guard losses != writtenLosses else { return }
    try writer().append(losses)
    writtenLosses = losses
  }

  /// Ends the session: says how in the last archive, and closes that.
  package func end(_ end: SessionEnd, dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    try writer().append(end)
    try close(dictionary: dictionary)
  }

  /// Closes the current archive, if there is one.
  package func close(dictionary: UnsafeRawBufferPointer) throws(SystemError) {
    guard let closing = current else { return }
    try leavingDamaged { (archive) throws(SystemError) in try archive.close(dictionary: dictionary)
    }
    current = nil
    try syncNames()
    TestPoint.reach(.archiveClosed)
    didClose(closing.path)
  }

  /// Makes everything that was written safe from a power cut.
  package func sync() throws(SystemError) {
    try leavingDamaged { (archive) throws(SystemError) in try archive.sync() }
    try syncNames()
  }

  /// Does something with the current archive, and leaves that as it is if the disk turns out to have lost a part of it: what is
  /// readable will be read, and what comes now goes into another.
  private func leavingDamaged(
    _ body: (ArchiveWriter) throws(SystemError) -> Void
  ) throws(SystemError) {
    guard let archive = current else { return }
    do throws(SystemError) {
      try body(archive)
    } catch {
      if archive.isDamaged { current = nil }
      throw error
    }
  }

  /// Goes on in another directory: the store's path leads there now. An archive that has no name any more is given up.
  package func move(to directory: consuming Directory) {
    self.directory = directory
    hasUnsyncedNames = true
    if current?.isUnlinked == true { current = nil }
  }

  private func syncNames() throws(SystemError) {
    guard hasUnsyncedNames else { return }
    try directory.sync()
    hasUnsyncedNames = false
  }

  private func writer() throws(SystemError) -> ArchiveWriter {
    if let current {
      if !current.isComplete { return current }
      // All that is left to do is what failed before: to make it safe.
      try close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    let head = ArchiveHead(identity: identity, number: number + 1, created: Clock.realtime())
    let writer = try ArchiveWriter(
      in: directory, head, compressionLevel: settings.compressionLevel)
    number += 1
    current = writer
    hasUnsyncedNames = true
    return writer
  }
}
