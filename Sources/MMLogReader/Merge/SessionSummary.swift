import MMLogFormat
import MMLogStorage

/// What of a session's files is not records.
struct SessionSummary {
  private(set) var dictionary = LogDictionary()
  private(set) var losses = LossLedger()
  private(set) var end: SessionEnd?
  private(set) var crash: CrashReport?
  private(set) var coverage = Coverage()
  /// Damage that is not in a frame of records, by the archive's index.
  private(set) var damage: [Int: [LogDamage]] = [:]
  /// Frames of records, by archive and offset, in whose place the ring's copies are used. They are not to be tried again:
  /// should that work, their records would be there twice.
  private(set) var replaced: [Int: Set<Int>] = [:]
  /// The ring, if there is one, and what of it the archives have.
  private(set) var ring: RingView?

  /// Takes in all that the files have.
  mutating func read(_ files: SessionFiles) {
    for (index, archive) in files.archives.enumerated() { read(archive, index) }
    if let ring = files.ring { read(ring, files.archives) }
    for (index, archive) in files.archives.enumerated() where archive.tornBytes > 0 {
      // The last one may have been written to when its process died; then the ring has it all.
      if index == files.archives.count - 1 && files.ring != nil { continue }
      let what = "the end: a frame was not written whole, or the file is truncated"
      damage[index, default: []].append(
        LogDamage(path: archive.path, offset: archive.end, size: archive.tornBytes, what: what))
    }
  }

  private mutating func read(_ ring: InputFiles.RingInput, _ archives: [ArchiveFile]) {
    let image = ring.image
    for entry in image.entries { dictionary.insert(entry.entry) }
    if image.losses.total >= losses.total { losses = image.losses }
    crash = image.crash ?? crash
    let generations = Set(image.segments.map(\.header.generation))
    for (index, archive) in archives.enumerated() { check(archive, index, generations) }
    coverage.settle()
    let isOfThisBoot = ring.isOfThisBoot
    if isOfThisBoot && !coverage.hasDamage && hasGap(image, archives) { noteGap(archives) }
    self.ring = RingView(
      image: image, coverage: coverage, isOfThisBoot: isOfThisBoot, isRunning: ring.isRunning)
  }

  /// What the archives have of the ring, ready to be asked much.
  mutating func settledCoverage() -> Coverage {
    coverage.settle()
    return coverage
  }

  /// Whether the ring says of a record that it was archived, and the archives that should have it do
  /// not: one was cut, or is missing. Those before the first that is here may have been deleted.
  private func hasGap(_ image: RingImage, _ archives: [ArchiveFile]) -> Bool {
    guard let first = Self.firstTicks(archives) else { return false }
    return image.segments.contains { segment in
      var scanner = image.scanner(of: segment, looksBehindZeros: false)
      while case .record(let view, let offset) = scanner.next(), offset < segment.header.drained {
        if view.ticks >= first, !image.isFlight(view),
          !coverage.contains(segment.header, offset: offset, trustsDrained: false)
        {
          return true
        }
      }
      return false
    }
  }

  /// From when on the archives should have everything.
  private static func firstTicks(_ archives: [ArchiveFile]) -> UInt64? {
    if archives.first?.head.number == 1 { return 0 }
    let frames = archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
    return frames.first?.header.summary.firstTicks
  }

  private mutating func noteGap(_ archives: [ArchiveFile]) {
    coverage.distrust()
    guard let last = archives.last, !last.isClosed else { return }
    let what = "the end: records that were archived are missing; the ring's copies are shown"
    damage[archives.count - 1, default: []].append(
      LogDamage(path: last.path, offset: last.end, size: last.tornBytes, what: what))
  }

  private mutating func read(_ archive: ArchiveFile, _ index: Int) {
    damage[index] = read(archive, frames: archive.frames.indices, damage: archive.damage)
    if archive.head.isMended {
      damage[index, default: []].append(
        LogDamage(
          path: archive.path, offset: 0, size: HeadLayout.size,
          what: "head: one bit was wrong, and is put right"))
    }
  }

  /// Takes in some frames of an archive.
  ///
  /// - Parameter damage: What is between them.
  /// - Returns: All damage, but that in frames of records.
  mutating func read(
    _ archive: ArchiveFile, frames: Range<Int>, damage: [Range<Int>]
  ) -> [LogDamage] {
    var notes = damage.map {
      LogDamage(
        path: archive.path, offset: $0.lowerBound, size: $0.count,
        what: archive.description(of: $0))
    }
    if !damage.isEmpty { coverage.distrust() }
    for frame in archive.frames[frames] {
      if frame.header.type == .records {
        coverage.add(frame.header)
        continue
      }
      do {
        try read(frame.header.type, archive.payload(of: frame), archive.head.identity.session)
      } catch {
        notes.append(archive.damage(of: frame, "\(error)"))
      }
    }
    return notes
  }

  private mutating func read(
    _ type: FrameType, _ payload: [UInt8], _ session: SessionID
  ) throws(FormatError) {
    let isRead = payload.withUnsafeBytes { bytes -> Bool in
      switch type {
      case .dictionary:
        let seed = checkSeed(session: session, generation: 0)
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
      case .records, .index, .other: return true
      }
    }
    if !isRead { throw .invalid("payload") }
  }

  /// Finds out whether the frames that took something from segments still in the ring can be read:
  /// if one cannot, the ring's copy is to be used.
  private mutating func check(
    _ archive: ArchiveFile, _ index: Int, _ generations: Set<UInt64>
  ) {
    for frame in archive.frames where frame.header.type == .records {
      guard frame.header.ranges.contains(where: { generations.contains($0.generation) }) else {
        continue
      }
      if let problem = archive.problem(of: frame) {
        coverage.remove(frame.header)
        replaced[index, default: []].insert(frame.offset)
        damage[index, default: []].append(archive.damage(of: frame, problem))
      }
    }
  }
}

extension LossLedger {
  /// All that was lost.
  var total: UInt64 { LossCause.allCases.reduce(0) { $0 &+ total($1) } }
}

extension ArchiveFile {
  func damage(of frame: Frame, _ what: String) -> LogDamage {
    LogDamage(
      path: path, offset: frame.offset, size: frame.header.frameSize,
      what: "\(frame.header.type.name): \(what)")
  }

  /// What keeps a frame of records from being read; nil if nothing does.
  fileprivate func problem(of frame: Frame) -> String? {
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
  var name: String {
    switch self {
    case .dictionary: "a frame of call sites"
    case .records: "a frame of records"
    case .losses: "a frame of losses"
    case .sessionEnd: "the mark of the session's end"
    case .index: "the index"
    case .crash: "the report of a crash"
    case .other: "a frame of a newer version"
    }
  }
}
