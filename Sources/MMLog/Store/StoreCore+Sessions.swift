import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The life of a store's sessions. One session is opened with the store, and closed with it. In
/// between, another may take the place of a session whose ring is lost.
extension StoreCore {
  // MARK: - Opening

  /// Makes a ring, and starts a drainer for it. If this fails, leaves nothing behind.
  ///
  /// - Parameter old: The session that the new one replaces. The new session's drainer first brings
  ///   the old one to its end.
  func makeSession(after old: Open? = nil) throws(LogError) -> Open {
    let identity = try location.makeIdentity()
    let rings = try location.openRingDirectory()
    let ring = try Ring(in: rings, identity: identity, geometry: geometry, configuration)
    var made: Session?
    do {
      try enterFields(into: ring)
      let session = try Session(ring: ring, configuration)
      made = session
      let series = try location.makeArchives(identity)
      let maintenance = lockedMaintenance()
      let drainer = Drainer(
        session, series, events, LevelControl(ring, labels, events), configuration, settings,
        lossesWithoutRing, counters,
        Drainer.Callbacks(
          began: { [self] in if let old { retire(old) } },
          survivedSignal: { [self] in noteSurvivedSignals(of: session, waits: false) },
          lostRing: { [self] in replaceSession(session, because: $0) },
          sealedArchive: { maintenance.archiveClosed($0) }))
      labels.register(in: session)
      // Nothing can fail after this.
      try drainer.start()
      maintenance.begin(identity.session)
      ring.take(lossesWithoutRing)
      TestPoint.reach(.sessionStarted)
      return Open(session: session, drainer: drainer)
    } catch {
      try? rings.remove(ring.fileName)
      if let made { made.shutDown() } else { ring.unmap() }
      throw error
    }
  }

  /// Enters the session's fields into the dictionary of a ring that nobody writes to yet.
  private func enterFields(into ring: Ring) throws(LogError) {
    let fields = EncodedContext(configuration.allFields, span: nil, trace: nil)
    if !fields.hasFields { return }
    let isAdded = ring.dictionaryLock.withLock {
      ring.appendEntry(
        kind: RecordLayout.sessionFieldsKind,
        leaving: ring.dictionarySize.load(ordering: .acquiring) / 4 * 3
      ) { $0.sessionFields(fields.pairs) }
    }
    if isAdded { return }
    throw LogError(
      .invalidConfiguration,
      "The fields of the configuration take more than a quarter of the dictionary, whose size is "
        + "\(configuration.firstDictionarySize) bytes: shorten them, or make dictionarySize larger"
    )
  }

  // MARK: - Closing

  /// How long closing waits for the recovery of what other processes left, in nanoseconds. Then it
  /// waits for the ring that is being recovered, and leaves further rings to the next start.
  private static let recoveryTime: Int64 = 10_000_000_000

  /// Ends the session: accepts no more records, archives all, and removes the ring.
  func close() throws(LogError) {
    let session = lock.withLock {
      // Under the lock: another thread that closes the store takes the ring's memory away.
      open?.session.collectSurvivedSignal()
      return open?.session
    }
    if let session { noteSurvivedSignals(of: session, waits: true) }
    let begun = beginClosing()
    if !begun.isFirst { return }
    defer {
      let maintenance = lock.withLock {
        defer { openMaintenance = nil }
        return openMaintenance
      }
      recovery.wait(atMost: Self.recoveryTime)
      maintenance?.stop()
      recovery.finish()
      catalog.forget()
      events.finish()
    }
    guard let ending = begun.open else { return }
    try configuration.maintaining { () throws(LogError) in try end(ending) }
  }

  /// Ends a session that log calls do not find any more.
  ///
  /// - Parameter isReplaced: Whether the store goes on with another session, because the ring or
  ///   the whole directory was lost.
  private func end(_ open: Open, isReplaced: Bool = false) throws(LogError) {
    let session = open.session
    TestPoint.reach(.closeBegun)
    let isQuiet = session.waitForWriters()
    open.drainer.stop()
    session.sealAll()
    TestPoint.reach(.closeSealed)
    var failure: LogError?
    defer {
      open.drainer.settle(failure)
      session.threads.dissolve()
      lock.withLock { noteEnded(session) }
      if isQuiet {
        session.shutDown()
      } else {
        // A thread is in the middle of a log call, and may be for long. The call ends in memory
        // that nobody reads.
        session.ring.detach()
      }
    }
    session.ring.markClosed()
    TestPoint.reach(.closeMarked)
    let isCrashNoted: Bool
    do {
      // Another user may own the directory that has the path now. Checked only after the thread
      // that works in the directory has ended.
      if isReplaced {
        _ = try location.openDirectory()
        open.drainer.expectMove()
      }
      isCrashNoted = try open.drainer.finish(isQuiet: isQuiet)
    } catch {
      failure = error
      throw error
    }
    TestPoint.reach(.closeFinished)
    // The process has begun to die meanwhile. The next start takes the report from the ring.
    if session.ring.isDying && !isCrashNoted { return }
    do {
      try session.ring.remove()
      TestPoint.reach(.closeRingRemoved)
    } catch  where !error.isNotFound {
      throw LogError(error, while: "Removing the ring of the closed store failed")
    } catch {}
  }

  /// - Returns: The session to be ended, which is nil in a fork's child that has never logged; and
  ///   whether nobody has closed the store before.
  private func beginClosing() -> (open: Open?, isFirst: Bool) {
    lock.lock()
    defer { lock.unlock() }
    let isFirst = !isClosed
    isClosed = true
    childOpening.end()
    labels.setGates(nil)
    defer { publish(nil) }
    return (open, isFirst)
  }

  // MARK: - A ring that is lost

  /// Opens another ring in place of one that somebody has corrupted or taken away. Runs on the
  /// thread of the old ring's drainer. The new ring's drainer will bring the old session to its
  /// end.
  ///
  /// - Returns: Whether there is another ring. If not, the caller has to try again later.
  private func replaceSession(_ session: Session, because problem: LogError) -> Bool {
    guard lock.tryLock(atMost: 1_000_000_000) else { return false }
    defer { lock.unlock() }
    guard let old = open, old.session === session else { return false }
    if !isReplacementFailing { events.send(.failed(error: problem)) }
    do throws(LogError) {
      try location.makeDirectories()
      publish(try makeSession(after: old))
      isReplacementFailing = false
      return true
    } catch {
      if !isReplacementFailing { events.send(.failed(error: error)) }
      isReplacementFailing = true
      return false
    }
  }

  /// Brings a replaced session to its end. Runs on the thread of the new session's drainer.
  private func retire(_ old: Open) {
    // Whoever replaces the session has the lock until the new session is published. Until then, log
    // calls begin in the old session.
    lock.withLock {}
    do throws(LogError) {
      try configuration.maintaining { () throws(LogError) in try end(old, isReplaced: true) }
      events.send(.resumed)
    } catch {
      events.send(.failed(error: error))
    }
  }
}
