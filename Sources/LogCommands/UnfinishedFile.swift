import Glibc
package import MMLogSystem

/// A file that gets its name once it is whole. Until then it has none, and goes away with the
/// process, however that ends.
///
/// On a file system without such files, and where very many are open, it has another name beside
/// until then, and stays if the process is killed.
package final class UnfinishedFile {
  private let name: String
  /// Nil for one that has another name.
  private var file: File?
  private var otherName: String { "\(name).unfinished-\(getpid())" }
  private var isFinished = false
  private static let ownerMayWrite: UInt32 = 0o200

  /// - Parameters:
  ///   - directory: Where it is to be, and always the same.
  ///   - name: The name that it is to get. What has it stays until then.
  ///   - mode: Its permissions, less the process's umask, and less what a file lacks that has the
  ///     name already.
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
    // What was left by a process that had this number before goes away.
    _ = try directory.openFile(otherName, [.write, .create, .truncate], mode: mode)
  }

  /// A descriptor to append to it, under whichever name it has now.
  package func open(in directory: borrowing Directory) throws(SystemError) -> File {
    switch file {
    case .some(let file): try File.duplicate(file.descriptor, path: directory.path(of: name))
    case .none: try directory.openFile(isFinished ? name : otherName, [.write, .append])
    }
  }

  /// Gives it its name, in place of what has it.
  package func finish(in directory: borrowing Directory) throws(SystemError) {
    switch file {
    case .some(let file):
      do throws(SystemError) {
        try directory.link(file, as: name)
      } catch let error where error.errno == EEXIST {
        // A name that is taken can be given by renaming alone.
        if try directory.status(of: otherName) != nil { try directory.remove(otherName) }
        try directory.link(file, as: otherName)
        try directory.rename(otherName, to: name)
      }
    case .none: try directory.rename(otherName, to: name)
    }
    isFinished = true
  }

  /// Lets it go away, unless it has its name.
  package func discard(in directory: borrowing Directory) {
    if file == nil, !isFinished { try? directory.remove(otherName) }
    file = nil
    isFinished = true
  }
}
