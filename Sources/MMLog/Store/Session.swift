import CMMLogWriter
import MMLogCrash
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// One life of a store in one process: its ring, who writes into it, and who drains it.
///
/// A store has one from its opening to its closing; a child of `fork()` gets its own at its first
/// log call. Once the store has published it, a session's object is never deallocated: a log call
/// may find the session just before its end, and use the object just after. ``shutDown()`` frees
/// what is large; some three kilobytes are left of each session.
final class Session: Sendable {
  let ring: Ring
  let sites: CallSiteTable
  let threads: ThreadRegistry
  let overflow: OverflowWriter
  /// What is to be said of fatal signals that did not end the process.
  let survivals = SurvivedSignals()
  /// Where signal handlers write; nil if the store is not asked to serve them.
  let signalLanes: SignalLanes?
  let policy: LogStore.FullRingPolicy
  /// What ``Logger/Privacy/auto`` means for texts.
  let autoPrivacy: Logger.Privacy
  /// Its address is what the gates of labels and writers are compared by: a multiple of 16.
  nonisolated(unsafe) let gate: UnsafeRawPointer
  /// The next of the store's sessions that come to their end, or of those that have. Under the
  /// store's lock.
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

  // Of one that was never published, which no log call has found.
  deinit { gate.deallocate() }

  /// What labels have for a gate. It is not that of the writers where log calls have to look for
  /// their task's context: then all of them come to the outlined part. See `MMLOG_GATE_CONTEXTS`.
  var gateOfLabels: UnsafeRawPointer { mmlog_task_contexts_are_used() ? gate + 1 : gate }

  /// Whether records of a label are accepted.
  func isOpen(to label: UnsafeMutablePointer<mmlog_label>) -> Bool {
    Self.isOpen(gate, to: label)
  }

  /// The same of the session with that gate.
  static func isOpen(_ gate: UnsafeRawPointer, to label: UnsafeMutablePointer<mmlog_label>) -> Bool
  {
    UInt(bitPattern: mmlog_load_gate(label)) & ~15 == UInt(bitPattern: gate)
  }

  /// Frees the map and the tables, when no log call works with them any more, and gives up the
  /// lock.
  func shutDown() {
    sites.free()
    overflow.free()
    signalLanes?.free()
    ring.unmap()
  }

  /// Takes over the report of a survived signal that is in the ring, if there is one.
  func collectSurvivedSignal() {
    if let report = ring.takeSurvivedSignal() { survivals.add(report) }
  }

  /// Counts the reports that are left as losses: no record is made of them any more.
  func giveUpSurvivedSignals() {
    while let report = survivals.first, survivals.take(report) {
      ring.countLoss(.ringFull, .critical)
      ring.noteSurvival()
    }
  }

  /// Makes locks free that a thread may have had which a fork's child does not have.
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

  /// Opens a segment for a writer that found none free, as the policy for a full ring says.
  /// Async-signal-safe, and leaves errno as it was.
  @inline(never)
  func awaitSegment(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> OpenSegment? {
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    if let segment = takeRecycled(for: writer) ?? takeMade(for: writer, timeout) { return segment }
    ring.eventCounts.requestPass()
    switch policy {
    case .wait:
      let limit = ring.eventCounts.isWaitingInVain ? 0 : waitingTime(timeout)
      let segment = ring.eventCounts.wait(atMost: limit) {
        take(for: writer) ?? takeRecycled(for: writer)
      }
      if segment == nil, timeout == .full { ring.eventCounts.noteWaitInVain() }
      return segment
    case .dropNewest: return nil
    case .overwriteOldest:
      // Again if another thread took what was discarded.
      for _ in 0..<16 where ring.discardOldest() {
        if let segment = take(for: writer) ?? takeMade(for: writer, timeout) { return segment }
      }
      return take(for: writer)
    }
  }

  /// How long a call waits for a segment that is free, and gets its stream just then, in
  /// nanoseconds: a hundred times what that takes.
  private static let makingTime: Int64 = 20_000_000

  /// A free segment of an encrypted ring that has no stream yet, once it has.
  private func takeMade(
    for writer: UnsafeMutablePointer<mmlog_writer>, _ timeout: Timeout
  ) -> OpenSegment? {
    guard let streams = ring.streams, timeout != .none, streams.isMaking else { return nil }
    streams.wake()
    return ring.eventCounts.wait(atMost: Self.makingTime) { take(for: writer) }
  }

  /// A segment that only flight records are left in.
  private func takeRecycled(for writer: UnsafeMutablePointer<mmlog_writer>) -> OpenSegment? {
    if ring.archiveLevel == .trace { return nil }
    // Again if another thread took what was given up.
    for _ in 0..<16 where ring.recycleOldest() {
      if let segment = take(for: writer) { return segment }
    }
    return nil
  }

  /// A free segment. Not inlined here, as it is where one is mostly found.
  @inline(never)
  private func take(for writer: UnsafeMutablePointer<mmlog_writer>) -> OpenSegment? {
    ring.openSegment(for: writer)
  }

  /// The longest that a call waits for something that another thread holds, in nanoseconds.
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
  /// - Returns: False if one still is after a second: it may be stopped, or be the caller itself.
  func waitForWriters() -> Bool {
    let hasBarrier = MemoryBarrier.allThreads()
    // Without it, what the others have stored is seen at some time, and this is far more than it
    // takes.
    if !hasBarrier { Sleep.nanoseconds(10_000_000) }
    for round in 0..<1000 {
      // Half of the time is for the ring to get space.
      if round == 500 { ring.eventCounts.endWaiting() }
      var busy = signalLanes?.isBusy ?? false
      threads.forEach { busy = busy || WriterSpace.isBusy($0) }
      if !busy { return hasBarrier }
      Sleep.nanoseconds(1_000_000)
    }
    return false
  }

  /// Seals the segments of all threads. After the gates are closed.
  func sealAll() {
    // A thread that exits seals its own.
    BlockPool.lock.lock()
    defer { BlockPool.lock.unlock() }
    threads.forEach { WriterSpace.closeIdle($0, ring) }
    overflow.seal(ring)
    signalLanes?.seal(ring)
  }
}
