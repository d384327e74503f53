package import MMLogFormat
package import MMLogSystem
import Synchronization

/// The archives in a directory: what there is, what is noted about each, and deleting them.
///
/// The catalog remembers what it found out about an archive as long as the file system says that
/// the file did not change. So checking again costs one system call for each archive.
///
/// Proof of `@unchecked Sendable`: `entries`, `currentTotals`, `isForgotten` and `hasStraySidecars`
/// are touched under `lock` only, and the rest is a lock or never changes.
package final class Catalog: @unchecked Sendable {
  /// Sizes of all archives, in bytes on the disk.
  package struct Totals: Equatable, Sendable {
    package var count = 0
    /// The size of all archives.
    package var size = 0
    /// The size of those that are sealed and not uploaded.
    package var pending = 0
    /// The size of those that are uploaded.
    package var uploaded = 0
  }

  private struct Entry {
    var info: ArchiveInfo
    var stamp: Stamp
  }

  /// What changes when a file or its sidecar does.
  private struct Stamp: Equatable {
    var inode: UInt64
    var size: Int
    var changed: Int64
    var sidecar: Int64?
  }

  package let path: String
  /// Nil: archives of all stores.
  package let store: String?
  /// The access of files that are made for notes; nil: that of the directory's user.
  private let newFiles: FileAccess?
  /// Called after each change of ``totals``, by whoever made it.
  private let totalsChanged: @Sendable () -> Void
  /// Held while files are inspected, which may take long. Threads that wait for the directory's
  /// lock do not hold it.
  private let lock = ForkSafeMutex()
  private var entries: [String: Entry] = [:]
  private var currentTotals = Totals()
  /// Whether what was known is forgotten: until the next scan, `currentTotals` lack archives.
  private var isForgotten = false
  /// The totals at the end of the last operation, for callers that must not wait.
  private let knownTotals = LockedValue(Totals())
  /// Until when operations may wait for the directory's lock, as monotonic time.
  private let deadline = Atomic<UInt64>(.max)
  /// Whether the last scan found sidecars without an archive, or unfinished.
  private var hasStraySidecars = false

  /// - Parameters:
  ///   - path: The directory. It is opened anew for each operation: the directory that has this
  ///     path then counts.
  ///   - store: The store whose archives count; nil for all stores.
  ///   - newFiles: The access of files that are made for notes; nil: that of the directory's user.
  ///   - totalsChanged: Called after each change of ``totals``, by whoever made it; no lock is
  ///     held.
  package init(
    of path: String, store: String?, newFiles: FileAccess? = nil,
    totalsChanged: @escaping @Sendable () -> Void = {}
  ) {
    (self.path, self.store, self.newFiles) = (path, store, newFiles)
    self.totalsChanged = totalsChanged
  }

  /// Sizes as of the last scan, with the changes that were made through this catalog since. Waits
  /// for no thread that works with files.
  package var totals: Totals { knownTotals.withLock { $0 } }

  /// Frees the memory of what is known of archives. ``totals`` stay as they are until the next
  /// scan, whatever is changed meanwhile.
  package func forget() {
    lock.withLock { (entries, currentTotals, isForgotten) = ([:], Totals(), true) }
  }

  /// Runs `body` with what is known of archives.
  private func withEntries<Answer>(
    _ body: () throws(LogError) -> Answer
  ) throws(LogError) -> Answer {
    lock.lock()
    defer {
      let totals = isForgotten ? nil : currentTotals
      lock.unlock()
      let isNews = knownTotals.withLock { known in
        defer { known = totals ?? known }
        return totals != nil && known != totals
      }
      if isNews { totalsChanged() }
    }
    return try body()
  }

  // MARK: - Scanning

  /// All archives, the oldest first.
  ///
  /// Files that vanish meanwhile are left out, and so are files that only have the name of an
  /// archive.
  ///
  /// - Parameters:
  ///   - own: A session that is going on. If the clock was set back, so that there are archives
  ///     from the future, the archives of this session count as the newest.
  ///   - problem: Receives the error of each archive that cannot be read. The archive is left out.
  /// - Complexity: one system call for each archive that is known, some ten for each new one.
  package func scan(
    own: SessionID? = nil, problem: (SystemError) -> Void = { _ in }
  ) throws(LogError) -> [ArchiveInfo] {
    try scan(own: own, while: { true }, problem: problem) ?? []
  }

  /// As ``scan(own:problem:)``; nil if `goesOn` returned false. What was found until then is
  /// remembered.
  package func scan(
    own: SessionID?, while goesOn: () -> Bool, problem: (SystemError) -> Void
  ) throws(LogError) -> [ArchiveInfo]? {
    try withEntries { () throws(LogError) in
      do throws(SystemError) {
        guard try refresh(Directory.open(path), while: goesOn, problem) else { return nil }
      } catch {
        throw LogError(error, while: "Searching for archives failed")
      }
      return ArchiveOrder.sorted(entries.values.map(\.info), own: own)
    }
  }

  /// - Returns: False if `goesOn` returned false.
  private func refresh(
    _ directory: borrowing Directory, while goesOn: () -> Bool, _ problem: (SystemError) -> Void
  ) throws(SystemError) -> Bool {
    let names = try directory.names()
    let sidecars = Set(names.filter { $0.hasSuffix(ArchiveInfo.State.sidecarSuffix) })
    hasStraySidecars = !straySidecars(names).isEmpty
    var old = entries
    entries = [:]
    entries.reserveCapacity(old.count)
    currentTotals = Totals()
    for name in names where name.hasSuffix(FileNames.archiveSuffix) {
      guard goesOn() else {
        for entry in old.values { insert(entry) }
        return false
      }
      do throws(SystemError) {
        let sidecar = ArchiveInfo.State.sidecar(of: name)
        let hasSidecar = sidecars.contains(sidecar)
        let known = old.removeValue(forKey: name)
        // The writer of an archive that is not sealed can give it up without any change of the
        // file.
        if let known, known.info.isSealed,
          let stamp = try stamp(name, hasSidecar ? sidecar : nil, directory), stamp == known.stamp
        {
          insert(known)
        } else {
          try insert(name, hasSidecar ? sidecar : nil, directory)
        }
      } catch {
        problem(error)
      }
    }
    isForgotten = false
    return true
  }

  private func stamp(
    _ name: String, _ sidecar: String?, _ directory: borrowing Directory
  ) throws(SystemError) -> Stamp? {
    guard let status = try directory.status(of: name) else { return nil }
    return try stamp(status, sidecar, directory)
  }

  private func stamp(
    _ status: FileStatus, _ sidecar: String?, _ directory: borrowing Directory
  ) throws(SystemError) -> Stamp {
    var noted: Int64?
    if let sidecar { noted = try directory.status(of: sidecar)?.changed }
    return Stamp(
      inode: status.inode, size: status.size, changed: status.changed, sidecar: noted)
  }

  private func insert(
    _ fileName: String, _ sidecar: String?, _ directory: borrowing Directory
  ) throws(SystemError) {
    guard let name = FileNames.Archive(fileName: fileName), store == nil || name.store == store
    else { return }
    var status: FileStatus?
    let info = try ArchiveInfo.read(name, fileName, in: directory) { status = $0 }
    guard let info, let status else { return }
    insert(Entry(info: info, stamp: try stamp(status, sidecar, directory)))
  }

  private func insert(_ entry: Entry) {
    remove(entry.info.fileName)
    entries[entry.info.fileName] = entry
    currentTotals.add(entry.info, times: 1)
  }

  private func remove(_ fileName: String) {
    if let old = entries.removeValue(forKey: fileName) { currentTotals.add(old.info, times: -1) }
  }

  /// Finds out about one archive anew; nil if it is gone.
  package func inspect(at fileName: String) throws(LogError) -> ArchiveInfo? {
    try withEntries { () throws(LogError) in
      try explaining("Reading about the archive failed") { () throws(SystemError) in
        try refresh(fileName, Directory.open(path))
      }
    }
  }

  private func refresh(
    _ fileName: String, _ directory: borrowing Directory
  ) throws(SystemError) -> ArchiveInfo? {
    remove(fileName)
    let sidecar = ArchiveInfo.State.sidecar(of: fileName)
    try insert(fileName, try directory.status(of: sidecar) == nil ? nil : sidecar, directory)
    return entries[fileName]?.info
  }

  // MARK: - Changing

  /// How long to wait for another process that works on the directory, in nanoseconds.
  private static let timeout: Int64 = 10_000_000_000

  /// Changes what is noted about an archive, as it is at this moment.
  ///
  /// - Parameter change: Receives the state that all processes see, and returns the answer.
  /// - Throws: `missingArchive` if it is gone; what the system refuses.
  package func change<Answer>(
    _ fileName: String, _ change: (inout ArchiveInfo.State) -> Answer
  ) throws(LogError) -> Answer {
    try self.change(fileName, size: 0) { state, _ in change(&state) }
  }

  /// As ``change(_:_:)``.
  ///
  /// - Parameters:
  ///   - size: The archive's size when it was listed.
  ///   - change: Receives, too, whether the archive is still sealed, and of this size.
  package func change<Answer>(
    _ fileName: String, size: Int, _ change: (inout ArchiveInfo.State, _ isSame: Bool) -> Answer
  ) throws(LogError) -> Answer {
    try withDirectory { (directory) throws(LogError) in
      do {
        guard var info = try refresh(fileName, directory) else {
          throw LogError.missingArchive("\(path)/\(fileName)")
        }
        let before = info.state
        let answer = change(&info.state, info.isSealed && info.size == size)
        if info.state != before { try note(info.state, over: before, fileName, directory) }
        return answer
      } catch let error as SystemError {
        throw LogError(error, while: "Noting something about an archive failed")
      } catch {
        throw error as? LogError ?? LogError(.system, "\(error)", path: path)
      }
    }
  }

  private func note(
    _ state: ArchiveInfo.State, over before: ArchiveInfo.State, _ fileName: String,
    _ directory: borrowing Directory
  ) throws(SystemError) {
    let file = try directory.openFile(fileName, [.read])
    try state.store(of: file, name: fileName, in: directory)
    TestPoint.reach(.stateNoted)
    // If a power cut undid the note, an archive would be sent twice, or deleted though it is
    // pinned.
    do throws(SystemError) { try file.sync() } catch {
      // The next change would find nothing to change, and not sync.
      try? before.store(of: file, name: fileName, in: directory)
      throw error
    }
    _ = try refresh(fileName, directory)
  }

  package func withDirectory<Answer>(
    _ body: (borrowing Directory) throws(LogError) -> Answer
  ) throws(LogError) -> Answer {
    let directory = try openDirectory()
    return try DirectoryLock.withLock(on: directory, within: Self.timeout, while: { mayWait }) {
      () throws(LogError) in
      try withEntries { () throws(LogError) in try body(directory) }
    }
  }

  /// Lets no operation wait for the directory's lock after a time, including those that wait
  /// already.
  ///
  /// - Parameter deadline: As monotonic time; `.max`: they may wait as long as always.
  package func waitAtMost(until deadline: UInt64) {
    self.deadline.store(deadline, ordering: .releasing)
  }

  private var mayWait: Bool {
    let deadline = deadline.load(ordering: .acquiring)
    return deadline == .max || Clock.monotonic() < deadline
  }

  private func openDirectory() throws(LogError) -> Directory {
    try explaining("Opening the directory of archives failed") { () throws(SystemError) in
      if let newFiles { return try Directory.open(path, newFiles: newFiles) }
      return try Directory.openForItsUser(path)
    }
  }

  // MARK: - Settings

  /// Notes the settings of the catalog's store, if they differ from those that are noted.
  package func note(_ settings: StoreSettings) throws(LogError) {
    guard let store, (try? self.settings(of: store)) != settings else { return }
    try withDirectory { (directory) throws(LogError) in
      try explaining("Noting the store's settings failed") { () throws(SystemError) in
        if try StoreSettings(of: store, in: directory) == settings { return }
        try settings.note(for: store, in: directory)
      }
    }
  }

  /// Whether a store has a file of settings, readable or not.
  package func hasSettings(of store: String) -> Bool {
    (try? Directory.open(path).status(of: FileNames.settings(of: store))) != nil
  }

  /// The settings that a store has noted; nil if there are none.
  package func settings(of store: String) throws(LogError) -> StoreSettings? {
    try explaining("Reading the store's settings failed") { () throws(SystemError) in
      try StoreSettings(of: store, in: Directory.open(path))
    }
  }

  // MARK: - Deleting

  /// The result of deleting an archive.
  package enum Outcome: Sendable {
    case deleted(ArchiveInfo)
    /// The archive as it is now: it may not be deleted. Nil: it is gone.
    case spared(ArchiveInfo?)
    case failed(LogError)
  }

  /// Moves archives to the trash.
  ///
  /// - Parameters:
  ///   - fileNames: Which archives.
  ///   - mayGo: Whether an archive, as it is at the last moment, may be deleted. An archive that is
  ///     being written never is.
  ///   - outcome: Receives the result for each archive.
  package func delete(
    _ fileNames: [String], if mayGo: (ArchiveInfo) -> Bool,
    _ outcome: (String, Outcome) -> Void
  ) throws(LogError) {
    if fileNames.isEmpty { return }
    try withDirectory { (directory) throws(LogError) in
      // Once for all of them: it takes a listing of the directory.
      let unsent = try? UnsentArchives(in: directory)
      var free: [ArchiveInfo] = []
      for name in fileNames {
        do throws(SystemError) {
          let info = try refresh(name, directory)
          if let info, !info.isActive, mayGo(info) {
            free.append(info)
          } else {
            outcome(name, .spared(info))
          }
        } catch {
          outcome(name, .failed(LogError(error, while: Self.deleting)))
        }
      }
      // If the disk is too full for the note, the archives are deleted nevertheless: that gives
      // back space.
      if let unsent { try? DeletedArchives.note(free, unsent, in: directory) }
      for info in free { outcome(info.fileName, delete(info.fileName, info, directory)) }
    }
  }

  private static let deleting = "Deleting an archive failed"

  private func delete(
    _ fileName: String, _ info: ArchiveInfo, _ directory: borrowing Directory
  ) -> Outcome {
    do throws(SystemError) {
      TestPoint.reach(.retentionBeforeDelete)
      try Trash.move(fileName, from: directory)
      remove(fileName)
      let sidecar = ArchiveInfo.State.sidecar(of: fileName)
      if let status = try directory.status(of: sidecar),
        try !Ownership(of: directory).isForeign(status)
      {
        try Trash.move(sidecar, from: directory)
      }
      TestPoint.reach(.retentionDeleted)
      return .deleted(info)
    } catch {
      return .failed(LogError(error, while: Self.deleting))
    }
  }

  /// Gives back the space of deleted archives, also of those that other processes deleted.
  ///
  /// - Parameter goesOn: Asked before each file.
  package func emptyTrash(while goesOn: () -> Bool = { true }) throws(LogError) {
    try explaining("Emptying the folder of deleted archives failed") { () throws(SystemError) in
      let directory = try Directory.open(path)
      _ = try Trash.empty(in: directory, while: goesOn)
    }
  }

  /// Removes the sidecars of archives that are gone, and unfinished sidecars of processes that
  /// died.
  package func removeStraySidecars() throws(LogError) {
    guard lock.withLock({ hasStraySidecars }) else { return }
    try withDirectory { (directory) throws(LogError) in
      try explaining("Removing what was noted of an archive that is gone failed") {
        () throws(SystemError) in
        // Nobody works on a sidecar now: the directory is locked.
        for name in straySidecars(try directory.names()) { try directory.removeIfThere(name) }
        hasStraySidecars = false
      }
    }
  }

  /// Those of these names that belong to sidecars without an archive, or to unfinished sidecars.
  private func straySidecars(_ names: [String]) -> [String] {
    // The set is made only if a name is a sidecar's: there are many names, and mostly no sidecar.
    lazy var all = Set(names)
    return names.filter { name in
      let final = name.without(suffix: FileNames.unfinishedSuffix)
      guard let archive = (final ?? name).without(suffix: ArchiveInfo.State.sidecarSuffix),
        let parts = FileNames.Archive(fileName: archive), store == nil || parts.store == store
      else { return false }
      return final != nil || !all.contains(archive)
    }
  }

  /// The space on the directory's file system: how many bytes are free for this process, and how
  /// many there are in all.
  package func space() throws(SystemError) -> (free: Int, total: Int) {
    let space = try Directory.open(path).freeSpace()
    return (space.available, space.total)
  }
}

extension Catalog.Totals {
  fileprivate mutating func add(_ info: ArchiveInfo, times sign: Int) {
    count += sign
    size += sign * info.allocatedSize
    if info.state.isUploaded {
      uploaded += sign * info.allocatedSize
    } else if info.isSealed {
      pending += sign * info.allocatedSize
    }
  }
}
