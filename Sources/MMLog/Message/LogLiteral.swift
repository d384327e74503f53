public import CMMLog
import MMLogFormat

/// The message of a log call, as written between its parentheses: `log.info("order \(id) accepted")`.
///
/// You never name this type. It is what a string literal in a log call becomes: while the literal is
/// evaluated, its arguments are stored straight into the thread's place in the ring. For a message
/// that is made elsewhere and logged later, use ``LogMessage``.
@frozen
public struct LogLiteral: ExpressibleByStringInterpolation {
  @usableFromInline var record: StringInterpolation

  /// Takes the evaluated literal. Called by the compiler.
  @inlinable @inline(__always)
  public init(stringInterpolation: StringInterpolation) { record = stringInterpolation }

  /// Takes a literal without arguments. Called by the compiler.
  @inlinable @inline(__always)
  public init(stringLiteral value: StaticString) {
    record = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    record.appendLiteral(value)
  }

  /// A record that is being built, and what is known of it at compile time.
  @frozen
  public struct StringInterpolation: LogInterpolation {
    @usableFromInline var cursor: RecordCursor
    @usableFromInline var pieces: Pieces
    /// Bytes that the arguments which are not yet written may need at most, strings apart.
    @usableFromInline let reserve: Int

    /// Begins a record. Called by the compiler, first thing in a log call's message.
    ///
    /// - Parameters:
    ///   - literalCapacity: Not used.
    ///   - interpolationCount: The number of arguments.
    @inlinable @inline(__always)
    public init(literalCapacity: Int, interpolationCount: Int) {
      guard let writer = mmlog_current_writer() else {
        preconditionFailure("LogLiteral is for literals in log calls; use LogMessage elsewhere")
      }
      // A presence word and two words of value for each, and the three leading words.
      reserve = interpolationCount * 24 + 24
      cursor = RecordCursor(writer, reserving: reserve)
      pieces = Pieces()
    }

    /// As the store is configured.
    @inlinable
    public var autoPrivacy: Privacy { LogCall.autoPrivacy(cursor.writer) }

    /// Adds a piece of the static part.
    @inlinable @inline(__always)
    public mutating func append(_ piece: Piece) { pieces.append(piece) }

    /// Adds a word of a value.
    @inlinable @inline(__always)
    public mutating func append(word: UInt64) { cursor.append(word) }

    /// Adds a length and so many bytes.
    @inlinable @inline(__always)
    public mutating func append(bytes: UnsafeRawBufferPointer) {
      cursor.append(bytes, reserving: reserve)
    }

    /// Adds text.
    @inlinable @inline(__always)
    public mutating func append(text: some StringProtocol) {
      cursor.append(text, reserving: reserve)
    }
  }
}
