import CommandLineTool
package import MMLogSystem

/// What a name stands for that a user gives for an output file.
package enum NamedFile {
  /// Nothing, or a regular file: a whole new file takes its place.
  case regular
  /// A device or a pipe, which is written to as it is. A new file in its place would be of no use
  /// to a process that has it open, and a machine without /dev/null is broken.
  case inPlace

  /// Finds out what the name stands for.
  ///
  /// - Parameter path: The name as the user gave it, for messages.
  /// - Throws: ``UsageError`` for a directory, and for a symbolic link, because renaming would
  ///   replace the link; ``SystemError``.
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
