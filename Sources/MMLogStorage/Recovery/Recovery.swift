import MMLogFormat
import MMLogSystem

extension ArchiveFile {
  /// Whether it has a frame of a type.
  fileprivate func has(_ type: FrameType) -> Bool { frames.contains { $0.header.type == type } }
}

/// Moves what a dead process left in its ring into the archives of its session, exactly once.
///
/// A recovery may be killed at any moment and run again, and several processes may run it at once:
/// the ring's lock lets one of them do it, and the next one finds what that one wrote before it
/// died.
package struct Recovery: ~Copyable {
  private let settings: ArchiveSeries.Settings
  private let ring: DeadRing
  /// The access that archives are made with: if root recovers a service's ring, that of the ring.
  private let newFiles: FileAccess?
  let fileHeaders: ArchiveHeaders

  init(
    _ ring: consuming LockedFile, for access: FileAccess?,
    _ settings: ArchiveSeries.Settings, _ fileHeaders: ArchiveHeaders
  ) throws(LogError) {
    self.fileHeaders = fileHeaders
    self.ring = try DeadRing(ring)
    newFiles = access
    var settings = settings
    // What is encrypted in the ring stays so for the same recipients, whoever recovers it.
    if let slot = self.ring.image.keySlots.first { settings.recipients = slot.recipients }
    settings.isChained = self.ring.image.fileHeader.isChained
    self.settings = settings
  }

  var image: RingImage { ring.image }

  func run(_ directory: borrowing Directory) throws -> RecoveredSession {
    try removeUnfinished(directory)
    TestPoint.reach(.recoveryUnfinishedRemoved)
    try writeAgain(directory)
    let found = try examine(directory)
    var sealed: Set<String> = []
    // Appended before anything says that parts of the ring are archived, and before the rest of a
    // frame is overwritten: if this recovery dies, the next one sees less of what is corrupted.
    let losses = found.lostPlaces > 0 ? ledger(found, 0) : nil
    let series = try series(found, losses, directory) { sealed.insert($0) }
    series.report = { if case .closed(let path, _) = $0 { sealed.insert(path) } }
    TestPoint.reach(.recoveryCutOff)
    let dictionary = image.dictionaryEntries(with: found.archives)
    if let losses { try series.append(losses) }
    let (count, lostPlaces, corruption) = try moveRecords(to: series, dictionary, found.coverage) {
      if $0 > 0 { try series.append(ledger(found, $0)) }
    }
    let allLosses = ledger(found, lostPlaces)
    // Flight records come after the others, between which they stand: see FORMAT.md, 8.
    let flightCount =
      image.hasFlight ? try moveFlight(to: series, dictionary, found.coverage) : 0
    let end = image.end.recovered(at: .now)
    let hasMoved = count + flightCount > 0
    let isWritten = !hasMoved && allLosses.total(.corrupted) <= found.written.total(.corrupted)
    try finish(series, dictionary, isWritten ? found.archives : [], end, allLosses)
    // If a recovery sealed an archive and then died, nobody was notified of it.
    if sealed.isEmpty, let last = found.archives.last { sealed.insert(last.path) }
    let infos = (try? infos(directory)) ?? []
    return RecoveredSession(
      identity: image.fileHeader.identity, end: end, recordCount: count + flightCount,
      flightRecordCount: flightCount, losses: allLosses,
      archives: infos, sealed: infos.filter { sealed.contains($0.path) },
      corruption: (image.corruption + corruption).map {
        "\($0.what) at \($0.offset), \($0.size) bytes"
      } + found.missing)
  }

  /// What a recovery finds before it archives anything.
  private struct Findings {
    /// The session's archives, by rising number.
    let archives: [ArchiveFile]
    let coverage: Coverage
    /// What the archives lack although they once had it, a line each.
    let missing: [String]
    /// Whether the archive was cut that the ring says is the newest. It stays as it is then, so
    /// that everybody sees that its end is missing.
    let isCut: Bool
    /// Whether the newest archive is there twice. No records go into it then: its copy may have the
    /// next ordinals, too.
    let isTwice: Bool
    /// How many places lack records, besides those within the segments that can be read.
    let lostPlaces: Int
    /// The ledger that the archives have. A recovery that died may have seen more places.
    let written: LossLedger
  }

  private func examine(_ directory: borrowing Directory) throws -> Findings {
    let (found, isAnyUnreadable) = try archives(in: directory)
    // Readers believe one archive of each number: what is only in another one has to be archived.
    let archives = ArchiveFile.read(of: found)
    var coverage = Coverage()
    for archive in archives { coverage.add(archive) }
    coverage.checkEnds(of: archives)
    if isAnyUnreadable { coverage.distrust() }
    let isCut = image.lostEnd(of: archives) != nil
    if isCut || image.isNewestLost(of: archives) { coverage.distrust() }
    image.restoreClock(from: archives)
    try dropCorrupted(archives, &coverage)
    coverage.settle()
    let missing = missing(in: archives, coverage)
    let isTwice = found.count(where: { $0.fileHeader.id == archives.last?.fileHeader.id }) > 1
    return Findings(
      archives: archives, coverage: coverage, missing: missing, isCut: isCut, isTwice: isTwice,
      lostPlaces: unreadableSegments + missing.count,
      written: try LossLedger.written(in: archives) ?? LossLedger())
  }

  /// What the archives lack although, as the ring says, they once had it, a line each.
  private func missing(in archives: [ArchiveFile], _ coverage: Coverage) -> [String] {
    var missing: [String] = []
    // An earlier recovery may have begun another archive, and nothing more.
    let newest = archives.last { !$0.frames.isEmpty } ?? archives.last
    if let frame = newest.flatMap({ image.lostFrame($0.tail, coverage) }) {
      missing.append("a frame of \(frame.summary.rows): it was not written whole")
    }
    if let end = image.lostEnd(of: archives) {
      missing.append("archive \(image.sessionState.newestArchive): \(end.lack.what)")
    }
    if image.isNewestLost(of: archives) {
      missing.append(
        "archive \(image.sessionState.newestArchive), which was being written: it cannot be read")
    }
    return missing
  }

  /// Reads the frames whose records the ring still has. The ring is removed after its recovery, so
  /// the header of a frame is not enough proof. After the machine went down, the payload may be
  /// missing; a bad disk may corrupt it at any time.
  ///
  /// - Throws: what the system refuses: if the payload can be read the next time, its records would
  ///   be there twice.
  private func dropCorrupted(_ archives: [ArchiveFile], _ coverage: inout Coverage) throws {
    let present = Set(image.segments.map(\.header.generation))
    for archive in archives {
      for frame in archive.frames where frame.isOf(present) {
        do {
          _ = try archive.payload(of: frame)
        } catch FormatError.missingCoder, FormatError.encrypted {
          // Its checksum was right.
        } catch is FormatError {
          coverage.remove(frame.header)
        }
      }
    }
  }

  /// The session's archives, which the recovery goes on with.
  ///
  /// - Parameters:
  ///   - losses: What an archive that has to be sealed says of losses.
  ///   - sealed: Receives the path of an archive that had to be sealed for that.
  private func series(
    _ found: Findings, _ losses: LossLedger?, _ directory: borrowing Directory,
    sealed: (String) -> Void
  ) throws -> ArchiveSeries {
    var current: ArchiveWriter?
    let last = found.archives.last
    if let last, !last.isClosed, last.isLast, last.isSound, !found.isTwice,
      !found.isCut || last.fileHeader.number > image.sessionState.newestArchive
    {
      let file = try Self.lockInTurn(last, in: directory)
      current = try ArchiveWriter(
        resuming: last, file, compressionLevel: settings.compressionLevel,
        recipients: settings.recipients)
      // Nobody has the key of an encrypted archive: another one is begun, with a key of its own. An
      // archive without a trailer would lack its end then.
      if !last.frames.isEmpty, !settings.recipients.isEmpty || last.isEncrypted {
        if let losses { try current?.append(losses) }
        try current?.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
        sealed(last.path)
        current = nil
      }
    }
    let series = ArchiveSeries(
      in: try Directory.open(directory.path, newFiles: newFiles ?? directory.newFiles),
      image.fileHeader.identity, settings, number: try newestNumber(last, directory),
      current: current)
    series.ringKeySlot = image.keySlots.first?.slot ?? []
    series.notes = ring
    if settings.isChained { try chain(series, behind: last) }
    return series
  }

  /// Chains the next archive to the newest one, or, if a limit has deleted that, to its head in the
  /// ring.
  private func chain(_ series: ArchiveSeries, behind last: ArchiveFile?) throws {
    guard let last, last.fileHeader.number == series.number else {
      if let noted = image.head, noted.archive == series.number { series.head = noted.hash }
      return
    }
    series.head = try last.head()?.hash ?? .none
    // The archive may have just been sealed.
    try ring.note(NotedHead(archive: series.number, series.head))
  }

  /// - Parameter willAppend: Called before each frame, with the number of places found so far that
  ///   should have records and cannot be read, and that nobody has counted.
  /// - Returns: How many records were moved, how many such places there are, and all places that
  ///   cannot be read.
  private func moveRecords(
    to series: ArchiveSeries, _ dictionary: [UInt8], _ coverage: Coverage,
    willAppend: (Int) throws -> Void
  ) throws -> (count: Int, lostPlaces: Int, corruption: [Corruption]) {
    let image = image
    var count = 0
    // What cannot be read in runs that have ended. `passed` counts those of `places` that stand
    // before records that were moved: only these are noted in the ring's ledger.
    var (places, passed, corruption) = (0, 0, [Corruption]())
    var (noted, counted) = ([Int: Int](), 0)
    try ring.merge { segment in
      let run = run(of: segment) { record, offset in
        if image.isFlight(record) { return .left }
        let isArchived = coverage.contains(
          segment.header, offset: offset, trustsWatermarks: image.isOfThisBoot)
        return isArchived ? .archived : .taken
      }
      noted[segment.index] = run.taken
      return run
    } take: { collector in
      count += try move(&collector, to: series, dictionary, FrameHeader(.records)) { collector in
        try willAppend(places + lostPlaces(in: collector.runs, coverage))
      } moved: { collector in
        let found = lostPlaces(in: collector.runs, areArchived: true, coverage)
        try noteLost(passed + found, &counted, coverage)
        try ring.note(collector.runs, &noted)
      }
    } ended: { run in
      places += lostPlaces(in: [run], coverage)
      passed += lostPlaces(in: [run], areArchived: true, coverage)
      corruption += self.corruption(in: run, coverage)
    }
    return (count, places, corruption)
  }

  /// Counts places in the ring's ledger, as the drainer does, before the ring says that the records
  /// behind them are archived. If this recovery dies, the next one takes the places as counted.
  ///
  /// - Parameter last: How many were counted the last time.
  private func noteLost(
    _ count: Int, _ last: inout Int, _ coverage: Coverage
  ) throws(SystemError) {
    // If there are flight records and the ring is not believed, the next recovery finds all places
    // again.
    if count == last || image.hasFlight && !image.isBelieved(coverage) { return }
    try ring.note(corrupted: image.losses[.corrupted, .critical] &+ UInt64(count))
    last = count
  }

  /// Moves the flight records that are left: what led to the end of the process.
  private func moveFlight(
    to series: ArchiveSeries, _ dictionary: [UInt8], _ coverage: Coverage
  ) throws -> Int {
    let image = image
    if image.fileHeader.spanCapture != nil {
      var ended: Set<UInt64> = []
      try ring.forEachSegment { ended.formUnion(image.endedSpans(in: [$0])) }
      image.endedWell = ended
    }
    var fields = FrameHeader(.records)
    fields.isFlight = true
    var (count, noted) = (0, [Int: Int]())
    try ring.merge { segment in
      let run = run(of: segment, isFlight: true) { record, offset in
        let isLeft =
          image.isFlight(record) && !image.isDone(record, segment, offset: offset, coverage)
        return isLeft ? .taken : .left
      }
      noted[segment.index] = run.taken
      return run
    } take: { collector in
      count += try move(&collector, to: series, dictionary, fields) { _ in
      } moved: { collector in
        try ring.note(collector.runs, areFlight: true, &noted)
      }
    } ended: { _ in
    }
    return count
  }

  /// - Parameters:
  ///   - segment: A segment whose records are in memory.
  ///   - isFlight: Whether flight records are moved, which have no numbers.
  ///   - disposition: What becomes of a record, at an offset.
  private func run(
    of segment: RingImage.Segment, isFlight: Bool = false,
    _ disposition: @escaping (RecordView, Int) -> CollectedSegment.Disposition
  ) -> CollectedSegment {
    CollectedSegment(
      index: segment.index, header: segment.header,
      scanner: image.scanner(of: segment, zeros: .mayBeLost),
      number: isFlight ? nil : segment.header.firstNumber,
      content: image.lock == nil ? .clear : .sealed, disposition: disposition)
  }

  /// Moves what a collector gives, frame by frame.
  ///
  /// - Parameters:
  ///   - willAppend: Called before each frame.
  ///   - moved: Called after each frame.
  /// - Returns: How many records were moved.
  private func move(
    _ collector: inout FrameCollector, to series: ArchiveSeries, _ dictionary: [UInt8],
    _ header: FrameHeader,
    willAppend: (borrowing FrameCollector) throws -> Void,
    moved: (borrowing FrameCollector) throws -> Void
  ) throws -> Int {
    var fields = header
    fields.clock = image.clock
    var count = 0
    var rows = RowBuilder()
    while true {
      fields.ranges = collector.fill(&rows)
      if rows.isEmpty { return count }
      try willAppend(collector)
      TestPoint.reach(.recoveryBeforeFrame)
      try dictionary.withUnsafeBytes {
        try series.append(rows, dictionary: $0, fields)
        try moved(collector)
        try series.rotateIfDue(dictionary: $0)
      }
      TestPoint.reach(.recoveryAfterFrame)
      count += rows.recordCount
      rows.removeAll()
    }
  }

  /// The parts of a segment that could not be read and that no archive has.
  private func corruption(in run: CollectedSegment, _ coverage: Coverage) -> [Corruption] {
    let start = image.fileHeader.geometry.offset(ofSegment: run.index)
    return run.corruption.compactMap { range in
      if image.isDone(range, run.header, coverage) { return nil }
      return Corruption(
        start + range.lowerBound..<start + range.upperBound,
        "records in segment \(run.index)", in: image.path)
    }
  }

  /// How many places cannot be read where there should be records that nobody has counted.
  ///
  /// - Parameter areArchived: Whether only the places count that are before the taken records, or
  ///   between them.
  private func lostPlaces(
    in runs: [CollectedSegment], areArchived: Bool = false, _ coverage: Coverage
  ) -> Int {
    runs.reduce(0) { sum, run in
      sum
        + run.corruption.count {
          (!areArchived || $0.lowerBound < run.taken)
            && !image.isCounted($0, run.header, coverage)
        }
    }
  }

  /// How many segments that are in use cannot be read at all. If the session was closed, archives
  /// have what was in them.
  private var unreadableSegments: Int {
    if image.sessionState.isClosedCleanly { return 0 }
    let geometry = image.fileHeader.geometry
    let segments = geometry.offset(ofSegment: 0)..<geometry.fileSize
    let known = Set(image.segments.map { geometry.offset(ofSegment: $0.index) })
    return image.corruption.count { segments.contains($0.offset) && !known.contains($0.offset) }
  }

  /// What the session itself had counted, and one corrupted record for each place that cannot be
  /// read: nobody knows how many records there were.
  ///
  /// - Parameter places: How many of these places are in segments that can be read.
  private func ledger(_ found: Findings, _ places: Int) -> LossLedger {
    var losses = image.lossesAtDeath
    losses[.corrupted, .critical] = max(
      losses[.corrupted, .critical] &+ UInt64(found.lostPlaces + places),
      found.written[.corrupted, .critical])
    return losses
  }

  /// Appends how the session ended to its last archive, unless a recovery that died afterwards
  /// already did.
  ///
  /// - Parameter archives: The archives that may have that already: none if there are new records,
  ///   or losses that they do not have.
  private func finish(
    _ series: ArchiveSeries, _ dictionary: [UInt8], _ archives: [ArchiveFile], _ end: SessionEnd,
    _ losses: LossLedger
  ) throws {
    // A process may have crashed after it marked its store as closed.
    if let last = archives.last, last.isClosed, last.has(.sessionEnd),
      image.crash == nil || last.has(.crash)
    {
      return try series.sync()
    }
    if !losses.isEmpty { try series.append(losses) }
    // The report is there twice if a recovery dies after this: both are the same.
    if let crash = image.crash { try series.append(crash) }
    TestPoint.reach(.recoveryLossesWritten)
    try entries(dictionary, lastState).withUnsafeBytes { try series.end(end, dictionary: $0) }
    TestPoint.reach(.recoveryClosed)
  }

  /// The entries at the end of the last archive: without the last state if the dictionary leaves no
  /// room for it in a frame, which nobody could read.
  private func entries(_ dictionary: [UInt8], _ lastState: [UInt8]) -> [UInt8] {
    let room = FrameLayout.largestPayload - FrameCipher.growth - dictionary.count
    return lastState.count > room ? dictionary : dictionary + lastState
  }

  /// The dictionary entry for the contents of the state slots; empty if there were none.
  private var lastState: [UInt8] {
    if image.state.values.isEmpty { return [] }
    let seed = checksumSeed(session: image.fileHeader.identity.session, generation: 0)
    return DictionaryEntry.lastState(image.state.fields).encoded(seed: seed)
      .withUnsafeBytes { Array($0) }
  }
}
