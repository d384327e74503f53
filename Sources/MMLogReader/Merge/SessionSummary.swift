import MMLogCrypto
import MMLogFormat
import MMLogStorage

/// What a session's files have besides records.
package struct SessionSummary {
  package private(set) var dictionary = LogDictionary()
  package private(set) var losses = LossLedger()
  package private(set) var end: SessionEnd?
  package private(set) var crash: CrashReport?
  private(set) var coverage = Coverage()
  /// Corruption outside frames of records, by the archive's index.
  package private(set) var corruption: [Int: [LogReader.Corruption]] = [:]
  /// Frames of records that are not to be read, by archive and offset: those that repeat others,
  /// and those for which the ring's copies are used. If such a frame could be read the next time,
  /// its records would be there twice.
  package private(set) var skipped: [Int: Set<Int>] = [:]
  /// The ring, if there is one, with the parts that archives have of it.
  package private(set) var ring: RingView?
  /// The number of the newest archive, if the ring says that it is missing.
  private(set) var missingArchive: UInt32?
  /// The error that kept a frame from being read, if its bytes were not the cause.
  private(set) var readingError: LogError?
  private var parts = RingParts()

  /// - Parameter dictionary: The entries that are known before.
  package init(_ dictionary: LogDictionary = LogDictionary()) { self.dictionary = dictionary }

  /// Reads everything in the files except records.
  package init(_ files: SessionFiles) {
    for (index, archive) in files.archives.enumerated() { read(archive, index) }
    coverage.checkEnds(of: files.archives)
    // The records of these archives may be nowhere but in the ring.
    if !files.unreadable.isEmpty { coverage.distrust() }
    if let ring = files.ring { read(ring, files.archives) }
    let newest = max(
      files.archives.last?.fileHeader.number ?? 0,
      files.ring?.image.sessionState.newestArchive ?? 0)
    for (index, archive) in files.archives.enumerated() {
      // The process may have been writing to the newest archive when it died. Then the ring has all
      // of it.
      let isNewest = archive.fileHeader.number == newest
      let end = isNewest ? tornFrame(archive, files.ring) : archive.unfinishedEnd
      if let end { corruption[index, default: []].append(end) }
    }
  }

  private mutating func read(_ ring: RingView, _ archives: [ArchiveFile]) {
    let image = ring.image
    image.restoreClock(from: archives)
    learn(image, beside: archives)
    let lost = ring.isRunning ? image.losses : image.lossesAtDeath
    if lost.total >= losses.total { losses = lost }
    crash = image.crash ?? crash
    if !image.state.values.isEmpty { dictionary.insert(.lastState(image.state.fields)) }
    let generations = Set(image.segments.map(\.header.generation))
    for (index, archive) in archives.enumerated() { check(archive, index, generations) }
    if !ring.isRunning, let lost = image.lostEnd(of: archives) {
      coverage.distrust()
      note(lost.lack, atEndOf: archives[lost.index], lost.index)
    }
    if !ring.isRunning && image.isNewestLost(of: archives) { coverage.distrust() }
    coverage.settle()
    // If the process lives, a limit may have deleted the archive after the ring noted it.
    let newest = image.sessionState.newestArchive
    let isMissing = !ring.isRunning && newest > archives.last?.fileHeader.number ?? 0
    missingArchive = isMissing ? newest : nil
    self.ring = ring.covered(by: coverage)
  }

  /// Adds the ring's entries. If an archive has another entry of the same number, the archive's
  /// counts: archives can be authenticated, and a ring cannot.
  private mutating func learn(_ image: RingImage, beside archives: [ArchiveFile]) {
    let contradictions = dictionary.contradictions
    for entry in image.entries { dictionary.insert(entry.entry) }
    guard dictionary.contradictions > contradictions, let last = archives.last else { return }
    corruption[archives.count - 1, default: []].append(
      LogReader.Corruption(
        last.end..<last.end, "the ring's dictionary has other entries of the same numbers",
        in: last.path))
  }

  /// Notes what an archive lacks at its end. If bytes of it are left, these have been reported.
  private mutating func note(
    _ lack: LogReader.Corruption, atEndOf archive: ArchiveFile, _ index: Int
  ) {
    if archive.tail.corruption != nil { return }
    corruption[index, default: []].append(lack)
  }

  /// What the archives have of the ring, prepared for many queries.
  mutating func settledCoverage() -> Coverage {
    coverage.settle()
    return coverage
  }

  /// How many generations are remembered that the ring does not have: a recovery may archive them
  /// anew, and a ring that is found later may have them.
  private static let remembered = 256

  /// Forgets what frames have of generations that the ring does not have, except the newest ones. A
  /// generation that has left the ring never comes back.
  mutating func forget(besides generations: Set<UInt64>) {
    // Not each time, because this inspects all of them.
    guard coverage.generationCount > generations.count + 2 * Self.remembered else { return }
    let known = coverage.generations
    let needed = known.intersection(generations).union(known.sorted().suffix(Self.remembered))
    coverage.forget(besides: needed)
    parts.forget(besides: needed)
  }

  /// An unfinished frame at the end of an archive, unless the ring has what the frame was to hold.
  private func tornFrame(
    _ archive: ArchiveFile, _ ring: RingView?
  ) -> LogReader.Corruption? {
    guard case .frame(let range, let header) = archive.tail else { return nil }
    guard let ring else { return archive.tornFrame(range, header) }
    // If the process lives, it may be writing the frame just now.
    guard !ring.isRunning, let lost = ring.image.lostFrame(archive.tail, coverage) else {
      return nil
    }
    return archive.tornFrame(range, lost, "and the ring does not have what was to be in it")
  }

  private mutating func read(_ archive: ArchiveFile, _ index: Int) {
    let tail = archive.tail.corruption.map { [$0] } ?? []
    let notes = read(
      archive, frames: archive.frames.indices, corruption: archive.corruption + tail)
    (corruption[index], skipped[index]) = (notes.corruption, notes.repeats)
    if archive.fileHeader.isCorrected {
      let fileHeader = archive.start..<archive.start + FileHeaderLayout.size
      corruption[index, default: []].append(
        LogReader.Corruption(
          fileHeader, "file header: one bit was wrong, and is corrected", in: archive.path))
    }
  }

  /// Reads some frames of an archive.
  ///
  /// - Parameter corruption: The corruption between these frames.
  /// - Returns: All corruption outside frames of records, and the offsets of frames that repeat
  ///   others.
  mutating func read(
    _ archive: ArchiveFile, frames: Range<Int>, corruption: [LogReader.Corruption]
  ) -> (corruption: [LogReader.Corruption], repeats: Set<Int>) {
    var notes = corruption
    var repeats: Set<Int> = []
    if !corruption.isEmpty || archive.isFileHeaderLost { coverage.distrust() }
    for index in frames {
      let frame = archive.frames[index]
      if frame.header.type == .records {
        coverage.add(frame.header)
        guard let first = parts.add(index, of: archive) else { continue }
        repeats.insert(frame.offset)
        notes.append(archive.corruption(of: frame, "it repeats \(first)"))
        continue
      }
      do {
        try read(frame.header.type, archive.payload(of: frame), archive.fileHeader.identity.session)
      } catch FormatError.encrypted {
        continue
      } catch {
        if !(error is FormatError) {
          readingError = LogError(error, while: "Reading an archive failed", path: archive.path)
        }
        notes.append(archive.corruption(of: frame, "\(error)"))
      }
    }
    return (notes, repeats)
  }

  /// Notes that reading a frame of records failed.
  mutating func note(unreadable frame: FrameName) { parts.note(unreadable: frame) }

  /// Reads a frame that has no records.
  ///
  /// - Throws: ``FormatError`` if the payload is not what the type says.
  package mutating func read(
    _ type: FrameType, _ payload: [UInt8], _ session: SessionID
  ) throws(FormatError) {
    let contradictions = dictionary.contradictions
    let isRead = payload.withUnsafeBytes { bytes -> Bool in
      switch type {
      case .dictionary:
        let seed = checksumSeed(session: session, generation: 0)
        return dictionary.insert(entriesIn: bytes, seed: seed).isEmpty
      case .losses:
        guard let ledger = LossLedger(bytes) else { return false }
        losses = ledger
        return true
      case .sessionEnd:
        end = SessionEnd(bytes)
        return end != nil
      case .crash:
        crash = CrashReport(bytes)
        return crash != nil
      case .keySlot, .ringKeySlot: return KeySlot.isBegun(bytes)
      case .records, .index, .other: return true
      }
    }
    if !isRead { throw .invalid("payload") }
    if dictionary.contradictions > contradictions {
      throw .invalid("entry: its number is that of another one")
    }
  }

  /// Finds out whether frames can be read that took something from segments still in the ring. If a
  /// frame cannot be read, the ring's copy is to be used.
  private mutating func check(
    _ archive: ArchiveFile, _ index: Int, _ generations: Set<UInt64>
  ) {
    for frame in archive.frames where frame.header.type == .records {
      if skipped[index]?.contains(frame.offset) == true { continue }
      guard frame.header.ranges.contains(where: { generations.contains($0.generation) }) else {
        continue
      }
      // If no identity decrypts the frame, the ring's copy says no more, and a repair has the
      // frame.
      if frame.header.isEncrypted, archive.lock != nil { continue }
      if let problem = archive.problem(of: frame) {
        coverage.remove(frame.header)
        skipped[index, default: []].insert(frame.offset)
        corruption[index, default: []].append(archive.corruption(of: frame, problem))
      }
    }
  }
}

extension RecordSummary {
  /// `150 rows from 2026-11-21T09:00:00.000000000Z to 2026-11-21T09:00:01.000000000Z`
  fileprivate var title: String { "\(rows) from \(firstWall) to \(lastWall)" }
}

extension ArchiveFile {
  /// The corruption behind the last frame, if nothing more is to come because a later archive of
  /// the session exists. For a closed archive, the trailer has reported it.
  var endCorruption: [LogReader.Corruption] {
    isClosed ? [] : [tail.corruption ?? unfinishedEnd].compactMap(\.self)
  }

  /// What is missing at the end of an archive that a later archive of the session follows: an
  /// archive is closed before the next one is begun.
  fileprivate var unfinishedEnd: LogReader.Corruption? {
    if case .frame(let range, let header) = tail { return tornFrame(range, header) }
    guard !isClosed, isSound, tail == .nothing else { return nil }
    let what = "the end is missing, though the session has a later archive"
    return LogReader.Corruption(end..<end, what, in: path)
  }

  fileprivate func tornFrame(
    _ range: Range<Int>, _ header: FrameHeader?, _ sentence: String = "or the file is truncated"
  ) -> LogReader.Corruption {
    let frame =
      header.map { $0.type == .records ? "a frame of \($0.summary.title)" : $0.type.name }
      ?? "a frame"
    return LogReader.Corruption(
      range, "the end: \(frame) was not written whole, \(sentence)", in: path)
  }

  /// Where the last frame of records begins; -1 if there is none.
  var lastRecords: Int { frames.last { $0.header.type == .records }?.offset ?? -1 }

  package func corruption(of frame: Frame, _ what: String) -> LogReader.Corruption {
    LogReader.Corruption(
      frame.offset..<frame.offset + frame.header.frameSize, "\(frame.header.type.name): \(what)",
      in: path)
  }

  /// Why a frame of records cannot be read; nil if it can.
  func problem(of frame: Frame) -> String? {
    do {
      try payload(of: frame).withUnsafeBytes { bytes in
        var rows = try RowReader(bytes)
        while try rows.next() != nil {}
      }
      return nil
    } catch {
      return "\(error)"
    }
  }
}

extension FrameType {
  package var name: String {
    switch self {
    case .dictionary: "a frame of call sites"
    case .records: "a frame of records"
    case .losses: "a frame of losses"
    case .sessionEnd: "the mark of the session's end"
    case .index: "the index"
    case .crash: "the report of a crash"
    case .keySlot: "the key"
    case .ringKeySlot: "the ring's key"
    case .other: "a frame of a newer version"
    }
  }
}
