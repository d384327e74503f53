import CMMLogWriter
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// One life of a store in one process: the ring, and everything that writes into it.
///
/// A store has a session from its opening to its closing. A child of `fork()` gets a session of its
/// own at its first log call. Once the store has published it, a session's object is never
/// deallocated: a log call may find the session just before its end, and use the object just after.
/// ``shutDown()`` frees the large parts; some three kilobytes are left of each session.
final class Session: Sendable {
  let ring: Ring
  let sites: CallSiteTable
  let threads: ThreadRegistry
  let overflow: OverflowWriter
  /// Reports of fatal signals that did not end the process.
  let survivals = SurvivedSignals()
  /// Where signal handlers write; nil if the store is not configured to serve them.
  let signalLanes: SignalLanes?
  let policy: LogStore.FullRingPolicy
  /// What ``Logger/Privacy/auto`` means for texts.
  let autoPrivacy: Logger.Privacy
  /// The labels that are still to be entered into the ring's dictionary.
  let missingLabels = LockedValue<[MissingLabel]>([])
  /// Gates of labels and writers are compared by this address, which is a multiple of 16.
  nonisolated(unsafe) let gate: UnsafeRawPointer
  /// The next in the store's list of sessions that are ending, or of those that have ended. Under
  /// the store's lock.
  nonisolated(unsafe) var nextEnding: Session?

  init(ring: Ring, _ configuration: LogStore.Configuration) throws(LogError) {
    // An entry takes some 400 bytes.
    guard let sites = CallSiteTable(sites: ring.geometry.dictionarySize / 256) else {
      throw LogError(PrivateMemory.refusal, while: "Making the table of call sites failed")
    }
    self.ring = ring
    self.sites = sites
    policy = configuration.fullRing
    autoPrivacy = configuration.autoPrivacy
    threads = ThreadRegistry(of: ring.identity.session, archiveLevel: ring.archiveLevel)
    overflow = OverflowWriter(threads)
    signalLanes = configuration.servesSignalHandlers ? SignalLanes(threads) : nil
    gate = UnsafeRawPointer(UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16))
    signalLanes?.reserve(self)
  }

  // Runs only for a session that was never published, which no log call has found.
  deinit { gate.deallocate() }

  /// The gate that labels have. If log calls have to look for their task's context, it differs from
  /// the writers' gate, so that all calls come to the outlined part. See `MMLOG_GATE_CONTEXTS`.
  var gateOfLabels: UnsafeRawPointer { mmlog_task_contexts_are_used() ? gate + 1 : gate }

  /// Whether records of a label are accepted.
  func isOpen(to label: UnsafeMutablePointer<mmlog_label>) -> Bool {
    Self.isOpen(gate, to: label)
  }

  /// Whether the session with this gate accepts records of a label.
  static func isOpen(_ gate: UnsafeRawPointer, to label: UnsafeMutablePointer<mmlog_label>) -> Bool
  {
    UInt(bitPattern: mmlog_load_gate(label)) & ~15 == UInt(bitPattern: gate)
  }

  /// Frees the map and the tables, when no log call works with them any more, and gives up the
  /// ring's lock.
  func shutDown() {
    sites.free()
    overflow.free()
    signalLanes?.free()
    ring.unmap()
  }

  /// Takes over the ring's report of a survived signal, if there is one.
  func collectSurvivedSignal() {
    if let report = ring.takeSurvivedSignal() { survivals.add(report) }
  }

  /// Counts the reports that are left as losses, because no records will be made of them.
  func giveUpSurvivedSignals() {
    while let report = survivals.first, survivals.take(report) {
      ring.countLoss(.ringFull, .critical)
      ring.noteSurvival()
    }
  }

  /// Frees locks in a fork's child: threads that the child does not have may have held them.
  func reinitializeLocks() {
    ring.dictionaryLock.reinitialize()
    overflow.reinitialize()
    ring.eventCounts.reinitialize()
  }

  /// How long a thread may wait for a free segment.
  enum Timeout {
    case none
    case little
    case full
  }

  /// Opens a segment for a writer that found no free one, as the policy for a full ring says.
  /// Async-signal-safe, and leaves errno as it was.
  @inline(never)
  func awaitSegment(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> OpenSegment? {
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    if let segment = takeMade(for: writer, timeout) ?? takeRetained(for: writer, timeout) {
      return segment
    }
    ring.eventCounts.requestPass()
    switch policy {
    case .wait:
      let limit = ring.eventCounts.isWaitingInVain ? 0 : waitingTime(of: writer, timeout)
      let segment = ring.eventCounts.wait(atMost: limit) {
        take(for: writer) ?? takeRetained(for: writer, .none)
      }
      if segment == nil, timeout == .full { ring.eventCounts.noteWaitInVain() }
      return segment
    case .dropNewest: return nil
    case .overwriteOldest:
      // Tries again if another thread took the discarded segment. Discards none while free ones
      // wait for their streams.
      for _ in 0..<16 where ring.pool.hasBare || ring.discardOldest() {
        if let segment = take(for: writer) ?? takeMade(for: writer, timeout) { return segment }
      }
      return take(for: writer)
    }
  }

  /// How long a call waits for a free segment whose stream is being made, in nanoseconds: a hundred
  /// times as long as making a stream takes.
  private static let makingTime: Int64 = 20_000_000

  /// Waits until a free segment of an encrypted ring has got its stream, and opens the segment.
  private func takeMade(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> OpenSegment? {
    guard let streams = ring.streams, timeout != .none, streams.isMaking else { return nil }
    streams.wake()
    return ring.eventCounts.wait(atMost: Self.makingTime) { take(for: writer) }
  }

  /// Opens a segment in which only flight records are left.
  private func takeRetained(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> OpenSegment? {
    if ring.archiveLevel == .trace { return nil }
    // Tries again if another thread took the segment that was evicted. Evicts none while free ones
    // wait for their streams.
    for _ in 0..<16 where !ring.pool.hasBare && ring.evictOldest() {
      if let segment = take(for: writer) ?? takeMade(for: writer, timeout) { return segment }
    }
    return nil
  }

  /// Opens a free segment. Not inlined here, unlike in the place where calls mostly find one.
  @inline(never)
  private func take(for writer: UnsafeMutablePointer<mmlog_writer>) -> OpenSegment? {
    ring.openSegment(for: writer)
  }

  /// How long a call waits at most for a free segment, in nanoseconds. A call that takes several
  /// may have waited already.
  private func waitingTime(
    of writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> Int64 {
    let end = writer.pointee.wait_end
    return end == 0 ? waitingTime(timeout) : Deadline(at: end).left
  }

  /// How long a call waits at most for something that another thread holds, in nanoseconds.
  func waitingTime(_ timeout: Timeout) -> Int64 {
    let limit = if case .wait(let limit) = policy { limit.nanoseconds } else { Int64(1_000_000) }
    return switch timeout {
    case .none: 0
    case .little: min(limit, 1_000_000)
    case .full: limit
    }
  }

  /// Waits until no thread is in the middle of a log call that began before the gates were closed.
  ///
  /// - Returns: False if a thread still is after a second: it may be stopped, or be the caller
  ///   itself.
  func waitForWriters() -> Bool {
    let hasBarrier = MemoryBarrier.allThreads()
    // Without the barrier, other threads' stores become visible after some time. This sleep is far
    // longer.
    if !hasBarrier { Sleep.nanoseconds(10_000_000) }
    for round in 0..<1000 {
      // For the first half of the time, waiting calls may still get space in the ring.
      if round == 500 { ring.eventCounts.endWaiting() }
      var busy = signalLanes?.isBusy ?? false
      threads.forEach { busy = busy || WriterSpace.isBusy($0) }
      if !busy { return hasBarrier }
      Sleep.nanoseconds(1_000_000)
    }
    return false
  }

  /// Counts as lost what log calls that are still open will store: nobody reads that any more. The
  /// levels are not known.
  func countOpenCalls() {
    let count = { [ring] (block: ThreadBlock) in
      for depth in 0..<MMLOG_DEPTHS where mmlog_is_busy(mmlog_writer_at(block, depth)) {
        ring.countLoss(.noRing, .critical)
      }
    }
    threads.forEach(count)
    if let lanes = signalLanes?.block { count(lanes) }
  }

  /// Seals the segments of all threads. Called after the gates are closed.
  func sealAll() {
    // Under this lock, because a thread that exits seals its own segments.
    BlockPool.lock.lock()
    defer { BlockPool.lock.unlock() }
    threads.forEach { WriterSpace.closeIdle($0, ring) }
    overflow.seal(ring)
    signalLanes?.seal(ring)
  }
}
