/// The messages alone, each with a line end, unless it is a piece of a line.
///
/// Byte for byte: what was piped into `mmlog-pipe` comes out as it went in.
public struct MessageFormatter: LogFormatter {
  private let form: TextForm

  /// Makes a formatter.
  ///
  /// - Parameter isEscaping: Whether what could move a terminal's cursor is escaped, for showing
  ///   the messages on one.
  public init(isEscaping: Bool = false) { form = isEscaping ? .plain : .raw }

  /// Appends the message's bytes.
  public mutating func append(_ record: LogReader.Record, to output: inout TextBuffer) {
    record.content.appendMessage(form, to: &output)
    if !record.isUnterminated { output.append(UInt8(ascii: "\n")) }
  }
}
