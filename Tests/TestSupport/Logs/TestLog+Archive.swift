package import MMLogFormat

extension TestLog {
  /// Moves what is in the ring to the last archive, as the drainer does.
  ///
  /// - Parameters:
  ///   - isPublished: false if the process died before it noted in the ring that the records are
  ///     archived.
  ///   - isInColumns: false for a frame in rows.
  ///   - areFlight: Whether to move flight records, or all others.
  package func archive(
    isPublished: Bool = true, isInColumns: Bool = false, areFlight: Bool = false
  ) {
    if archives.isEmpty { beginArchive() }
    var rows = RowBuilder()
    var ranges: [RingRange] = []
    var found: [(RecordView, ThreadIdentity)] = []
    let copy = ring.withUnsafeBytes { UnsafeMutableRawBufferPointer.copy($0) }
    defer { copy.deallocate() }
    for index in 0..<segmentCount {
      let start = geometry.offset(ofSegment: index)
      let bytes = UnsafeRawBufferPointer(copy).slice(start, geometry.segmentSize)
      guard let header = try? SegmentHeader(bytes) else { continue }
      let from = areFlight ? SegmentLayout.size : header.archived
      let seed = seed(header.generation)
      var scanner = RecordScanner(
        bytes, from: SegmentLayout.size, seed: seed, zeros: .end)
      var (first, count) = (header.firstNumber, UInt32(0))
      while case .record(let view, let offset) = scanner.next() {
        let isFlight = view.level < archiveLevel
        if offset < from {
          first += isFlight ? 0 : 1
          continue
        }
        if !isFlight { count += 1 }
        if isFlight == areFlight { found.append((view, header.thread)) }
      }
      let numbers = NumberRange(
        writer: header.writer, thread: header.thread.ordinal, first: first, count: count)
      ranges.append(
        RingRange(
          generation: header.generation, from: UInt32(from), to: UInt32(scanner.offset),
          segment: UInt32(index), numbers: areFlight ? nil : numbers))
      guard isPublished else { continue }
      if areFlight {
        putCaptured(scanner.offset, ofSegment: index, seed)
      } else {
        store(UInt32(scanner.offset), at: start + SegmentLayout.archived)
      }
    }
    for (view, thread) in found.sorted(by: { $0.0.ticks < $1.0.ticks }) {
      rows.add(view, thread: thread, ticks: view.ticks)
    }
    if found.isEmpty { return }
    addFrame(.dictionary, dictionaryPayload, count: UInt32(entries.count))
    var summary = rows.summary
    summary.firstWall = frameClock.wall(at: summary.firstTicks)
    summary.lastWall = frameClock.wall(at: summary.lastTicks)
    recordCount += UInt64(summary.count)
    ranges.removeAll { $0.from >= $0.to }
    if isInColumns {
      var callSites = CallSiteFields()
      dictionaryPayload.withUnsafeBytes { callSites.add(entriesIn: $0, seed: seed(0)) }
      let columns = ColumnEncoder().encode(rows, callSites, nil)
      addFrame(.records, stored: columns, .columns, rawSize: rows.size, summary, ranges)
    } else {
      addFrame(.records, rows.payload(), summary, ranges, areFlight: areFlight)
    }
    if isPublished { noteArchive(frames: UInt32(frameCount)) }
  }

  private func noteArchive(frames: UInt32) {
    store(UInt32(archives.count), at: RingLayout.newestArchive)
    store(frames, at: RingLayout.newestFrames)
  }

  private func putCaptured(_ offset: Int, ofSegment index: Int, _ seed: UInt32) {
    put([SegmentUse.word(offset, seed: seed)], at: geometry.use(ofSegment: index))
  }

  /// The archive that is being written.
  private var archiveID: ArchiveID {
    ArchiveID(session: identity.session, number: firstArchive + UInt32(archives.count - 1))
  }

  /// Begins another archive.
  package func beginArchive() {
    let fileHeader = ArchiveHeader(
      identity: identity, number: firstArchive + UInt32(archives.count), created: Self.epoch)
    archives.append(fileHeader.encoded(pageSize: 4096))
    (frameCount, recordCount, builtFrames) = (0, 0, [])
  }

  /// An archive that is not closed. Each text is in a frame of records of its own, behind the frame
  /// that has its entries.
  package static func archived(_ texts: [String]) -> TestLog {
    let log = TestLog(session: 7)
    log.writesRing = false
    for (index, text) in texts.enumerated() {
      log.write(text, ticks: UInt64(100 * index + 100))
      log.archive()
    }
    return log
  }

  /// A log of two records of a thread, in one archive: a flight record of 40 bytes of text, and a
  /// record of 400 bytes in fragments. The flight record was captured between the fragments.
  package static func capturedBetweenFragments(isFlightFragmented: Bool = false) -> TestLog {
    let log = TestLog(session: 7, archiveLevel: .info)
    log.writesRing = false
    func record(_ text: String, _ size: Int, ticks: UInt64, _ level: Level) -> TestRecord {
      let text = text + String(repeating: ".", count: size - text.utf8.count)
      return TestRecord(
        ticks: ticks, site: log.textSite, level: level, words: ValueWords.argument(.text(text)))
    }
    let flight = record("flight", 40, ticks: 1, .debug)
    if isFlightFragmented {
      log.writeFragments(flight, partWords: 3)
    } else {
      log.write(flight)
    }
    let long = record("long", 400, ticks: 5, .error)
    log.writeFragments(long, partWords: 20, range: 0..<1)
    log.archive()
    log.archive(areFlight: true)
    log.writeFragments(long, partWords: 20, range: 1..<(.max))
    log.archive()
    return log
  }

  /// Skips ordinals of frames.
  package func loseFrames(_ count: UInt64) { frameCount += count }

  /// All entries, as a dictionary frame has them.
  package var dictionaryPayload: [UInt8] {
    entries.flatMap { $0.encoded(seed: seed(0)) }.withUnsafeBytes { Array($0) }
  }

  /// Appends a frame to the last archive.
  ///
  /// - Returns: Where it stands.
  @discardableResult
  package func addFrame(
    _ type: FrameType, _ payload: [UInt8], _ summary: RecordSummary? = nil, count: UInt32 = 0,
    _ ranges: [RingRange] = [], areFlight: Bool = false
  ) -> Range<Int> {
    let packed = Compressor(level: 6)?.compress(payload)
    var said = summary ?? RecordSummary()
    if summary == nil { said.count = count }
    return addFrame(
      type, stored: packed ?? payload, packed == nil ? .rows : .zlibRows,
      rawSize: payload.count, said, ranges, areFlight: areFlight)
  }

  @discardableResult
  private func addFrame(
    _ type: FrameType, stored: [UInt8], _ codec: FrameCodec, rawSize: Int, _ summary: RecordSummary,
    _ ranges: [RingRange], areFlight: Bool = false
  ) -> Range<Int> {
    if archives.isEmpty { beginArchive() }
    var header = FrameHeader(type, codec: codec)
    (header.payloadSize, header.rawSize) = (stored.count, rawSize)
    header.payloadChecksum = stored.withUnsafeBytes { crc32c($0) }
    header.summary = summary
    header.clock = frameClock
    (header.ordinal, header.isFlight) = (frameCount, areFlight)
    header.archive = archiveID
    header.ranges = ranges
    header.isSubstitute = areSubstitutes
    frameCount += 1
    var archive = archives.removeLast()
    let start = archive.count
    if type != .dictionary { builtFrames.append(IndexEntry(offset: start, header: header)) }
    header.encode(into: &archive)
    archive += stored
    while archive.count % 8 != 0 { archive.append(0) }
    archives.append(archive)
    return start..<archive.count
  }

  /// Adds a frame with a record of `size` bytes of text, and other rows behind it.
  @discardableResult
  package func addLong(
    _ size: Int, site: UInt32, ticks: UInt64 = 2, behind rows: [UInt64] = []
  ) -> Range<Int> {
    let end = 8 + 32 + size
    var payload = [UInt8](repeating: UInt8(ascii: "x"), count: end + rows.count * 8)
    payload.withUnsafeMutableBytes { bytes in
      bytes.store(UInt64(0), 0)
      bytes.store(RecordLayout.recordKind | UInt64(4 + size / 8), 8)
      bytes.store(ticks, 16)
      bytes.store(UInt64(site), 24)
      bytes.store(UInt64(size), 32)
      for (index, word) in rows.enumerated() { bytes.store(word, end + index * 8) }
    }
    var summary = RecordSummary()
    summary.add(ticks: ticks, level: .trace)
    summary.firstWall = Self.epoch + Int64(ticks)
    summary.lastWall = summary.firstWall
    return addFrame(.records, payload, summary)
  }

  /// Ends the session as closing does; if `how` is nil, only its last archive.
  package func close(_ how: SessionEnd.How? = .closed) {
    if let how { addFrame(.sessionEnd, SessionEnd(how, time: Self.epoch + 999).encoded) }
    let dictionary = addFrame(.dictionary, dictionaryPayload).lowerBound
    let index = addFrame(.index, IndexEntry.encode(builtFrames)).lowerBound
    let id = archiveID
    var archive = archives.removeLast()
    let trailer = Trailer(
      of: id, dictionaryOffset: UInt64(dictionary), indexOffset: UInt64(index),
      recordCount: recordCount, fileSize: UInt64(archive.count + TrailerLayout.size),
      frameCount: UInt32(frameCount))
    archive += trailer.encoded
    archives.append(archive)
    noteArchive(frames: SessionStateLayout.allFrames)
    if how != nil { putState(RingLayout.stateClosed) }
  }
}

extension UnsafeMutableRawBufferPointer {
  fileprivate static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    let copy = allocate(byteCount: bytes.count, alignment: 8)
    copy.copyMemory(from: bytes)
    return copy
  }
}
