import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The directories and files that are followed, in which new logs may appear.
struct FollowedPaths {
  private var directories: [String: Place] = [:]
  private let trees: Set<String>
  private let identities: LogIdentities
  /// Files that were given by name, each with its identity when it was last opened. Another file
  /// that gets the name is read, too.
  private var files: [String: FileStatus.Identity?] = [:]
  /// Files that could not be read yet, each with its size at that time.
  private var pending: [String: Int] = [:]
  /// The size of a file that was not inspected yet, or could not be opened.
  private static let unknownSize = -1
  /// Paths that cannot be read now, and why.
  private(set) var unreadable: [String: LogError] = [:]
  /// Whether this is the first scan.
  private var isFirstScan = true

  private struct Place {
    var changes = DirectoryChanges()
    var names: Set<String> = []
  }

  /// A new file that is no log may become one while it is made or copied. It is reported after this
  /// time without a change, in nanoseconds.
  private static let growingTime: Int64 = 1_000_000_000

  init(_ inputs: [LogReader.Input], _ identities: LogIdentities) {
    self.identities = identities
    var trees: Set<String> = []
    for input in inputs {
      switch input {
      case .path(let path):
        pending[path] = Self.unknownSize
        files[path] = .some(nil)
      case .tree(let path):
        trees.insert(path)
        pending[path] = Self.unknownSize
      case .standardInput: continue
      }
    }
    self.trees = trees
  }

  /// A file that did not exist, or was not readable, before.
  enum NewFile: ~Copyable {
    case ring(File, of: SessionIdentity)
    case archive(ArchiveFile)
  }

  /// Searches for new files, and gives each to `body` once.
  mutating func scan(_ body: (consuming NewFile) -> Void) {
    for path in directories.keys.sorted() { list(path) }
    for (path, known) in files {
      if let known, let status = try? File.status(ofPath: path), status.identity != known {
        pending[path] = Self.unknownSize
      }
    }
    // What is found in a directory is inspected at once, in the order of names.
    var inspected: Set<String> = []
    while case let new = pending.filter({ !inspected.contains($0.key) }), !new.isEmpty {
      for (path, size) in new.sorted(by: { $0.key < $1.key }) {
        inspected.insert(path)
        open(path, knownSize: size, body)
      }
    }
    isFirstScan = false
  }

  /// Notes that a file was deleted: another file may already have its name.
  mutating func forget(_ path: String) {
    let (folder, name) = path.splitAtLastSlash
    directories[folder]?.names.remove(name)
    directories[folder]?.changes = DirectoryChanges()
  }

  private mutating func list(_ path: String) {
    guard var place = directories[path] else { return }
    do {
      let directory = try Directory.open(path)
      unreadable[path] = nil
      guard try place.changes.note(directory.status()) else { return }
      let (names, isInTree) = (try directory.names(), isInTree(path))
      for name in names where !place.names.contains(name) {
        if name.hasSuffix(FileNames.ringSuffix) || name.hasSuffix(FileNames.archiveSuffix) {
          pending["\(path)/\(name)"] = Self.unknownSize
        } else if isInTree, (try? directory.status(of: name))??.isDirectory == true {
          pending["\(path)/\(name)"] = Self.unknownSize
        }
      }
      place.names = Set(names)
      directories[path] = place
    } catch {
      // A directory that is gone may come back.
      unreadable[path] =
        error.isNotFound
        ? nil : LogError(error, while: "Reading the directory failed, and is tried again")
    }
  }

  private mutating func open(
    _ path: String, knownSize: Int, _ body: (consuming NewFile) -> Void
  ) {
    var mayGrow = false
    do {
      // Before the file is opened: opening a device may have effects.
      let status = try File.status(ofPath: path)
      if status.isDirectory, isToFollow(path) {
        pending[path] = nil
        files[path] = nil
        unreadable[path] = nil
        directories[path] = Place()
        return list(path)
      }
      guard status.isRegularFile else {
        if files[path] == nil && !trees.contains(path) { return }
        let message =
          "\(path) cannot be followed: it is neither a file nor a directory; read it without "
          + "following it"
        throw LogError(.system, message, path: path)
      }
      mayGrow = !isFirstScan && Clock.realtime() &- status.modified < Self.growingTime
      let isToReport = unreadable[path] == nil && !mayGrow
      guard status.size != knownSize || isToReport else { return }
      pending[path] = status.size
      try deliver(File.openFollowingLinks(path), body)
      pending[path] = nil
      unreadable[path] = nil
      if files[path] != nil { files[path] = status.identity }
    } catch let error as SystemError {
      noteFailure(error, path)
    } catch let error as LogError {
      if !mayGrow { unreadable[path] = error }
    } catch {}
  }

  private func deliver(_ file: consuming File, _ body: (consuming NewFile) -> Void) throws {
    let path = file.path
    let start = try file.bytes(at: 0, count: FileHeaderLayout.size)
    switch start.withUnsafeBytes({ FileKind($0, named: path) }) {
    case .ring:
      let identity = try RingImage(file) { _ in 0 }.fileHeader.identity
      body(.ring(file, of: identity))
    case .archive:
      for archive in try ArchiveFile.all(in: file, identities: identities) {
        body(.archive(archive))
      }
    case nil: throw LogError(FormatError.foreign, path: path)
    }
  }

  private mutating func noteFailure(_ error: SystemError, _ path: String) {
    pending[path] = Self.unknownSize
    let isAwaited = files[path] != nil || trees.contains(path)
    if error.isNotFound && !isAwaited && !isListed(path) {
      // The file was deleted after its name was listed, or after it was inspected.
      pending[path] = nil
      unreadable[path] = nil
    } else if unreadable[path] == nil {
      unreadable[path] = LogError(error, while: "Opening failed, and is tried again")
    }
  }

  /// Whether a directory still has the name of a path that it gave. Then the path is a symbolic
  /// link to a file that does not exist yet. A name that is gone counts as new when it comes back.
  private mutating func isListed(_ path: String) -> Bool {
    if entry(path) != nil { return true }
    let (folder, name) = path.splitAtLastSlash
    directories[folder]?.names.remove(name)
    return false
  }

  /// The entry of a directory under a name. A symbolic link is not followed.
  private func entry(_ path: String) -> FileStatus? {
    let (folder, name) = path.splitAtLastSlash
    return try? Directory.open(folder).status(of: name)
  }

  private func isInTree(_ path: String) -> Bool {
    trees.contains { path == $0 || path.utf8.starts(with: "\($0)/".utf8) }
  }

  /// Whether a directory was given by name, or is in a tree. A symbolic link in a directory may
  /// lead anywhere, even back.
  private func isToFollow(_ path: String) -> Bool {
    files[path] != nil || trees.contains(path)
      || isInTree(path) && entry(path)?.isDirectory == true
  }
}
