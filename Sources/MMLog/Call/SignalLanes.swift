import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Where signal handlers write their records: a few writers that belong to no thread.
///
/// A handler touches nothing of the interrupted thread, so it does not matter what the signal
/// interrupted, or whether the thread has ever logged. A handler acquires a lane by one atomic
/// operation. If the lane is taken, the handler tries the next; it never waits for another's lane.
/// The first lane always has a segment, and takes a fresh one as soon as half of its segment is
/// used. If there is none, because the ring is full, the other half is left. The other lanes take
/// segments when they need them.
///
/// Proof of `@unchecked Sendable`: only whoever has acquired a lane touches it. The block is never
/// unmapped, because a handler may inspect it after the session's end. By then, the next session's
/// lanes may have the block; the handler finds that the gate is not that of its own session.
final class SignalLanes: @unchecked Sendable {
  /// The maximum number of bytes of text in one record.
  static let longestText = 1024
  /// How often all lanes are tried.
  private static let rounds: UInt32 = 64

  /// A writer for each lane.
  let block: ThreadBlock?

  init(_ threads: ThreadRegistry) {
    let old = BlockPool.takeLanes()
    block = threads.makeShared(from: old)
    guard let block else { return }
    // Lanes count like threads: their segments, unlike the overflow's, are not shared by all.
    block.pointee.in_use = 1
    if old == nil { return }
    for depth in 0..<MMLOG_DEPTHS { mmlog_end_busy(mmlog_writer_at(block, depth)) }
  }

  /// Gives the block to later sessions. At the session's end, when no log call works with it any
  /// more.
  func free() {
    guard let block else { return }
    // A late handler has a lane for a moment. If its thread is stopped just then, the handler keeps
    // the block.
    let end = Deadline(after: 1_000_000_000)
    for depth in 0..<MMLOG_DEPTHS {
      while !mmlog_acquire(mmlog_writer_at(block, depth)) {
        if end.isOver { return }
        Sleep.nanoseconds(1_000)
      }
    }
    BlockPool.releaseLanes(block)
  }

  /// Gives the first lane its segment. Called before anybody logs.
  func reserve(_ session: Session) {
    guard let block else { return }
    _ = Self.makeRoom(session.ring.largestRecord, mmlog_writer_at(block, 0), session)
    if session.ring.streams == nil { return }
    for depth in 0..<MMLOG_DEPTHS {
      let lane = mmlog_writer_at(block, depth)
      WriterSpace.buildBeside(lane)
      WriterSpace.leaveScratch(lane)
    }
  }

  /// Whether a handler is writing a record, or counting one that it could not write.
  var isBusy: Bool {
    guard let block else { return false }
    return WriterSpace.isBusy(block) || mmlog_has_visitors(block)
  }

  /// Seals the segments. Called at the session's end.
  func seal(_ ring: Ring) {
    if let block { WriterSpace.closeIdle(block, ring) }
  }

  /// What became of a record.
  enum Outcome {
    case written
    /// The record is lost, and counted in the ring.
    case counted
    /// The record is lost, and the ring may be gone: the caller has to count the loss.
    case uncounted
  }

  /// Writes a record, or counts it. Async-signal-safe; no lock, no allocation, no waiting.
  func record(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level,
    _ site: NewCallSite, _ values: UnsafeBufferPointer<mmlog_value>,
    _ session: Session
  ) -> Outcome {
    guard let cause = write(label, level, site, values, session) else { return .written }
    guard let block else { return .uncounted }
    mmlog_begin_visit(block)
    defer { mmlog_end_visit(block) }
    // Only now: a visitor that finds the session open keeps the ring from being unmapped.
    guard session.isOpen(to: label) else { return .uncounted }
    TestPoint.reachInCall(.signalLossCounting)
    session.ring.countLoss(cause, level)
    return .counted
  }

  /// - Returns: Why the record could not be written; nil if it is in the ring.
  private func write(
    _ label: UnsafeMutablePointer<mmlog_label>, _ level: Level,
    _ site: NewCallSite, _ values: UnsafeBufferPointer<mmlog_value>,
    _ session: Session
  ) -> LossLedger.Cause? {
    // A length and padding for each value. With a word to spare, the record is never moved.
    let room =
      (RecordLayout.bodyWord + 4 + 2 * values.count) * wordSize + Self.longestText
      + site.largestEntry
    guard room <= session.ring.largestRecord else { return .tooLarge }
    let lane: UnsafeMutablePointer<mmlog_writer>
    switch acquire(room, label, session) {
    case .lane(let acquired): lane = acquired
    case .refused(let cause): return cause
    }
    defer { mmlog_end_busy(lane) }
    defer { WriterSpace.leaveScratch(lane) }
    if session.ring.streams != nil {
      WriterSpace.buildBeside(lane, room)
      guard lane.pointee.limit - lane.pointee.cursor >= room else { return .tooLarge }
    }
    var cursor = RecordCursor(lane, reserving: 0)
    let thread = session.threads.ordinal(in: session.identity)
    let threadID = UInt32(bitPattern: CurrentProcess.threadID())
    cursor.append(UInt64(thread) | UInt64(threadID) << 32)
    if cursor.append(values, longestText: Self.longestText) {
      session.ring.countLoss(.cut, level)
    }
    var record = UnfinishedRecord(
      cursor: cursor, identity: cursor.identity(label, level, .thread))
    guard record.appendCallSite(site, of: session.ring.identity.session) else {
      // Counted without a number: a handler's record has a number only if it is in the ring.
      return .tooLarge
    }
    if lane.pointee.in_scratch == 0 {
      record.finishInPlace()
      return nil
    }
    WriterSpace.leaveScratch(lane)
    return RecordCopier(record).copy(to: lane, session) == .noRoom ? .ringFull : nil
  }

  /// Not `Result`: without optimization, a generic type is looked up under a lock.
  private enum Acquisition {
    case lane(UnsafeMutablePointer<mmlog_writer>)
    case refused(LossLedger.Cause)
  }

  /// Acquires a lane with room for `room` bytes.
  private func acquire(
    _ room: Int, _ label: UnsafeMutablePointer<mmlog_label>, _ session: Session
  ) -> Acquisition {
    guard let block else { return .refused(.noRing) }
    var wasTaken = false
    // Not `for in`: see LogCall.freeWriter.
    var turn: UInt32 = 0
    while turn < Self.rounds * MMLOG_DEPTHS {
      let depth = turn % MMLOG_DEPTHS
      // The loop has inspected each lane, and none has room. That does not change in this time.
      if depth == 0 && turn > 0 && !wasTaken { return .refused(.ringFull) }
      if depth == 0 { wasTaken = false }
      turn += 1
      let lane = mmlog_writer_at(block, depth)
      guard mmlog_acquire(lane) else {
        wasTaken = true
        continue
      }
      // Only now: whoever closes the store changes the gate first, and then looks for acquired
      // lanes.
      if !session.isOpen(to: label) {
        mmlog_end_busy(lane)
        return .refused(.noRing)
      }
      if Self.makeRoom(room, lane, session) { return .lane(lane) }
      mmlog_end_busy(lane)
    }
    return .refused(.tooDeep)
  }

  /// Gives a lane a fresh segment if half of its own is used; false if there is less room than
  /// asked for.
  private static func makeRoom(
    _ room: Int, _ lane: UnsafeMutablePointer<mmlog_writer>, _ session: Session
  ) -> Bool {
    let left = lane.pointee.limit - lane.pointee.cursor
    if left >= max(room, session.ring.largestRecord / 2) { return true }
    lane.pointee.has_waited = 1
    return WriterSpace.nextSegment(lane, session) || left >= room
  }
}
