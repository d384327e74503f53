package import MMLogFormat

/// A session's ring and archives, made byte by byte, corrupted, and read again.
///
/// One tick is one nanosecond; tick 0 is ``epoch``.
package final class TestLog {
  package static let epoch: Timestamp = 1_763_715_600_000_000_000  // 2025-11-21T09:00:00Z

  package let folder = TemporaryDirectory()
  package var identity: SessionIdentity
  package var ring: [UInt8]
  package var archives: [[UInt8]] = []
  /// The number of the first of ``archives``.
  package var firstArchive: UInt32 = 1
  package let geometry: RingGeometry
  package let areas: RingAreas
  package var writesRing = true
  /// Whether the threads whose segments are opened from now on have names.
  package var namesThreads = true
  /// The system's ids of the threads whose segments are opened from now on, by their ordinals.
  package var idOfThread: (UInt32) -> UInt32 = { $0 + 1000 }
  var entries: [DictionaryEntry] = []
  private var dictionaryEnd: Int
  private var open: [UInt32: OpenSegment] = [:]
  var segmentCount = 0
  package internal(set) var frameCount: UInt64 = 0
  var builtFrames: [IndexEntry] = []
  /// Whether the frames that are added from now on are substitutes, as a repair writes them.
  package var areSubstitutes = false
  var recordCount: UInt64 = 0
  /// The clock of the frames that are added from now on.
  package var frameClock = TickClock(ticks: 0, wall: epoch, rate: 1 << 32)

  package struct OpenSegment {
    let index: Int
    let generation: UInt64
    var end = SegmentLayout.size
  }

  /// How many entries each thread has logged.
  private var numbers: [UInt32: UInt64] = [:]

  /// The level below which records are flight records.
  let archiveLevel: Level

  package static let usualGeometry = RingGeometry(
    dictionarySize: 8192, segmentSize: 4096, segmentCount: 16)

  package init(
    session: UInt64 = 1, bootID: [UInt8] = [UInt8](repeating: 7, count: 16),
    geometry: RingGeometry = usualGeometry, archiveLevel: Level = .trace,
    areas: RingAreas = .usual
  ) {
    (self.geometry, self.areas) = (geometry, areas)
    self.archiveLevel = archiveLevel
    identity = SessionIdentity(
      session: SessionID(words: (session, 0)), bootID: bootID, processID: 42, startTime: Self.epoch,
      processName: "orders", hostName: "tokyo", timeZone: "UTC", storeName: "test")
    dictionaryEnd = geometry.dictionaryOffset
    ring = [UInt8](repeating: 0, count: geometry.fileSize)
    let fileHeader = RingHeader(
      identity: identity, geometry: geometry, archiveLevel: archiveLevel, areas: areas)
    put(fileHeader.encoded(pageSize: 4096), at: 0)
    putState(RingLayout.stateOpen)
    let pair = ClockPair(ticks: 0, wall: Self.epoch, monotonic: 0, ordinal: 0)
    put(pair.encoded, at: areas.clocks.lowerBound)
  }

  /// Writes any bytes anywhere in the ring.
  package func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
    for (index, byte) in bytes.enumerated() { ring[offset + index] = byte }
  }

  func putState(_ state: UInt32) {
    store(state, at: areas.sessionState.lowerBound + SessionStateLayout.state)
  }

  /// Writes an entry of the table of the ring's areas, and makes the table's checksum right.
  package func putArea(_ index: Int, kind: UInt32, offset: UInt64, size: UInt64) {
    let entry = FileHeaderLayout.size + index * AreaTableLayout.entrySize
    store(kind, at: entry + AreaTableLayout.kind)
    put([offset, size], at: entry + AreaTableLayout.offset)
    ring.withUnsafeMutableBytes {
      let table = UnsafeRawBufferPointer($0).slice(FileHeaderLayout.size, AreaTableLayout.checksum)
      $0.store(crc32c(table), FileHeaderLayout.size + AreaTableLayout.checksum)
    }
  }

  func put(_ words: [UInt64], at offset: Int) {
    words.withUnsafeBytes { words in
      ring.withUnsafeMutableBytes {
        UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyMemory(from: words)
      }
    }
  }

  package func seed(_ generation: UInt64) -> UInt32 {
    checksumSeed(session: identity.session, generation: generation)
  }

  /// Adds a call site to the ring's dictionary.
  @discardableResult
  package func site(_ parts: CallSite.Part..., file: String = "App/Main.swift") -> UInt32 {
    site(parts: parts, file: file)
  }

  /// Adds a call site whose parts are in an array.
  package func site(parts: [CallSite.Part], file: String = "App/Main.swift") -> UInt32 {
    let id = UInt32(entries.count + 1)
    add(
      .callSite(
        id: id,
        CallSite(file: file, function: "run()", line: 7, column: 3, parts: parts)))
    return id
  }

  /// Adds a key set to the ring's dictionary.
  package func keySet(_ keys: KeySet.Key...) -> UInt32 {
    let id = UInt32(entries.count + 1)
    add(.keySet(id: id, KeySet(keys)))
    return id
  }

  /// Adds session fields to the ring's dictionary.
  package func sessionFields(_ pairs: [(String, Value)]) {
    let words = ValueWords.metadata(pairs)
    add(.sessionFields(words.withUnsafeBufferPointer { SessionFields(block: $0) }))
  }

  /// Adds the values of the state slots to the ring's dictionary, as a recovery does to an
  /// archive's.
  package func lastState(_ pairs: [(name: String, value: Value)]) {
    let words = ValueWords.metadata(pairs.map { ($0.name, $0.value) })
    add(.lastState(words.withUnsafeBufferPointer { SessionFields(block: $0) }))
  }

  /// Adds a label to the ring's dictionary.
  package func label(_ label: String) -> UInt32 {
    let id = UInt32(entries.count + 1)
    add(.label(id: id, label))
    return id
  }

  private func add(_ entry: DictionaryEntry) {
    entries.append(entry)
    let words = entry.encoded(seed: seed(0))
    put(words, at: dictionaryEnd)
    dictionaryEnd += words.count * 8
  }

  /// Adds an entry of an unknown kind to the ring's dictionary.
  package func putUnknownEntry() {
    var words: [UInt64] = [3 | 77 << 24, 1, 2]
    let checksum = words.withUnsafeBytes { entryChecksum($0, seed: seed(0)) }
    words[0] |= UInt64(checksum) << 32
    put(words, at: dictionaryEnd)
    dictionaryEnd += words.count * 8
  }

  /// The size of the written part of the ring's dictionary, in bytes.
  package var dictionarySize: Int { dictionaryEnd - geometry.dictionaryOffset }

  /// A call site with one text argument.
  package private(set) lazy var textSite = site(.argument(type: .string))

  /// Logs a text.
  package func write(_ text: String, ticks: UInt64, thread: UInt32 = 1, level: Level = .info) {
    write(
      TestRecord(
        ticks: ticks, site: textSite, level: level, words: ValueWords.argument(.text(text))),
      thread: thread)
  }

  /// Logs a record.
  ///
  /// - Returns: Where it stands in the ring.
  @discardableResult
  package func write(_ record: TestRecord, thread: UInt32 = 1) -> Range<Int> {
    append(thread) { record.encoded(seed: self.seed($0)) }
  }

  /// Logs a record in fragments, but only the fragments of a range.
  package func writeFragments(
    _ record: TestRecord, thread: UInt32 = 1, partWords: Int, range: Range<Int> = 0..<(.max)
  ) {
    let count = record.fragments(partWords: partWords, seed: 0).count
    for index in range.clamped(to: 0..<count) {
      append(thread) { record.fragments(partWords: partWords, seed: self.seed($0))[index] }
    }
  }

  /// Logs what `make` returns for a generation's seed, in a new segment if it does not fit.
  @discardableResult
  private func append(_ thread: UInt32, _ make: (UInt64) -> [UInt64]) -> Range<Int> {
    if let segment = open[thread], segment.end + make(0).count * 8 > geometry.segmentSize {
      seal(thread)
    }
    var segment = open[thread] ?? openSegment(thread)
    let words = make(segment.generation)
    let offset = geometry.offset(ofSegment: segment.index) + segment.end
    put(words, at: offset)
    segment.end += words.count * 8
    open[thread] = segment
    let level = UInt8(truncatingIfNeeded: words[2] >> RecordLayout.levelShift)
    if Level(fromFile: level) >= archiveLevel { numbers[thread, default: 0] += 1 }
    return offset..<offset + words.count * 8
  }

  /// Makes a thread lose `count` records, after what it has logged.
  package func lose(_ count: UInt64, thread: UInt32 = 1) {
    seal(thread)
    numbers[thread, default: 0] += count
  }

  /// Seals a thread's segment; its next record goes into another.
  package func seal(_ thread: UInt32) {
    guard let segment = open.removeValue(forKey: thread) else { return }
    let start = geometry.offset(ofSegment: segment.index)
    store(SegmentLayout.stateSealed, at: start + SegmentLayout.state)
    store(UInt32(segment.end), at: start + SegmentLayout.end)
  }

  /// Empties a segment that was sealed, for another use.
  package func free(segment index: Int) {
    put([UInt8](repeating: 0, count: geometry.segmentSize), at: geometry.offset(ofSegment: index))
    put([0] as [UInt64], at: geometry.use(ofSegment: index))
  }

  private func openSegment(_ thread: UInt32) -> OpenSegment {
    let segment = OpenSegment(index: segmentCount, generation: UInt64(segmentCount + 1))
    segmentCount += 1
    let start = geometry.offset(ofSegment: segment.index)
    put([segment.generation], at: start)
    store(SegmentLayout.stateOpen, at: start + SegmentLayout.state)
    store(UInt32(SegmentLayout.size), at: start + SegmentLayout.archived)
    store(thread, at: start + SegmentLayout.threadOrdinal)
    store(idOfThread(thread), at: start + SegmentLayout.threadID)
    if namesThreads { put("worker\(thread)".utf8, at: start + SegmentLayout.threadName) }
    store(thread * 4, at: start + SegmentLayout.writer)
    put([numbers[thread] ?? 0], at: start + SegmentLayout.firstNumber)
    let checksum = ring[start..<start + geometry.segmentSize].withUnsafeBytes {
      segmentChecksum($0)
    }
    store(checksum, at: start + SegmentLayout.checksum)
    let seed = checksumSeed(session: identity.session, generation: segment.generation)
    put(
      [SegmentUse.word(SegmentLayout.size, seed: seed)],
      at: geometry.use(ofSegment: segment.index))
    return segment
  }

  package func store(_ value: UInt32, at offset: Int) {
    withUnsafeBytes(of: value.littleEndian) { put($0, at: offset) }
  }
}

extension CallSite.Part {
  package static func argument(
    type: ValueType, optional: Bool = false, width: UInt8 = 0, format: UInt64 = 0,
    alignment: UInt64 = 0, name: String = ""
  ) -> Self {
    .argument(
      CallSite.Argument(
        type: type.rawValue | (optional ? ValueType.optionalBit : 0), privacy: 0, width: width,
        format: format, alignment: alignment, name: name))
  }
}
