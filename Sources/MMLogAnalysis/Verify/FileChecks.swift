import MMLogFormat
import MMLogReader
import MMLogStorage

/// Inspects everything in an archive that can be inspected: as if it had to stand alone.
struct ArchiveCheck {
  private let archive: ArchiveFile
  private let sites = SiteTable()
  private var corruption: [LogReader.Corruption] = []
  private var index: [IndexEntry] = []

  init(_ archive: ArchiveFile) { self.archive = archive }

  /// What is wrong in frames of records and in the index. All else is reported by
  /// ``SessionSummary``.
  mutating func run() -> [LogReader.Corruption] {
    for frame in archive.frames {
      switch frame.header.type {
      case .dictionary: learn(frame)
      case .records: check(frame)
      case .index: checkIndex(frame)
      case .losses, .sessionEnd, .crash, .other: break
      }
      if frame.header.type != .dictionary, frame.header.type != .index {
        index.append(IndexEntry(offset: frame.offset - archive.start, header: frame.header))
      }
    }
    return corruption
  }

  private mutating func learn(_ frame: ArchiveFile.Frame) {
    guard let payload = try? archive.payload(of: frame) else { return }
    var dictionary = LogDictionary()
    let seed = checksumSeed(session: archive.fileHeader.identity.session, generation: 0)
    _ = payload.withUnsafeBytes { dictionary.insert(entriesIn: $0, seed: seed) }
    sites.add(dictionary)
  }

  private mutating func checkIndex(_ frame: ArchiveFile.Frame) {
    guard let payload = try? archive.payload(of: frame), archive.isSound else { return }
    if payload != IndexEntry.encode(index) { note(frame, "it does not say what the file has") }
  }

  private mutating func check(_ frame: ArchiveFile.Frame) {
    do {
      let payload = try archive.payload(of: frame)
      let problem = try payload.withUnsafeBytes { try self.problem(in: $0, of: frame.header) }
      if let problem { note(frame, problem) }
    } catch {
      note(frame, "\(error)")
    }
  }

  /// What is wrong with a payload that can be read.
  private func problem(
    in payload: UnsafeRawBufferPointer, of header: FrameHeader
  ) throws(FormatError) -> String? {
    var rows = try RowReader(payload)
    let threads = Set(rows.threads.map(\.ordinal))
    var summary = RecordSummary()
    var last: UInt64 = 0
    while let row = try rows.next() {
      if row.ticks < last { return "its records are not in the order of time" }
      last = row.ticks
      if !threads.contains(row.threadOrdinalOfRow) { return "a record is of an unknown thread" }
      summary.add(ticks: row.ticks, level: row.level)
      if row.isFragment { continue }
      do throws(FormatError) {
        try sites.check(row)
      } catch {
        return "a record: \(error)"
      }
    }
    let said = header.summary
    guard summary.count == said.count else {
      return "it has \(summary.count) records, and its header says \(said.count)"
    }
    let isSame =
      summary.firstTicks == said.firstTicks && summary.lastTicks == said.lastTicks
      && summary.levels == said.levels
    return isSame ? nil : "its header has other times or levels than its records"
  }

  private mutating func note(_ frame: ArchiveFile.Frame, _ what: String) {
    corruption.append(archive.corruption(of: frame, what))
  }
}

/// Inspects everything in a ring.
struct RingCheck {
  private let ring: InputFiles.RingInput
  private let view: RingView?
  private let sites = SiteTable()

  /// - Parameter summary: What its session's files say.
  init(_ ring: InputFiles.RingInput, _ summary: SessionSummary) {
    self.ring = ring
    view = summary.ring
    sites.add(summary.dictionary)
  }

  func run() -> [LogReader.Corruption] {
    let image = ring.image
    var corruption = image.logCorruption
    for segment in image.segments {
      let start = image.fileHeader.geometry.offset(ofSegment: segment.index)
      var scanner = image.scanner(of: segment, scansBehindZeros: !ring.isRunning)
      while let item = scanner.next() {
        switch item {
        case .corruption(let range):
          if view?.isDone(segment, range) == true { continue }
          corruption.append(
            note(
              start + range.lowerBound..<start + range.upperBound,
              "records in segment \(segment.index)"))
        case .record(let view, let offset):
          guard let problem = problem(view) else { continue }
          let place = start + offset
          corruption.append(note(place..<place + view.bytes.count, "a record: \(problem)"))
        }
      }
    }
    return corruption
  }

  private func problem(_ view: RecordView) -> FormatError? {
    if view.isFragment { return nil }
    do throws(FormatError) {
      try sites.check(view)
      return nil
    } catch {
      return error
    }
  }

  private func note(_ range: Range<Int>, _ what: String) -> LogReader.Corruption {
    LogReader.Corruption(
      path: ring.image.path, offset: range.lowerBound, size: range.count, what: what)
  }
}
