import CMMLogCore
import MMLogCrash
import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem
import Synchronization

/// The ring file of a session, made and mapped by the process that writes it.
///
/// Proof of `@unchecked Sendable`: the map's words are written by the thread that owns their
/// segment, by atomic operations, or under the lock named where they are declared.
final class Ring: SessionNotes, @unchecked Sendable {
  let identity: SessionIdentity
  let geometry: RingGeometry
  /// Records below this level are flight records: they stay in the ring until they are captured, or
  /// their place is needed.
  let archiveLevel: Level
  /// Which spans have their flight records captured; nil if spans do not decide that.
  let spanCapture: SpanCapture?
  let fileName: String
  let pool: SegmentPool
  /// Nil if the ring is not encrypted.
  private(set) var streams: SegmentStreams?
  /// What encrypts the records; nil if nothing does.
  var cipher: RingCipher? { streams?.cipher }
  /// How large the rows of a frame are meant to become, in bytes. In a small ring they are no more
  /// than a quarter of the ring, so that threads find free segments.
  var frameSize: Int {
    min(RowBuilder.targetSize, max(1, pool.count / 4) * geometry.segmentSize)
  }
  let eventCounts: RingEventCounts
  /// Where the seeds of generations start: see ``checksumSeed(session:generation:)``.
  let seedState: UInt64
  let base: UnsafeMutableRawPointer
  private var mapping: Mapping?
  /// The parts of the map whose first store would still cost a fault. The drainer's.
  private var unpopulated: [Range<Int>] = []
  private var file: LockedFile?
  private var containment: FaultContainment?
  private var crashArea: CrashArea?
  private var endingArea: EndingArea?
  /// The file's path, for messages.
  let path: String
  /// Where the next dictionary entry goes, in bytes from the area's start. Stored under
  /// `dictionaryLock`, when the entries before it are there.
  let dictionaryEnd = Atomic<Int>(0)
  /// How much of the dictionary's area has space on the disk. The drainer stores this once it has
  /// taken the space.
  let dictionarySize: Atomic<Int>
  /// Whether the disk had no space for more of the dictionary when the drainer tried last, which
  /// stores this.
  let dictionaryIsRefused = Atomic<Bool>(false)
  /// When the drainer tries again.
  var dictionaryRetry = Backoff(longest: 60_000_000_000)
  /// Locked by those who add entries. The drainer never waits for it: a log call that a signal
  /// handler abandons may keep the lock for ever.
  let dictionaryLock = ForkSafeMutex()
  /// The newest generation, and so how many were given out.
  let generationsStarted = Atomic<UInt64>(0)
  /// From this generation on, the thread that opens a segment wakes the sleeping drainer. `.max`
  /// while the drainer works: then no thread wakes it.
  let wakingGeneration = Atomic<UInt64>(.max)
  /// Fragmented records that are counted as lost, or are not to be counted, though fragments of
  /// them may still be in the ring.
  let settledFragments: FragmentSet
  /// Whether state slots have places in the ring. Under the store's lock, as long as the store is
  /// open.
  private var hasStates = false
  let clocks: RingClocks

  /// Makes the ring of a new session.
  ///
  /// - Precondition: containment has been started if the configuration asks for it. The handlers of
  ///   fatal signals have been set if it records crashes.
  /// - Throws: ``LogError``; nothing is left behind then.
  init(
    in directory: borrowing Directory, identity: SessionIdentity, geometry: RingGeometry,
    _ configuration: LogStore.Configuration
  ) throws(LogError) {
    self.identity = identity
    pool = SegmentPool(
      count: geometry.segmentCount, needsStreams: !configuration.recipients.isEmpty)
    eventCounts = RingEventCounts()
    seedState = UInt64(identity.session.seedState)
    archiveLevel = configuration.archiveLevel
    spanCapture = configuration.spanCapture
    self.geometry = geometry
    // The rest of the dictionary is a hole in the file until it is needed.
    let firstSize = configuration.firstDictionarySize
    dictionarySize = Atomic(firstSize)
    fileName = FileNames.Ring(store: identity.storeName, session: identity.session).fileName
    path = directory.path(of: fileName)
    let cipher = try Self.cipher(for: configuration.recipients)
    let fileHeader = RingHeader(
      identity: identity, geometry: geometry, archiveLevel: archiveLevel,
      isChained: configuration.hashChain, spanCapture: spanCapture,
      areas: cipher == nil ? .usual : .usualEncrypted)
    let keySlot = cipher.map { RingKeySlot($0.key.slot, for: configuration.recipients) }
    let firstPair = ClockPair.read(ordinal: 0)
    let made: RingFile
    do throws(SystemError) {
      made = try RingFile.make(
        fileName, in: directory, fileHeader, keySlot, firstPair, dictionarySize: firstSize)
    } catch {
      throw LogError(error, while: "Making the ring failed")
    }
    base = made.mapping.base
    unpopulated = made.unpopulated
    mapping = consume made.mapping
    file = consume made.lock
    clocks = RingClocks(at: base, firstPair)
    // Not before: only `unmap` frees its memory.
    settledFragments = FragmentSet()
    if configuration.containsFaults {
      containment = FaultContainment(
        base, count: geometry.fileSize, waking: eventCounts.requests.futex)
    }
    endingArea = EndingArea(at: base + RingLayout.ending)
    if let cipher { try makeStreams(cipher, in: directory) }
    if configuration.recordsCrashes {
      let address = base + RingLayout.crash
      crashArea = CrashArea(at: address, stream: streams?.crashStream?.bytes.baseAddress)
    }
    clocks.read()
  }

  /// What encrypts the records; nil if nothing does.
  private static func cipher(for recipients: [Recipient]) throws(LogError) -> RingCipher? {
    if recipients.isEmpty { return nil }
    do throws(CryptoError) {
      return RingCipher(try SlottedKey(for: recipients))
    } catch {
      throw LogError(encryptingRing: error)
    }
  }

  /// Makes what encrypts the records. If that fails, removes the ring.
  private func makeStreams(
    _ cipher: RingCipher, in directory: borrowing Directory
  ) throws(LogError) {
    do throws(LogError) {
      streams = try SegmentStreams(
        cipher, pool, geometry, eventCounts, segments: base + geometry.segmentsOffset)
    } catch {
      // The ring has its name already, and signal handlers have its address.
      try? directory.remove(fileName)
      unmap()
      throw error
    }
  }

  // MARK: - Memory

  /// Takes space on the disk for a part of the file, and populates it. For the drainer.
  ///
  /// - Returns: False if that failed.
  func takeSpace(offset: Int, count: Int) -> Bool {
    do throws(SystemError) {
      guard isFileOpen else { return false }
      try file?.file.allocate(offset: offset, count: count)
      try mapping?.populateForWriting(offset: offset, count: count)
      return true
    } catch {
      return false
    }
  }

  /// Populates a further part of the map, the segments first. For the drainer.
  ///
  /// - Returns: Whether there is more to populate. If populating fails, log calls take the faults.
  func populateMore() -> Bool {
    guard let range = unpopulated.popLast() else { return false }
    let end = min(range.upperBound, range.lowerBound + (2 << 20))
    let done: Void? = try? mapping?.populateForWriting(
      offset: range.lowerBound, count: end - range.lowerBound)
    if done == nil { unpopulated = [] }
    if done != nil, end < range.upperBound { unpopulated.append(end..<range.upperBound) }
    return !unpopulated.isEmpty
  }

  /// Makes the next stores to a part of a segment cost no fault. For the drainer.
  ///
  /// - Parameters:
  ///   - start: Where the part begins, in bytes from the segment's start.
  ///   - count: How many bytes of it at most.
  func makeReady(segment index: Int, from start: Int, count: Int) {
    let count = min(count, geometry.segmentSize - start)
    let offset = geometry.offset(ofSegment: index) + start
    // If it fails, log calls take the faults.
    try? mapping?.populateForWriting(offset: offset, count: count)
  }

  // MARK: - Losses

  /// Counts lost records. Lock-free and async-signal-safe.
  func countLoss(_ cause: LossLedger.Cause, _ level: Level, _ count: UInt64 = 1) {
    let address = base + RingLayout.ledger + LossLedger.offset(cause, level)
    _ = mmlog_fetch_add_u64(address.assumingMemoryBound(to: UInt64.self), count)
  }

  /// Takes back a count of lost records.
  func uncount(_ cause: LossLedger.Cause, _ level: Level, _ count: UInt64 = 1) {
    countLoss(cause, level, 0 &- count)
  }

  /// Moves into the ring the losses that were counted while there was no ring, or no way to it.
  func take(_ losses: LossCounters) {
    for level in Level.allCases {
      let count = losses.take(level)
      if count > 0 { countLoss(.noRing, level, count) }
    }
  }

  /// The losses counted so far.
  var losses: LossLedger {
    let counts = (base + RingLayout.ledger).assumingMemoryBound(to: UInt64.self)
    var ledger = LossLedger()
    for index in ledger.counts.indices {
      ledger.counts[index] = mmlog_load_relaxed_u64(counts + index)
    }
    return ledger
  }

  // MARK: - State slots

  /// Returns the place of a state slot. Threads may store to the place for as long as the process
  /// lives.
  func useStatePlace(_ index: Int) -> UnsafeMutableRawPointer {
    hasStates = true
    return base + RingLayout.stateSlots + index * StateSlotLayout.size
  }

  // MARK: - Fatal signals

  /// Whether a fatal signal was recorded whose handler has returned: see ``takeSurvivedSignal()``.
  var hasSurvivedSignal: Bool { crashArea?.hasReturned() ?? false }

  /// Takes the report of a survived signal out of the ring, where it would look like the cause of
  /// death. Until ``noteSurvival()``, the ring says that a report is to become a record.
  func takeSurvivedSignal() -> CrashReport? {
    crashArea?.take()?.clear(with: cipher)
  }

  /// Whether a fatal signal is being handled: its report is in the ring, or about to be.
  var isDying: Bool { crashArea?.isDying() ?? false }

  /// The report of a fatal signal that is being handled; nil if there is none, or the report cannot
  /// be decrypted. The report stays in the ring.
  var deathReport: CrashReport? {
    guard let report = crashArea?.copy()?.clear(with: cipher), !report.isEncrypted else {
      return nil
    }
    return report
  }

  /// Notes that the report that was taken has become a record, or is counted as a loss.
  func noteSurvival() { crashArea?.noteSurvival() }

  // MARK: - What others do to the file

  /// Whether pages of the map are gone, and private memory is in their place: the file was cut, or
  /// its disk fails.
  var hasLostPages: Bool { (containment?.lostPages ?? 0) > 0 }

  /// Why the file does not keep records safe any more; nil as long as it does. Makes some system
  /// calls.
  func problem() -> LogError? {
    if hasLostPages {
      return problem(.corruptedFile, "was cut short, or its disk fails: a part of it is lost")
    }
    // A status that cannot be read is no reason to give up a ring that works.
    if isFileOpen, let size = try? file?.file.status().size, size < geometry.fileSize {
      return problem(.corruptedFile, "was cut to \(size) bytes: what was behind them is lost")
    }
    return isInPlace ? nil : problem(.system, "was removed, renamed or replaced")
  }

  private func problem(_ code: LogError.Code, _ what: String) -> LogError {
    LogError(
      code,
      "The ring \(path) \(what). The store goes on with a new one; leave rings alone while "
        + "they are in use.",
      path: path)
  }

  /// Whether the descriptor still opens the file. If not, the program has closed it, and its number
  /// may now be another file's. The map keeps the ring's own file open and locked.
  private var isFileOpen: Bool { file?.file.isStillOpen ?? false }

  /// Whether the file still has its name, so that a recovery would find it after a crash.
  var isInPlace: Bool {
    guard let identity = file?.file.identity else { return false }
    do throws(SystemError) {
      return try directory().status(of: fileName)?.identity == identity
    } catch {
      return !error.isNotFound
    }
  }

  /// Removes the file, unless there is another file in its place.
  func remove() throws(SystemError) {
    if isInPlace { try directory().remove(fileName) }
  }

  private func directory() throws(SystemError) -> Directory {
    try Directory.open(path.splitAtLastSlash.directory)
  }

  /// Reads the ring's file rather than its memory.
  ///
  /// - Returns: How many bytes could be read.
  func readFile(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    guard isFileOpen else { return 0 }
    return (try? file?.file.readFully(into: bytes, at: offset)) ?? 0
  }

  // MARK: - The end

  /// Says that the session was closed in order. The ring is removed next, unless records are left
  /// in it.
  func markClosed() {
    base.storeBytes(of: RingLayout.stateClosed, toByteOffset: RingLayout.state, as: UInt32.self)
  }

  /// Notes the number of the newest archive, and how many frames it has. Called when the frames are
  /// written, and before any of their records leave the ring.
  func noteArchive(_ number: UInt32, frames: UInt32) {
    let newest = (base + RingLayout.newestArchive).assumingMemoryBound(to: UInt32.self)
    let count = (base + RingLayout.newestFrames).assumingMemoryBound(to: UInt32.self)
    if newest.pointee != number {
      // In this order: at no moment does the ring claim frames that the archive does not have.
      mmlog_store_release_u32(count, 0)
      mmlog_store_release_u32(newest, number)
    }
    mmlog_store_release_u32(count, frames)
  }

  /// Notes what the session's next archive is chained to.
  func note(_ head: NotedHead) {
    let bytes = head.encoded
    (base + RingLayout.head).copyMemory(from: bytes, byteCount: bytes.count)
  }

  /// Notes behind which archive the session's first archive begins. Called before that is begun.
  func noteResumed(_ archive: ArchiveID) {
    let bytes = archive.encoded
    (base + RingLayout.resumed).copyMemory(from: bytes, byteCount: bytes.count)
  }

  /// Leaves the file, and with it the lock, to others. From now on, stores to the ring's memory go
  /// nowhere and cause no faults.
  ///
  /// A thread may still be in the middle of a store; in a child of fork, such a thread never goes
  /// on. Async-signal-safe.
  func detach() {
    crashArea?.detach()
    endingArea?.detach()
    // The map also keeps the file open, and so the lock. In a child of fork, the lock is the
    // parent's.
    Mapping.replaceWithPrivateMemory(base, count: geometry.fileSize)
    file = nil
  }

  /// Unmaps the ring and closes its file. Nobody may touch the ring any more, except for state
  /// slots: private memory takes their place, because a thread may be about to store to one.
  func unmap() {
    // A handler of a fatal signal is working on the ring, and will not return.
    if crashArea?.detach() == false { return detach() }
    settledFragments.free()
    containment = nil
    crashArea = nil
    streams?.free()
    endingArea = nil
    if hasStates, let mapping = mapping.take() {
      mapping.unmap(
        leaving: RingLayout.stateSlots..<RingLayout.stateSlots + StateSlotLayout.areaSize)
    }
    mapping = nil
    file = nil
  }
}
