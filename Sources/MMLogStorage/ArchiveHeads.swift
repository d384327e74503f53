import MMLogFormat
import MMLogSystem

/// Which archive each file of a directory begins with, as its head says: files may have got one
/// another's names. Each is read once.
package final class ArchiveHeads {
  private var known: [String: ArchiveID?] = [:]

  package init() {}

  /// What a file may begin with, as its name and its head say: either may be wrong.
  func ids(of name: String, in directory: borrowing Directory) -> [ArchiveID] {
    let ids = [FileNames.Archive(fileName: name)?.id, id(of: name, in: directory)]
    return ids.compactMap { $0 }
  }

  /// Nil where there is no head that can be read: then its name has to do.
  private func id(of name: String, in directory: borrowing Directory) -> ArchiveID? {
    if let id = known[name] { return id }
    let id = try? read(name, in: directory)
    known[name] = .some(id)
    return id
  }

  private func read(
    _ name: String, in directory: borrowing Directory
  ) throws(SystemError) -> ArchiveID? {
    try ArchiveInfo.head(of: directory.openFile(name, [.read, .nonBlocking]))?.id
  }
}

extension FileNames.Archive {
  /// Which archive a file of this name begins with.
  var id: ArchiveID { ArchiveID(session: session, number: number) }
}
