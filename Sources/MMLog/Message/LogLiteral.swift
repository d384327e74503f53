public import CMMLogWriter
import MMLogFormat

/// The message of a log call, as written between its parentheses: `log.info("order \(id)
/// accepted")`.
///
/// A string literal in a log call becomes a `LogLiteral`: while the literal is evaluated, its
/// arguments are stored straight into the thread's place in the ring. You name this type only in
/// functions that forward messages to a logger. They take an `@autoclosure () -> LogLiteral`, as
/// the guide <doc:Wrappers> shows:
///
/// ```swift
/// func audit(
///   _ message: @autoclosure () -> LogLiteral, file: StaticString = #fileID,
///   function: StaticString = #function, line: UInt32 = #line, column: UInt32 = #column
/// ) {
///   log.notice(message(), file: file, function: function, line: line, column: column)
/// }
/// ```
///
/// A literal that is evaluated outside a log call, such as a variable or a parameter that is no
/// closure, is kept in memory of its own on the heap. It may be logged any number of times: each
/// call that logs it copies it into the ring. In such a literal, ``Logger/Privacy/auto`` means
/// private. If one of its arguments throws, that memory (5.2 KiB, or what a longer message needs)
/// is never freed: evaluate what may throw before the literal. For messages that are made
/// elsewhere, ``LogMessage`` does the same, and is `Sendable`.
///
/// A literal that is evaluated in a log call's message must not outlive the call. A later call that
/// logs the literal finds its memory in use by others: the record is lost, and in most cases
/// counted as corrupted. A literal of more than 1024 parts (texts and values) is lost, and counted
/// as too large.
@frozen
public struct LogLiteral: ExpressibleByStringInterpolation {
  /// Where the literal's record is.
  @frozen
  @usableFromInline
  enum Place {
    /// At the place of the writer whose log call has asked for the literal.
    case ring(LiteralRecord)
    /// In memory of its own.
    case beside(LiteralMemory)
  }

  @usableFromInline let place: Place

  /// Takes the evaluated literal. Called by the compiler.
  @inlinable @inline(__always)
  public init(stringInterpolation: StringInterpolation) {
    let record = stringInterpolation.record
    place = stringInterpolation.isLone ? .beside(LiteralMemory(record)) : .ring(record)
  }

  /// Takes a literal without arguments. Called by the compiler.
  @inlinable @inline(__always)
  public init(stringLiteral value: StaticString) {
    var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    interpolation.appendLiteral(value)
    self.init(stringInterpolation: interpolation)
  }

  /// A record that is being built, and what is known of it at compile time.
  @frozen
  public struct StringInterpolation: LogInterpolation {
    @usableFromInline var record: LiteralRecord
    /// For how many more arguments there is room. In a log statement, the compiler knows this
    /// number. It is below zero if an interpolation has added more than one argument, or if the
    /// message was kept on the heap. Then there may be no room, and each value makes its own.
    @usableFromInline var expected: Int
    /// Whether no log call has asked for the literal.
    @usableFromInline let isLone: Bool

    /// Begins a record. Called by the compiler, before any argument is evaluated.
    ///
    /// - Parameters:
    ///   - literalCapacity: Not used.
    ///   - interpolationCount: The number of arguments.
    @inlinable @inline(__always)
    public init(literalCapacity: Int, interpolationCount: Int) {
      expected = interpolationCount
      let builder = mmlog_builder_of_literal()
      isLone = builder.is_lone
      record = LiteralRecord(
        builder.writer,
        reserving: RecordLayout.bodyWord * wordSize + interpolationCount * Self.argumentRoom)
    }

    /// How many bytes are reserved for an argument: for its presence, and two words of a value, or
    /// the length and two words of a small text.
    @inlinable static var argumentRoom: Int { 32 }

    /// How many bytes must be left behind a value for the arguments that follow.
    @inlinable @inline(__always)
    var reserve: Int { expected > 0 ? expected * Self.argumentRoom : 0 }

    /// What ``Logger/Privacy/auto`` means, as the store is configured.
    @inlinable
    public var autoPrivacy: Logger.Privacy { LogCall.autoPrivacy(record.cursor.writer) }

    /// Adds a part of the message.
    @inlinable @inline(__always)
    public mutating func append(_ part: MessagePart) {
      record.parts.append(part)
      expected &-= part.isArgument ? 1 : 0
    }

    /// Adds a word of a value.
    @inlinable @inline(__always)
    public mutating func append(word: UInt64) {
      if expected >= 0 { record.cursor.append(word) } else { record.cursor.append(checked: word) }
    }

    /// Adds a length and the bytes.
    @inlinable @inline(__always)
    public mutating func append(bytes: UnsafeRawBufferPointer) {
      record.cursor.append(outlined: bytes, reserving: reserve)
    }

    /// Adds text.
    @inlinable @inline(__always)
    public mutating func append(text: some StringProtocol) {
      record.cursor.append(text, reserving: reserve, hasRoomForSmall: expected >= 0)
    }

    /// Adds text that is given as bytes of UTF-8, and may be written to disk.
    @inlinable @inline(__always)
    package mutating func appendInterpolation(
      utf8 value: UnsafeRawBufferPointer, name: StaticString? = nil
    ) {
      let style = ArgumentStyle(privacy: .public, format: 0, align: .none)
      append(MessagePart(argument: ValueType.string.rawValue, width: 0, name: name, style: style))
      append(bytes: value)
    }

    /// Adds a value with structure.
    public mutating func append(value: Logger.MetadataValue) {
      record.cursor.append(argument: value, reserving: reserve)
    }
  }
}

/// A literal's record, and what is known of its call site. Trivial, so that the optimizer keeps it
/// in registers.
@frozen
public struct LiteralRecord {
  /// What distinguishes the record from those that other calls build.
  @usableFromInline let origin: Origin
  @usableFromInline var cursor: RecordCursor
  @usableFromInline var parts: MessageParts

  @inlinable @inline(__always)
  init(_ writer: UnsafeMutablePointer<mmlog_writer>, reserving reserve: Int) {
    origin = Origin(writer)
    cursor = RecordCursor(writer, reserving: reserve)
    parts = MessageParts()
  }

  /// Where a literal began. After each call, a writer stands at another place. If it builds all
  /// records in the same memory, it counts one unusual call more instead. If a writer comes to the
  /// same place of a segment that is used again, an old literal cannot be told from a new one.
  @frozen
  @usableFromInline
  struct Origin: Equatable {
    @usableFromInline let writer: UnsafeMutablePointer<mmlog_writer>
    @usableFromInline let place: UnsafeMutablePointer<UInt64>
    @usableFromInline let calls: UInt64

    @inlinable @inline(__always)
    init(_ writer: UnsafeMutablePointer<mmlog_writer>) {
      (self.writer, place, calls) = (writer, writer.place, writer.pointee.unusual_calls)
    }

    @inlinable @inline(__always)
    static func == (first: Origin, second: Origin) -> Bool {
      first.writer == second.writer && first.place == second.place && first.calls == second.calls
    }
  }
}

/// A literal that no log call has asked for, with the writer that has built it. Freed with its last
/// copy.
@usableFromInline
final class LiteralMemory {
  let record: LiteralRecord

  @usableFromInline @inline(never)
  init(_ record: LiteralRecord) { self.record = record }

  deinit {
    record.parts.further.free()
    WriterSpace.freeScratch(record.cursor.writer)
    mmlog_free_lone_writer(record.cursor.writer)
  }
}
