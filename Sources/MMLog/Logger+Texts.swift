import CMMLogCore
import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// A place in the source code where a text was logged, known at run time only. Places with the
  /// same texts and line are the same place.
  public struct SourceLocation: Hashable, Sendable {
    /// The source file, as `Module/File.swift`, or as a path.
    public var file: String
    /// The function.
    public var function: String
    /// The line, from 1; 0: not known.
    public var line: UInt32

    /// Makes a place in the source code.
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
  /// If the place is known at compile time, use the methods that take a literal. They are several
  /// times as fast, because this method hashes the names at each call. Each place takes some 100
  /// bytes of the ring's dictionary once. When the dictionary is full, records carry their places
  /// themselves. See ``LogStore/Configuration/dictionarySize``.
  ///
  /// Any thread. Makes a system call only where a log call does.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - text: The message. Evaluated only if the level is recorded. Cut to 16 MiB.
  ///   - metadata: Values by name that go with the message. Evaluated only if the level is
  ///     recorded.
  ///   - place: Where the text was logged.
  /// - Complexity: O(bytes of the text and of the place's names).
  public func log(
    level: Level, text: @autoclosure () -> String, metadata: @autoclosure () -> Metadata? = nil,
    at place: SourceLocation
  ) {
    guard isEnabled(level), acquireWriter(level, file: place.file, place.line) else { return }
    record(text(), level, file: place.file, function: place.function, place.line) { record in
      if let metadata = metadata() { record.append(metadata) }
    }
  }

  /// Finds a writer for a record whose place is known at run time only, whatever the label's level.
  /// If it finds a writer, the caller has to write the record.
  ///
  /// - Parameters:
  ///   - level: The level.
  ///   - file: The source file.
  ///   - line: The line.
  ///   - ownLevel: The lowest level that is recorded; nil: the label's level. Single statements
  ///     below it may be turned on.
  package func acquireWriter(
    _ level: Level, file: String, _ line: UInt32, ownLevel: Level? = nil
  ) -> Bool {
    acquireWriter() || enter(level, file: file, line, ownLevel)
  }

  /// Records a text that another logging interface has made, with the writer that
  /// ``acquireWriter(_:file:_:ownLevel:)`` has found.
  ///
  /// - Parameters:
  ///   - text: The message.
  ///   - level: The level.
  ///   - file, function, line: Where the text was logged.
  ///   - metadata: Adds the record's metadata, if there is any. It may log, as a message's
  ///     arguments may.
  package func record(
    _ text: String, _ level: Level, file: String, function: String, _ line: UInt32,
    metadata: (inout RecordCursor) -> Void
  ) {
    var record = RecordCursor(mmlog_current_writer(), reserving: RecordLayout.bodyWord * wordSize)
    if !text.isEmpty { record.append(text, reserving: 0) }
    metadata(&record)
    record.commit(label, level, text.isEmpty ? .none : .text, file, function, line)
    withExtendedLifetime(context) {}
  }
}

// MARK: - Spans

extension Logger {
  /// Records that an operation begins whose name is known at run time only. There should be few
  /// names: each name is a statement of its own.
  ///
  /// - Parameters:
  ///   - name: The operation that begins. It is the record's message, without arguments.
  ///   - parent: The span that the new one is a part of, if that is known.
  ///   - level: The level of the span's beginning and of its end.
  ///   - metadata: Values by name that go with it.
  ///   - place: Where the operation begins.
  package func begin(
    name: String, in parent: Span?, level: Level, metadata: Metadata, at place: SourceLocation
  ) -> Span {
    guard mayRecord(level), acquireWriter(level, file: place.file, place.line) else {
      return Span(self, nil, 0, 0, level, 0)
    }
    var record = RecordCursor(mmlog_current_writer(), reserving: RecordLayout.bodyWord * wordSize)
    if !metadata.pairs.isEmpty { record.append(metadata) }
    let (gate, number, ticks) = record.appendBeginning(in: parent)
    let callSite = record.commit(
      label, level, .literal(name), place.file, place.function, place.line, .span)
    return Span(self, gate, number, ticks, level, UInt32(truncatingIfNeeded: callSite))
  }
}

extension Logger.Span {
  /// Records the span's end with a text that was made elsewhere.
  ///
  /// - Parameter logger: The logger that began the span: the end has its context, too.
  package func end(
    text: String, failed: Bool, metadata: Logger.Metadata, at place: Logger.SourceLocation,
    by logger: Logger
  ) {
    guard isRecorded, logger.acquireWriter() || logger.enter(ofEnd: level) else { return }
    var record = RecordCursor(mmlog_current_writer(), reserving: RecordLayout.bodyWord * wordSize)
    if !text.isEmpty { record.append(text, reserving: 0) }
    if !metadata.pairs.isEmpty { record.append(metadata) }
    append(to: &record, failed: failed)
    record.commit(
      logger.label, level, text.isEmpty ? .none : .text, place.file, place.function, place.line,
      .span)
    withExtendedLifetime(logger.context) {}
  }
}

// MARK: - Call sites that are known at run time only

/// The message of a call site that is known at run time only.
private enum LateMessage {
  case none
  /// The record's text.
  case text
  /// A text without arguments.
  case literal(String)

  var textPart: MessagePart {
    MessagePart(
      argument: ValueType.string.rawValue, width: 0, name: nil,
      style: ArgumentStyle(privacy: .public, format: 0, align: .none))
  }
}

extension RecordCursor {
  /// Completes a record. See the form for log statements.
  ///
  /// - Returns: The number of the record's call site; 0 if it has none.
  @inline(__always) @discardableResult
  fileprivate func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ message: LateMessage,
    _ file: String, _ function: String, _ line: UInt32, _ extraFlags: RecordFlags = []
  ) -> UInt64 {
    var hash = SiteHash()
    switch message {
    case .none: break
    case .text: hash.mix(message.textPart)
    case .literal(let text): hash.mix(text)
    }
    hash.mix(file)
    hash.mix(function)
    hash.mix(UInt64(line))
    let tail = identity(label, level, extraFlags)
    let slot = mmlog_site_slot_of(writer.pointee.sites, hash.value)
    guard slot.pointee.hash == hash.value else {
      return commit(tail, hash.value, message, file, function, line)
    }
    UnfinishedRecord(cursor: self, identity: tail | slot.pointee.site).finishInPlace()
    mmlog_end_busy(writer)
    return slot.pointee.site
  }

  /// Completes a record whose call site is not in the writer's cache.
  @inline(never)
  private func commit(
    _ tail: UInt64, _ hash: UInt64, _ message: LateMessage, _ file: String, _ function: String,
    _ line: UInt32
  ) -> UInt64 {
    let known = writer.commitKnown(next, checksum, tail, hash, mmlog_counter())
    if known != 0 { return known }
    var (file, function, literal) = (file, function, "")
    if case .literal(let text) = message { literal = text }
    return file.withUTF8 { file in
      function.withUTF8 { function in
        literal.withUTF8 { literal in
          var parts = MessageParts()
          if case .text = message { parts.append(message.textPart) }
          if literal.count > 0 {
            parts.append(MessagePart(literal: UnsafeRawBufferPointer(literal)))
          }
          let site = NewCallSite(
            hash: hash, parts: parts, file: UnsafeRawBufferPointer(file),
            function: UnsafeRawBufferPointer(function), line: line, column: 0)
          return LogCall.commit(writer, next, checksum, tail, site).callSite
        }
      }
    }
  }
}

extension SiteHash {
  /// Mixes a text in: a literal by its address, any other text by its bytes. Another text may later
  /// have the address of a text that is no literal.
  @inline(__always)
  fileprivate mutating func mix(_ text: String) {
    let words = TextWords(text).ofLiteral ?? (Self.hash(of: text), 0)
    mix(words.0)
    mix(words.1)
  }

  /// A hash of the bytes, two words at a time. A client of the program may choose the bytes, but
  /// cannot find two texts with the same hash.
  @inline(never)
  static func hash(of text: String) -> UInt64 {
    if let small = TextWords(text).small {
      let hash = mmlog_begin_text_hash(small.count)
      return mmlog_mix_text(hash, small.words.0, small.words.1)
    }
    var text = text
    return text.withUTF8 { bytes in
      var hash = mmlog_begin_text_hash(bytes.count)
      guard var next = UnsafeRawPointer(bytes.baseAddress) else {
        return mmlog_mix_text(hash, 0, 0)
      }
      var left = bytes.count
      while left >= 2 * wordSize {
        let (first, second) = (next, next + wordSize)
        hash = mmlog_mix_text(
          hash, first.loadUnaligned(as: UInt64.self), second.loadUnaligned(as: UInt64.self))
        next += 2 * wordSize
        left -= 2 * wordSize
      }
      if left < wordSize { return mmlog_mix_text(hash, RecordCursor.lastWord(next, left), 0) }
      return mmlog_mix_text(
        hash, next.loadUnaligned(as: UInt64.self),
        RecordCursor.lastWord(next + wordSize, left - wordSize))
    }
  }
}
