import MMLogFormat
import MMLogStorage

/// Where an archive is stored: `SERVICE/HOST/NAME-START-SESSION-NUMBER.mmlog`, all of it from its
/// checked file header.
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

  /// The file name that a client calls an archive by: the last part of what it says, if that is a
  /// name as stores give them, and no longer than a file's name can be.
  static func archive(named name: String) -> FileNames.Archive? {
    // By bytes: a slash may be one character with what is behind it.
    guard let last = name.utf8.split(separator: UInt8(ascii: "/")).last,
      last.count <= longestFileName
    else { return nil }
    return FileNames.Archive(fileName: String(Substring(last)))
  }
}
