import CMMLogCore
import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// Copies a record from private memory into segments of the ring. Async-signal-safe.
struct RecordCopier {
  private let record: UnfinishedRecord
  /// Names the thread, in a segment that threads share.
  private var threadWord: UInt64?

  init(_ record: UnfinishedRecord) { self.record = record }

  /// Returns a copier for a segment in which each record has to name its thread.
  func naming(_ thread: ThreadBlock) -> RecordCopier {
    var copy = self
    copy.threadWord = UInt64(thread.pointee.ordinal) | UInt64(thread.pointee.thread_id) << 32
    return copy
  }

  /// What became of a record.
  enum Outcome {
    case kept
    /// It is counted as overwritten: its end, or another record, needed the place of its beginning.
    case overwritten
    /// The ring has no place for it. Fragments that were written stay unfinished, and readers do
    /// not show them.
    case noRoom
  }

  /// Writes the record where `writer` stands.
  func copy(to writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session) -> Outcome {
    let size = record.cursor.size + (threadWord == nil ? 0 : wordSize)
    guard size > session.ring.largestRecord else { return copyWhole(size, to: writer, session) }
    // The waits for all its segments together take no longer than one may.
    let isFirstWait = writer.pointee.wait_end == 0
    if isFirstWait {
      let limit = session.waitingTime(WriterSpace.timeout(of: writer))
      writer.pointee.wait_end = Deadline(after: limit).time
    }
    defer { if isFirstWait { writer.pointee.wait_end = 0 } }
    return copyFragments(to: writer, session)
  }

  private func copyWhole(
    _ size: Int, to writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> Outcome {
    guard Self.makeRoom(size, writer, session), var target = Target(writer) else { return .noRoom }
    if let threadWord { target.append(clear: threadWord) }
    var body = record.cursor.start + RecordLayout.bodyWord
    if record.namesThread {
      target.append(clear: body.pointee)
      body += 1
    }
    target.append(body, words: record.cursor.next - body)
    let flags = threadWord == nil ? 0 : UInt64(RecordFlags.thread.rawValue)
    target.commit(
      LeadingWords(
        kind: RecordLayout.recordKind, ticks: mmlog_ticks(),
        identity: record.identity | flags << RecordLayout.flagsShift))
    return .kept
  }

  private func copyFragments(
    to writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> Outcome {
    let body = record.cursor.start + RecordLayout.identityWord
    body.pointee = record.identity
    let words = record.cursor.next - body
    // Read only here: in a shared segment, that is under the lock, so that ticks rise from record
    // to record.
    let ticks = mmlog_ticks()
    var done = 0
    var index: UInt64 = 0
    while done < words {
      // Fills what is left of the segment, if that is worth a fragment.
      guard Self.makeRoom((FragmentLayout.maximumLeadingWords + 8) * wordSize, writer, session),
        var target = Target(writer)
      else {
        if index > 0 {
          session.ring.abandonFragments(thread: thread(of: writer), ticks: ticks, record.level)
        }
        return .noRoom
      }
      let room = target.roomInWords(writer) - FragmentLayout.maximumLeadingWords
      let part = min(room, words - done)
      if let threadWord { target.append(clear: threadWord) }
      target.append(clear: UInt64(words * wordSize))
      target.append(body + done, words: part)
      done += part
      target.commit(leadingWords(ofFragment: index, isLast: done == words, ticks))
      index += 1
      TestPoint.reach(.fragmentWritten)
    }
    let isOverwritten = session.ring.settledFragments.contains(
      thread: thread(of: writer), ticks: ticks)
    return isOverwritten ? .overwritten : .kept
  }

  /// The ordinal of the record's thread.
  private func thread(of writer: UnsafeMutablePointer<mmlog_writer>) -> UInt32 {
    threadWord.map { UInt32(truncatingIfNeeded: $0) } ?? writer.pointee.thread.pointee.ordinal
  }

  private func leadingWords(
    ofFragment index: UInt64, isLast: Bool, _ ticks: UInt64
  ) -> LeadingWords {
    let flags = (isLast ? FragmentLayout.last : 0) | (threadWord == nil ? 0 : FragmentLayout.thread)
    let keptBits = 0x00FF_FFFF_0000_0000 as UInt64
    return LeadingWords(
      kind: RecordLayout.fragmentKind, ticks: ticks,
      identity: index | record.identity & keptBits | UInt64(flags) << RecordLayout.flagsShift)
  }

  private static func makeRoom(
    _ size: Int, _ writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> Bool {
    let fits =
      writer.pointee.has_segment != 0 && writer.pointee.cursor + size <= writer.pointee.limit
    return fits || WriterSpace.nextSegment(writer, session)
  }

  /// The record being written in a segment.
  private struct Target {
    private let writer: UnsafeMutablePointer<mmlog_writer>
    private let start: UnsafeMutablePointer<UInt64>
    private var next: UnsafeMutablePointer<UInt64>
    private var checksum: UInt64
    /// See `stream_distance` of a writer.
    private let distance: Int

    /// Nil if the segment is encrypted, and its stream is gone.
    init?(_ writer: UnsafeMutablePointer<mmlog_writer>) {
      self.writer = writer
      start = UnsafeMutableRawPointer(writer.pointee.cursor).assumingMemoryBound(to: UInt64.self)
      next = start + RecordLayout.bodyWord
      checksum = writer.pointee.seed
      distance = Int(writer.pointee.stream_distance)
      if distance != 0, !EncryptedCopy.hasStream(start, writer) { return nil }
    }

    func roomInWords(_ writer: UnsafeMutablePointer<mmlog_writer>) -> Int {
      (writer.pointee.limit - writer.pointee.cursor) / wordSize
    }

    mutating func append(clear word: UInt64) {
      next.pointee = word
      next += 1
      checksum = mmlog_crc32c_word(checksum, word)
    }

    mutating func append(_ words: UnsafePointer<UInt64>, words count: Int) {
      if distance != 0 { return append(encrypting: words, words: count) }
      next.update(from: words, count: count)
      checksum = UInt64(
        mmlog_crc32c_bytes(UInt32(truncatingIfNeeded: checksum), words, count * wordSize))
      next += count
    }

    private mutating func append(encrypting words: UnsafePointer<UInt64>, words count: Int) {
      var copy = EncryptedCopy(next: next, checksum: checksum, distance: distance)
      copy.append(words, to: words + count)
      (next, checksum) = (copy.next, copy.checksum)
    }

    func commit(_ lead: LeadingWords) {
      lead.store(at: start, to: next, checksum: checksum)
      writer.pointee.cursor = UnsafeMutableRawPointer(next).assumingMemoryBound(to: UInt8.self)
      mmlog_number_entry(writer, LeadingWords.level(ofIdentity: lead.identity))
    }
  }
}

/// The one segment that all threads without a segment of their own share, under a lock.
///
/// Proof of `@unchecked Sendable`: the block is used only under the lock.
final class OverflowWriter: @unchecked Sendable {
  /// The lock: the block of the thread that has it, by its address; 1: the session's end has it;
  /// 0: nobody has it.
  private let holder = Atomic<UInt>(0)
  /// Counts how often the lock was released.
  let unlocked = EventCount()
  private(set) var block: ThreadBlock?

  init(_ threads: ThreadRegistry) { block = threads.makeShared() }

  /// Frees its memory. At the session's end.
  func free() {
    guard lock(for: 1, atMost: 1_000_000_000) else { return }
    defer { unlock() }
    guard let old = block else { return }
    WriterSpace.freeScratch(mmlog_writer_at(old, 0))
    PrivateMemory.free(old, count: mmlog_thread_size())
    block = nil
  }

  /// Writes a record of a thread. There is no room if the lock cannot be had in time, either.
  func copy(
    _ copier: RecordCopier, from writer: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> RecordCopier.Outcome {
    let timeout = WriterSpace.timeout(of: writer)
    let limit = session.waitingTime(timeout)
    let deadline = Deadline(after: limit)
    guard lock(for: UInt(bitPattern: writer.pointee.thread), atMost: limit) else {
      return .noRoom
    }
    defer { unlock() }
    guard let block else { return .noRoom }
    let shared = mmlog_writer_at(block, 0)
    shared.pointee.has_waited = timeout == .none ? 1 : 0
    shared.pointee.wait_end = deadline.time
    shared.pointee.outer = writer.pointee.outer
    TestPoint.reach(.overflowLocked)
    return copier.naming(writer.pointee.thread).copy(to: shared, session)
  }

  private func lock(for new: UInt, atMost nanoseconds: Int64) -> Bool {
    unlocked.wait(atMost: nanoseconds) {
      holder.compareExchange(expected: 0, desired: new, ordering: .acquiringAndReleasing).exchanged
    }
  }

  private func unlock() {
    holder.store(0, ordering: .releasing)
    unlocked.advanceForOne()
  }

  /// Takes in that the thread of a block ends, perhaps in the middle of ``copy(_:from:_:)``.
  func threadEnds(_ thread: ThreadBlock, _ ring: Ring) {
    guard holder.load(ordering: .relaxed) == UInt(bitPattern: thread) else { return }
    if let block { WriterSpace.close(mmlog_writer_at(block, 0), ring) }
    unlock()
  }

  /// Frees the lock in a fork's child: a thread that the child does not have may have held it.
  func reinitialize() {
    holder.store(0, ordering: .relaxed)
    unlocked.reinitialize()
  }

  /// Seals the segment. At the session's end.
  func seal(_ ring: Ring) {
    guard lock(for: 1, atMost: 1_000_000_000) else { return }
    defer { unlock() }
    if let block { WriterSpace.close(mmlog_writer_at(block, 0), ring) }
  }
}
