extension LogReader {
  /// Where a ``LogReader`` reads from.
  public enum Input: Hashable, Sendable {
    /// A file, or a directory, of which all files named `*.ring` or `*.mmlog` are read; or a pipe,
    /// which is copied as ``standardInput`` is. Devices are refused.
    case path(String)
    /// A directory with all directories below it; symbolic links in it are not followed.
    case tree(String)
    /// One ring or archive at standard input: a file or a pipe, but no device. A pipe is copied
    /// first, into at most half of the free space in `$TMPDIR` or /tmp.
    case standardInput
  }
}

extension LogReader.Input {
  /// How many levels of a ``tree(_:)`` are read: more than any path has room for on the usual
  /// systems, and fewer than a process may have descriptors.
  package static let deepestTree = 100
}
