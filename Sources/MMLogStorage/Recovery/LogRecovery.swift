import MMLogSystem

/// Adopts rings of processes that died, as the next start of their service would.
public enum LogRecovery {
  /// Moves what dead rings hold into the archives of their sessions, exactly once, and removes the
  /// rings.
  ///
  /// Rings of living processes are left alone. Only the process that has a ring's lock recovers it,
  /// so that this may be called at any time. If the rings are in a directory of their own, rings of
  /// a store that has neither archives nor settings in `archiveDirectory` are left alone, too:
  /// several stores may share that directory. The only store with rings is taken for the one of an
  /// empty directory.
  ///
  /// - Parameters:
  ///   - directory: Where the rings are.
  ///   - archiveDirectory: Where the archives are; default: beside the rings.
  ///   - problem: Receives the error of each ring that could not be recovered; the ring is left as
  ///     it is.
  /// - Returns: The sessions that were recovered.
  /// - Throws: if a directory cannot be opened.
  public static func recover(
    _ directory: String, archiveDirectory: String? = nil, problem: (LogError) -> Void
  ) throws(LogError) -> [RecoveredSession] {
    try recover(
      directory, archiveDirectory: archiveDirectory, takesOnlyStore: true, left: problem,
      problem: problem)
  }

  /// Recovers rings as ``recover(_:archiveDirectory:problem:)`` does, for a shipper: nobody has
  /// named the store, so the only store with rings may be another one, too.
  ///
  /// - Parameter left: Receives what says of a ring that it is of another store, and is left alone.
  package static func recoverKnown(
    _ directory: String, archiveDirectory: String, left: (LogError) -> Void,
    problem: (LogError) -> Void
  ) throws(LogError) -> [RecoveredSession] {
    try recover(
      directory, archiveDirectory: archiveDirectory, takesOnlyStore: false, left: left,
      problem: problem)
  }

  private static func recover(
    _ directory: String, archiveDirectory: String?, takesOnlyStore: Bool,
    left: (LogError) -> Void, problem: (LogError) -> Void
  ) throws(LogError) -> [RecoveredSession] {
    let rings = try open(directory)
    let archives = try open(archiveDirectory ?? directory)
    return Recovery.recoverAll(
      of: nil, ringDirectory: rings, archiveDirectory: archives, .usual,
      takesOnlyStore: takesOnlyStore, left: left, problem: problem)
  }

  /// Seals archives whose ring is gone, such as one in memory after a power cut: as the next start
  /// of their service would, too.
  ///
  /// - Parameters:
  ///   - rings: Where the rings are that still exist.
  ///   - archives: Where the archives are.
  ///   - sealed: Receives each archive that was sealed.
  ///   - problem: Receives the error of each archive that could not be sealed.
  package static func sealRingless(
    _ rings: String, archiveDirectory archives: String?, sealed: (ArchiveInfo) -> Void,
    problem: (LogError) -> Void
  ) throws(LogError) {
    RinglessArchives.seal(
      of: nil, in: try open(archives ?? rings), rings: try open(rings), .usual, sealed: sealed,
      problem: problem)
  }

  private static func open(_ path: String) throws(LogError) -> Directory {
    do { return try Directory.openForItsUser(path) } catch {
      throw LogError(error, while: "Opening the directory failed")
    }
  }
}

extension ArchiveSeries.Settings {
  /// The settings of a store that is not configured otherwise.
  package static let usual = ArchiveSeries.Settings(rotationSize: 64 << 20, compressionLevel: 1)
}
