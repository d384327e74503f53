import MMLogFormat
import MMLogStorage

/// Where an archive is stored: `SERVICE/HOST/NAME-START-SESSION-NUMBER.mmlog`, all of which comes
/// from the checked file header.
struct ArchivePlace: Equatable, Sendable {
  /// The store's name, as file names have it.
  let service: String
  let host: String
  let fileName: String

  /// The path in the receiver's directory.
  var path: String { "\(service)/\(host)/\(fileName)" }

  /// - Throws: What of the file header cannot be a name.
  init(_ header: ArchiveHeader) throws(Refusal) {
    let identity = header.identity
    if let problem = FileNames.problem(withStoreName: identity.storeName) {
      throw Refusal(
        .unprocessableContent,
        "The archive is not stored, because its store's name \(problem).")
    }
    let archive = FileNames.Archive(
      store: identity.storeName, created: header.created, session: identity.session,
      number: header.number)
    service = FileNames.folder(identity.storeName)
    host = FileNames.folder(identity.hostName)
    fileName = archive.fileName
  }

  /// NAME_MAX of Linux.
  private static let longestFileName = 255

  /// Returns the file name in what a client calls an archive: the last part, if a store may have
  /// given that name, and if the name is no longer than a file's name can be.
  static func archive(named name: String) -> FileNames.Archive? {
    // This works on bytes: a slash may form one character with what follows.
    guard let last = name.utf8.split(separator: UInt8(ascii: "/")).last,
      last.count <= longestFileName
    else { return nil }
    return FileNames.Archive(fileName: String(Substring(last)))
  }
}
