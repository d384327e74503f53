import CMMLogCore
public import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Reserves memory for a record that does not fit where its thread writes: the outlined twin of the
/// hot path's bounds tests. Everything here is async-signal-safe, and leaves errno as it was.
///
/// A change of segment is rare, so the code and data that it needs are far away from the processor.
/// Therefore it is inlined into one function, calls nothing of another module, and counts no
/// references.
@usableFromInline
enum WriterSpace {
  /// Reserves `size` bytes for a record of which nothing is written yet.
  @usableFromInline @inline(never)
  static func reserveRecord(_ writer: UnsafeMutablePointer<mmlog_writer>, _ size: Int) {
    if changeSegment(writer, size) { return }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    useScratch(writer, size)
    if writer.pointee.limit - writer.pointee.cursor < size { useDump(writer) }
  }

  /// Reserves memory in the middle of a record: moves it to a fresh segment, or to private memory.
  ///
  /// - Parameters:
  ///   - writer, next: Fields of the record's ``RecordCursor``. The checksum is computed anew.
  ///   - value: How many bytes the next value has.
  ///   - beside: How many bytes are needed beside the value.
  /// - Returns: The record in its new place. There may be less room than for the value: see
  ///   ``cut(_:_:_:beside:)``.
  @usableFromInline @inline(never) @_effects(releasenone)
  static func reserveValue(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ next: UnsafeMutablePointer<UInt64>, value: Int,
    beside: Int
  ) -> RecordCursor {
    let cursor = RecordCursor(writer, next, checksum: 0)
    if writer.pointee.lost != 0 { return loseRest(cursor, beside) }
    let used = cursor.size
    let size = min(used + min(value, RecordLayout.longestValue) + beside, RecordLayout.longestBody)
    if changeSegment(writer, size, moving: cursor.start, used) {
      return moved(writer, used)
    }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    let wasInScratch = writer.pointee.in_scratch != 0
    moveToScratch(writer, cursor.start, used: used, size: size)
    let room = writer.pointee.limit - writer.pointee.cursor - used
    // A value that is cut to nothing is only its length. If the record began in this memory, what
    // was reserved for the value then has room for the length.
    if room >= beside || wasInScratch && room >= 2 * wordSize { return moved(writer, used) }
    return loseRest(cursor, beside)
  }

  /// How many bytes of a value for which room was reserved are kept. If not all are, marks the
  /// record as cut.
  @usableFromInline @inline(never)
  static func cut(
    _ value: Int, _ writer: UnsafeMutablePointer<mmlog_writer>,
    _ next: UnsafeMutablePointer<UInt64>, beside: Int
  ) -> Int {
    let room = UnsafeMutableRawPointer(writer.pointee.limit) - UnsafeMutableRawPointer(next)
    let longest = max(0, min(room - beside, RecordLayout.longestValue))
    if value <= longest { return value }
    writer.add(.cut)
    return longest
  }

  /// Reserves `count` bytes, of which none can be cut, in the middle of a record. See
  /// ``reserveValue(_:_:value:beside:)``.
  @usableFromInline @inline(never) @_effects(releasenone)
  static func reserveWords(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ next: UnsafeMutablePointer<UInt64>,
    _ count: Int
  ) -> RecordCursor {
    let cursor = reserveValue(writer, next, value: 0, beside: count)
    let isRoom =
      UnsafeMutableRawPointer(cursor.next) + count <= UnsafeMutableRawPointer(writer.pointee.limit)
    // There may be room only for a value that is cut.
    return isRoom || writer.pointee.lost != 0 ? cursor : loseRest(cursor, count)
  }

  /// Marks a record as lost that has the largest size, or for which there is no memory. Also called
  /// for a record that is lost already. The rest of the record overwrites its beginning, where
  /// there is room.
  private static func loseRest(_ cursor: RecordCursor, _ beside: Int) -> RecordCursor {
    let writer = cursor.writer
    let used = RecordLayout.bodyWord * wordSize
    if writer.pointee.lost == 0 || writer.pointee.limit - writer.pointee.cursor < used + beside {
      let errorNumber = CurrentProcess.errorNumber
      defer { CurrentProcess.errorNumber = errorNumber }
      // Erases what stands in the segment now, because at the commit the writer is elsewhere.
      LogCall.eraseAbandoned(writer)
      if writer.pointee.in_scratch == 0 { useScratch(writer, 0) }
      // The reserved bytes for arguments may be more than the built-in memory has room for.
      useDump(writer)
    }
    return moved(writer, used)
  }

  /// Makes a writer go on in another segment. False if there is none, or the record is too large
  /// for a segment, or is built elsewhere.
  @inline(__always)
  private static func changeSegment(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ size: Int,
    moving start: UnsafeMutablePointer<UInt64>? = nil, _ used: Int = 0
  ) -> Bool {
    guard writer.pointee.in_scratch | writer.pointee.builds_beside == 0,
      let session = Session.unmanaged(of: writer.pointee.thread)
    else { return false }
    return session._withUnsafeGuaranteedRef {
      size <= $0.ring.largestRecord && nextSegment(writer, $0, moving: start, used)
    }
  }

  /// Makes the commit drop the record and count it.
  static func lose(_ writer: UnsafeMutablePointer<mmlog_writer>, _ cause: LossLedger.Cause) {
    writer.pointee.lost = UInt32(cause.rawValue) + 1
  }

  /// Why the commit will drop the record; nil if it will not.
  static func loss(of writer: UnsafeMutablePointer<mmlog_writer>) -> LossLedger.Cause? {
    writer.pointee.lost == 0
      ? nil : LossLedger.Cause(rawValue: UInt8(truncatingIfNeeded: writer.pointee.lost - 1))
  }

  /// The cursor of a record of `used` bytes that has been moved to where its writer stands now.
  private static func moved(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ used: Int
  ) -> RecordCursor {
    let words = used / wordSize
    let checksum = mmlog_crc32c_words(
      UInt32(truncatingIfNeeded: writer.pointee.seed), writer.place + RecordLayout.bodyWord,
      words - RecordLayout.bodyWord)
    return RecordCursor(writer, writer.place + words, checksum: UInt64(checksum))
  }

  /// Copies what is written of a record. These are mostly a few words, for which a call would cost
  /// more.
  @inline(__always)
  private static func copy(
    from start: UnsafeMutablePointer<UInt64>, _ used: Int, to target: UnsafeMutablePointer<UInt8>
  ) {
    let target = UnsafeMutableRawPointer(target).assumingMemoryBound(to: UInt64.self)
    var word = RecordLayout.bodyWord
    while word < used / wordSize {
      // Atomic, because otherwise the compiler makes a call of the loop.
      mmlog_store_relaxed_u64(target + word, start[word])
      word += 1
    }
  }

  // MARK: - Segments

  /// Prepares a writer without a segment: its first record asks for room.
  static func prepare(_ writer: UnsafeMutablePointer<mmlog_writer>, of thread: ThreadBlock) {
    writer.pointee.thread = thread
    // Stored only if they change: whoever closes the session may be inspecting them.
    if writer.pointee.has_segment != 0 { writer.pointee.has_segment = 0 }
    if writer.pointee.is_holder != 0 { writer.pointee.is_holder = 0 }
    writer.pointee.in_scratch = 0
    (writer.pointee.builds_beside, writer.pointee.stream_distance) = (0, 0)
    writer.pointee.cursor = mmlog_emergency_of(writer)
    writer.pointee.limit = writer.pointee.cursor
  }

  /// Seals the writer's segment and opens another for it; false if there is none.
  ///
  /// - Parameters:
  ///   - start: A record that is being built in the old segment, to be moved to the new one.
  ///   - used: How many bytes of the record are written.
  ///   - isBrief: Whether the writer gives the segment up soon. Then it may have one even if the
  ///     maximum number of writers have segments.
  @inline(never)
  static func nextSegment(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session,
    moving start: UnsafeMutablePointer<UInt64>? = nil, _ used: Int = 0, isBrief: Bool = false
  ) -> Bool {
    let isFirst = writer.pointee.is_holder == 0
    guard
      !isFirst
        || session.ring.pool.addHolder(isShared: isBrief || isOverflow(writer.pointee.thread))
    else { return false }
    // Noted before it waits, where its thread may end.
    if isFirst { writer.pointee.is_holder = 1 }
    guard let segment = openSegment(for: writer, session) else {
      writer.pointee.has_waited = 1
      if isFirst { removeHolder(writer, session.ring) }
      return false
    }
    if let start { copy(from: start, used, to: segment.cursor) }
    // Only now: a sealed segment may be emptied at any moment.
    seal(writer, session.ring)
    writer.pointee.segment = UInt32(segment.index)
    writer.pointee.has_segment = 1
    writer.pointee.cursor = segment.cursor
    writer.pointee.limit = segment.limit
    writer.pointee.seed = UInt64(segment.seed)
    writer.pointee.stream_distance = Int64(segment.streamDistance)
    return true
  }

  @inline(__always)
  private static func openSegment(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> OpenSegment? {
    // Segments that are free now are for threads that have waited for long.
    let isOthersTurn = session.ring.eventCounts.hasOverdue
    if !isOthersTurn, let segment = session.ring.openSegment(for: writer) { return segment }
    return session.awaitSegment(for: writer, timeout(of: writer))
  }

  /// Opens a segment for the calling thread's next record, unless the thread has one with room for
  /// the record. ``giveUp(_:)`` has to follow.
  ///
  /// - Returns: False if there is no free segment now.
  static func reserve(_ size: Int, _ session: Session) -> Bool {
    guard let block = ThreadRegistry.find(session.identity) ?? session.attachThread() else {
      return false
    }
    let writer = mmlog_writer_at(block, 0)
    mmlog_begin_busy(writer)
    leaveScratch(writer)
    defer {
      if session.ring.streams != nil { buildBeside(writer) }
      mmlog_end_busy(writer)
    }
    if writer.pointee.has_segment != 0, writer.pointee.limit - writer.pointee.cursor >= size {
      return true
    }
    // A writer that has waited does not wait again.
    writer.pointee.has_waited = 1
    defer { writer.pointee.has_waited = 0 }
    return nextSegment(writer, session, isBrief: true)
  }

  /// Gives up the segment that ``reserve(_:_:)`` has opened.
  static func giveUp(_ session: Session) {
    if let block = ThreadRegistry.find(session.identity) { closeIdle(block, session.ring) }
  }

  /// Whether a block is the one that threads without a segment of their own share.
  static func isOverflow(_ block: ThreadBlock) -> Bool {
    block.pointee.ordinal == 0 && block.pointee.in_use == 0
  }

  /// How long a log call may wait for a free segment. It may wait only once, and not long inside
  /// another call, where its thread may hold what others wait for.
  static func timeout(of writer: UnsafeMutablePointer<mmlog_writer>) -> Session.Timeout {
    if writer.pointee.has_waited != 0 { return .none }
    return writer.pointee.outer == nil ? .full : .little
  }

  /// Seals the writer's segment, if it has one. The writer gets no other segment in its place.
  static func close(_ writer: UnsafeMutablePointer<mmlog_writer>, _ ring: Ring) {
    seal(writer, ring)
    removeHolder(writer, ring)
  }

  private static func removeHolder(_ writer: UnsafeMutablePointer<mmlog_writer>, _ ring: Ring) {
    guard writer.pointee.is_holder != 0 else { return }
    writer.pointee.is_holder = 0
    ring.pool.removeHolder()
  }

  /// Whether one of a block's writers is in the middle of a log call.
  static func isBusy(_ block: ThreadBlock) -> Bool {
    (0..<MMLOG_DEPTHS).contains { mmlog_is_busy(mmlog_writer_at(block, $0)) }
  }

  /// Closes a block's writers, except those in the middle of a call, whose thread may go on with
  /// the call at any moment.
  static func closeIdle(_ block: ThreadBlock, _ ring: Ring) {
    for depth in 0..<MMLOG_DEPTHS {
      let writer = mmlog_writer_at(block, depth)
      if !mmlog_is_busy(writer) { close(writer, ring) }
    }
  }

  /// Seals the writer's segment, if it has one. The writer must not be in the middle of a record in
  /// scratch memory.
  @inline(__always)
  private static func seal(_ writer: UnsafeMutablePointer<mmlog_writer>, _ ring: Ring) {
    guard writer.pointee.has_segment != 0 else { return }
    leaveScratch(writer)
    writer.pointee.has_segment = 0
    ring.seal(segment: Int(writer.pointee.segment), end: writer.pointee.cursor)
    writer.pointee.limit = writer.pointee.cursor
  }

  // MARK: - Scratch memory

  /// Makes the writer build all records in private memory from now on, because its ring is
  /// encrypted. The next record has room for `size` bytes if there is memory.
  static func buildBeside(_ writer: UnsafeMutablePointer<mmlog_writer>, _ size: Int = 0) {
    writer.pointee.builds_beside = 1
    useScratch(writer, size)
  }

  /// Makes the writer build its next record in private memory, from which the record is copied
  /// later.
  static func useScratch(_ writer: UnsafeMutablePointer<mmlog_writer>, _ size: Int) {
    if writer.pointee.in_scratch == 0 {
      writer.pointee.segment_cursor = writer.pointee.cursor
      writer.pointee.segment_limit = writer.pointee.limit
      writer.pointee.segment_seed = writer.pointee.seed
      writer.pointee.in_scratch = 1
    }
    // In this empty cache the commit finds no call site, and so comes to the outlined part.
    writer.pointee.sites = mmlog_no_sites()
    growScratch(writer, size)
  }

  /// Makes the writer build its next record in the dump, where it is lost. There is no memory for
  /// its arguments, and the built-in memory has room only for 127 arguments without strings. The
  /// dump has room for more arguments than a compiler accepts in one statement.
  private static func useDump(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    writer.pointee.cursor = mmlog_dump()
    writer.pointee.limit = writer.pointee.cursor + Int(MMLOG_DUMP_SIZE)
    // The record may be lost already, for another cause.
    if writer.pointee.lost == 0 { lose(writer, .tooLarge) }
  }

  /// Goes back to where the writer was before ``useScratch(_:_:)``.
  static func leaveScratch(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    guard writer.pointee.in_scratch != 0, let cursor = writer.pointee.segment_cursor,
      let limit = writer.pointee.segment_limit
    else { return }
    writer.pointee.in_scratch = 0
    writer.pointee.cursor = cursor
    writer.pointee.limit = limit
    writer.pointee.seed = writer.pointee.segment_seed
  }

  /// Frees scratch memory that one large record has made large.
  static func trimScratch(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    if writer.pointee.scratch_size > 1 << 16 { freeScratch(writer) }
  }

  static func freeScratch(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    guard let scratch = writer.pointee.scratch else { return }
    PrivateMemory.free(scratch, count: Int(writer.pointee.scratch_size))
    writer.pointee.scratch = nil
    writer.pointee.scratch_size = 0
  }

  private static func moveToScratch(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ start: UnsafeMutablePointer<UInt64>, used: Int,
    size: Int
  ) {
    let wasThere = writer.pointee.in_scratch != 0
    useScratch(writer, size)
    // Growing scratch memory keeps what is in it.
    if wasThere { return }
    // The whole record, unless there is no memory for it; then it will be dropped.
    copy(
      from: start, min(used, writer.pointee.limit - writer.pointee.cursor),
      to: writer.pointee.cursor)
    // The record may be dropped, or go elsewhere. Then nothing of it may stand where readers look
    // for the next record's first word.
    UnsafeMutableRawPointer(start).initializeMemory(as: UInt8.self, repeating: 0, count: used)
  }

  private static func growScratch(_ writer: UnsafeMutablePointer<mmlog_writer>, _ size: Int) {
    let present = Int(writer.pointee.scratch_size)
    var capacity = max(1 << 14, present)
    while capacity < size { capacity *= 2 }
    if capacity > present, let memory = resized(writer.pointee.scratch, present, capacity) {
      // If there was no memory for the record's beginning, it stands in the built-in memory.
      if present == 0 {
        memory.copyMemory(from: mmlog_emergency_of(writer), byteCount: Int(MMLOG_EMERGENCY_SIZE))
      }
      writer.pointee.scratch = memory.assumingMemoryBound(to: UInt8.self)
      writer.pointee.scratch_size = UInt64(capacity)
    }
    let scratch = writer.pointee.scratch
    writer.pointee.cursor = scratch ?? mmlog_emergency_of(writer)
    // No more than a reader accepts, however large the memory has become.
    writer.pointee.limit =
      writer.pointee.cursor
      + (scratch == nil
        ? Int(MMLOG_EMERGENCY_SIZE)
        : min(Int(writer.pointee.scratch_size), RecordLayout.longestBody))
    writer.pointee.seed = 0
  }

  private static func resized(
    _ scratch: UnsafeMutablePointer<UInt8>?, _ size: Int, _ capacity: Int
  ) -> UnsafeMutableRawPointer? {
    guard let scratch else { return PrivateMemory.allocate(capacity) }
    return PrivateMemory.resize(scratch, from: size, to: capacity)
  }
}

extension TestPoint {
  /// The same as ``reach(_:)``, for use in a log call. Nothing at all in release builds, where an
  /// empty function of another module would still be a call.
  @inline(__always)
  static func reachInCall(_ point: TestPoint) {
    #if DEBUG
      reach(point)
    #endif
  }
}
