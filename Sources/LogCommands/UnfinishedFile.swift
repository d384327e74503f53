import Glibc
package import MMLogSystem

/// A file that gets its name when it is complete. Until then the file has no name, and disappears
/// with the process, in whichever way that ends.
///
/// If a file system has no such files, or very many of them are open, the file has a temporary name
/// in the same directory until then. Such a file stays if the process is killed.
package final class UnfinishedFile {
  private let name: String
  /// Nil for a file with a temporary name.
  private var file: File?
  private var otherName: String { "\(name).unfinished-\(getpid())" }
  private var isFinished = false
  private static let ownerMayWrite: UInt32 = 0o200

  /// - Parameters:
  ///   - directory: The directory of the file. All calls must get the same one.
  ///   - name: The name that the file will get. A file that has this name stays until then.
  ///   - mode: The permissions, less the process's umask, and less those that an existing file with
  ///     this name lacks.
  package init(
    _ name: String, in directory: borrowing Directory, mode: UInt32 = 0o666
  ) throws(SystemError) {
    self.name = name
    let present = (try? directory.status(of: name))?.permissions ?? mode
    let mode = mode & (present | Self.ownerMayWrite)
    if let file = try? directory.makeUnnamedFile(for: name, mode: mode),
      file.descriptor < File.openLimit / 2
    {
      self.file = consume file
      return
    }
    file = nil
    // Truncates what an earlier process with the same process id left.
    _ = try directory.openFile(otherName, [.write, .create, .truncate], mode: mode)
  }

  /// A descriptor that appends to the file, under its current name.
  package func open(in directory: borrowing Directory) throws(SystemError) -> File {
    switch file {
    case .some(let file): try File.duplicate(file.descriptor, path: directory.path(of: name))
    case .none: try directory.openFile(isFinished ? name : otherName, [.write, .append])
    }
  }

  /// Gives the file its name. It replaces a file that has this name.
  package func finish(in directory: borrowing Directory) throws(SystemError) {
    switch file {
    case .some(let file):
      do throws(SystemError) {
        try directory.link(file, as: name)
      } catch let error where error.errno == EEXIST {
        // Only renaming can give a name that is taken.
        if try directory.status(of: otherName) != nil { try directory.remove(otherName) }
        try directory.link(file, as: otherName)
        try directory.rename(otherName, to: name)
      }
    case .none: try directory.rename(otherName, to: name)
    }
    isFinished = true
  }

  /// Discards the file, unless it has its name.
  package func discard(in directory: borrowing Directory) {
    if file == nil, !isFinished { try? directory.remove(otherName) }
    file = nil
    isFinished = true
  }
}
