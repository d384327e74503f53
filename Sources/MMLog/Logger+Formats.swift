package import CMMLogWriter
import MMLogFormat
import MMLogSystem

// Messages with formats of printf(3), which are known at run time only. The C interface records
// them. It collects the arguments as values.

extension Logger {
  /// Records a message, whatever the label's level.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - statement: What does not change from call to call. It lives as long as the process.
  ///   - values: One for each argument of its format.
  ///   - span: The span that the record belongs to; nil: the span of its task, if there is one.
  package func record(
    _ level: Level, _ statement: UnsafePointer<mmlog_statement>,
    _ values: UnsafeBufferPointer<mmlog_value>, in span: Span? = nil
  ) {
    guard acquireWriter() || enter(level, statement) else { return }
    if let span { LogCall.bind(mmlog_current_writer(), label, to: span) }
    RecordCursor(values).commit(label, level, statement)
  }

  /// The same for a record that has metadata.
  ///
  /// - Parameter metadata: Adds the metadata. Not optional: an optional closure escapes, and is
  ///   allocated.
  package func record(
    _ level: Level, _ statement: UnsafePointer<mmlog_statement>,
    _ values: UnsafeBufferPointer<mmlog_value>, in span: Span?,
    metadata: (inout RecordCursor) -> Void
  ) {
    guard acquireWriter() || enter(level, statement) else { return }
    if let span { LogCall.bind(mmlog_current_writer(), label, to: span) }
    var cursor = RecordCursor(values)
    metadata(&cursor)
    cursor.commit(label, level, statement)
  }

  /// The same for a record that begins a span.
  ///
  /// - Parameter parent: The span that the new one is a part of.
  package func begin(
    _ level: Level, _ statement: UnsafePointer<mmlog_statement>,
    _ values: UnsafeBufferPointer<mmlog_value>, in parent: Span?
  ) -> Span {
    guard acquireWriter() || enter(level, statement) else {
      return Span(self, nil, 0, 0, level, 0)
    }
    var cursor = RecordCursor(values)
    let (gate, number, ticks) = cursor.appendBeginning(in: parent)
    let callSite = cursor.commit(label, level, statement, .span)
    return Span(self, gate, number, ticks, level, UInt32(truncatingIfNeeded: callSite))
  }

  /// Finds a writer for a call that does not have the usual one at hand, unless the call's
  /// statement is off. A rate limit distinguishes statements by their hashes, because their texts
  /// may be anywhere.
  ///
  /// - Returns: False if there is to be no record. The record is then counted, unless its statement
  ///   is off.
  @inline(never)
  private func enter(_ level: Level, _ statement: UnsafePointer<mmlog_statement>) -> Bool {
    let label = shared
    if mmlog_is_controlled(label) {
      let place = StatementPlace(level, statement.pointee)
      if !place.passes(above: self.level, of: label, key: statement.pointee.hash) { return false }
    }
    return enter(level)
  }

  /// Records a message in a signal handler, whatever the label's level and whatever the signal
  /// interrupted. Async-signal-safe.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - statement: What does not change from call to call; at most 23 parts.
  ///   - values: One for each argument of its format.
  /// - Returns: Whether the message is recorded. If not, it is counted as lost.
  package func recordInSignalHandler(
    _ level: Level, _ statement: UnsafePointer<mmlog_statement>,
    _ values: UnsafeBufferPointer<mmlog_value>
  ) -> Bool {
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    if mmlog_is_controlled(shared),
      !StatementPlace(level, statement.pointee).passes(above: self.level, of: shared)
    {
      return false
    }
    guard let store = StoreCore.of(shared) else {
      DefaultStore.countLoss(level, of: shared)
      return false
    }
    // A fork's child that has no ring yet does not record: a signal handler must not open a ring.
    guard let session = store.openSession, let lanes = session.signalLanes else {
      store.countLossWithoutRing(level)
      return false
    }
    switch lanes.record(shared, level, NewCallSite(statement.pointee), values, session) {
    case .written: return true
    case .counted: return false
    case .uncounted:
      store.countLossWithoutRing(level)
      return false
    }
  }
}

extension Logger.Span {
  /// Ends the span with a record: see ``Logger/begin(_:_:_:in:)``.
  package func end(
    _ statement: UnsafePointer<mmlog_statement>, _ values: UnsafeBufferPointer<mmlog_value>,
    failed: Bool
  ) {
    guard isRecorded, log.acquireWriter() || log.enter(level) else { return }
    var cursor = RecordCursor(values)
    append(to: &cursor, failed: failed)
    cursor.commit(label, level, statement, .span)
  }
}

extension RecordCursor {
  /// Begins a record of the calling thread's writer with values.
  @inline(__always)
  fileprivate init(_ values: UnsafeBufferPointer<mmlog_value>) {
    self.init(mmlog_current_writer(), reserving: Self.maximum(values))
    append(values)
  }

  @inline(__always)
  @discardableResult
  fileprivate func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level,
    _ statement: UnsafePointer<mmlog_statement>, _ flags: RecordFlags = []
  ) -> UInt64 {
    commit(label, level, flags, hash: statement.pointee.hash) { tail in
      let site = NewCallSite(statement.pointee)
      defer { site.parts.further.free() }
      return LogCall.commit(writer, next, checksum, tail, site).callSite
    }
  }

  /// The most bytes that values need, with the leading words and without the bytes of texts.
  fileprivate static func maximum(_ values: UnsafeBufferPointer<mmlog_value>) -> Int {
    values.count * 2 * wordSize + RecordLayout.bodyWord * wordSize
  }

  @inline(__always)
  fileprivate mutating func append(_ values: UnsafeBufferPointer<mmlog_value>) {
    let reserve = Self.maximum(values)
    // Not `for in`: see LogCall.freeWriter.
    var index = 0
    while index < values.count {
      let value = values[index]
      index += 1
      if let bytes = value.bytes {
        append(UnsafeRawBufferPointer(start: bytes, count: Int(value.word)), reserving: reserve)
      } else {
        append(value.word)
      }
    }
  }

  /// Adds values for which there is room if their texts together have at most `longestText` bytes.
  ///
  /// - Returns: Whether a text had to be cut.
  mutating func append(
    _ values: UnsafeBufferPointer<mmlog_value>, longestText: Int
  ) -> Bool {
    var left = longestText
    var index = 0
    while index < values.count {
      let value = values[index]
      index += 1
      guard let bytes = value.bytes else {
        append(value.word)
        continue
      }
      let count = Int(min(value.word, UInt64(left)))
      if UInt64(count) < value.word { writer.add(.cut) }
      left -= count
      append(UnsafeRawBufferPointer(start: bytes, count: count), reserving: 0)
    }
    return writer.has(.cut)
  }
}

extension StatementPlace {
  fileprivate init(_ level: Level, _ statement: mmlog_statement) {
    let count = mmlog_text_length(statement.file)
    self = statement.file.withMemoryRebound(to: UInt8.self, capacity: count) {
      Self(level, $0, count: count, line: statement.line)
    }
  }
}

extension NewCallSite {
  fileprivate init(_ statement: mmlog_statement) {
    self.init(
      hash: statement.hash, parts: MessageParts(format: statement.format),
      file: UnsafeRawBufferPointer(
        start: statement.file, count: mmlog_text_length(statement.file)),
      function: UnsafeRawBufferPointer(
        start: statement.function, count: mmlog_text_length(statement.function)),
      line: statement.line, column: 0)
  }
}

extension MessageParts {
  /// The parts of a format. Without a format, the only part is a text.
  fileprivate init(format: UnsafePointer<CChar>?) {
    self.init()
    guard var next = format else {
      let style = ArgumentStyle(privacy: .public, format: 0, align: .none)
      append(MessagePart(argument: ValueType.string.rawValue, width: 0, name: nil, style: style))
      return
    }
    var directive = mmlog_directive()
    while mmlog_next_directive(&next, &directive) { append(MessagePart(directive)) }
  }
}

extension MessagePart {
  fileprivate init(_ directive: mmlog_directive) {
    guard directive.kind != MMLOG_LITERAL else {
      self.init(
        literal: UnsafeRawBufferPointer(start: directive.text, count: Int(directive.length)))
      return
    }
    self.init(
      argument: directive.type, width: Int(directive.width), privacy: 0,
      appearance: UInt64(directive.format) | UInt64(directive.alignment) << 32)
  }
}
