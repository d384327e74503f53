/// A message that is made in one place and logged in another.
///
/// A literal in a log call is written straight into the ring. A `LogMessage` keeps its arguments on
/// the heap until it is logged. It can be logged any number of times, from any thread. A message of
/// more than 1024 parts (texts and values) is lost, and counted as too large.
///
/// ```swift
/// let message: LogMessage = "retry \(attempt) of \(limit)"
/// log.warning(message)
/// ```
public struct LogMessage: ExpressibleByStringInterpolation, Sendable {
  var record: StringInterpolation

  /// Takes the evaluated literal. Called by the compiler.
  public init(stringInterpolation: StringInterpolation) { record = stringInterpolation }

  /// Takes a literal without arguments. Called by the compiler.
  public init(stringLiteral value: StaticString) {
    record = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    record.appendLiteral(value)
  }

  /// Collects the parts and values of a ``LogMessage``.
  public struct StringInterpolation: LogInterpolation, Sendable {
    /// A value's next part, as it will be given to the record.
    enum ValuePart: Sendable {
      case word(UInt64)
      case bytes([UInt8])
      case value(Logger.MetadataValue)
    }

    var parts: [MessagePart] = []
    var valueParts: [ValuePart] = []

    /// Begins a message. Called by the compiler.
    ///
    /// - Parameters:
    ///   - literalCapacity: Not used.
    ///   - interpolationCount: The number of arguments.
    public init(literalCapacity: Int, interpolationCount: Int) {
      parts.reserveCapacity(2 * interpolationCount + 1)
      valueParts.reserveCapacity(interpolationCount)
    }

    /// Private, because it is not known yet to which store the message goes.
    public var autoPrivacy: Logger.Privacy { .private }

    /// Adds a part of the message.
    public mutating func append(_ part: MessagePart) { parts.append(part) }

    /// Adds a word of a value.
    public mutating func append(word: UInt64) { valueParts.append(.word(word)) }

    /// Adds a length and the bytes.
    public mutating func append(bytes: UnsafeRawBufferPointer) {
      valueParts.append(.bytes(Array(bytes)))
    }

    /// Adds text.
    public mutating func append(text: some StringProtocol) {
      valueParts.append(.bytes(Array(text.utf8)))
    }

    /// Adds a value with structure.
    public mutating func append(value: Logger.MetadataValue) { valueParts.append(.value(value)) }
  }
}

extension LogLiteral {
  /// Writes a message that was kept on the heap into the record of the current log call.
  init(_ message: LogMessage) {
    // Nothing is reserved: the message may have any number of values.
    var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    interpolation.appendInterpolation(message)
    self.init(stringInterpolation: interpolation)
  }
}

extension LogMessage.StringInterpolation {
  /// Adds a message that was made before, with its arguments, their names and their privacy.
  ///
  /// - Parameter message: The message.
  /// - Complexity: O(n) in the number of its parts and the size of its arguments.
  public mutating func appendInterpolation(_ message: LogMessage) {
    parts += message.record.parts
    valueParts += message.record.valueParts
  }
}

extension LogLiteral.StringInterpolation {
  /// Adds a message that was made before, with its arguments, their names and their privacy.
  ///
  /// ```swift
  /// let cause: LogMessage = "no answer after \(attempt) attempts"
  /// log.error("order \(id) was refused: \(cause)")
  /// ```
  ///
  /// - Parameter message: The message.
  /// - Complexity: O(n) in the number of its parts and the size of its arguments, which are copied.
  public mutating func appendInterpolation(_ message: LogMessage) {
    for part in message.record.parts { append(part) }
    // Room was reserved for one argument in the message's place, if at all. From here on, each
    // value makes its own.
    expected = min(expected, -1)
    for part in message.record.valueParts {
      switch part {
      case .word(let word): append(word: word)
      case .bytes(let bytes): bytes.withUnsafeBytes { append(bytes: $0) }
      case .value(let value): append(value: value)
      }
    }
  }
}

extension LogInterpolation {
  /// A literal cannot be a part of a message: it is made at the place of its own record.
  @available(*, unavailable, message: "use LogMessage for a message that is part of another one")
  public mutating func appendInterpolation(_ literal: LogLiteral) {}
}
