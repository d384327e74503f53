import MMLogFormat
public import MMLogReader
public import MMLogStorage
import MMLogSystem

/// Writes clean archives of everything that can be read in archives and rings.
///
/// Frames are copied unchanged, so that records keep their ids, and cursors stay right. In place of
/// what cannot be read is a record of level `error` with the label `mmlog.repair`. A frame of which
/// only some records can be read is written anew: these records keep their rows, but the checksum
/// in their ids changes. Records of a ring go into a further archive. Encrypted frames stay
/// encrypted, and need no key.
public struct LogRepair {
  /// What was written.
  public struct Result: Sendable {
    /// The number of sessions of which something was written.
    public internal(set) var sessionCount = 0
    /// The number of records that were written. Records about corruption do not count. In frames
    /// that cannot be read, each fragment of a record counts.
    public internal(set) var recordCount = 0
    /// What could not be read.
    public internal(set) var corruption: [LogReader.Corruption] = []
    /// What is missing.
    public internal(set) var gaps: [LogReader.Gap] = []
    /// The losses of each session that lost records.
    package internal(set) var losses: [(session: LogReader.Session, ledger: LossLedger)] = []
  }

  private let files: LogFiles
  private var result = Result()

  /// Writes archives of `files` into a directory.
  ///
  /// The archives are written in a folder of their own in that directory. They get their places
  /// when all of them are complete: an interruption before that leaves none of them.
  ///
  /// - Parameters:
  ///   - files: The logs to read.
  ///   - directory: Where the archives go; made if it does not exist. It may not have archives or
  ///     rings in it.
  ///   - isStopped: Is called now and then. True ends the work, and leaves nothing of it.
  /// - Returns: What was written; nil if the work was stopped.
  /// - Throws: if something cannot be written.
  public static func write(
    _ files: LogFiles, to directory: String, isStopped: () -> Bool = { false }
  ) throws(LogError) -> Result? {
    do {
      var repair = LogRepair(files: files)
      return try repair.write(to: directory, isStopped)
    } catch {
      throw LogError(error, while: "Writing the repaired archives failed", path: directory)
    }
  }

  private init(files: LogFiles) { self.files = files }

  private mutating func write(to path: String, _ isStopped: () -> Bool) throws -> Result? {
    try Directory.create(path)
    let directory = try Directory.open(path)
    let isOurs = { (name: String) in
      name.hasSuffix(FileNames.archiveSuffix) || name.hasSuffix(FileNames.ringSuffix)
    }
    guard !(try directory.names().contains(where: isOurs)) else {
      throw LogError(
        .invalidConfiguration, "\(path) has logs in it already; name an empty or a new directory",
        path: path)
    }
    try discardLeftovers(in: directory)
    let folder = Self.folderPrefix + "\(CurrentProcess.id)"
    try directory.makeDirectory(folder)
    defer { discard(folder, in: directory) }
    for session in files.sessions {
      guard try write(session, in: directory.openDirectory(folder), isStopped) else { return nil }
    }
    let unfinished = try directory.openDirectory(folder)
    for name in try unfinished.names().sorted() {
      try unfinished.rename(name, to: name, in: directory)
    }
    try directory.sync()
    return result
  }

  private static let folderPrefix = ".mmlog-repair-"

  /// Removes the folders of repairs that were killed. A repair that still writes has the directory
  /// locked.
  private func discardLeftovers(in directory: borrowing Directory) throws {
    // Without locks, as on some network file systems, it is unknown whether a repair still writes.
    guard let isOurs = try? directory.tryLock() else { return }
    guard isOurs else {
      throw LogError(
        .invalidConfiguration,
        "Another repair writes into \(directory.path) just now; wait for it, or name another "
          + "directory",
        path: directory.path)
    }
    for name in try directory.names() where name.hasPrefix(Self.folderPrefix) {
      discard(name, in: directory)
    }
  }

  private func discard(_ folder: String, in directory: borrowing Directory) {
    guard let unfinished = try? directory.openDirectory(folder) else { return }
    for name in (try? unfinished.names()) ?? [] { try? unfinished.remove(name) }
    try? directory.removeDirectory(folder)
  }

  /// - Returns: false if it was stopped.
  private mutating func write(
    _ session: SessionFiles, in directory: consuming Directory, _ isStopped: () -> Bool
  ) throws -> Bool {
    let summary = SessionSummary(session)
    let repaired = RepairedSession(session, summary.dictionary)
    var head = FrameHash.none
    for (index, archive) in session.archives.enumerated() {
      if isStopped() { return false }
      var repair = ArchiveRepair(
        archive, of: repaired, summary.corruption[index] ?? [],
        besides: summary.skipped[index] ?? [])
      head = try repair.write(to: directory, behind: head)
      result.recordCount += repair.recordCount
      result.corruption += repair.corruption
    }
    let owner = LogReader.Session(session.identity)
    let gaps = SessionGaps(session, summary, of: owner).gaps
    result.gaps += gaps
    if !summary.losses.isEmpty { result.losses.append((owner, summary.losses)) }
    result.sessionCount += 1
    // Without a ring, the archives show what is missing, as they did before.
    if let ring = summary.ring {
      let notes = gaps.filter(\.isLoss).map {
        LogReader.Corruption(0..<0, $0.summary, in: session.archives.first?.path ?? ring.image.path)
      }
      let number = session.archives.last?.fileHeader.number ?? 0
      var repair = RingRepair(ring, of: repaired, behind: number, head, directory)
      guard try repair.write(notes, while: { !isStopped() }) else { return false }
      try repair.finish(session.ending(summary.end), summary)
      result.recordCount += repair.recordCount
      result.corruption += repair.corruption
    }
    return !isStopped()
  }
}
