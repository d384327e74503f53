import MMLogCrypto
package import MMLogFormat
package import MMLogSystem

/// A copy of what is in a ring file, checked: of a dead ring, or of a live one while its process
/// goes on.
///
/// A copy and not a map: a file truncated by someone else would end the reader with SIGBUS. Of free
/// segments, and of what is empty of others, nothing is kept: it takes no more memory than the file
/// has in it, whatever it says.
package final class RingImage {
  /// A segment in use, copied.
  package struct Segment {
    package let index: Int
    package fileprivate(set) var header: SegmentHeader
    /// As far as anything has been written to it.
    fileprivate let bytes: UnsafeRawBufferPointer
    fileprivate let seed: UInt32
  }

  package let path: String
  package let fileHeader: RingHeader
  /// Whether the machine has been running since the ring was written: all that was written is
  /// there.
  package let isOfThisBoot: Bool
  /// False if the process died, or is alive.
  package let isClosedCleanly: Bool
  /// Whether nothing can be known of the session's state.
  private let isStateLost: Bool
  /// The number of the newest archive that was begun, whether or not it still is there; 0 if there
  /// was none.
  package let newestArchive: UInt32
  /// How many frames it has at least, and whether it was sealed: see ``SessionStateLayout``.
  package let newestFrames: UInt32
  /// What the archive after that is chained to, if that is noted.
  package let head: NotedHead?
  /// The archive behind which the session began its first; nil if that has a file of its own.
  package let resumed: ArchiveID?
  package let clock: TickClock
  package let losses: LossLedger
  /// How many fatal signals the process had survived of which it had made no record yet.
  private let survivals: UInt8
  /// What the process died of, if its handlers of fatal signals could write it.
  package private(set) var crash: CrashReport?
  /// What the process had last in its state slots.
  package let state: StateSlots
  /// How the process said that it ends, if it did. See ``end``.
  private let mark: SessionEnd?
  package let dictionary: LogDictionary
  /// The dictionary's entries one by one, for copying them into an archive.
  package let entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)]
  /// How far the dictionary has been written, in bytes.
  package let dictionarySize: Int
  /// The segments in use, by rising generation.
  package let segments: [Segment]
  /// The ring's key for its recipients, as often as it can be read; none: the ring is not
  /// encrypted, or nobody can have the key.
  package let keySlots: [RingKeySlot]
  /// Why the records are still encrypted in this copy; nil if they are not.
  package let lock: FormatError?
  /// The spans that ended well, whose flight records are evicted: see ``SpanCapture``.
  private var endedWell: Set<UInt64> = []
  /// Bytes of the ring that could not be read.
  package let corruption: [Corruption]
  /// What has been read of the file, each part in its place.
  private let memory: SparseMemory

  /// Copies and checks the ring in `file`.
  ///
  /// A thread's records are copied up to some moment: where one of its segments is there, so are
  /// all before it. Of flight records, some may be evicted meanwhile, and then the older ones may
  /// be there.
  ///
  /// - Parameters:
  ///   - knownDictionary: How many bytes of the dictionary are known: what they hold is left out.
  ///   - identities: Who decrypts the records of an encrypted ring. What none of them opens stays
  ///     as it is.
  ///   - resume: Up to where a generation's records are known, and need not be copied again, as an
  ///     offset from the segment's start; nil for one that is new. Default: all are new.
  /// - Throws: ``LogError`` if nothing of it can be read; corruption of a part of it is reported by
  ///   ``corruption``.
  package init(
    _ file: borrowing File, identities: LogIdentities = LogIdentities(), knownDictionary: Int = 0,
    resume: (UInt64) -> Int? = { _ in nil }
  ) throws(LogError) {
    path = file.path
    let fileHeader = try Self.fileHeader(of: file)
    self.fileHeader = fileHeader
    isOfThisBoot = fileHeader.identity.isOfBoot(Host.bootID())

    var copy: RingCopy
    do {
      copy = try RingCopy(
        file, fileHeader, isOfThisBoot: isOfThisBoot, knownDictionary: knownDictionary, resume)
    } catch {
      throw LogError(error, while: "Reading the ring failed")
    }
    memory = copy.memory
    keySlots = copy.keySlots
    let cipher = RingCipher.open(copy.keySlots, with: identities.all)
    lock = copy.decrypt(with: cipher)
    segments = copy.segments
    let all = UnsafeRawBufferPointer(memory.bytes)
    let state = UnsafeRawBufferPointer(rebasing: all[fileHeader.areas.sessionState])
    let stateWord = state.load(SessionStateLayout.state, as: UInt32.self)
    isClosedCleanly = stateWord == RingLayout.stateClosed
    isStateLost = !isClosedCleanly && stateWord != RingLayout.stateOpen
    if isStateLost {
      copy.corruption.append(
        Corruption(fileHeader.areas.sessionState, "session state: \(stateWord)", in: path))
    }
    resumed = ArchiveID(resumedIn: state)
    newestArchive = state.load(SessionStateLayout.newestArchive, as: UInt32.self)
    newestFrames = state.load(SessionStateLayout.newestFrames, as: UInt32.self)
    head = fileHeader.areas.head.flatMap {
      NotedHead(UnsafeRawBufferPointer(rebasing: all[$0]))
    }
    mark = SessionEnd(state.slice(SessionStateLayout.ending, SessionEndLayout.size))
    clock = copy.clock(startTime: fileHeader.identity.startTime)
    losses =
      LossLedger(UnsafeRawBufferPointer(rebasing: all[fileHeader.areas.ledger])) ?? LossLedger()
    crash = fileHeader.areas.crash.flatMap {
      CrashReport(UnsafeRawBufferPointer(rebasing: all[$0]))
    }
    if let encrypted = crash, case .success(let cipher) = cipher {
      crash = (try? encrypted.decrypted(with: cipher)) ?? encrypted
    }
    survivals = copy.survivals(in: fileHeader.areas.crash)
    self.state = copy.state
    if let problem = fileHeader.areaProblem { copy.note(problem) }
    if fileHeader.isCorrected { copy.noteCorrected(0..<FileHeaderLayout.size, "file header") }
    (dictionary, entries, dictionarySize) = copy.dictionary()
    corruption = copy.corruption
    if let capture = fileHeader.spanCapture, hasFlight, lock == nil {
      findEndedSpans(capture)
    }
  }

  private func findEndedSpans(_ capture: SpanCapture) {
    for segment in segments {
      var scanner = scanner(of: segment, scansBehindZeros: true)
      while let item = scanner.next() {
        guard case .record(let record, _) = item, SpanTie.mayEnd(record),
          let tie = dictionary.tie(of: record), let end = tie.end, tie.span != 0,
          !capture.captures(end, at: record.ticks, clock)
        else { continue }
        endedWell.insert(tie.span)
      }
    }
  }

  /// Whether a flight record belongs to a span that ended well.
  private func isOfEndedSpan(_ record: RecordView) -> Bool {
    !endedWell.isEmpty && dictionary.tie(of: record).map { endedWell.contains($0.span) } ?? false
  }

  /// Walks over a segment's records. What it gives is valid for as long as the image.
  ///
  /// - Parameters:
  ///   - offset: Where to begin, from the segment's start.
  ///   - scansBehindZeros: See ``RecordScanner``.
  package func scanner(
    of segment: Segment, from offset: Int = SegmentLayout.size, scansBehindZeros: Bool
  ) -> RecordScanner {
    RecordScanner(
      segment.bytes, from: offset, seed: segment.seed,
      scansBehindZeros: scansBehindZeros, isSealed: segment.header.end > 0)
  }

  /// Whether a record is one that no archive has before it is captured.
  package func isFlight(_ record: RecordView) -> Bool { record.level < fileHeader.archiveLevel }

  /// Whether flight records of it count: of a session that was closed, they are evicted, unless
  /// spans decide about them: those of spans that failed may not have been captured yet.
  package var hasFlight: Bool {
    fileHeader.archiveLevel > .trace && (!isClosedCleanly || fileHeader.spanCapture != nil)
  }

  /// Whether an archive has a record, or it is one that is evicted.
  package func isDone(
    _ record: RecordView, _ segment: Segment, offset: Int, _ coverage: Coverage
  ) -> Bool {
    if isFlight(record) {
      return !hasFlight
        || coverage.containsFlight(
          segment.header, offset: offset, trustsWatermarks: isOfThisBoot)
        || isOfEndedSpan(record)
    }
    return coverage.contains(segment.header, offset: offset, trustsWatermarks: isOfThisBoot)
  }

  /// Whether archives have whatever stood in bytes that cannot be read.
  package func isDone(
    _ range: Range<Int>, _ segment: SegmentHeader, _ coverage: Coverage
  ) -> Bool {
    [range.lowerBound, range.upperBound - wordSize].allSatisfy {
      coverage.contains(segment, offset: $0, trustsWatermarks: isOfThisBoot)
        && (!hasFlight
          || coverage.containsFlight(segment, offset: $0, trustsWatermarks: isOfThisBoot))
    }
  }

  /// Whether anything says that the session has archives.
  package var mayHaveArchives: Bool {
    isStateLost || newestArchive > 0
      || segments.contains { $0.header.archived > SegmentLayout.size }
  }

  /// Whether the newest archive may have been sealed, so that a limit may have deleted it.
  package var mayNewestBeSealed: Bool { newestFrames & SessionStateLayout.mayBeSealed != 0 }

  /// What was lost, if the process does not live any more: with the records that it could not make
  /// of signals it had survived.
  package var lossesAtDeath: LossLedger {
    var losses = losses
    losses[.ringFull, .critical] &+= UInt64(survivals)
    return losses
  }

  /// How the session ended, whose process does not live any more.
  ///
  /// A crash comes last, wherever it happens: in closing, in an exit handler.
  package var end: SessionEnd {
    if let crash { return SessionEnd(crash) }
    if isClosedCleanly { return SessionEnd(.closed, time: clock.wall) }
    return mark ?? SessionEnd(isOfThisBoot ? .killed : .powerLost, time: clock.wall)
  }

  /// Reads and checks the header of a ring.
  ///
  /// - Throws: ``LogError`` if it cannot be read, or is none of a ring.
  package static func fileHeader(of file: borrowing File) throws(LogError) -> RingHeader {
    do {
      return try file.bytes(at: 0, count: RingLayout.fileHeaderSize).withUnsafeBytes {
        try RingHeader($0)
      }
    } catch {
      throw LogError(error, while: "Reading the ring failed", path: file.path)
    }
  }
}

/// The work of copying a ring, apart from the result.
private struct RingCopy {
  private let path: String
  let memory: SparseMemory
  var segments: [RingImage.Segment] = []
  var corruption: [Corruption] = []
  private let geometry: RingGeometry
  private let areas: RingAreas
  private let session: SessionID
  private let isOfThisBoot: Bool
  /// Whether flight records may be erased.
  private let hasErasures: Bool
  /// How much of the file is there.
  private let present: Int
  private(set) var state = StateSlots()
  /// Where what is not known of the dictionary is.
  private var newEntries: Range<Int>

  /// Reads what of the ring is there. Bytes that a truncated file lacks are zero.
  init(
    _ file: borrowing File, _ fileHeader: RingHeader, isOfThisBoot: Bool, knownDictionary: Int,
    _ resume: (UInt64) -> Int?
  ) throws(SystemError) {
    path = file.path
    (geometry, areas) = (fileHeader.geometry, fileHeader.areas)
    session = fileHeader.identity.session
    self.isOfThisBoot = isOfThisBoot
    hasErasures = fileHeader.spanCapture != nil
    let dictionary = geometry.dictionaryOffset..<geometry.dictionaryOffset + geometry.dictionarySize
    newEntries = dictionary.dropFirst(knownDictionary)
    // Not what the file header claims: what is there. The file header must be; all else may be
    // missing.
    let size = try file.status().size
    present = min(size, geometry.fileSize)
    memory = try SparseMemory(max(present, geometry.segmentsOffset))
    for area in [
      areas.sessionState, areas.clocks, areas.ledger, areas.crash, areas.head, areas.keySlots,
    ] {
      if let area { try memory.read(file, area) }
    }
    try checkClockPairs(file)
    try readState(file)
    // Before the segments: see `contradictsUse`.
    try memory.read(file, geometry.uses)
    try copySegments(file, resume)
    // After the segments: what their records refer to was in it before they were.
    // Most of the area may be a hole.
    let end = try memory.read(file, newEntries, untilZeros: true)
    newEntries = newEntries.clamped(to: newEntries.lowerBound..<max(newEntries.lowerBound, end))
    if present < geometry.fileSize {
      corruption.append(
        Corruption(present..<geometry.fileSize, "missing: the file is truncated", in: path))
    } else if size > geometry.fileSize {
      let what = "more than the file header says: a copy that is not exact"
      corruption.append(Corruption(geometry.fileSize..<size, what, in: path))
    }
    segments.sort { $0.header.generation < $1.header.generation }
  }

  // MARK: - Encryption

  var keySlots: [RingKeySlot] {
    guard let area = areas.keySlots else { return [] }
    return KeySlotPlaces.slots(in: UnsafeRawBufferPointer(rebasing: memory.bytes[area]))
  }

  /// Decrypts the records of all segments.
  ///
  /// - Returns: Why it did not; nil if they are clear now.
  mutating func decrypt(with cipher: Result<RingCipher, FormatError>) -> FormatError? {
    guard areas.keySlots != nil, segments.contains(where: { $0.header.stream != 0 }) else {
      return nil
    }
    let opened: RingCipher
    switch cipher {
    case .success(let cipher): opened = cipher
    case .failure(let error): return error
    }
    do throws(CryptoError) {
      for index in segments.indices where segments[index].header.stream != 0 {
        let start = geometry.offset(ofSegment: segments[index].index)
        let part = memory.bytes[start..<start + segments[index].bytes.count]
        try opened.decrypt(
          UnsafeMutableRawBufferPointer(rebasing: part), stream: segments[index].header.stream,
          seed: segments[index].seed)
        segments[index].header.stream = 0
      }
      return nil
    } catch {
      return .encrypted(error)
    }
  }

  /// Inspects all headers, twice, before any segment is copied, and passes over uses of segments
  /// that began meanwhile.
  ///
  /// While one segment is inspected, a thread may go on in another one that was inspected before,
  /// and was free then, and from there in one that is still to come. What the second scan finds in
  /// addition has begun since, and so has what has a later generation.
  private mutating func copySegments(
    _ file: borrowing File, _ resume: (UInt64) -> Int?
  ) throws(SystemError) {
    var uses: [(index: Int, generation: UInt64, resume: Int?)] = []
    try forEachUse(file) { uses.append(($0, $1, resume($1))) }
    let known = Set(uses.map(\.generation))
    var limit = UInt64.max
    try forEachUse(file) { if !known.contains($1) { limit = min(limit, $1) } }
    for use in uses where use.generation < limit {
      try copySegment(use.index, use.generation, file, from: use.resume)
    }
    try noteLostHeaders(file, besides: Set(uses.map(\.index)))
  }

  /// Notes segments that look free, and are in use as the ring says elsewhere.
  private mutating func noteLostHeaders(
    _ file: borrowing File, besides used: Set<Int>
  ) throws(SystemError) {
    for index in 0..<geometry.segmentCount where !used.contains(index) {
      if try contradictsUse(of: index, seed: nil, file) { note(index, "its header is lost") }
    }
  }

  /// Whether a segment's header, which has been read, is not of the use that the ring notes apart
  /// from it.
  ///
  /// The note is made after the header. Before the header is removed, the note says that the
  /// segment is being emptied. So any other note contradicts the header if it was there before the
  /// header was read, and still is.
  ///
  /// - Parameter seed: Of the generation in the header; nil: the header says that the segment is
  ///   free.
  private func contradictsUse(
    of index: Int, seed: UInt32?, _ file: borrowing File
  ) throws(SystemError) -> Bool {
    let place = geometry.use(ofSegment: index)
    let word = use(ofSegment: index)
    guard isOfThisBoot, word != 0, geometry.offset(ofSegment: index) + SegmentLayout.size < present
    else { return false }
    let agrees =
      seed.map { captured(ofSegment: index, $0) != nil }
      ?? SegmentUse.isBeingEmptied(word, segmentSize: geometry.segmentSize)
    if agrees { return false }
    return try self.word(file, at: place, within: place + wordSize) == word
  }

  private func use(ofSegment index: Int) -> UInt64 {
    UnsafeRawBufferPointer(memory.bytes).load(geometry.use(ofSegment: index), as: UInt64.self)
  }

  private mutating func note(_ segment: Int, _ problem: String) {
    let start = geometry.offset(ofSegment: segment)
    let place = start..<min(start + geometry.segmentSize, present)
    corruption.append(Corruption(place, "segment \(segment): \(problem)", in: path))
  }

  /// Inspects the header of each segment, and gives index and generation of those in use to `body`.
  private func forEachUse(
    _ file: borrowing File, _ body: (Int, UInt64) -> Void
  ) throws(SystemError) {
    // A word more than the header has: a segment is larger than its header.
    let header = UnsafeMutableRawBufferPointer.allocate(
      byteCount: SegmentLayout.size + wordSize, alignment: wordSize)
    defer { header.deallocate() }
    for index in 0..<geometry.segmentCount {
      let offset = geometry.offset(ofSegment: index)
      guard offset + header.count <= present,
        try file.readFully(into: header, at: offset) == header.count
      else { break }
      let part = UnsafeRawBufferPointer(header)
      // As it stands there, right or wrong: whether it is the same later is all that it has to say.
      let generation = part.load(SegmentLayout.generation, as: UInt64.self)
      _ = header.correctSegmentHeader()
      if (try? SegmentHeader(part, size: geometry.segmentSize))?.isFree == true { continue }
      body(index, generation)
    }
  }

  private mutating func copySegment(
    _ index: Int, _ generation: UInt64, _ file: borrowing File, from resume: Int?
  ) throws(SystemError) {
    let offset = geometry.offset(ofSegment: index)
    let size = min(geometry.segmentSize, present - offset)
    // What begins where the known part ends is inspected first: mostly there is nothing new.
    if let resume, try word(file, at: offset + resume, within: offset + size) == 0 { return }
    let target = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[offset..<offset + size])
    let part = UnsafeRawBufferPointer(target)
    try memory.read(file, offset..<offset + size)
    let written = part.load(SegmentLayout.generation, as: UInt64.self)
    let isCorrected = target.correctSegmentHeader()
    var header: SegmentHeader
    do {
      header = try SegmentHeader(part, size: geometry.segmentSize)
    } catch {
      // Only if it is not being made ready just now.
      if try word(file, at: offset, within: offset + size) == generation {
        note(index, "\(error)")
      }
      return
    }
    // In use anew, or free: what was in it is in an archive, or discarded.
    guard !header.isFree, written == generation,
      try word(file, at: offset + SegmentLayout.generation, within: offset + size) == generation
    else { return }
    let seed = checksumSeed(session: session, generation: header.generation)
    if hasErasures { try readErasedAgain(part, in: offset..<offset + size, seed, file) }
    header.captured = captured(ofSegment: index, seed) ?? header.captured
    if try contradictsUse(of: index, seed: seed, file) {
      note(index, "its header, or what the ring notes of its use, is of another use")
    }
    segments.append(
      RingImage.Segment(
        index: index, header: header, bytes: writtenPart(part, end: header.end), seed: seed))
    if isCorrected {
      noteCorrected(offset..<offset + SegmentLayout.size, "header of segment \(index)")
    }
  }

  /// Reads again what is no record in a segment: a record may have been erased while it was copied.
  private func readErasedAgain(
    _ part: UnsafeRawBufferPointer, in range: Range<Int>, _ seed: UInt32, _ file: borrowing File
  ) throws(SystemError) {
    var scanner = RecordScanner(
      part, from: SegmentLayout.size, seed: seed, scansBehindZeros: false)
    while let item = scanner.next() {
      guard case .corruption(let place) = item else { continue }
      let start = range.lowerBound
      try memory.read(file, start + place.lowerBound..<start + place.upperBound)
    }
  }

  /// Reads the state slots. Again, if something cannot be read: it may be just being written.
  private mutating func readState(_ file: borrowing File) throws(SystemError) {
    guard let area = areas.stateSlots else { return }
    for _ in 0..<3 {
      try memory.read(file, area)
      state = StateSlots(UnsafeRawBufferPointer(rebasing: memory.bytes[area]))
      if state.corruption.isEmpty { return }
    }
    for range in state.corruption {
      let place = area.lowerBound + range.lowerBound..<area.lowerBound + range.upperBound
      corruption.append(Corruption(place, "a state slot", in: path))
    }
  }

  /// How many survived signals there is no record of; 0 if that cannot be determined.
  mutating func survivals(in place: Range<Int>?) -> UInt8 {
    guard let place else { return 0 }
    let report = UnsafeRawBufferPointer(rebasing: memory.bytes[place])
    if let count = CrashReport.survivals(report) { return count }
    let word = place.lowerBound..<place.lowerBound + CrashLayout.checksum
    corruption.append(
      Corruption(word, "the number of fatal signals that the process survived", in: path))
    return 0
  }

  /// Up to where a segment's flight records are captured, if the ring says so.
  private func captured(ofSegment index: Int, _ seed: UInt32) -> Int? {
    SegmentUse.captured(
      use(ofSegment: index), seed: seed, segmentSize: geometry.segmentSize)
  }

  /// Notes what is wrong with the table of the areas.
  mutating func note(_ areaProblem: String) {
    let table = FileHeaderLayout.size..<RingLayout.fileHeaderSize
    corruption.append(Corruption(table, "area table: \(areaProblem)", in: path))
  }

  /// Notes corruption that costs nothing.
  mutating func noteCorrected(_ range: Range<Int>, _ what: String) {
    corruption.append(
      Corruption(range, "\(what): one bit was wrong, and is corrected", in: path))
  }

  /// A segment as far as it has been written, and the word behind that.
  private func writtenPart(_ part: UnsafeRawBufferPointer, end: Int) -> UnsafeRawBufferPointer {
    if end > 0 { return part.slice(0, min(end, part.count)) }
    return part.slice(0, min(recordsEnd(part) + wordSize, part.count))
  }

  /// Where the last record ends. Its last words may be zero, so its length has to say.
  private func recordsEnd(_ part: UnsafeRawBufferPointer) -> Int {
    var offset = SegmentLayout.size
    while part.count - offset >= wordSize {
      let header = part.load(offset, as: UInt64.self)
      if header == 0 { break }
      let length = Int(header & RecordLayout.lengthMask) * wordSize
      guard length > 0, length <= part.count - offset else { return part.count }
      offset += length
    }
    // Whether it is empty behind a zero word, is not known before all of it has been inspected.
    for rest in stride(from: offset, through: part.count - wordSize, by: wordSize)
    where part.load(rest, as: UInt64.self) != 0 { return part.count }
    return offset
  }

  /// A word of the file; 0 where it has none.
  private func word(
    _ file: borrowing File, at offset: Int, within end: Int
  ) throws(SystemError) -> UInt64 {
    guard offset + wordSize <= end else { return 0 }
    let bytes = try file.bytes(at: offset, count: wordSize)
    return bytes.count == wordSize ? bytes.withUnsafeBytes { $0.load(0, as: UInt64.self) } : 0
  }

  /// Reports clock pairs that were written once and cannot be read.
  private mutating func checkClockPairs(_ file: borrowing File) throws(SystemError) {
    for place in areas.clockPairs {
      let bytes = clockPair(at: place)
      // The first one was written before the ring had its name.
      let isUnfinished = ClockPair.isUnfinished(bytes) && place != areas.clocks.lowerBound
      if isUnfinished || ClockPair(bytes) != nil { continue }
      // Only if it is not being written just now.
      guard try file.bytes(at: place, count: bytes.count).elementsEqual(bytes) else { continue }
      corruption.append(
        Corruption(place..<place + bytes.count, "a clock reading", in: path))
    }
  }

  private func clockPair(at place: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(memory.bytes).slice(place, ClockPairLayout.size)
  }

  func clock(startTime: Timestamp) -> TickClock {
    let pairs = areas.clockPairs.map { ClockPair(clockPair(at: $0)) }
    let valid = pairs.compactMap { $0 }
    guard let newest = valid.max(by: { $0.ordinal < $1.ordinal }) else {
      return TickClock(ticks: 0, wall: startTime, rate: 1 << 32)
    }
    // Mostly the first one. From a shorter way, the rate is still a good one.
    let oldest = valid.min { $0.ordinal < $1.ordinal } ?? newest
    return TickClock(first: oldest, newest: newest)
  }

  /// The entries that are not known, and where they end.
  mutating func dictionary() -> (
    LogDictionary, [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)], Int
  ) {
    let start = newEntries.lowerBound
    let seed = checksumSeed(session: session, generation: 0)
    let area = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[newEntries])
    for entry in area.correctEntries(seed: seed) {
      noteCorrected(start + entry.lowerBound..<start + entry.upperBound, "dictionary")
    }
    var scanner = EntryScanner(UnsafeRawBufferPointer(area), seed: seed)
    var dictionary = LogDictionary()
    var entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)] = []
    while let entry = scanner.next() {
      guard dictionary.insert(entry.entry) else {
        let rest = start + scanner.offset..<newEntries.upperBound
        corruption.append(Corruption(rest, "dictionary: too many entries", in: path))
        break
      }
      entries.append(entry)
    }
    for range in scanner.corruption {
      corruption.append(
        Corruption(
          start + range.lowerBound..<start + range.upperBound, "dictionary", in: path))
    }
    return (dictionary, entries, start + scanner.offset - geometry.dictionaryOffset)
  }
}
