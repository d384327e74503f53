import CommandLineTool
import Glibc
import MMLogReader
import MMLogStorage
import MMLogSystem

/// The files and directories that are read. No output may replace them, and no output in them may
/// be read as a log.
struct InputPaths {
  private var files: Set<FileStatus.Identity> = []
  private var directories: Set<FileStatus.Identity> = []
  /// The directories of files that were given by name.
  private var parents: Set<FileStatus.Identity> = []

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

  /// - Throws: ``UsageError`` for the name of a file that is read, or that would be taken for a log
  ///   in a directory of logs.
  func check(_ name: String, in directory: borrowing Directory) throws {
    let path = directory.path(of: name)
    if let status = try directory.status(of: name), files.contains(status.identity) {
      throw UsageError("'\(path)' is read, and would be overwritten; name another file")
    }
    if FileNames.isOurs(name), directories.contains(try directory.status().identity) {
      throw UsageError(
        "'\(path)' would be taken for a log, and logs are read in that directory; name another file"
      )
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
    let output = try File.duplicate(STDOUT_FILENO, path: "standard output")
    let status = try output.status()
    if status.isRegularFile, files.contains(status.identity) {
      throw UsageError("standard output is a file that is read; write to another one")
    }
  }
}
