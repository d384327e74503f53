import CommandLineTool

/// Where bytes go.
protocol OutputTarget: AnyObject {
  func append(_ bytes: RawSpan) throws
  /// Hands on what was appended so far.
  func flush() throws
  /// Ends the output: only from here on may it be taken for whole.
  func finish() throws
  /// Waits until the output, which has ended, is safe from a power cut: for what is not in a file,
  /// there is nothing to wait for.
  func sync() throws
  /// False once nobody wants more.
  var hasReader: Bool { get }
}

extension StandardOutput: OutputTarget {
  func finish() throws { try flush() }
}
