import MMLogFormat
package import MMLogSystem

extension ArchiveFile {
  /// Whether it has a frame of a type.
  fileprivate func has(_ type: FrameType) -> Bool { frames.contains { $0.header.type == type } }
}

/// Moves what a dead process left in its ring into the archives of its session, exactly once.
///
/// Safe to be killed at any moment and run again, and to be run by several processes at once: the
/// ring's lock lets one do it, and what that one wrote before it died is found by the next.
package struct Recovery: ~Copyable {
  private let settings: ArchiveSeries.Settings
  private let ring: DeadRing
  /// What access archives are made with: of those that root recovers for a service, that of its
  /// ring.
  private let newFiles: FileAccess?
  let fileHeaders: ArchiveHeaders

  /// Recovers every ring of `store` in `ringDirectory` whose process is dead.
  ///
  /// - Parameters:
  ///   - store: The store's name; nil for all.
  ///   - archiveDirectory: Where the archives are.
  ///   - goesOn: Whether to recover another ring.
  ///   - problem: Receives each ring that could not be recovered; the others are.
  package static func recoverAll(
    of store: String?, ringDirectory: borrowing Directory, archiveDirectory: borrowing Directory,
    _ settings: ArchiveSeries.Settings, while goesOn: () -> Bool = { true },
    problem: (LogError) -> Void
  ) -> [RecoveredSession] {
    var recovered: [RecoveredSession] = []
    let names: [String]
    do { names = try ringDirectory.names() } catch {
      problem(LogError(error, while: "Searching for rings to recover failed"))
      return []
    }
    UnfinishedRings.sweep(of: store, in: ringDirectory)
    let fileHeaders = ArchiveHeaders()
    var rings: [(start: Int64, name: String)] = []
    for name in names {
      guard let ring = FileNames.Ring(fileName: name), store == nil || ring.store == store else {
        continue
      }
      rings.append((start(ofSessionIn: name, ringDirectory), name))
    }
    // Their archives come in this order, too.
    for (_, name) in rings.inOrder(<) where goesOn() {
      do {
        let session = try recover(name, ringDirectory, archiveDirectory, settings, fileHeaders)
        if let session { recovered.append(session) }
      } catch {
        problem(error)
      }
    }
    return recovered
  }

  /// When the session of a ring began, in nanoseconds since 1970; 0 if it cannot be read.
  private static func start(ofSessionIn name: String, _ directory: borrowing Directory) -> Int64 {
    guard let file = try? directory.openFile(name, [.read, .nonBlocking]),
      let bytes = try? file.bytes(at: 0, count: FileHeaderLayout.size),
      let header = try? bytes.withUnsafeBytes({ try RingHeader($0) })
    else { return 0 }
    return header.identity.startTime.nanosecondsSince1970
  }

  /// Of how many sessions a directory has rings that wait to be recovered; 0 if that cannot be
  /// determined now.
  package static func deadSessions(inRingsAt path: String) -> Int {
    (try? DeadRing.sessions(in: path, strange: { _ in }))?.dead.count ?? 0
  }

  /// Which archives a recovery still needs, those of rings in a directory: it inspects them for
  /// what it need not archive again, and completes the last.
  ///
  /// - Parameter strange: Receives each file that has a ring's name, and is none of ours, or cannot
  ///   be inspected: the archives of its session are needed.
  /// - Returns: Says of an archive whether it is needed; nil: none is.
  /// - Throws: ``LogError`` if that cannot be determined now.
  package static func neededArchives(
    inRingsAt path: String, strange: (LogError) -> Void = { _ in }
  ) throws(LogError) -> ((ArchiveInfo) -> Bool)? {
    let rings = try DeadRing.sessions(in: path, strange: strange)
    if rings.all.isEmpty { return nil }
    return { archive in
      // One that is not complete may be just about to be completed by a recovery.
      rings.dead.contains(archive.session)
        || (!archive.isSealed && rings.all.contains(archive.session))
    }
  }

  /// Recovers one ring; nil if its process is alive, or it was recovered meanwhile.
  ///
  /// - Parameter fileHeaders: Of the archives that are there, if others are recovered beside it.
  package static func recover(
    _ name: String, _ ringDirectory: borrowing Directory, _ archiveDirectory: borrowing Directory,
    _ settings: ArchiveSeries.Settings, _ fileHeaders: ArchiveHeaders = ArchiveHeaders()
  ) throws(LogError) -> RecoveredSession? {
    do {
      guard try ringDirectory.ownStatus(of: name) != nil,
        let ring = try lockIfThere(name, ringDirectory)
      else { return nil }
      let status = try ring.file.status()
      try Ownership(of: ringDirectory).check(status, ring.file.path)
      // Whoever had the lock may also have finished with it: then the name is gone.
      guard try ringDirectory.status(of: name)?.inode == status.inode else { return nil }
      TestPoint.reach(.recoveryLocked)
      if let problem = try problem(ofFileHeaderIn: ring.file) {
        throw try putAside(name, problem, ringDirectory)
      }
      let recovery = try Recovery(ring, for: FileAccess.asOf(status), settings, fileHeaders)
      let session = try recovery.run(archiveDirectory)
      try ringDirectory.removeIfThere(name)
      TestPoint.reach(.recoveryRingRemoved)
      return session
    } catch {
      throw LogError(
        error, while: "Recovering a ring failed; it is left for the next start", path: name)
    }
  }

  /// Nil if it is not there, or another has it.
  private static func lockIfThere(
    _ name: String, _ directory: borrowing Directory
  ) throws(SystemError) -> LockedFile? {
    do throws(SystemError) {
      return try LockedFile.open(name, in: directory)
    } catch  where error.isNotFound {
      return nil
    }
  }

  /// Why nothing of a ring can ever be read: its file header is corrupted, or never reached the
  /// disk before the machine went down. Nil if its file header is right, or not of a kind that is
  /// known here.
  private static func problem(ofFileHeaderIn file: borrowing File) throws -> FormatError? {
    let bytes = try file.bytes(at: 0, count: FileHeaderLayout.size)
    do {
      _ = try bytes.withUnsafeBytes { try RingHeader($0) }
      return nil
    } catch let error as FormatError {
      switch error {
      case .newerFormat, .olderFormat: return nil
      case .foreign where bytes.contains { $0 != 0 }: return nil
      default: return error
      }
    }
  }

  /// Gives a ring of which nothing can be read another name, so that it is reported once, and kept.
  ///
  /// - Returns: what to report.
  private static func putAside(
    _ name: String, _ problem: FormatError, _ directory: borrowing Directory
  ) throws(SystemError) -> LogError {
    let newName = name + FileNames.unreadableSuffix
    if try directory.status(of: newName) != nil {
      throw SystemError.alreadyThere(.renameat, directory.path(of: newName))
    }
    try directory.rename(name, to: newName)
    return LogError(
      .corruptedFile,
      "\(directory.path(of: name)) cannot be recovered: \(problem). It is kept as \(newName): "
        + "delete it when you need it no more.", path: directory.path(of: newName))
  }

  private init(
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

  private func run(_ directory: borrowing Directory) throws -> RecoveredSession {
    try removeUnfinished(directory)
    TestPoint.reach(.recoveryUnfinishedRemoved)
    let (found, isAnyUnreadable) = try archives(in: directory)
    // Readers believe one of each number: what is only in another has to be archived.
    let archives = ArchiveFile.read(of: found)
    var coverage = Coverage()
    for archive in archives { coverage.add(archive) }
    if isAnyUnreadable { coverage.distrust() }
    let isCut = image.lostEnd(of: archives) != nil
    if isCut || image.isNewestLost(of: archives) { coverage.distrust() }
    image.restoreClock(from: archives)
    try dropCorrupted(archives, &coverage)
    coverage.settle()
    let missing = missing(in: archives, coverage)
    let isTwice = found.count(where: { $0.fileHeader.id == archives.last?.fileHeader.id }) > 1
    var sealed: Set<String> = []
    let series = try series(archives, goesOn: !isCut && !isTwice, directory) {
      sealed.insert($0)
    }
    series.report = { if case .closed(let path, _) = $0 { sealed.insert(path) } }
    var noted = image.newestArchive
    series.note = { [ring] (number, _) throws(SystemError) in
      try ring.note(archive: number, &noted)
    }
    TestPoint.reach(.recoveryCutOff)
    let dictionary = image.dictionaryEntries(with: archives)
    let places = unreadableSegments + missing.count
    let written = try LossLedger.written(in: archives) ?? LossLedger()
    // Before anything that says of the ring that it is done with: whoever recovers it after this
    // one has died sees less of what is corrupted.
    if places > 0 { try series.append(ledger(places, written)) }
    let (count, lostPlaces, corruption) = try moveRecords(to: series, dictionary, coverage) {
      if $0 > 0 { try series.append(ledger(places + $0, written)) }
    }
    let losses = ledger(places + lostPlaces, written)
    // After the others, which they stand between: see FORMAT.md, 8.
    let flightCount = image.hasFlight ? try moveFlight(to: series, dictionary, coverage) : 0
    // The ring goes next. What the dead process wrote last may not be on the disk yet.
    if let last = archives.last, last.isClosed { try last.sync() }
    let end = image.end.recovered(at: .now)
    let hasMoved = count + flightCount > 0
    let isWritten = !hasMoved && losses.total(.corrupted) <= written.total(.corrupted)
    try finish(series, dictionary, isWritten ? archives : [], end, losses)
    // Of one that a recovery has sealed which then died, nobody was notified.
    if sealed.isEmpty, let last = archives.last { sealed.insert(last.path) }
    let infos = (try? infos(directory)) ?? []
    return RecoveredSession(
      identity: image.fileHeader.identity, end: end, recordCount: count + flightCount,
      flightRecordCount: flightCount, losses: losses,
      archives: infos, sealed: infos.filter { sealed.contains($0.path) },
      corruption: (image.corruption + corruption).map {
        "\($0.what) at \($0.offset), \($0.size) bytes"
      } + missing)
  }

  /// What the archives lack that they once had, as the ring says, a line each.
  private func missing(in archives: [ArchiveFile], _ coverage: Coverage) -> [String] {
    var missing: [String] = []
    if let frame = archives.last.flatMap({ image.lostFrame($0.tail, coverage) }) {
      missing.append("a frame of \(frame.summary.rows): it was not written whole")
    }
    if let end = image.lostEnd(of: archives) {
      missing.append("archive \(image.newestArchive): \(end.lack.what)")
    }
    if image.isNewestLost(of: archives) {
      missing.append(
        "archive \(image.newestArchive), which was being written: it cannot be read")
    }
    return missing
  }

  /// Reads the frames that hold records which the ring still has: the ring goes after its recovery,
  /// so the header of a frame is no proof of them. After the machine went down, the payload may be
  /// missing; a bad disk corrupts it at any time.
  ///
  /// - Throws: what the system refuses: the payload may be read the next time, and its records be
  ///   there twice.
  private func dropCorrupted(_ archives: [ArchiveFile], _ coverage: inout Coverage) throws {
    let present = Set(image.segments.map(\.header.generation))
    for archive in archives {
      for frame in archive.frames
      where frame.header.ranges.contains(where: { present.contains($0.generation) }) {
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

  /// The session's archives, to be gone on with.
  ///
  /// - Parameter goesOn: Whether records may go behind those of the newest. They may not if it is
  ///   there twice: the other has its next ordinals, too. Nor if it was cut: it keeps its end, so
  ///   that everybody sees it.
  /// - Parameter sealed: Receives the path of an archive that had to be sealed for that.
  private func series(
    _ archives: [ArchiveFile], goesOn: Bool, _ directory: borrowing Directory,
    sealed: (String) -> Void
  ) throws -> ArchiveSeries {
    var current: ArchiveWriter?
    if goesOn, let last = archives.last, !last.isClosed, last.isLast, last.isSound {
      let file = try Self.lockInTurn(last, in: directory)
      current = try ArchiveWriter(
        resuming: last, file, compressionLevel: settings.compressionLevel)
      // Nobody has the key of an encrypted archive: another one is begun, with a key of its own.
      // One without a trailer would lack its end then.
      if !settings.recipients.isEmpty || last.isEncrypted {
        try current?.close(dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
        sealed(last.path)
        current = nil
      }
    }
    let series = ArchiveSeries(
      in: try Directory.open(directory.path, newFiles: newFiles ?? directory.newFiles),
      image.fileHeader.identity, settings, number: try newestNumber(archives.last, directory),
      current: current)
    series.ringKeySlot = image.keySlots.first?.slot ?? []
    if settings.isChained { try chain(series, behind: archives.last) }
    return series
  }

  /// Has the next archive be chained to the newest one, or, if a limit has deleted that, to what
  /// the ring says of it.
  private func chain(_ series: ArchiveSeries, behind last: ArchiveFile?) throws {
    series.noteHead = { [ring] (head) throws(SystemError) in try ring.note(head) }
    guard let last, last.fileHeader.number == series.number else {
      if let noted = image.head, noted.archive == series.number { series.head = noted.hash }
      return
    }
    series.head = try last.head()?.hash ?? .none
    // It may have just been sealed.
    try ring.note(NotedHead(archive: series.number, series.head))
  }

  /// - Parameter willAppend: Is called before each frame, with how many places have been found
  ///   where there should be more, and nobody has counted that.
  /// - Returns: How many there were, how many such places, and all places that cannot be read.
  private func moveRecords(
    to series: ArchiveSeries, _ dictionary: [UInt8], _ coverage: Coverage,
    willAppend: (Int) throws -> Void
  ) throws -> (count: Int, lostPlaces: Int, corruption: [Corruption]) {
    let image = image
    let runs = runs { segment, record, offset in
      if image.isFlight(record) { return .left }
      let isArchived = coverage.contains(
        segment.header, offset: offset, trustsWatermarks: image.isOfThisBoot)
      return isArchived ? .archived : .taken
    }
    var collector = FrameCollector(runs)
    var (noted, counted) = (runs.map(\.taken), 0)
    let count = try move(&collector, to: series, dictionary, FrameHeader(.records)) { collector in
      try willAppend(lostPlaces(in: collector.runs, coverage))
    } moved: { collector in
      try noteLost(lostPlaces(in: collector.runs, areArchived: true, coverage), &counted, coverage)
      try ring.note(collector.runs, &noted)
    }
    return (
      count, lostPlaces(in: collector.runs, coverage),
      collector.runs.flatMap { corruption(in: $0, coverage) }
    )
  }

  /// Counts places in the ring's ledger, as the drainer does: before the ring says that what stands
  /// behind them is archived. Whoever recovers it after this one has died takes them as counted.
  ///
  /// - Parameter last: What was counted the last time.
  private func noteLost(
    _ count: Int, _ last: inout Int, _ coverage: Coverage
  ) throws(SystemError) {
    // Where flight records are left and the ring is not believed, the next recovery finds all of
    // them again.
    if count == last || image.hasFlight && !image.isBelieved(coverage) { return }
    try ring.note(corrupted: image.losses[.corrupted, .critical] &+ UInt64(count))
    last = count
  }

  /// Moves the flight records that are left: what led to the end of the process.
  private func moveFlight(
    to series: ArchiveSeries, _ dictionary: [UInt8], _ coverage: Coverage
  ) throws -> Int {
    let image = image
    let runs = runs(areFlight: true) { segment, record, offset in
      let isLeft =
        image.isFlight(record) && !image.isDone(record, segment, offset: offset, coverage)
      return isLeft ? .taken : .left
    }
    var collector = FrameCollector(runs)
    var noted = runs.map(\.taken)
    var fields = FrameHeader(.records)
    fields.isFlight = true
    return try move(&collector, to: series, dictionary, fields) { _ in
    } moved: { collector in
      try ring.note(collector.runs, areFlight: true, &noted)
    }
  }

  /// - Parameters:
  ///   - areFlight: Whether flight records are moved, which have no numbers.
  ///   - disposition: What becomes of a record of a segment, at an offset.
  private func runs(
    areFlight: Bool = false,
    _ disposition: @escaping (RingImage.Segment, RecordView, Int) -> CollectedSegment.Disposition
  ) -> [CollectedSegment] {
    image.segments.map { segment in
      CollectedSegment(
        index: segment.index, header: segment.header,
        scanner: image.scanner(of: segment, scansBehindZeros: true),
        number: areFlight ? nil : segment.header.firstNumber,
        content: image.lock == nil ? .clear : .sealed,
        disposition: { disposition(segment, $0, $1) })
    }
  }

  /// Moves what a collector gives, frame by frame.
  ///
  /// - Parameters:
  ///   - willAppend: Called before each frame.
  ///   - moved: Called after each frame.
  /// - Returns: How many records it were.
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

  /// What of a segment could not be read and no archive has.
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
  /// - Parameter areArchived: Whether only those count that are before the records that have been
  ///   taken, or between them.
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

  /// How many segments that are in use cannot be read at all. Of a session that was closed,
  /// archives have what was in them.
  private var unreadableSegments: Int {
    if image.isClosedCleanly { return 0 }
    let geometry = image.fileHeader.geometry
    let segments = geometry.offset(ofSegment: 0)..<geometry.fileSize
    let known = Set(image.segments.map { geometry.offset(ofSegment: $0.index) })
    return image.corruption.count { segments.contains($0.offset) && !known.contains($0.offset) }
  }

  /// What the session itself had counted, and one corrupted record for each place that cannot be
  /// read: nobody knows how many there were.
  ///
  /// - Parameter written: What archives say. A recovery that died may have seen more places.
  private func ledger(_ places: Int, _ written: LossLedger) -> LossLedger {
    var losses = image.lossesAtDeath
    losses[.corrupted, .critical] = max(
      losses[.corrupted, .critical] &+ UInt64(places), written[.corrupted, .critical])
    return losses
  }

  /// Says in the session's last archive how it ended, unless a recovery that died after this
  /// already did.
  ///
  /// - Parameter archives: Those in which that may stand already: none if records have come behind
  ///   them, or losses that they do not have.
  private func finish(
    _ series: ArchiveSeries, _ dictionary: [UInt8], _ archives: [ArchiveFile], _ end: SessionEnd,
    _ losses: LossLedger
  ) throws {
    // A process may have crashed behind the mark that its store was closed.
    if let last = archives.last, last.isClosed, last.has(.sessionEnd),
      image.crash == nil || last.has(.crash)
    {
      return try series.sync()
    }
    if !losses.isEmpty { try series.append(losses) }
    // Twice, if a recovery dies after this: it is the same one.
    if let crash = image.crash { try series.append(crash) }
    TestPoint.reach(.recoveryLossesWritten)
    try (dictionary + lastState).withUnsafeBytes { try series.end(end, dictionary: $0) }
    TestPoint.reach(.recoveryClosed)
  }

  /// The dictionary's entry of what was in the state slots; empty if there were none.
  private var lastState: [UInt8] {
    if image.state.values.isEmpty { return [] }
    let seed = checksumSeed(session: image.fileHeader.identity.session, generation: 0)
    return DictionaryEntry.lastState(image.state.fields).encoded(seed: seed)
      .withUnsafeBytes { Array($0) }
  }
}
