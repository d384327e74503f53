public import CMMLogWriter
import MMLogFormat
import MMLogSystem

// How a log call gets the record of its message. A literal that the call has asked for is built at
// the place of the call's writer. Any other literal was evaluated before the call, or is the second
// one in its message: it is built outside the ring.

extension LogCall {
  /// Evaluates the message of a call that has acquired the thread's current writer.
  @inlinable @inline(__always)
  static func record(of message: () -> LogLiteral) -> LiteralRecord {
    let writer = mmlog_current_writer()
    let origin = LiteralRecord.Origin(writer)
    mmlog_ask(writer)
    switch message().place {
    case .ring(var record):
      // The compiler knows the outcome for a literal that it has inlined here.
      if record.origin != origin {
        // Only the cursor is passed, not the whole record: the record's parts are constants here.
        let cursor = record.cursor
        record.cursor = adopt(
          cursor.writer, cursor.start, cursor.next, record.origin.calls, writer)
        record.parts.further = record.parts.further.copy(for: writer)
      }
      return record
    case .beside(let memory): return adopt(memory, writer)
    }
  }

  /// Copies the record of a literal that was evaluated before the call.
  @usableFromInline @inline(never)
  static func adopt(
    _ memory: LiteralMemory, _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> LiteralRecord {
    var record = memory.record
    let loss = WriterSpace.loss(of: record.cursor.writer)
    record.cursor = copy(record.cursor, unless: loss, to: writer)
    record.parts.further = record.parts.further.copy(for: writer)
    return record
  }

  /// Copies the record of a literal that another call has asked for. If that call is over, there is
  /// nothing to copy.
  ///
  /// - Parameters:
  ///   - asked, start, next: The literal's ``RecordCursor``. Its writer is the other call's.
  ///   - calls: The calls of the literal's origin.
  ///   - writer: Where the record goes.
  @usableFromInline @inline(never)
  static func adopt(
    _ asked: UnsafeMutablePointer<mmlog_writer>, _ start: UnsafeMutablePointer<UInt64>,
    _ next: UnsafeMutablePointer<UInt64>, _ calls: UInt64,
    _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> RecordCursor {
    let cursor = RecordCursor(asked, start: start, next, checksum: 0)
    let isOpen = isOpen(cursor, calls, around: writer)
    let loss = isOpen ? WriterSpace.loss(of: asked) : .corrupted
    return copy(cursor, unless: loss, to: writer)
  }

  private static func copy(
    _ cursor: RecordCursor, unless loss: LossLedger.Cause?,
    to writer: UnsafeMutablePointer<mmlog_writer>
  ) -> RecordCursor {
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    if !mmlog_take_asked(writer) {
      eraseAbandoned(writer)
      writer.pointee.unusual_calls &+= 1
    }
    // In this empty cache the commit finds no call site. So it comes to the outlined part, which
    // checks whether the record is lost.
    writer.pointee.sites = mmlog_no_sites()
    var copy = RecordCursor(writer, reserving: RecordLayout.bodyWord * wordSize)
    if let loss {
      WriterSpace.lose(writer, loss)
      return copy
    }
    if cursor.writer.has(.cut) { writer.add(.cut) }
    copy.append(wordsOf: cursor)
    return copy
  }

  /// Whether a record is that of a call around this one, in whose message both are evaluated.
  private static func isOpen(
    _ cursor: RecordCursor, _ calls: UInt64, around writer: UnsafeMutablePointer<mmlog_writer>
  ) -> Bool {
    var open = writer.pointee.outer
    while let outer = open {
      if outer == cursor.writer {
        return cursor.start == outer.place && calls == outer.pointee.unusual_calls
      }
      open = outer.pointee.outer
    }
    return false
  }

  /// Zeros what is left in the writer's segment of a lost record, or of a literal that was built
  /// for the call but is not its message: readers expect zeros behind the last record.
  static func eraseAbandoned(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    if writer.pointee.in_scratch != 0 { return }
    let count = writer.pointee.limit - writer.pointee.cursor
    UnsafeMutableRawPointer(writer.pointee.cursor)
      .initializeMemory(as: UInt8.self, repeating: 0, count: count)
  }
}
