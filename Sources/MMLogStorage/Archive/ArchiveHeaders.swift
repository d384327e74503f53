package import MMLogFormat
import MMLogSystem

/// Which archives the files of a directory begin with, by their file headers: files may have got
/// one another's names. Each file is read once.
package final class ArchiveHeaders {
  /// What is known of a file before all of it is read.
  struct Headers {
    /// The archives that its name and its file header say; either may be wrong.
    var first: [ArchiveID]
    /// Whether its file header is corrupted, so that only its frames say whose it is.
    var isFileHeaderLost = false
  }

  private var known: [String: Headers] = [:]

  package init() {}

  func headers(of name: String, in directory: borrowing Directory) -> Headers {
    if let headers = known[name] { return headers }
    var headers = Headers(first: [FileNames.Archive(fileName: name)?.id].compactMap { $0 })
    // A file that may not be read, such as another user's, is known by its name only.
    if let file = try? directory.openFile(name, [.read, .nonBlocking]) {
      let fileHeader = try? ArchiveInfo.fileHeader(of: file)
      headers.isFileHeaderLost = fileHeader == nil
      if let fileHeader { headers.first.append(fileHeader.id) }
    }
    known[name] = headers
    return headers
  }
}

extension FileNames.Archive {
  /// Which archive a file of this name begins with.
  package var id: ArchiveID { ArchiveID(session: session, number: number) }
}

extension ArchiveInfo {
  /// Which archive its file begins with.
  package var id: ArchiveID { ArchiveID(session: session, number: number) }
}
