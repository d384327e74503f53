import CommandLineTool

/// An output for bytes.
protocol OutputTarget: AnyObject {
  func append(_ bytes: RawSpan) throws
  /// Writes what was appended so far.
  func flush() throws
  /// Ends the output. Before that, the output must not be taken for complete.
  func finish() throws
  /// Waits until the output, which has ended, is safe from a power cut. For an output that is no
  /// file, there is nothing to wait for.
  func sync() throws
  /// False once nobody reads the output.
  var hasReader: Bool { get }
}

extension StandardOutput: OutputTarget {
  func finish() throws { try flush() }
}
