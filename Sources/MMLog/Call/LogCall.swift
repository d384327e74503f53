public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Every log call: one straight path for the usual case, everything else in outlined twins.
  ///
  /// The order of the steps is what makes it safe against signals, `fork()` and `close()` without a
  /// lock: the writer is made busy before the gate is read, so that whoever closes the gate and
  /// then issues a barrier on all threads (membarrier(2)) sees every call that may still be on its
  /// way.
  @inlinable @inline(__always)
  func log(
    _ level: Level, _ message: () -> LogLiteral, _ metadata: () -> Metadata?,
    _ file: StaticString, _ function: StaticString, _ line: UInt32, _ column: UInt32,
    flags: RecordFlags = RecordFlags(rawValue: 0)
  ) {
    guard mayRecord(level) else { return }
    if !acquireWriter() {
      guard enter(level, at: StatementPlace(file, line)) else { return }
    }
    var record = LogCall.record(of: message)
    if let metadata = metadata() { record.cursor.append(metadata) }
    record.commit(label, level, file, function, line, column, flags)
    // Its words have been copied. No instruction.
    withExtendedLifetime(context) {}
  }

  /// Makes the thread's current writer busy, if it is free and writes for this logger's store.
  @inlinable @inline(__always)
  func acquireWriter() -> Bool {
    let writer = mmlog_current_writer()
    if mmlog_is_busy_here(writer) { return false }
    mmlog_begin_busy(writer)
    // The second check of the current writer is for a signal handler that came between the first
    // and the store, and logged to another store.
    if mmlog_gate_is_open(label, writer), mmlog_current_writer() == writer {
      return true
    }
    mmlog_end_busy(writer)
    return false
  }
}

extension LiteralRecord {
  /// Completes the record of a log statement, and stores its first word, with which it is
  /// acknowledged.
  ///
  /// - Returns: The number of its call site; 0 if it has none.
  @inlinable @inline(__always)
  @discardableResult
  mutating func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ file: StaticString,
    _ function: StaticString, _ line: UInt32, _ column: UInt32, _ flags: RecordFlags
  ) -> UInt64 {
    mix(file, line, column)
    return commit(label, level, flags) { hash, parts in
      NewCallSite(hash: hash, parts: parts, file, function, line: line, column: column)
    }
  }

  /// Mixes what distinguishes a log statement from others into the hash of its call site.
  @inlinable @inline(__always)
  mutating func mix(_ file: StaticString, _ line: UInt32, _ column: UInt32) {
    parts.hash.mix(UInt64(UInt(bitPattern: file.utf8Start)))
    parts.hash.mix(UInt64(line) << 32 | UInt64(column))
  }

  /// Completes a record, after everything that distinguishes its call site from others is mixed
  /// into the hash.
  ///
  /// - Parameter site: Makes the call site, if it is not in the writer's cache.
  /// - Returns: The number of the call site; 0 if it has none.
  @inlinable @inline(__always)
  @discardableResult
  func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ extraFlags: RecordFlags,
    _ site: (UInt64, MessageParts) -> NewCallSite
  ) -> UInt64 {
    let hash = parts.hash.value
    let number = cursor.commit(label, level, extraFlags, hash: hash) { site(hash, parts) }
    parts.further.free()
    return number
  }
}

extension RecordCursor {
  /// A record's identity word without its call site.
  @inlinable @inline(__always)
  func identity(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ extraFlags: RecordFlags
  ) -> UInt64 {
    label.pointee.identity | UInt64(level.rawValue) << RecordLayout.levelShift
      | UInt64(flags | extraFlags.rawValue) << RecordLayout.flagsShift
  }

  /// Completes a record, of which all but the leading words is written.
  ///
  /// - Parameters:
  ///   - hash: The call site's.
  ///   - site: Makes the call site, if it is not in the writer's cache.
  /// - Returns: The number of the call site; 0 if it has none.
  @inlinable @inline(__always)
  @discardableResult
  func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ extraFlags: RecordFlags,
    hash: UInt64, _ site: () -> NewCallSite
  ) -> UInt64 {
    let tail = identity(label, level, extraFlags)
    let slot = writer.pointee.sites + Int(truncatingIfNeeded: hash >> UInt64(MMLOG_SITE_SHIFT))
    guard slot.pointee.hash == hash else {
      let known = writer.commitKnown(start, next, checksum, tail, hash)
      if known != 0 { return known }
      // Not by a pointer: who takes one has the compiler guard the stack, on the usual path, too.
      return LogCall.commit(writer, start, next, checksum, tail, site()) ?? 0
    }
    let words = LeadingWords(
      kind: RecordLayout.recordKind, ticks: mmlog_ticks(), identity: tail | slot.pointee.site)
    words.store(at: start, to: next, checksum: checksum)
    writer.pointee.cursor = UnsafeMutableRawPointer(next).assumingMemoryBound(to: UInt8.self)
    mmlog_number_entry(writer, UInt32(level.rawValue))
    mmlog_end_busy(writer)
    return LeadingWords.callSite(ofIdentity: words.identity)
  }
}

/// The three words that every record and fragment begins with.
@frozen
@usableFromInline
struct LeadingWords {
  @usableFromInline let kind: UInt64
  @usableFromInline let ticks: UInt64
  @usableFromInline let identity: UInt64

  @inlinable @inline(__always)
  init(kind: UInt64, ticks: UInt64, identity: UInt64) {
    self.kind = kind
    self.ticks = ticks
    self.identity = identity
  }

  /// The number of the call site in an identity word.
  @inlinable @inline(__always)
  static func callSite(ofIdentity identity: UInt64) -> UInt64 { identity & 0xFFFF_FFFF }

  /// The level in an identity word.
  static func level(ofIdentity identity: UInt64) -> UInt32 {
    UInt32(UInt8(truncatingIfNeeded: identity >> RecordLayout.levelShift))
  }

  /// Stores them, the first one last and with release order: that commits the record, and whoever
  /// sees it sees all of the record.
  ///
  /// - Parameters:
  ///   - end: Where the record ends.
  ///   - checksum: The seeded checksum of the words behind them.
  @inlinable @inline(__always)
  func store(
    at start: UnsafeMutablePointer<UInt64>, to end: UnsafeMutablePointer<UInt64>, checksum: UInt64
  ) {
    // Not the difference of the pointers, which might be negative, and takes four instructions
    // more.
    let words = UInt64(UInt(bitPattern: end) &- UInt(bitPattern: start)) / UInt64(wordSize)
    start[RecordLayout.ticksWord] = ticks
    start[RecordLayout.identityWord] = identity
    var checksum = mmlog_crc32c_word(checksum, ticks)
    checksum = mmlog_crc32c_word(checksum, identity)
    let header = kind | words
    checksum = mmlog_crc32c_half(checksum, UInt32(truncatingIfNeeded: header))
    mmlog_store_release_u64(start, header | checksum << 32)
  }
}

/// A log statement as the outlined commit gets it, which may see it for the first time. Its texts
/// live at least as long as the call.
@frozen
public struct NewCallSite {
  @usableFromInline let hash: UInt64
  @usableFromInline let parts: MessageParts
  @usableFromInline let file: UnsafeRawBufferPointer
  @usableFromInline let function: UnsafeRawBufferPointer
  @usableFromInline let line: UInt32
  @usableFromInline let column: UInt32

  @inlinable @inline(__always)
  init(
    hash: UInt64, parts: MessageParts, file: UnsafeRawBufferPointer,
    function: UnsafeRawBufferPointer,
    line: UInt32, column: UInt32
  ) {
    self.hash = hash
    self.parts = parts
    self.file = file
    self.function = function
    self.line = line
    self.column = column
  }

  /// Of a log statement whose place is known at compile time.
  @inlinable @inline(__always)
  init(
    hash: UInt64, parts: MessageParts, _ file: StaticString, _ function: StaticString,
    line: UInt32, column: UInt32
  ) {
    self.init(
      hash: hash, parts: parts,
      file: UnsafeRawBufferPointer(start: file.utf8Start, count: file.utf8CodeUnitCount),
      function: UnsafeRawBufferPointer(
        start: function.utf8Start, count: function.utf8CodeUnitCount),
      line: line, column: column)
  }
}
