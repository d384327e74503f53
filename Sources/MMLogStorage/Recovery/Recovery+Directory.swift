import MMLogFormat
package import MMLogSystem

/// Which rings of a directory are recovered.
extension Recovery {
  /// Recovers every ring of `store` in `ringDirectory` whose process is dead.
  ///
  /// - Parameters:
  ///   - store: The store's name; nil for all that have archives or settings in
  ///     `archiveDirectory`. If the rings are there, too, that is every store.
  ///   - archiveDirectory: Where the archives are.
  ///   - takesOnlyStore: Whether all rings are recovered, with `store` nil, if they are of one
  ///     store, and `archiveDirectory` has nothing of another one.
  ///   - goesOn: Whether to recover another ring.
  ///   - left: Receives what says of a ring that it is of another store, and is left alone.
  ///   - problem: Receives the error of each ring that could not be recovered; the others are
  ///     recovered.
  package static func recoverAll(
    of store: String?, ringDirectory: borrowing Directory, archiveDirectory: borrowing Directory,
    _ settings: ArchiveSeries.Settings, takesOnlyStore: Bool = false,
    while goesOn: () -> Bool = { true }, left: (LogError) -> Void = { _ in },
    problem: (LogError) -> Void
  ) -> [RecoveredSession] {
    var recovered: [RecoveredSession] = []
    let names: [String]
    do { names = try ringDirectory.names() } catch {
      problem(LogError(error, while: "Searching for rings to recover failed"))
      return []
    }
    UnfinishedFiles.sweepRings(of: store, in: ringDirectory)
    let fileHeaders = ArchiveHeaders()
    var rings: [(start: Int64, name: String)] = []
    let strange =
      store == nil
      ? strangeStores(in: names, ringDirectory, archiveDirectory, takesOnlyStore) : []
    for name in names {
      guard let ring = FileNames.Ring(fileName: name), store == nil || ring.store == store else {
        continue
      }
      if strange.contains(ring.store) {
        // This takes no lock: the store's own recovery leaves a ring that is locked.
        if let file = try? ringDirectory.openFile(name, [.read, .nonBlocking]),
          let isLocked = try? file.isLockedByAnother(), !isLocked
        {
          left(strangeRing(name, ring.store, ringDirectory, archiveDirectory))
        }
        continue
      }
      rings.append((start(ofSessionIn: name, ringDirectory), name))
    }
    // The archives of the sessions come in this order, too.
    for (_, name) in rings.inOrder(<) where goesOn() {
      do {
        let session = try recover(name, ringDirectory, archiveDirectory, settings, fileHeaders)
        if let session { recovered.append(session) }
      } catch {
        problem(error)
      }
    }
    return recovered
  }

  /// The stores that have rings in a directory of their own, and nothing in the directory of
  /// archives: several stores may share the former, and each has its archives elsewhere.
  private static func strangeStores(
    in names: [String], _ ringDirectory: borrowing Directory,
    _ archiveDirectory: borrowing Directory, _ takesOnlyStore: Bool
  ) -> Set<String> {
    // One directory may have several paths.
    guard let rings = try? ringDirectory.status().identity,
      let archives = try? archiveDirectory.status().identity, rings != archives
    else { return [] }
    let stores = Set(names.compactMap { FileNames.Ring(fileName: $0)?.store })
    let files = (try? archiveDirectory.names()) ?? []
    // A store that has no archive yet, or whose archives are all deleted, has noted its settings.
    let known = Set(files.compactMap { FileNames.store(ofFileName: $0) })
    if takesOnlyStore, known.union(stores).count == 1 { return [] }
    return stores.subtracting(known)
  }

  private static func strangeRing(
    _ name: String, _ store: String, _ ringDirectory: borrowing Directory,
    _ archiveDirectory: borrowing Directory
  ) -> LogError {
    let path = ringDirectory.path(of: name)
    return LogError(
      .unsupported,
      "\(path) is left: it is of the store '\(store)', which has no archive in "
        + "\(archiveDirectory.path). Recover it into the directory of its archives, or start its "
        + "service.", path: path)
  }

  /// When the session of a ring began, in nanoseconds since 1970; 0 if it cannot be read.
  private static func start(ofSessionIn name: String, _ directory: borrowing Directory) -> Int64 {
    guard let file = try? directory.openFile(name, [.read, .nonBlocking]),
      let bytes = try? file.bytes(at: 0, count: FileHeaderLayout.size),
      let header = try? bytes.withUnsafeBytes({ try RingHeader($0) })
    else { return 0 }
    return header.identity.startTime.nanosecondsSince1970
  }

  /// The number of a store's rings in a directory that wait to be recovered; 0 if that cannot be
  /// determined now.
  package static func deadRings(of store: String, inRingsAt path: String) -> Int {
    guard let directory = try? Directory.open(path), let names = try? directory.names() else {
      return 0
    }
    return names.count { name in
      guard FileNames.Ring(fileName: name)?.store == store,
        let file = try? directory.openFile(name, [.read, .nonBlocking])
      else { return false }
      return (try? file.isLockedByAnother()) == false
    }
  }

  /// Finds out which archives the recoveries of a directory's rings still need. A recovery reads
  /// its session's archives to see what it need not archive again, and completes the last one.
  ///
  /// - Parameter strange: Receives each file that has a ring's name, and is none of ours, or cannot
  ///   be inspected: the archives of its session are needed.
  /// - Returns: What says of an archive whether it is needed; nil: none is.
  /// - Throws: ``LogError`` if that cannot be determined now.
  package static func neededArchives(
    inRingsAt path: String, strange: (LogError) -> Void = { _ in }
  ) throws(LogError) -> ((ArchiveInfo) -> Bool)? {
    let rings = try DeadRing.sessions(in: path, strange: strange)
    if rings.all.isEmpty { return nil }
    return { archive in
      // A recovery may be just about to complete an archive that is not complete.
      rings.dead.contains(archive.session)
        || (!archive.isSealed && rings.all.contains(archive.session))
    }
  }

  /// Recovers one ring; nil if its process is alive, or it was recovered meanwhile.
  ///
  /// - Parameter fileHeaders: The file headers of the archives that are there, if several rings are
  ///   recovered.
  package static func recover(
    _ name: String, _ ringDirectory: borrowing Directory, _ archiveDirectory: borrowing Directory,
    _ settings: ArchiveSeries.Settings, _ fileHeaders: ArchiveHeaders = ArchiveHeaders()
  ) throws(LogError) -> RecoveredSession? {
    do {
      guard try ringDirectory.ownStatus(of: name) != nil,
        let ring = try lockIfThere(name, ringDirectory)
      else { return nil }
      let status = try ring.file.status()
      try Ownership(of: ringDirectory).check(status, ring.file.path)
      // The process that had the lock may have recovered the ring: then the name is gone.
      guard try ringDirectory.status(of: name)?.inode == status.inode else { return nil }
      TestPoint.reach(.recoveryLocked)
      if let problem = try problem(ofFileHeaderIn: ring.file) {
        throw try putAside(name, problem, ringDirectory)
      }
      let recovery = try Recovery(ring, for: FileAccess.asOf(status), settings, fileHeaders)
      let session = try recovery.run(archiveDirectory)
      try ringDirectory.removeIfThere(name)
      TestPoint.reach(.recoveryRingRemoved)
      return session
    } catch {
      throw LogError(
        error, while: "Recovering a ring failed; it is left for the next start", path: name)
    }
  }

  /// Locks a ring; nil if it is not there, or somebody else has locked it.
  private static func lockIfThere(
    _ name: String, _ directory: borrowing Directory
  ) throws(SystemError) -> LockedFile? {
    do throws(SystemError) {
      return try LockedFile.open(name, in: directory)
    } catch  where error.isNotFound {
      return nil
    }
  }

  /// Why nothing of a ring can ever be read: its file header is corrupted, or never reached the
  /// disk before the machine went down. Nil if its file header is right, or not of a kind that is
  /// known here.
  private static func problem(ofFileHeaderIn file: borrowing File) throws -> FormatError? {
    let bytes = try file.bytes(at: 0, count: FileHeaderLayout.size)
    do {
      _ = try bytes.withUnsafeBytes { try RingHeader($0) }
      return nil
    } catch let error as FormatError {
      switch error {
      case .newerFormat, .olderFormat: return nil
      case .foreign where bytes.contains { $0 != 0 }: return nil
      default: return error
      }
    }
  }

  /// Renames a ring of which nothing can be read, so that it is reported once, and kept.
  ///
  /// - Returns: what to report.
  private static func putAside(
    _ name: String, _ problem: FormatError, _ directory: borrowing Directory
  ) throws(SystemError) -> LogError {
    let newName = name + FileNames.unreadableSuffix
    if try directory.status(of: newName) != nil {
      throw SystemError.alreadyThere(.renameat, directory.path(of: newName))
    }
    try directory.rename(name, to: newName)
    return LogError(
      .corruptedFile,
      "\(directory.path(of: name)) cannot be recovered: \(problem). It is kept as \(newName): "
        + "delete it when you need it no more.", path: directory.path(of: newName))
  }
}
