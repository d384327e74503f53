import MMLogFormat
import MMLogStorage
import MMLogSystem

extension LogReader {
  /// Where a ``LogReader`` reads from.
  public enum Input: Hashable, Sendable {
    /// A file, or a directory, of which everything that is named `*.ring` or `*.mmlog` is read; or
    /// a pipe, which is copied as ``standardInput`` is. Devices are refused.
    case path(String)
    /// A directory with all directories below it; symbolic links in it are not followed.
    case tree(String)
    /// One ring or archive that comes in at standard input: a file or a pipe, but no device. A pipe
    /// is copied first, into half of the space that is free in `$TMPDIR`, or /tmp, at most.
    case standardInput
  }
}

extension LogReader.Input {
  /// How many levels of a ``tree(_:)`` are read: more than any path has room for on the usual
  /// systems, less than descriptors.
  package static let deepestTree = 100
}
