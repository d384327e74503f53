import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Where new files may appear: the directories and files that are followed.
struct FollowedPaths {
  private var directories: [String: Place] = [:]
  private let trees: Set<String>
  private let identities: LogIdentities
  /// Files that were given by name, and which each was when it was last opened: another one that
  /// gets the name is read too.
  private var files: [String: FileStatus.Identity?] = [:]
  /// Files that could not be read yet, and how large they were then.
  private var pending: [String: Int] = [:]
  /// What cannot be read now, and why, by path.
  private(set) var unreadable: [String: LogError] = [:]
  /// Whether this is the first scan.
  private var isFirstScan = true

  private struct Place {
    var changes = DirectoryChanges()
    var names: Set<String> = []
  }

  /// What appears and is no log may become one: it is being made or copied. After so many
  /// nanoseconds without a change, it is reported.
  private static let growingTime: Int64 = 1_000_000_000

  init(_ inputs: [LogReader.Input], _ identities: LogIdentities) {
    self.identities = identities
    var trees: Set<String> = []
    for input in inputs {
      switch input {
      case .path(let path):
        pending[path] = -1
        files[path] = .some(nil)
      case .tree(let path):
        trees.insert(path)
        pending[path] = -1
      case .standardInput: continue
      }
    }
    self.trees = trees
  }

  /// A file that was not there, or not readable, before.
  enum NewFile: ~Copyable {
    case ring(File, of: SessionIdentity)
    case archive(ArchiveFile)
  }

  /// Searches for new files, and gives each to `body` once.
  mutating func scan(_ body: (consuming NewFile) -> Void) {
    for path in directories.keys.sorted() { list(path) }
    for (path, known) in files {
      if let known, let status = try? File.status(ofPath: path), status.identity != known {
        pending[path] = -1
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

  /// Takes it that a file was deleted: another one may have its name already.
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
          pending["\(path)/\(name)"] = -1
        } else if isInTree, (try? directory.status(of: name))??.isDirectory == true {
          pending["\(path)/\(name)"] = -1
        }
      }
      place.names = Set(names)
      directories[path] = place
    } catch {
      // One that is gone may come back.
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
      // Before it is opened: to open a device may do something.
      let status = try File.status(ofPath: path)
      if status.isDirectory, isToFollow(path) {
        pending[path] = nil
        files[path] = nil
        unreadable[path] = nil
        directories[path] = Place()
        return list(path)
      }
      mayGrow = !isFirstScan && Clock.realtime() &- status.modified < Self.growingTime
      let isToReport = unreadable[path] == nil && !mayGrow
      guard status.isRegularFile, status.size != knownSize || isToReport else { return }
      pending[path] = status.size
      let file = try File.openFollowingLinks(path)
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
      pending[path] = nil
      unreadable[path] = nil
      if files[path] != nil { files[path] = status.identity }
    } catch let error as SystemError {
      pending[path] = -2
      let isAwaited = files[path] != nil || trees.contains(path)
      if error.isNotFound && !isAwaited && !isListed(path) {
        // It was deleted since its name was listed, or inspected.
        pending[path] = nil
        unreadable[path] = nil
      } else if unreadable[path] == nil {
        unreadable[path] = LogError(error, while: "Opening failed, and is tried again")
      }
    } catch let error as LogError {
      if !mayGrow { unreadable[path] = error }
    } catch {}
  }

  /// Whether the name is still there of a path that a directory has given: then it is a symbolic
  /// link to what is not there yet. A name that is gone is new when it comes back.
  private mutating func isListed(_ path: String) -> Bool {
    if entry(path) != nil { return true }
    let (folder, name) = path.splitAtLastSlash
    directories[folder]?.names.remove(name)
    return false
  }

  /// What a directory has under a name: of a symbolic link, not what it leads to.
  private func entry(_ path: String) -> FileStatus? {
    let (folder, name) = path.splitAtLastSlash
    return try? Directory.open(folder).status(of: name)
  }

  private func isInTree(_ path: String) -> Bool {
    trees.contains { path == $0 || path.utf8.starts(with: "\($0)/".utf8) }
  }

  /// Whether a directory is one that was given, or one in a tree. A symbolic link in a directory
  /// may lead anywhere, also back.
  private func isToFollow(_ path: String) -> Bool {
    files[path] != nil || trees.contains(path)
      || isInTree(path) && entry(path)?.isDirectory == true
  }
}
