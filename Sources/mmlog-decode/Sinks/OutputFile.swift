import CommandLineTool
import Glibc
import MMLogSystem

/// A file that has its name only once it is whole: until then it has another one beside it, and goes
/// away with that if it is not finished.
///
/// A device or a pipe is written to as it is.
final class OutputFile: OutputTarget {
  private let directory: Directory
  private let name: String
  /// Nil for what is written to in place.
  private var unfinishedName: String?
  private let output: StandardOutput

  /// - Throws: ``UsageError`` for a name that cannot be a file's, ``SystemError`` if it cannot be made.
  init(_ path: String) throws {
    let slash = path.lastIndex(of: "/")
    name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard !name.isEmpty, name != ".", name != ".." else {
      throw UsageError("'\(path)' is not the name of a file; add one")
    }
    directory = try Directory.open(parent)
    Interruption.watch()
    switch try directory.status(of: name) {
    case .some(let status) where status.isDirectory:
      throw UsageError("'\(path)' is a directory; name a file in it, or add --split-by")
    case .some(let status) where status.isSymbolicLink:
      throw UsageError("'\(path)' is a symbolic link; name the file that it leads to")
    case .some(let status) where !status.isRegularFile:
      output = StandardOutput(to: try directory.openFile(name, [.write]))
    default:
      let unfinished = "\(name).unfinished-\(getpid())"
      output = StandardOutput(
        to: try directory.openFile(unfinished, [.write, .create, .truncate], mode: 0o666))
      unfinishedName = unfinished
    }
  }

  deinit { discard() }

  var hasReader: Bool { output.hasReader && !Interruption.isRequested }

  func append(_ bytes: RawSpan) throws { try output.append(bytes) as Void }

  func flush() throws {}

  func finish() throws {
    if Interruption.isRequested {
      discard()
      Interruption.end()
    }
    try output.flush()
    guard let unfinishedName else { return }
    try directory.rename(unfinishedName, to: name)
    self.unfinishedName = nil
  }

  private func discard() {
    if let unfinishedName { try? directory.remove(unfinishedName) }
    unfinishedName = nil
  }
}
