import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The files behind inputs: opened, distinguished by their first bytes, each taken once.
package struct InputFiles {
  private(set) var rings: [RingView] = []
  private(set) var archives: [ArchiveFile] = []
  private(set) var unreadable: [LogError] = []
  private var seen: Set<FileStatus.Identity> = []
  private var complained: Set<String> = []
  private let identities: LogIdentities
  /// How many names of logs were found in directories.
  private var foundCount = 0

  /// Reads all rings before any archive. Then records that a living process moves meanwhile are
  /// found in one of them (FORMAT.md, 5).
  init(_ inputs: [LogReader.Input], _ identities: LogIdentities) {
    self.identities = identities
    for kind in [FileKind.ring, .archive] {
      for input in inputs { add(input, kind) }
    }
  }

  private mutating func add(_ input: LogReader.Input, _ kind: FileKind) {
    do {
      switch input {
      // A pipe can be read only once.
      case .standardInput where kind == .archive: return
      case .standardInput: try takeStream(File.standardInput())
      case .path(let path): try add(File.openFollowingLinks(path), kind, isTree: false)
      case .tree(let path): try add(File.openFollowingLinks(path), kind, isTree: true)
      }
    } catch {
      report(LogError(error, while: "Opening failed", path: ""))
    }
  }

  private mutating func add(_ file: consuming File, _ kind: FileKind, isTree: Bool) throws {
    let status = try file.status()
    if status.isDirectory {
      try addDirectory(file.path, kind, isTree: isTree)
    } else if status.isRegularFile {
      try take(file, status, kind)
    } else if kind == .ring {
      try takeStream(file)
    }
  }

  private mutating func addDirectory(
    _ path: String, _ kind: FileKind, isTree: Bool
  ) throws(SystemError) {
    let directory = try Directory.open(path)
    let found = foundCount
    try add(directory, kind, levels: isTree ? LogReader.Input.deepestTree : 0)
    if foundCount == found {
      let place = isTree ? "in it or below" : "there"
      let message =
        "\(path) has no log in it: no file \(place) has a name that ends in .ring or "
        + ".mmlog"
      report(LogError(.system, message, path: path))
    }
  }

  private mutating func add(
    _ directory: borrowing Directory, _ kind: FileKind, levels: Int
  ) throws(SystemError) {
    for name in try directory.names().sorted() {
      do {
        if name.hasSuffix(FileNames.ringSuffix) || name.hasSuffix(FileNames.archiveSuffix) {
          foundCount += 1
          if let file = try Self.open(name, in: directory) {
            let status = try file.status()
            try take(file, status, kind)
            continue
          }
          // A directory, a pipe or a socket: no log, whatever its name is.
          foundCount -= 1
        }
        if levels > 0, try directory.status(of: name)?.isDirectory == true {
          try add(directory.openDirectory(name), kind, levels: levels - 1)
        }
      } catch  where error.isNotFound {
        // The file was adopted or deleted after the names were listed: its content is elsewhere, or
        // gone.
      } catch {
        report(LogError(error, while: "Opening failed"))
      }
    }
  }

  /// Opens a regular file, or one that a symbolic link leads to. Nil for anything else, which is
  /// not opened: opening a device may have effects.
  private static func open(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> File? {
    let status = try directory.status(of: name)
    if status?.isRegularFile == true { return try directory.openFile(name, [.read, .nonBlocking]) }
    let path = directory.path(of: name)
    guard status?.isSymbolicLink == true, try File.status(ofPath: path).isRegularFile else {
      return nil
    }
    return try File.openFollowingLinks(path)
  }

  /// Takes a pipe. The pipe is copied first, because reading jumps back and forth.
  private mutating func takeStream(_ stream: consuming File) throws {
    if try stream.status().isDevice {
      throw LogError(
        .system,
        "\(stream.path) is a device and may have no end; copy it to a file, and read that",
        path: stream.path)
    }
    let file = try spool(stream)
    let status = try file.status()
    let isArchive = try FileKind(of: file) == .archive
    try take(file, status, isArchive ? .archive : .ring)
  }

  /// Takes a file if it is of the kind that is searched for now. A file of neither kind is
  /// inspected together with the rings.
  private mutating func take(
    _ file: consuming File, _ status: FileStatus, _ kind: FileKind
  ) throws(SystemError) {
    let found = try FileKind(of: file) ?? .ring
    guard found == kind, seen.insert(status.identity).inserted else { return }
    do {
      switch kind {
      case .ring:
        let isRunning = (try? file.isLockedByAnother()) ?? false
        rings.append(
          RingView(image: try RingImage(file, identities: identities), isRunning: isRunning))
      case .archive: archives += try ArchiveFile.all(in: file, identities: identities)
      }
    } catch {
      unreadable.append(error)
    }
  }

  /// Reports an error once, although the inputs are walked over twice.
  private mutating func report(_ error: LogError) {
    if complained.insert(error.path).inserted { unreadable.append(error) }
  }
}
