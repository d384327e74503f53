/// The messages alone, byte for byte, each with a line end, unless it is a piece of a line.
///
/// Nothing is escaped: what was piped into `mmlog-pipe` comes out as it went in.
public struct MessageFormatter: LogFormatter {
  /// Makes a formatter.
  public init() {}

  /// Appends the message's bytes.
  public mutating func append(_ record: LogRecord, to output: inout [UInt8]) {
    record.content.appendMessage(to: &output)
    if !record.isUnterminated { output.append(UInt8(ascii: "\n")) }
  }
}
