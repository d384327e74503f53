package import MMLogFormat
import MMLogStorage
package import MMLogSystem

extension FileKind {
  /// How many bytes it takes to find out the kind.
  static let size = 8

  /// The kind of a file; nil if it is neither a ring nor an archive.
  package init?(of file: borrowing File) throws(SystemError) {
    let start = try file.bytes(at: 0, count: Self.size)
    guard let kind = start.withUnsafeBytes({ FileKind($0, named: file.path) }) else { return nil }
    self = kind
    if kind == .ring, try Self.isOverwrittenArchive(file) { self = .archive }
  }

  /// Whether a file with the name of an archive begins with a block of a ring. Then the file is
  /// shorter than the ring.
  private static func isOverwrittenArchive(_ file: borrowing File) throws(SystemError) -> Bool {
    guard file.path.hasSuffix(FileNames.archiveSuffix),
      let fileHeader = try? RingImage.fileHeader(of: file)
    else { return false }
    return try file.status().size < fileHeader.geometry.fileSize
  }

  /// The kind that a file's first bytes say. If these are of neither kind, its name decides: an
  /// archive's frames can be read without its file header.
  ///
  /// A file with the name of a ring stays one even if it begins with a block of an archive:
  /// recovery finds no archives there, and readers must not either.
  init?(_ start: UnsafeRawBufferPointer, named path: String) {
    if path.hasSuffix(FileNames.ringSuffix), FileKind(start) == .archive {
      self = .ring
      return
    }
    let named: FileKind? = path.hasSuffix(FileNames.archiveSuffix) ? .archive : nil
    guard let kind = FileKind(start) ?? named else { return nil }
    self = kind
  }
}
