package import MMLogFormat
package import MMLogSystem

/// A checked copy of what is in a ring file: of a dead ring, or of a live one while its process
/// goes on.
///
/// The image is a copy and not a mapping: a file that someone else truncates would end the reader
/// with SIGBUS. Free segments and the empty parts of others are not kept: the copy takes no more
/// memory than the file has in it, whatever the file says.
package final class RingImage {
  /// A segment in use, copied.
  package struct Segment {
    package let index: Int
    package internal(set) var header: SegmentHeader
    /// The segment, as far as anything has been written to it. Zeros if the image does not keep the
    /// records, and has not read them again.
    let bytes: UnsafeRawBufferPointer
    let seed: UInt32
    /// The ticks of the first record, if the image does not keep the records; nil if there is none.
    let firstTicks: UInt64?
  }

  package let path: String
  package let fileHeader: RingHeader
  /// Whether the machine has been running since the ring was written: then all that was written is
  /// there.
  package let isOfThisBoot: Bool
  package let sessionState: SessionState
  /// What the next archive is chained to, if that is noted.
  package let head: NotedHead?
  /// Turns ticks into wall time; see ``restoreClock(from:)``.
  package private(set) var clock: TickClock
  /// Whether the ring has no clock reading that is valid.
  private let isClockLost: Bool
  package let losses: LossLedger
  /// How many fatal signals the process had survived without having made a record of them yet.
  private let survivals: UInt8
  /// The report of the crash that the process died of, if its signal handler could write it.
  package let crash: CrashReport?
  /// What the process had last in its state slots.
  package let state: StateSlots
  package let dictionary: LogDictionary
  /// The dictionary's entries one by one, for copying them into an archive.
  package let entries: [(entry: DictionaryEntry, bytes: UnsafeRawBufferPointer)]
  /// How far the dictionary has been written, in bytes.
  package let dictionarySize: Int
  /// The segments in use, by rising generation.
  package let segments: [Segment]
  /// The key slots of the ring that can be read; none: the ring is not encrypted, or nobody can
  /// have the key.
  package let keySlots: [RingKeySlot]
  /// Why the records are still encrypted in this copy; nil if they are not.
  package let lock: FormatError?
  /// The spans that ended well, whose flight records are evicted: see ``SpanCapture``.
  ///
  /// Found when they are first asked for: the clock may be restored before. If the image does not
  /// keep the records, whoever asks sets this first.
  lazy var endedWell = endedSpans(in: segments)
  /// Bytes of the ring that could not be read.
  package let corruption: [Corruption]
  /// What has been read of the file, each part in its place.
  let memory: SparseMemory

  /// Copies and checks the ring in `file`.
  ///
  /// A thread's records are copied up to some moment: if one of its segments is there, all before
  /// it are, too. Flight records may be evicted meanwhile, and then older ones may be there.
  ///
  /// - Parameters:
  ///   - knownDictionary: How many bytes of the dictionary are known: their entries are left out.
  ///   - identities: Who decrypts the records of an encrypted ring. If none of them can, the
  ///     records stay as they are.
  ///   - keepsRecords: Whether the image has the records of all segments in memory. Otherwise they
  ///     are checked, and read again where they are needed: see ``load(_:from:)``. Then nothing is
  ///     decrypted.
  ///   - resume: Up to where a generation's records are known, and need not be copied again, as an
  ///     offset from the segment's start; nil for a new generation. Default: all are new.
  /// - Throws: ``LogError`` if nothing of it can be read; ``corruption`` reports parts that are
  ///   corrupted.
  package init(
    _ file: borrowing File, identities: LogIdentities = LogIdentities(), keepsRecords: Bool = true,
    knownDictionary: Int = 0, resume: (UInt64) -> Int? = { _ in nil }
  ) throws(LogError) {
    path = file.path
    let fileHeader = try Self.fileHeader(of: file)
    self.fileHeader = fileHeader
    isOfThisBoot = fileHeader.identity.isOfBoot(Host.bootID())

    var copy: RingCopy
    do {
      copy = try RingCopy(
        file, fileHeader, isOfThisBoot: isOfThisBoot, keepsRecords: keepsRecords,
        knownDictionary: knownDictionary, resume)
    } catch {
      throw LogError(error, while: "Reading the ring failed")
    }
    let memory = copy.memory
    self.memory = memory
    keySlots = copy.keySlots
    let cipher = RingCipher.open(copy.keySlots, with: identities.all)
    lock = copy.decrypt(with: cipher)
    segments = copy.segments
    sessionState = SessionState(memory[fileHeader.areas.sessionState])
    if let unknown = sessionState.unknownState {
      copy.corruption.append(
        Corruption(fileHeader.areas.sessionState, "session state: \(unknown)", in: path))
    }
    head = fileHeader.areas.head.flatMap { NotedHead(memory[$0]) }
    let clock = copy.clock
    isClockLost = clock == nil
    self.clock = clock ?? TickClock(ticks: 0, wall: fileHeader.identity.startTime, rate: 0)
    losses = LossLedger(memory[fileHeader.areas.ledger]) ?? LossLedger()
    crash = fileHeader.areas.crash.flatMap { CrashReport(memory[$0]) }?
      .clear(with: try? cipher.get())
    survivals = copy.survivals(in: fileHeader.areas.crash)
    state = copy.state
    if let problem = fileHeader.areaProblem { copy.report(problem) }
    if fileHeader.isCorrected { copy.reportCorrected(0..<FileHeaderLayout.size, "file header") }
    (dictionary, entries, dictionarySize) = copy.dictionary()
    corruption = copy.corruption
  }

  /// Takes the clock of the session's newest frame of records if the ring has lost its own: without
  /// one, all records have the session's start as their time.
  ///
  /// - Parameter archives: The session's, by rising number.
  package func restoreClock(from archives: [ArchiveFile]) {
    guard isClockLost else { return }
    let frames = archives.lazy.reversed().flatMap { $0.frames.reversed() }
    if let frame = frames.first(where: { $0.header.type == .records }) {
      clock = frame.header.clock
    }
  }

  /// The spans that ended well, as records of these segments say.
  func endedSpans(in segments: [Segment]) -> Set<UInt64> {
    guard let capture = fileHeader.spanCapture, hasFlight, lock == nil else { return [] }
    var endedWell: Set<UInt64> = []
    for segment in segments {
      var scanner = scanner(of: segment, zeros: .mayBeLost)
      while let item = scanner.next() {
        guard case .record(let record, _) = item, SpanTie.mayEnd(record),
          let tie = dictionary.tie(of: record), let end = tie.end, tie.span != 0,
          !capture.captures(end, at: record.ticks, clock)
        else { continue }
        endedWell.insert(tie.span)
      }
    }
    return endedWell
  }

  /// Whether a flight record belongs to a span that ended well.
  private func isOfEndedSpan(_ record: RecordView) -> Bool {
    !endedWell.isEmpty && dictionary.tie(of: record).map { endedWell.contains($0.span) } ?? false
  }

  /// Reads the records of a segment again that the image does not keep in memory.
  ///
  /// - Parameter file: The file that the image was read from.
  /// - Throws: `FormatError.truncated` if the file was cut meanwhile; what the system refuses.
  func load(_ segment: Segment, from file: borrowing File) throws {
    let start = fileHeader.geometry.offset(ofSegment: segment.index)
    let place = start..<start + segment.bytes.count
    guard try memory.read(file, place) == place.upperBound else { throw FormatError.truncated }
  }

  /// Removes the records of a segment from memory.
  func unload(segment index: Int) {
    let start = fileHeader.geometry.offset(ofSegment: index)
    memory.clear(start..<min(start + fileHeader.geometry.segmentSize, memory.bytes.count))
  }

  /// A scanner for a segment's records. What it gives is valid for as long as the image.
  ///
  /// - Parameters:
  ///   - offset: Where to begin, from the segment's start.
  ///   - zeros: What they mean in a segment that is not sealed.
  package func scanner(
    of segment: Segment, from offset: Int = SegmentLayout.size, zeros: RecordScanner.Zeros
  ) -> RecordScanner {
    RecordScanner(
      segment.bytes, from: offset, seed: segment.seed,
      zeros: segment.header.end > 0 ? .lost : zeros)
  }

  /// Whether a record is a flight record: no archive has it before it is captured.
  package func isFlight(_ record: RecordView) -> Bool { record.level < fileHeader.archiveLevel }

  /// Whether the ring's flight records count. In a session that was closed, they are evicted,
  /// unless spans decide about them: those of spans that failed may not have been captured yet.
  package var hasFlight: Bool {
    fileHeader.archiveLevel > .trace
      && (!sessionState.isClosedCleanly || fileHeader.spanCapture != nil)
  }

  /// Whether an archive has a record, or the record is evicted.
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

  /// Whether the ring's ledger counts what was lost in bytes that cannot be read, or nothing was
  /// lost.
  ///
  /// Whoever archives the records behind such bytes first counts the bytes, and then the ring says
  /// that these records are archived. Archives may have what stood in the bytes only later, since
  /// flight records may be among it.
  package func isCounted(
    _ range: Range<Int>, _ segment: SegmentHeader, _ coverage: Coverage
  ) -> Bool {
    isBelieved(coverage) && range.upperBound <= segment.archived
      || isDone(range, segment, coverage)
  }

  /// Whether the ring is believed when it says how far its segments are archived.
  package func isBelieved(_ coverage: Coverage) -> Bool {
    isOfThisBoot && !coverage.hasCorruption
  }

  /// Whether anything says that the session has archives.
  package var mayHaveArchives: Bool {
    sessionState.unknownState != nil || sessionState.newestArchive > 0
      || segments.contains { $0.header.archived > SegmentLayout.size }
  }

  /// What was lost, if the process is dead: with the records that it could not make of signals that
  /// it had survived.
  package var lossesAtDeath: LossLedger {
    var losses = losses
    losses[.ringFull, .critical] &+= UInt64(survivals)
    return losses
  }

  /// How the session of a dead process ended.
  ///
  /// A crash comes last, wherever it happens: in closing, in an exit handler.
  package var end: SessionEnd {
    if let crash { return SessionEnd(crash) }
    if sessionState.isClosedCleanly { return SessionEnd(.closed, time: clock.wall) }
    return sessionState.end ?? SessionEnd(isOfThisBoot ? .killed : .powerLost, time: clock.wall)
  }

  /// Reads and checks the header of a ring.
  ///
  /// - Throws: ``LogError`` if it cannot be read, or is not the header of a ring.
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
