import CMMLogCore
public import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

extension LogCall {
  /// Commits a record whose call site is not in the writer's cache, or that is not yet in the ring.
  ///
  /// - Parameters:
  ///   - writer, next, checksum: The ``RecordCursor`` of the record. All words of the record but
  ///     the leading ones are written.
  ///   - tail: The record's identity word without the call site.
  ///   - site: The log statement.
  /// - Returns: The number of the call site, 0 if the dictionary does not have it; and whether the
  ///   record is kept. If not, it is counted.
  @inline(never)
  static func commit(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ next: UnsafeMutablePointer<UInt64>,
    _ checksum: UInt64, _ tail: UInt64, _ site: NewCallSite
  ) -> (callSite: UInt64, isKept: Bool) {
    let cursor = RecordCursor(writer, next, checksum: checksum)
    defer { leave(writer) }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    guard let session = Session.of(writer.pointee.thread) else { return (0, false) }
    var record = UnfinishedRecord(cursor: cursor, identity: tail)
    let level = record.level
    record.appendContext()
    if let cause = WriterSpace.loss(of: writer) {
      lose(cause, level, writer, session)
      // After a lost flight record, the writer goes on in its segment.
      eraseAbandoned(writer)
      // The end of a span whose beginning is lost still says what began. An unknown call site
      // cannot be added here: the parts of a lost record may be gone.
      return (session.sites.find(site.hash) ?? 0, false)
    }
    let isNested = writer.pointee.outer != nil
    let number = session.number(of: site, isNested: isNested)
    if let number {
      record.identity |= number
      if !isNested { remember(writer, site.hash, number) }
    } else if !record.appendCallSite(site, of: session.ring.identity.session) {
      lose(.tooLarge, level, writer, session)
      eraseAbandoned(writer)
      return (0, false)
    }
    let allFlags = UInt8(truncatingIfNeeded: record.identity >> RecordLayout.flagsShift)
    let isCut = RecordFlags(rawValue: allFlags).contains(.cut)
    // Counted before the commit, so that every cut record is counted, at whatever moment the
    // process dies.
    if isCut { session.ring.countLoss(.cut, level) }
    if writer.pointee.in_scratch != 0 {
      let isKept = place(record, level, writer, session)
      if isCut, !isKept { session.ring.uncount(.cut, level) }
      return (number ?? 0, isKept)
    }
    record.finishInPlace()
    return (number ?? 0, true)
  }

  /// The flag of a record with a context, where it stands in the identity word.
  @inline(__always)
  fileprivate static var contextFlag: UInt64 {
    UInt64(RecordFlags.context.rawValue) << RecordLayout.flagsShift
  }

  /// Whether there is room for a context behind a record, and for the zeros behind the context.
  @inline(__always)
  fileprivate static func hasRoom(
    for context: UnsafePointer<mmlog_context>, _ next: UnsafeMutablePointer<UInt64>,
    _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> Bool {
    UnsafeMutableRawPointer(next + Int(context.pointee.count) + Int(MMLOG_CONTEXT_PADDING))
      <= UnsafeMutableRawPointer(writer.pointee.limit)
  }

  /// Whether a context can be copied behind a record as it is.
  @inline(__always)
  fileprivate static func canAppend(
    _ context: UnsafePointer<mmlog_context>, _ next: UnsafeMutablePointer<UInt64>,
    _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> Bool {
    hasRoom(for: context, next, writer) && !WriterSpace.hasCutContext(writer)
      && writer.pointee.merged_capacity <= WriterSpace.keptContext
  }

  /// Commits a record with any context, except one that is very large, or of which something is
  /// missing.
  @inline(__always)
  fileprivate static func commitBound(
    _ record: RecordCursor, _ context: UnsafePointer<mmlog_context>, _ tail: UInt64, _ hash: UInt64,
    _ ticks: UInt64
  ) -> UInt64 {
    var cursor = record
    let writer = cursor.writer
    let slot = mmlog_site_slot_of(mmlog_sites_of(writer.pointee.thread), hash)
    guard slot.pointee.hash == hash, canAppend(context, cursor.next, writer) else { return 0 }
    let end = cursor.next + Int(context.pointee.count)
    var word = mmlog_context_words(context)
    while cursor.next < end {
      cursor.append(word.pointee)
      word += 1
    }
    let identity = tail | slot.pointee.site | writer.pointee.context_label | contextFlag
    UnfinishedRecord(cursor: cursor, identity: identity).finishInPlace(at: ticks)
    writer.pointee.context = nil
    writer.useSites()
    mmlog_end_busy(writer)
    return LeadingWords.callSite(ofIdentity: identity)
  }

  /// Commits a record whose call site is in the session's table, and perhaps not in the thread's
  /// cache.
  @inline(__always)
  fileprivate static func commitFound(
    _ cursor: RecordCursor, _ tail: UInt64, _ hash: UInt64, _ ticks: UInt64
  ) -> UInt64 {
    let writer = cursor.writer
    let cut = UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    let slot = mmlog_site_slot_of(mmlog_sites_of(writer.pointee.thread), hash)
    let known = slot.pointee.hash == hash ? slot.pointee.site : nil
    guard writer.pointee.has_waited == 0, tail & cut == 0,
      let number = known ?? Session.of(writer.pointee.thread)?.sites.find(hash)
    else { return 0 }
    if known == nil { remember(writer, hash, number) }
    UnfinishedRecord(cursor: cursor, identity: tail | number).finishInPlace(at: ticks)
    writer.useSites()
    mmlog_end_busy(writer)
    return number
  }

  /// Commits a record of an encrypted ring, which was built outside the ring: copies the record
  /// into the segment, and combines it with the segment's stream meanwhile.
  @inline(__always)
  fileprivate static func commitEncrypted(
    _ record: RecordCursor, _ tail: UInt64, _ hash: UInt64, _ ticks: UInt64
  ) -> UInt64 {
    var cursor = record
    let writer = cursor.writer
    let slot = mmlog_site_slot_of(mmlog_sites_of(writer.pointee.thread), hash)
    let cut = UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    guard slot.pointee.hash == hash, tail & cut == 0, writer.pointee.outer == nil,
      writer.pointee.has_segment != 0, writer.pointee.lost | writer.pointee.has_waited == 0
    else { return 0 }
    var identity = tail | slot.pointee.site
    if let context = writer.pointee.context {
      guard canAppend(context, cursor.next, writer) else { return 0 }
      cursor.append(
        words: UnsafeBufferPointer(
          start: mmlog_context_words(context), count: Int(context.pointee.count)))
      identity |= writer.pointee.context_label | contextFlag
    }
    guard let start = EncryptedCopy.start(writer, size: cursor.size) else { return 0 }
    var copy = EncryptedCopy(
      next: start + RecordLayout.bodyWord, checksum: writer.pointee.segment_seed,
      distance: Int(truncatingIfNeeded: writer.pointee.stream_distance))
    copy.append(cursor.start + RecordLayout.bodyWord, to: cursor.next)
    #if DEBUG
      TestPoint.reach(.recordBuilt)
    #endif
    LeadingWords(kind: RecordLayout.recordKind, ticks: ticks, identity: identity)
      .store(at: start, to: copy.next, checksum: copy.checksum)
    writer.pointee.segment_cursor =
      UnsafeMutableRawPointer(copy.next).assumingMemoryBound(to: UInt8.self)
    mmlog_number_entry(writer, LeadingWords.level(ofIdentity: identity))
    writer.pointee.unusual_calls &+= 1
    writer.pointee.context = nil
    mmlog_end_busy(writer)
    return LeadingWords.callSite(ofIdentity: identity)
  }

  /// Ends a call, and goes back to the interrupted call if there is one.
  private static func leave(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    WriterSpace.leaveScratch(writer)
    WriterSpace.trimScratch(writer)
    if writer.pointee.merged_capacity > WriterSpace.keptContext { WriterSpace.freeContext(writer) }
    writer.pointee.unusual_calls &+= 1
    writer.pointee.has_waited = 0
    writer.pointee.lost = 0
    writer.pointee.context = nil
    let outer = writer.pointee.outer
    writer.pointee.outer = nil
    if let outer {
      mmlog_set_current_writer(outer)
    } else {
      writer.useSites()
    }
    if writer.pointee.builds_beside != 0 { WriterSpace.useScratch(writer, 0) }
    mmlog_end_busy(writer)
  }

  private static func remember(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ hash: UInt64, _ site: UInt64
  ) {
    let slot = mmlog_site_slot_of(mmlog_sites_of(writer.pointee.thread), hash)
    slot.pointee = mmlog_site_slot(hash: hash, site: site)
  }

  /// Puts a record that was built in private memory into the ring: into the thread's own segment or
  /// the shared one, whole or in fragments.
  private static func place(
    _ record: UnfinishedRecord, _ level: Level, _ writer: UnsafeMutablePointer<mmlog_writer>,
    _ session: Session
  ) -> Bool {
    WriterSpace.leaveScratch(writer)
    let copier = RecordCopier(record)
    var outcome = copier.copy(to: writer, session)
    if outcome == .noRoom { outcome = session.overflow.copy(copier, from: writer, session) }
    if outcome == .noRoom { lose(.ringFull, level, writer, session) }
    return outcome == .kept
  }

  /// Counts a record that its writer could not keep.
  ///
  /// The lost record has a number, so that a reader can determine where it is missing. Numbers in a
  /// segment have no gaps, so the next record goes into another segment. In a full ring, the thread
  /// loses the room that is left in this one; sealing the segment makes it free for others sooner.
  private static func lose(
    _ cause: LossLedger.Cause, _ level: Level, _ writer: UnsafeMutablePointer<mmlog_writer>,
    _ session: Session
  ) {
    session.ring.countLoss(cause, level)
    if level < session.ring.archiveLevel { return }
    WriterSpace.close(writer, session.ring)
    mmlog_number_entry(writer, UInt32(level.rawValue))
  }
}

// These are functions of a pointer. Functions of a type would need second functions that pass their
// arguments on.
extension UnsafeMutablePointer<mmlog_writer> {
  /// Commits a record that differs from the usual one only because it has a context, or because its
  /// call site is not in the thread's cache.
  ///
  /// - Parameters:
  ///   - next, checksum, tail: As for the outlined commit.
  ///   - hash: The hash of the call site.
  ///   - ticks: The counter's value, if there is a counter.
  /// - Returns: The number of the call site; 0 if nothing was done, because there is more to do.
  @usableFromInline @inline(never)
  func commitKnown(
    _ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64, _ tail: UInt64, _ hash: UInt64,
    _ ticks: UInt64
  ) -> UInt64 {
    let sites = mmlog_sites_of(pointee.thread)
    let slot = mmlog_site_slot_of(sites, hash)
    // The usual call with a context. It calls nothing, so that it needs no place on the stack.
    guard mmlog_is_usual(self), let context = pointee.context, context.pointee.skip != 0,
      slot.pointee.hash == hash, LogCall.hasRoom(for: context, next, self), mmlog_has_counter()
    else { return commitUnusual(next, checksum, tail, hash, ticks) }
    mmlog_copy_context(next, context)
    let check = mmlog_crc32c_skip(checksum, context.pointee.skip) ^ context.pointee.check
    let cursor = RecordCursor(self, next + Int(context.pointee.count), checksum: check)
    let identity = tail | slot.pointee.site | pointee.context_label | LogCall.contextFlag
    UnfinishedRecord(cursor: cursor, identity: identity).finishInPlace(at: ticks)
    pointee.context = nil
    pointee.sites = sites
    mmlog_end_busy(self)
    return LeadingWords.callSite(ofIdentity: identity)
  }

  /// Commits records that `commitKnown` leaves. Takes the same arguments in the same registers.
  @inline(never)
  private func commitUnusual(
    _ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64, _ tail: UInt64, _ hash: UInt64,
    _ counter: UInt64
  ) -> UInt64 {
    let cursor = RecordCursor(self, next, checksum: checksum)
    let ticks = mmlog_has_counter() ? counter : mmlog_ticks()
    let number =
      if !mmlog_is_usual(self) {
        pointee.builds_beside != 0 ? LogCall.commitEncrypted(cursor, tail, hash, ticks) : 0
      } else if let context = pointee.context {
        LogCall.commitBound(cursor, context, tail, hash, ticks)
      } else {
        LogCall.commitFound(cursor, tail, hash, ticks)
      }
    if number == 0 {
      (pointee.record_next, pointee.record_checksum) = (next, checksum)
      (pointee.record_tail, pointee.site_hash) = (tail, hash)
    }
    return number
  }

  /// Commits the record that ``commitKnown(_:_:_:_:_:)`` has left. This writer has the parts of its
  /// log statement.
  ///
  /// - Parameters:
  ///   - further: The parts for which there was no room.
  ///   - file, function: Where the statement is.
  ///   - sizes: The ``TextSizes`` of these.
  ///   - detail: A ``SiteDetail``.
  /// - Returns: The number of the call site; 0 if it has none.
  @usableFromInline @inline(never)
  func commitNew(
    _ further: UnsafeMutablePointer<MessagePart>?, _ file: UnsafePointer<UInt8>,
    _ function: UnsafePointer<UInt8>, _ sizes: UInt64, _ detail: UInt64
  ) -> UInt64 {
    guard let next = pointee.record_next else { return 0 }
    let (sizes, detail) = (TextSizes(word: sizes), SiteDetail(word: detail))
    let parts = MessageParts(
      storedIn: self, count: detail.words, FurtherParts(base: further, count: detail.further))
    let site = NewCallSite(
      hash: pointee.site_hash, parts: parts,
      file: UnsafeRawBufferPointer(start: file, count: sizes.file),
      function: UnsafeRawBufferPointer(start: function, count: sizes.function),
      line: detail.line, column: detail.column)
    return LogCall.commit(self, next, pointee.record_checksum, pointee.record_tail, site).callSite
  }

  /// Makes records look for their call sites in the thread's cache. Without a counter, they look in
  /// an empty cache, so that the commit comes to the outlined part, which asks the clock.
  @inline(__always)
  func useSites() {
    pointee.sites = mmlog_has_counter() ? mmlog_sites_of(pointee.thread) : mmlog_no_sites()
  }
}

/// Copies the words of a record into an encrypted segment.
struct EncryptedCopy {
  /// Where the next word goes.
  private(set) var next: UnsafeMutablePointer<UInt64>
  /// The checksum of the words as they stand in the segment.
  private(set) var checksum: UInt64
  /// See `stream_distance` of a writer.
  let distance: Int

  /// Where a record that was built outside its writer's segment goes; nil if there is no room for
  /// the record, or no stream.
  @inline(__always)
  static func start(
    _ writer: UnsafeMutablePointer<mmlog_writer>, size: Int
  ) -> UnsafeMutablePointer<UInt64>? {
    guard let place = writer.pointee.segment_cursor, let limit = writer.pointee.segment_limit,
      size <= limit - place
    else { return nil }
    let start = UnsafeMutableRawPointer(place).assumingMemoryBound(to: UInt64.self)
    return hasStream(start, writer) ? start : nil
  }

  /// Whether there is a stream for a record that begins at `start`. In a child of fork that has not
  /// let go of its parent's ring yet, there is none: the stream's memory is zero. The first word of
  /// a record is never combined with the stream, so the stream's word for it can tell.
  @inline(__always)
  static func hasStream(
    _ start: UnsafeMutablePointer<UInt64>, _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> Bool {
    let stream = UnsafeRawPointer(start) + Int(truncatingIfNeeded: writer.pointee.stream_distance)
    return stream.load(as: UInt64.self) != 0
  }

  @inline(__always)
  mutating func append(_ first: UnsafePointer<UInt64>, to end: UnsafePointer<UInt64>) {
    // Not `for in`: see LogCall.freeWriter.
    var word = first
    while word < end {
      let stream = (UnsafeRawPointer(next) + distance).load(as: UInt64.self)
      let combined = word.pointee ^ stream
      next.pointee = combined
      checksum = mmlog_crc32c_word(checksum, combined)
      next += 1
      word += 1
    }
  }
}

/// A record of which everything but the three leading words is written.
struct UnfinishedRecord {
  var cursor: RecordCursor
  /// The identity word.
  var identity: UInt64

  var level: Level {
    Level(fromFile: UInt8(truncatingIfNeeded: identity >> RecordLayout.levelShift))
  }

  /// Whether the record's first word behind the leading ones names its thread.
  var namesThread: Bool {
    let flags = UInt8(truncatingIfNeeded: identity >> RecordLayout.flagsShift)
    return flags & RecordFlags.thread.rawValue != 0
  }

  /// Adds the call site's entry to the record itself, because the dictionary has no room for it.
  ///
  /// - Returns: False if the record has no room for it either, or the call site has too many parts.
  mutating func appendCallSite(_ site: NewCallSite, of session: SessionID) -> Bool {
    guard site.isReadable else { return false }
    let maximum = site.largestEntry + wordSize
    let writer = cursor.writer
    if UnsafeMutableRawPointer(cursor.next) + maximum
      > UnsafeMutableRawPointer(writer.pointee.limit)
    {
      cursor = WriterSpace.reserveValue(writer, cursor.next, value: maximum, beside: wordSize)
      let kept = WriterSpace.cut(maximum, writer, cursor.next, beside: wordSize)
      guard writer.pointee.lost == 0, kept == maximum else { return false }
    }
    let target = cursor.next
    var entry = EntryWriter(into: UnsafeMutableRawBufferPointer(start: target, count: maximum))
    site.write(into: &entry, id: 0)
    let seed = checksumSeed(session: session, generation: 0)
    guard let end = entry.finish(kind: RecordLayout.callSiteKind, seed: seed) else { return false }
    target.pointee = end.header
    let words = end.size / wordSize
    target[words] = UInt64(words)
    cursor.checksum = UInt64(
      mmlog_crc32c_bytes(
        UInt32(truncatingIfNeeded: cursor.checksum), target, end.size + wordSize))
    cursor.next += words + 1
    identity |= UInt64(RecordFlags.inlineCallSite.rawValue) << RecordLayout.flagsShift
    return true
  }

  /// Adds the context that the call has found, if it has found one.
  mutating func appendContext() {
    let writer = cursor.writer
    guard let context = writer.pointee.context else { return }
    cursor.append(
      words: UnsafeBufferPointer(
        start: mmlog_context_words(context), count: Int(context.pointee.count)))
    identity |= writer.pointee.context_label | LogCall.contextFlag
  }

  /// Commits the record where it stands, in its thread's segment.
  ///
  /// - Parameter ticks: When the record was logged.
  @inline(__always)
  func finishInPlace(at ticks: UInt64 = mmlog_ticks()) {
    #if DEBUG
      // From this module, it is a call even if it does nothing.
      TestPoint.reach(.recordBuilt)
    #endif
    LeadingWords(kind: RecordLayout.recordKind, ticks: ticks, identity: identity)
      .store(at: cursor.start, to: cursor.next, checksum: cursor.checksum)
    cursor.writer.pointee.cursor =
      UnsafeMutableRawPointer(cursor.next).assumingMemoryBound(to: UInt8.self)
    mmlog_number_entry(cursor.writer, LeadingWords.level(ofIdentity: identity))
  }
}

extension NewCallSite {
  /// Whether readers accept the call site.
  var isReadable: Bool { partCount <= CallSite.maximumParts }

  private var partCount: Int {
    var count = 0
    parts.forEach { _ in count += 1 }
    return count
  }

  /// At least as many bytes as the entry takes.
  var largestEntry: Int {
    var size = 5 * wordSize + paddedSize(file.count) + paddedSize(function.count)
    parts.forEach { size += 4 * wordSize + paddedSize($0.bytes.count) }
    return size
  }

  /// Writes the entry. Allocates nothing.
  func write(into writer: inout EntryWriter, id: UInt32) {
    writer.callSite(
      id: id, line: line, column: column, parts: partCount, file: file, function: function)
    parts.forEach { $0.write(into: &writer) }
  }
}

extension MessagePart {
  fileprivate func write(into writer: inout EntryWriter) {
    guard isArgument else { return writer.literal(bytes) }
    writer.argument(
      type: UInt8(truncatingIfNeeded: head >> Self.typeShift),
      privacy: UInt8(truncatingIfNeeded: head >> Self.privacyShift & 0xF),
      width: UInt8(truncatingIfNeeded: head >> Self.widthShift),
      format: appearance & 0xFFFF_FFFF, alignment: appearance >> 32, name: bytes)
  }
}

extension Session {
  /// The number of a call site. Adds the call site to the dictionary if it is new.
  ///
  /// - Parameter isNested: Whether the thread itself may hold the lock; then this does not wait for
  ///   the lock. The thread may also hold it in other cases, as when a signal handler runs while a
  ///   label is added. So this never waits for long.
  /// - Returns: nil if there is no room for the call site, it has too many parts, or the lock
  ///   cannot be had.
  func number(of site: NewCallSite, isNested: Bool) -> UInt64? {
    // A call site that is in the table was readable when it was added.
    if let number = sites.find(site.hash) { return number }
    guard site.isReadable else { return nil }
    // A quarter of the area is for labels, which cannot travel in a record.
    return number(
      ofKind: RecordLayout.callSiteKind, site.hash, isNested: isNested, leaving: { $0 / 4 }
    ) { site.write(into: &$0, id: $1) }
  }

  /// The number of a call site or a key set by its hash; see the form for call sites.
  ///
  /// - Parameters:
  ///   - leaving: How many bytes of the dictionary have to stay free, by its size.
  ///   - write: Writes the entry under a number.
  func number(
    ofKind kind: UInt64, _ hash: UInt64, isNested: Bool, leaving: (Int) -> Int,
    _ write: (inout EntryWriter, UInt32) -> Void
  ) -> UInt64? {
    if let number = sites.find(hash) { return number }
    let size = ring.dictionarySize.load(ordering: .acquiring)
    guard sites.takes(kind, in: size),
      ring.dictionaryLock.tryLock(atMost: isNested ? 0 : 10_000_000)
    else { return nil }
    defer { ring.dictionaryLock.unlock() }
    if let number = sites.find(hash) { return number }
    // If the table did not take the entry's number, the next entry would get the same number.
    guard sites.hasRoom(for: kind) else {
      sites.close(kind, in: .max)
      return nil
    }
    let number = sites.nextNumber
    let leaving = leaving(ring.dictionarySize.load(ordering: .acquiring))
    if ring.appendEntry(kind: kind, leaving: leaving, { write(&$0, UInt32(number)) }) {
      sites.insert(hash, site: number)
      return number
    }
    // Entries that find no room while the dictionary grows are added when they come again.
    if ring.dictionaryGrows { return nil }
    // A large entry may be the only one that finds no room.
    if ring.dictionaryRoom(leaving: leaving) < 1 << 10 { sites.close(kind, in: size) }
    return nil
  }
}
