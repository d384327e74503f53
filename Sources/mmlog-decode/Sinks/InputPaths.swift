import CommandLineTool
import Glibc
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// The files and directories that are read. No output may replace them, or any other log, and no
/// output may be taken for a log.
struct InputPaths {
  private var files: Set<FileStatus.Identity> = []
  private var directories: Set<FileStatus.Identity> = []
  /// The directories of files that were given by name.
  private var parents: Set<FileStatus.Identity> = []
  /// The file that the cursor is to be written to.
  private var cursor: (directory: FileStatus.Identity, name: String, file: FileStatus.Identity?)?

  /// Notes where `inputs` are, and opens none of them. The reader reports those that cannot be
  /// inspected.
  init(_ inputs: [LogReader.Input]) {
    for input in inputs {
      switch input {
      case .standardInput:
        if let status = try? File.standardInput().status() { files.insert(status.identity) }
      case .path(let path): add(path, levels: 0)
      case .tree(let path): add(path, levels: LogReader.Input.deepestTree)
      }
    }
  }

  private mutating func add(_ path: String, levels: Int) {
    guard let status = try? File.status(ofPath: path) else { return }
    if status.isDirectory {
      if let directory = try? Directory.open(path) { add(directory, levels: levels) }
    } else {
      files.insert(status.identity)
      let parent = try? File.status(ofPath: path.splitAtLastSlash.directory)
      if let parent { parents.insert(parent.identity) }
    }
  }

  private mutating func add(_ directory: borrowing Directory, levels: Int) {
    if let status = try? directory.status() { directories.insert(status.identity) }
    for name in (try? directory.names()) ?? [] {
      guard let status = try? directory.status(of: name) else { continue }
      if FileNames.isOurs(name) { files.insert(status.identity) }
      if levels > 0, status.isDirectory, let inner = try? directory.openDirectory(name) {
        add(inner, levels: levels - 1)
      }
    }
  }

  /// - Throws: ``UsageError`` for the name of a file that is read or is a log, or that would be
  ///   taken for a log.
  func check(_ name: String, in directory: borrowing Directory) throws {
    let path = directory.path(of: name)
    if let cursor, name == cursor.name, try directory.status().identity == cursor.directory {
      throw UsageError(
        "'\(path)' would get the cursor and records; name another file for the cursor")
    }
    let status = try directory.status(of: name)
    if let status, files.contains(status.identity) {
      throw UsageError("'\(path)' is read, and would be overwritten; name another file")
    }
    if FileNames.isOurs(name) {
      throw UsageError("'\(path)' would be taken for a log; name another file")
    }
    // Somebody may have renamed a log. What cannot be read may be replaced.
    if status?.isRegularFile == true,
      let file = try? directory.openFile(name, [.read, .nonBlocking]),
      (try? FileKind(of: file)) != nil
    {
      throw UsageError("'\(path)' is a log, and would be overwritten; name another file")
    }
  }

  /// Notes which file the cursor is to be written to. The cursor is written last, and would replace
  /// the records.
  ///
  /// - Throws: ``UsageError`` if standard output goes to that file.
  mutating func reserve(_ name: String, in directory: borrowing Directory) throws {
    let file = try directory.status(of: name)?.identity
    cursor = try (directory.status().identity, name, file)
    if file != nil, try Self.standardOutput?.identity == file {
      throw UsageError("standard output is the file of the cursor; name another one")
    }
  }

  /// - Throws: ``UsageError`` for a directory that is read, or that has a file that is read.
  func check(directory path: String) throws {
    guard let status = try? File.status(ofPath: path) else { return }
    if directories.contains(status.identity) || parents.contains(status.identity) {
      throw UsageError("logs are read in '\(path)'; name another directory to write to")
    }
  }

  /// - Throws: ``UsageError`` if standard output goes to a file that is read.
  func checkStandardOutput() throws {
    if let status = try Self.standardOutput, files.contains(status.identity) {
      throw UsageError("standard output is a file that is read; write to another one")
    }
  }

  /// Nil if standard output goes to something else than a file.
  private static var standardOutput: FileStatus? {
    get throws {
      let status = try File.duplicate(STDOUT_FILENO, path: "standard output").status()
      return status.isRegularFile ? status : nil
    }
  }
}
