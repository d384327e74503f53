import CMMLogCore
import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Where in the source code a text was logged, if that is known at run time only. Two places with
  /// the same texts and line are one.
  public struct SourceLocation: Hashable, Sendable {
    /// The source file, as `Module/File.swift`, or as a path.
    public var file: String
    /// The function.
    public var function: String
    /// The line, from 1; 0: it is not known.
    public var line: UInt32

    /// A place in the source code.
    ///
    /// - Parameters:
    ///   - file: The source file.
    ///   - function: The function.
    ///   - line: The line.
    public init(file: String, function: String, line: UInt32) {
      self.file = file
      self.function = function
      self.line = line
    }
  }

  /// Records a text that was logged at a place that is known at run time only: for facades, such as
  /// another logging interface, an interpreter, or a bridge to another language.
  ///
  /// ```swift
  /// func onScriptMessage(_ text: String, file: String, line: Int) {
  ///   let place = Logger.SourceLocation(file: file, function: "", line: UInt32(clamping: line))
  ///   log.log(level: .notice, text: text, at: place)
  /// }
  /// ```
  ///
  /// Where the place is known at compile time, the methods that take a literal are several times as
  /// fast: here the names are hashed at each call. Each place takes some 100 bytes of the ring's
  /// dictionary once; when that is full, records carry their places themselves. See
  /// ``LogStore/Configuration/dictionarySize``.
  ///
  /// Any thread. No system call, unless a log call makes one.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - text: The message. Evaluated only if the level is recorded. More than 16 MiB are cut.
  ///   - metadata: Values by name that go with it. Evaluated only if the level is recorded.
  ///   - place: Where it was logged.
  /// - Complexity: O(bytes of the text and of the place's names).
  public func log(
    level: Level, text: @autoclosure () -> String, metadata: @autoclosure () -> Metadata? = nil,
    at place: SourceLocation
  ) {
    guard isEnabled(level) else { return }
    record(text(), level, at: place) { record in
      if let metadata = metadata() { record.append(metadata) }
    }
  }

  /// Records a text that another logging interface has made, whatever the label's level.
  ///
  /// - Parameters:
  ///   - text: The message. Evaluated only if it is recorded.
  ///   - level: The level.
  ///   - place: Where it was logged.
  ///   - ownLevel: The lowest level that is recorded; nil: the label's. Single statements may be
  ///     turned on below it.
  ///   - metadata: Adds the record's metadata, if it has any. It may log, as a message's arguments
  ///     may.
  package func record(
    _ text: @autoclosure () -> String, _ level: Level, at place: SourceLocation,
    ownLevel: Level? = nil,
    metadata: (inout RecordCursor) -> Void
  ) {
    guard acquireWriter() || enter(level, at: place, ownLevel) else { return }
    let text = text()
    var record = LogCall.record { LogLiteral(text: text) }
    metadata(&record.cursor)
    record.commit(label, level, at: place)
  }
}

// MARK: - Spans

extension Logger {
  /// Records that something begins whose name is known at run time only. There should be few names:
  /// each is a statement of its own.
  ///
  /// - Parameters:
  ///   - name: What begins. It is the record's message, without arguments.
  ///   - parent: What it is a part of, if that is known.
  ///   - level: The level of its beginning and of its end.
  ///   - metadata: Values by name that go with it.
  ///   - place: Where it begins.
  package func begin(
    name: String, in parent: Span?, level: Level, metadata: Metadata, at place: SourceLocation
  ) -> Span {
    guard mayRecord(level), acquireWriter() || enter(level, at: place, nil) else {
      return Span(self, nil, 0, 0, level, 0)
    }
    let writer = mmlog_current_writer()
    let size = RecordLayout.bodyWord * wordSize
    var record = LiteralRecord(cursor: RecordCursor(writer, reserving: size))
    if !metadata.pairs.isEmpty { record.cursor.append(metadata) }
    writer.pointee.last_span &+= SpanNumber.step
    let (gate, number) = (writer.pointee.gate, writer.pointee.last_span)
    let ticks = mmlog_ticks()
    record.cursor.append(checked: number)
    record.cursor.append(checked: parent?.number(in: gate) ?? 0)
    let callSite = record.commit(label, level, literal: name, at: place, .span)
    return Span(self, gate, number, ticks, level, UInt32(truncatingIfNeeded: callSite))
  }
}

extension Logger.Span {
  /// Records its end with a text that was made elsewhere.
  package func end(
    text: String, failed: Bool, metadata: Logger.Metadata, at place: Logger.SourceLocation
  ) {
    guard isRecorded, log.acquireWriter() || log.enter(level) else { return }
    var record = LogCall.record { LogLiteral(text: text) }
    if !metadata.pairs.isEmpty { record.cursor.append(metadata) }
    append(to: &record.cursor, failed: failed)
    record.commit(label, level, at: place, .span)
  }
}

extension LogLiteral {
  fileprivate init(text: String) { self = text.isEmpty ? "" : "\(text)" }
}

extension LiteralRecord {
  /// - Parameter literal: The whole message, if its parts do not say it.
  @discardableResult
  fileprivate mutating func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, literal: String = "",
    at place: Logger.SourceLocation, _ flags: RecordFlags = []
  ) -> UInt64 {
    var (file, function, literal) = (place.file, place.function, literal)
    return file.withUTF8 { file in
      function.withUTF8 { function in
        literal.withUTF8 { literal in
          commit(
            label, level, flags, literal: UnsafeRawBufferPointer(literal),
            file: UnsafeRawBufferPointer(file), function: UnsafeRawBufferPointer(function),
            place.line)
        }
      }
    }
  }

  private mutating func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ flags: RecordFlags,
    literal: UnsafeRawBufferPointer, file: UnsafeRawBufferPointer,
    function: UnsafeRawBufferPointer, _ line: UInt32
  ) -> UInt64 {
    // By their bytes: their addresses may be others' tomorrow.
    parts.mix(hash(of: file))
    parts.mix(hash(of: function))
    if literal.count > 0 { parts.mix(hash(of: literal)) }
    parts.mix(UInt64(line))
    return commit(label, level, flags) { hash, parts in
      var parts = parts
      if literal.count > 0 { parts.append(MessagePart(literal: literal)) }
      return NewCallSite(
        hash: hash, parts: parts, file: file, function: function, line: line, column: 0)
    }
  }
}
/// A hash of text, a word at a time.
@inline(__always)
private func hash(of text: UnsafeRawBufferPointer) -> UInt64 {
  var hash = UInt64(text.count)
  func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
    hash ^= hash >> 32
  }
  guard var next = text.baseAddress else { return hash }
  var left = text.count
  while left >= wordSize {
    mix(next.loadUnaligned(as: UInt64.self))
    next += wordSize
    left -= wordSize
  }
  mix(RecordCursor.lastWord(next, left))
  return hash
}
