/// The messages alone, each with a line end, unless a message is a piece of a line.
///
/// Byte for byte: what was piped into `mmlog-pipe` comes out as it went in.
public struct MessageFormatter: LogFormatter {
  private let form: TextForm

  /// Makes a formatter.
  ///
  /// - Parameter isEscaping: Whether to escape what could move a terminal's cursor, so that
  ///   messages can be shown on a terminal.
  public init(isEscaping: Bool = false) { form = isEscaping ? .plain : .raw }

  /// Appends the message's bytes.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    record.content.appendMessage(form, to: &output)
    if !record.isUnterminated { output.append(UInt8(ascii: "\n")) }
  }
}
