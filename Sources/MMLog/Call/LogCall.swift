public import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

extension Logger {
  /// Every log call: one straight path for the usual case, everything else in outlined twins.
  ///
  /// The order of the steps makes the call safe against signals, `fork()` and `close()` without a
  /// lock. The call makes the writer busy before it reads the gate. So a thread that closes the
  /// gate, and then issues a barrier on all threads (membarrier(2)), sees every call that may still
  /// be running.
  @inlinable @inline(__always)
  func log(
    _ level: Level, _ message: () -> LogLiteral, _ metadata: () -> Metadata?,
    _ file: StaticString, _ function: StaticString, _ line: UInt32, _ column: UInt32,
    flags: RecordFlags = RecordFlags(rawValue: 0)
  ) {
    guard mayRecord(level) else { return }
    if !acquireWriter() {
      guard enter(at: StatementPlace(level, file, line)) else { return }
    }
    var record = LogCall.record(of: message)
    if let metadata = metadata() { record.cursor.append(metadata) }
    record.commit(label, level, file, function, line, column, flags)
    // The context's words have been copied by now. This line becomes no instruction.
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
  /// Completes the record of a log statement, and stores the record's first word, which commits it.
  ///
  /// - Returns: The number of the record's call site; 0 if it has none.
  @inlinable @inline(__always)
  @discardableResult
  mutating func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ file: StaticString,
    _ function: StaticString, _ line: UInt32, _ column: UInt32, _ flags: RecordFlags
  ) -> UInt64 {
    mix(file, line, column)
    let number = cursor.commit(label, level, flags, hash: parts.hash.value) { _ in
      // This takes few instructions, and no place on the stack of the usual path.
      parts.store(in: cursor.writer)
      return cursor.writer.commitNew(
        parts.further.base, file.utf8Start, function.utf8Start,
        TextSizes(file: file.utf8CodeUnitCount, function: function.utf8CodeUnitCount).word,
        SiteDetail(line, column, words: parts.count, further: parts.further.count).word)
    }
    parts.further.free()
    return number
  }

  /// Mixes what distinguishes a log statement from others into the hash of its call site.
  @inlinable @inline(__always)
  mutating func mix(_ file: StaticString, _ line: UInt32, _ column: UInt32) {
    parts.hash.mix(address: UInt(bitPattern: file.utf8Start))
    // The line has the low bits, because these choose the place in a cache.
    parts.hash.mix(UInt64(column) << 32 | UInt64(line))
  }
}

extension RecordCursor {
  /// A record's identity word without its call site.
  @inlinable @inline(__always)
  func identity(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ extraFlags: RecordFlags
  ) -> UInt64 {
    let constant =
      UInt64(level.rawValue) << RecordLayout.levelShift
      | UInt64(extraFlags.rawValue) << RecordLayout.flagsShift
    return constant | label.pointee.identity | writer.pointee.record_flags
  }

  /// Completes a record of which all words but the leading ones are written.
  ///
  /// - Parameters:
  ///   - hash: The hash of the call site.
  ///   - unknown: Completes the record if its call site may be new. Gets the identity word without
  ///     the call site.
  /// - Returns: The number of the record's call site; 0 if it has none.
  @inlinable @inline(__always)
  @discardableResult
  func commit(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level, _ extraFlags: RecordFlags,
    hash: UInt64, unknown: (UInt64) -> UInt64
  ) -> UInt64 {
    // Reading the counter takes as long as all of the rest, which need not wait for it. Without a
    // counter, no call site is found below: see `useSites`.
    let ticks = mmlog_counter()
    let tail = identity(label, level, extraFlags)
    let slot = mmlog_site_slot_of(writer.pointee.sites, hash)
    guard slot.pointee.hash == hash else {
      let known = writer.commitKnown(next, checksum, tail, hash, ticks)
      return known != 0 ? known : unknown(tail)
    }
    let words = LeadingWords(
      kind: RecordLayout.recordKind, ticks: ticks, identity: tail | slot.pointee.site)
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

  /// Stores the words, the first one last and with release order. That commits the record: whoever
  /// sees the first word sees all of the record.
  ///
  /// - Parameters:
  ///   - end: Where the record ends.
  ///   - checksum: The seeded checksum of the words behind the leading ones.
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

/// The lengths of a log statement's texts, each below 64 KiB. They take half of a word, so that
/// they fit into a short instruction.
@frozen
@usableFromInline
struct TextSizes {
  @usableFromInline let word: UInt64

  @inlinable @inline(__always)
  init(file: Int, function: Int) {
    word =
      UInt64(UInt16(truncatingIfNeeded: file))
      | UInt64(UInt16(truncatingIfNeeded: function)) << 16
  }

  init(word: UInt64) { self.word = word }

  var file: Int { Int(word & 0xFFFF) }
  var function: Int { Int(word >> 16) }
}

/// Where a log statement is in its file, and how many words and further parts its message has: a
/// constant.
@frozen
@usableFromInline
struct SiteDetail {
  @usableFromInline let word: UInt64

  /// Keeps a column's lower 16 bits: with a comparison instead, the compiler would inline fewer
  /// statements into one function. If there are more further parts than there are bits for, it
  /// stores the largest number, which is too many in any case.
  @inlinable @inline(__always)
  init(_ line: UInt32, _ column: UInt32, words: Int, further: Int) {
    let counted = further < 0x3FF ? further : 0x3FF
    word =
      UInt64(line) << 32 | UInt64(UInt16(truncatingIfNeeded: column)) << 16
      | UInt64(UInt16(truncatingIfNeeded: counted)) << 6
      | UInt64(UInt16(truncatingIfNeeded: words))
  }

  init(word: UInt64) { self.word = word }

  var line: UInt32 { UInt32(word >> 32) }
  var column: UInt32 { UInt32(word >> 16 & 0xFFFF) }
  var words: Int { Int(word & 0x3F) }
  var further: Int { Int(word >> 6 & 0x3FF) }
}

/// A log statement as the outlined commit gets it. The commit may see the statement for the first
/// time. The statement's texts live at least as long as the call.
struct NewCallSite {
  let hash: UInt64
  let parts: MessageParts
  let file: UnsafeRawBufferPointer
  let function: UnsafeRawBufferPointer
  let line: UInt32
  let column: UInt32
}

extension NewCallSite {
  /// The call site of a log statement whose place is known at compile time.
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
