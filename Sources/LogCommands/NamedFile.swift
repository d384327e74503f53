import CommandLineTool
package import MMLogSystem

/// What stands under a name that somebody gives for a file to be written.
package enum NamedFile {
  /// Nothing, or a regular file: a whole new file takes its place.
  case regular
  /// A device or a pipe, which is written to as it is. Another file in its place would be of no use
  /// to whoever has it, and a machine without /dev/null is broken.
  case inPlace

  /// Finds out what stands there.
  ///
  /// - Parameter path: The same for messages, as it was given.
  /// - Throws: ``UsageError`` for a directory, and for a symbolic link, which renaming would
  ///   replace; ``SystemError``.
  package init(_ name: String, in directory: borrowing Directory, _ path: String) throws {
    guard !name.isEmpty, name != ".", name != ".." else {
      throw UsageError("'\(path)' is not the name of a file; add one")
    }
    switch try directory.status(of: name) {
    case .some(let status) where status.isDirectory:
      throw UsageError("'\(path)' is a directory; name a file in it")
    case .some(let status) where status.isSymbolicLink:
      throw UsageError("'\(path)' is a symbolic link; name the file that it leads to")
    case .some(let status): self = status.isRegularFile ? .regular : .inPlace
    case .none: self = .regular
    }
  }
}
