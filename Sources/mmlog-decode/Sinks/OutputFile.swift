import CommandLineTool
import LogCommands
import MMLogSystem

/// A file that gets its name only when it is complete.
///
/// A device or a pipe is written to as it is.
final class OutputFile: OutputTarget {
  private let directory: Directory
  /// Nil for a device or a pipe.
  private var file: UnfinishedFile?
  private let output: StandardOutput

  /// - Parameter places: The inputs, which must not be overwritten.
  /// - Throws: ``UsageError`` for a name that cannot be a file's, ``SystemError`` if the file
  ///   cannot be made.
  init(_ path: String, besides places: InputPaths) throws {
    let (parent, name) = path.splitAtLastSlash
    directory = try Directory.open(parent)
    let kind = try NamedFile(name, in: directory, path)
    try places.check(name, in: directory)
    switch kind {
    case .inPlace:
      // There is nothing to clean up: a signal ends the process, even while it waits for a reader
      // of a pipe.
      output = StandardOutput(to: try directory.openFile(name, [.write]))
    case .regular:
      Interruption.watch()
      let file = try UnfinishedFile(name, in: directory)
      self.file = file
      output = StandardOutput(to: try file.open(in: directory))
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
    try file?.finish(in: directory)
    file = nil
  }

  func sync() throws {
    try output.sync()
    try directory.sync()
  }

  private func discard() {
    file?.discard(in: directory)
    file = nil
  }
}
