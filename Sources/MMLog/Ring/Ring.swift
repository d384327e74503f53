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
final class Ring: @unchecked Sendable {
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
  /// The first reading, and the newest; if the counter has begun anew, the clock of what was logged
  /// before; and, until ``beginClocksAnew()``, the gap: see ``counterGap``.
  private typealias ClockPairs = (
    first: ClockPair, newest: ClockPair, earlier: TickClock?, gap: UInt64?
  )
  private let clockPairs: LockedValue<ClockPairs>

  /// Makes, allocates, locks and maps the ring of a new session.
  ///
  /// The file gets its name when it is complete, so that nobody ever sees a ring without a lock or
  /// a file header. Until then the file has no name, so that a crash leaves nothing. If the file
  /// system has no unnamed files, ``UnfinishedFiles`` sweeps what a crash leaves.
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
    let firstPair = ClockReading.take(ordinal: 0)
    do throws(SystemError) {
      let unfinished = try UnfinishedRing.make(fileName, in: directory)
      do throws(SystemError) {
        let mapping = try Self.map(unfinished.file, geometry, dictionarySize: firstSize)
        base = mapping.base
        self.mapping = consume mapping
        unpopulated = Self.populatedLater(geometry, dictionarySize: firstSize)
        let fileHeader = RingHeader(
          identity: identity, geometry: geometry, archiveLevel: configuration.archiveLevel,
          isChained: configuration.hashChain, spanCapture: configuration.spanCapture,
          areas: cipher == nil ? .usual : .usualEncrypted)
        Self.writeFileHeader(at: base, fileHeader)
        if let cipher {
          Self.write(RingKeySlot(cipher.key.slot, for: configuration.recipients), at: base)
        }
        Self.write(firstPair, at: base + RingLayout.firstClockPair)
        TestPoint.reach(.ringHeaderWritten)
        try unfinished.finish(in: directory)
        TestPoint.reach(.ringNamed)
      } catch {
        unfinished.discard(in: directory)
        throw error
      }
      file = unfinished.take()
    } catch {
      throw LogError(error, while: "Making the ring failed")
    }
    clockPairs = LockedValue((firstPair, firstPair, nil, nil))
    // Not before: only `unmap` frees its memory.
    settledFragments = FragmentSet()
    if configuration.containsFaults {
      containment = FaultContainment(
        base, count: geometry.fileSize, waking: eventCounts.requests.futex)
    }
    endingArea = EndingArea(at: base + RingLayout.ending)
    if let cipher {
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
    if configuration.recordsCrashes {
      let address = base + RingLayout.crash
      crashArea = CrashArea(at: address, stream: streams?.crashStream?.bytes.baseAddress)
    }
    readClocks()
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

  private static func map(
    _ file: borrowing File, _ geometry: RingGeometry, dictionarySize: Int
  ) throws(SystemError) -> Mapping {
    // Allocated, because a store to a sparse page on a full disk would be a SIGBUS; populated,
    // because the first store to a page would cost the caller a fault.
    let hole = dictionaryHole(geometry, dictionarySize: dictionarySize)
    try file.allocate(offset: 0, count: hole.lowerBound)
    try file.allocate(offset: hole.upperBound, count: geometry.fileSize - hole.upperBound)
    let mapping = try Mapping(file, count: geometry.fileSize, writable: true)
    var start = 0
    let later = populatedLater(geometry, dictionarySize: dictionarySize) + [hole]
    for range in later.inOrder({ $0.lowerBound < $1.lowerBound }) {
      try populate(start..<range.lowerBound, of: mapping, file)
      start = range.upperBound
    }
    try populate(start..<geometry.fileSize, of: mapping, file)
    TestPoint.reach(.ringMapped)
    return mapping
  }

  /// Brings pages of a new file into memory, writable. Writes zeros first, as far as that succeeds:
  /// a fault would make the kernel read ahead, up to some MiB, in a file that has nothing to read.
  private static func populate(
    _ range: Range<Int>, of mapping: borrowing Mapping, _ file: borrowing File
  ) throws(SystemError) {
    try? file.writeZeros(offset: range.lowerBound, count: range.count)
    try mapping.populateForWriting(offset: range.lowerBound, count: range.count)
  }

  /// The part of the dictionary that gets space when it is needed, in whole pages; empty if the
  /// whole dictionary has space.
  private static func dictionaryHole(
    _ geometry: RingGeometry, dictionarySize: Int
  ) -> Range<Int> {
    let start = geometry.dictionaryOffset + dictionarySize
    return start..<max(start, geometry.usesOffset & ~4095)
  }

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

  /// The parts of a large ring that are populated after the store has opened: the dictionary and
  /// the segments, without their beginnings.
  private static func populatedLater(
    _ geometry: RingGeometry, dictionarySize: Int
  ) -> [Range<Int>] {
    let (entries, segments) = (64 << 10, 1 << 20)
    let first = geometry.segmentsOffset + segments
    guard first < geometry.fileSize else { return [] }
    let start = geometry.dictionaryOffset
    let dictionary = start + min(entries, dictionarySize)..<start + dictionarySize
    return [dictionary, first..<geometry.fileSize].filter { !$0.isEmpty }
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

  private static func writeFileHeader(at base: UnsafeMutableRawPointer, _ fileHeader: RingHeader) {
    let bytes = fileHeader.encoded(pageSize: UInt32(Host.pageSize))
    base.copyMemory(from: bytes, byteCount: bytes.count)
    base.storeBytes(of: RingLayout.stateOpen, toByteOffset: RingLayout.state, as: UInt32.self)
  }

  private static func write(_ keySlot: RingKeySlot, at base: UnsafeMutableRawPointer) {
    let place = KeySlotPlaces.encoded(keySlot)
    for offset in stride(from: 0, to: KeySlotsLayout.areaSize, by: KeySlotsLayout.placeSize) {
      (base + RingLayout.keySlots + offset).copyMemory(from: place, byteCount: place.count)
    }
  }

  /// Writes a pair in three steps: the last word is zero while the others change, and is stored
  /// last. So a reader can distinguish a pair that a death cut off from a corrupted pair.
  private static func write(_ pair: ClockPair, at address: UnsafeMutableRawPointer) {
    let bytes = pair.encoded
    let end = (address + ClockPairLayout.ordinal).assumingMemoryBound(to: UInt64.self)
    mmlog_store_relaxed_u64(end, 0)
    mmlog_compiler_fence()
    address.copyMemory(from: bytes, byteCount: ClockPairLayout.ordinal)
    let last = bytes.withUnsafeBytes { $0.load(ClockPairLayout.ordinal, as: UInt64.self) }
    mmlog_store_release_u64(end, last)
  }

  // MARK: - Clocks

  /// Reads the clocks and writes them into the ring, in the slot that does not hold the newest
  /// pair. Writes nothing if the counter has begun anew: see ``beginClocksAnew()``.
  func readClocks() {
    clockPairs.withLock { pairs in
      let newest = ClockReading.take(ordinal: pairs.newest.ordinal &+ 1)
      if !Self.hasBegunAnew(&pairs, newest.ticks, newest.monotonic) { note(newest, in: &pairs) }
    }
  }

  /// Whether the counter has begun anew since the newest reading, as after a suspension, or has
  /// gone on during a suspension while the clock stood still.
  var counterHasBegunAnew: Bool {
    clockPairs.withLock { pairs in
      // In this order, a pause between the two does not look like a suspension.
      let ticks = mmlog_ticks()
      return Self.hasBegunAnew(&pairs, ticks, Clock.monotonic())
    }
  }

  private static func hasBegunAnew(
    _ pairs: inout ClockPairs, _ ticks: UInt64, _ monotonic: UInt64
  ) -> Bool {
    if ticks < pairs.newest.ticks { return true }
    if pairs.gap == nil, pairs.first.counterHasGoneOn(from: pairs.newest, to: ticks, monotonic) {
      // The middle: what was logged before is nearer to the newest reading, the rest to now.
      pairs.gap = pairs.newest.ticks + (ticks - pairs.newest.ticks) / 2
    }
    return pairs.gap != nil
  }

  /// Ticks from the time during which the counter went on alone; nil if the counter has begun anew.
  var counterGap: UInt64? {
    clockPairs.withLock { mmlog_ticks() < $0.newest.ticks ? nil : $0.gap }
  }

  /// Continues by a counter that has begun anew, or gone on alone. Called once everything logged
  /// before is archived: by the new clock those records would have wrong times, also in a recovery
  /// of the ring.
  func beginClocksAnew() {
    clockPairs.withLock { pairs in
      let newest = ClockReading.take(ordinal: pairs.newest.ordinal &+ 1)
      let isBehind = newest.ticks < pairs.newest.ticks
      if isBehind { pairs.earlier = TickClock(first: pairs.first, newest: pairs.newest) }
      if isBehind || pairs.gap != nil {
        pairs.first = pairs.first.moved(with: pairs.newest, to: newest)
        Self.write(pairs.first, at: base + RingLayout.firstClockPair)
      }
      pairs.gap = nil
      note(newest, in: &pairs)
    }
  }

  private func note(_ newest: ClockPair, in pairs: inout ClockPairs) {
    pairs.newest = newest
    let slot = Int(newest.ordinal % 2) * ClockPairLayout.size
    Self.write(newest, at: base + RingLayout.clockPairSlots + slot)
  }

  /// Turns this ring's ticks into wall time, as of the newest reading.
  var clock: TickClock {
    clockPairs.withLock { TickClock(first: $0.first, newest: $0.newest) }
  }

  /// Returns the clock of records whose last has these ticks. If the counter has begun anew, the
  /// ticks tell whether the records are from before or after that.
  func clock(upTo lastTicks: UInt64) -> TickClock {
    clockPairs.withLock { pairs in
      let now = ClockReading.take(ordinal: 0)
      let clock = TickClock(first: pairs.first, newest: pairs.newest)
      if now.ticks < pairs.newest.ticks {
        if lastTicks > now.ticks { return clock }
        return TickClock(first: pairs.first.moved(with: pairs.newest, to: now), newest: now)
      }
      // Ahead by more than the counters of processors differ.
      let isAhead = clock.wall(at: lastTicks) > now.wall + .seconds(1)
      return isAhead ? pairs.earlier ?? clock : clock
    }
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
  func statePlace(_ index: Int) -> UnsafeMutableRawPointer {
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

/// Reads the three clocks at nearly the same moment.
enum ClockReading {
  /// The best of a few tries: an interruption between the readings makes a pair useless.
  static func take(ordinal: UInt32) -> ClockPair {
    var best: (pair: ClockPair, width: UInt64)?
    for _ in 0..<4 {
      let before = mmlog_ticks()
      let monotonic = Clock.monotonic()
      let wall = Timestamp.now
      let width = mmlog_ticks() &- before
      if width < best?.width ?? .max {
        let pair = ClockPair(
          ticks: before &+ width / 2, wall: wall, monotonic: monotonic, ordinal: ordinal)
        best = (pair, width)
      }
    }
    return best?.pair
      ?? ClockPair(ticks: mmlog_ticks(), wall: .zero, monotonic: 0, ordinal: ordinal)
  }
}
