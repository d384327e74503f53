public import MMLogFormat

/// One log event, whole and checked.
///
/// What it holds of its message is shared with the records beside it: to keep one record in memory
/// keeps the frame of the archive, or the ring, that it was in. Any thread.
public struct LogRecord: Sendable {
  /// Whose record it is.
  public let session: LogSession
  /// The thread that logged it.
  public let thread: LogThread
  /// When it was logged, in nanoseconds since 1970.
  public let time: Int64
  /// The same by the counter of the machine that logged it; comparable within a session.
  public let ticks: UInt64
  let labelText: PreparedText
  let content: RecordContent

  /// The logger's label; empty if it had none.
  public var label: String { labelText.string }
  /// How much it matters.
  public var level: Level { content.level }
  /// The source file of the log statement, as `Module/File.swift`; empty if there is none.
  public var file: String { content.site.file }
  /// The function of the log statement.
  public var function: String { content.site.function }
  /// The line of the log statement; 0 if there is none.
  public var line: Int { content.site.line }
  /// True if a value of it was cut: it was longer than 16 MiB, or its process had no memory for it.
  public var isCut: Bool { content.flags.contains(.cut) }
  /// True if the message is a piece of a line: no line end belongs after it.
  public var isUnterminated: Bool { content.flags.contains(.unterminated) }

  /// The message with its arguments in it, with U+FFFD for what is not UTF-8.
  ///
  /// - Complexity: O(bytes), at each call.
  public var message: String { String(decoding: messageBytes, as: UTF8.self) }

  /// The message with its arguments in it, byte for byte.
  ///
  /// - Complexity: O(bytes), at each call.
  public var messageBytes: [UInt8] {
    var buffer = TextBuffer()
    content.appendMessage(.raw, to: &buffer)
    return buffer.withUnsafeBytes { Array($0) }
  }

  /// The named arguments and then the metadata, in the order in which they were logged. A name may
  /// be there more than once.
  ///
  /// - Complexity: O(bytes), at each call.
  public var fields: [(name: String, value: Value)] {
    var fields: [(name: String, value: Value)] = []
    content.forEachField { (name, value, reader) throws(FormatError) in
      fields.append((name.text, try reader.value(value)))
    }
    return fields
  }
}
