import MMLogFormat
import MMLogReader
import MMLogStorage

/// Inspects everything in a file that can be inspected.
struct FileCheck {
  private let sites = SiteTable()
  private var corruption: [LogReader.Corruption] = []

  /// Everything that is wrong in an archive, by its place. Other files of the session play no part.
  ///
  /// - Parameters:
  ///   - index: The archive's place among those of its session.
  ///   - summary: The summary of the session's files, which has a part of the corruption.
  ///   - chain: The check of the session's chain, which has another part.
  ///   - most: After so much corruption, no more frames are inspected.
  static func corruption(
    in archive: ArchiveFile, at index: Int, _ summary: SessionSummary, _ chain: ChainCheck,
    atMost most: Int = .max
  ) -> [LogReader.Corruption] {
    let known = (summary.corruption[index] ?? []) + (chain.corruption[index] ?? [])
    var check = FileCheck()
    check.inspect(archive, atMost: most)
    // A forged file may have a million entries in each list.
    let knownAt = Dictionary(grouping: known, by: \.offset)
    let new = check.corruption.filter { knownAt[$0.offset]?.contains($0) != true }
    return (known + new).sorted { $0.offset < $1.offset }
  }

  /// Everything that is wrong in a ring.
  ///
  /// - Parameter summary: The summary of its session's files.
  static func corruption(
    in ring: RingView, _ summary: SessionSummary
  ) -> [LogReader.Corruption] {
    var check = FileCheck()
    check.sites.add(summary.dictionary)
    check.inspect(summary.ring ?? ring)
    return ring.image.corruption + check.corruption
  }

  // MARK: - Archives

  private mutating func inspect(_ archive: ArchiveFile, atMost most: Int) {
    var index: [IndexEntry] = []
    for frame in archive.frames where corruption.count < most {
      switch frame.header.type {
      case .dictionary: learn(frame, of: archive)
      case .records: inspect(frame, of: archive)
      case .index: inspectIndex(frame, of: archive, index)
      // `SessionSummary` reports corruption in all other frames.
      case .losses, .sessionEnd, .crash, .keySlot, .ringKeySlot, .other: break
      }
      if frame.header.isInIndex {
        index.append(IndexEntry(offset: frame.offset - archive.start, header: frame.header))
      }
    }
  }

  private func learn(_ frame: ArchiveFile.Frame, of archive: ArchiveFile) {
    guard let payload = try? archive.payload(of: frame) else { return }
    var dictionary = LogDictionary()
    let seed = checksumSeed(session: archive.fileHeader.identity.session, generation: 0)
    _ = payload.withUnsafeBytes { dictionary.insert(entriesIn: $0, seed: seed) }
    sites.add(dictionary)
  }

  private mutating func inspectIndex(
    _ frame: ArchiveFile.Frame, of archive: ArchiveFile, _ index: [IndexEntry]
  ) {
    guard let payload = try? archive.payload(of: frame), archive.isSound else { return }
    if payload != IndexEntry.encode(index) {
      corruption.append(archive.corruption(of: frame, "it does not say what the file has"))
    }
  }

  private mutating func inspect(_ frame: ArchiveFile.Frame, of archive: ArchiveFile) {
    do {
      let payload = try archive.payload(of: frame)
      if frame.header.isSubstitute, archive.isClearInEncrypted(frame.header) {
        corruption.append(
          archive.corruption(
            of: frame,
            "it is in clear: a repair without a key has written it, or somebody else without one"))
      }
      let problem = try payload.withUnsafeBytes { try self.problem(in: $0, of: frame.header) }
      if let problem { corruption.append(archive.corruption(of: frame, problem)) }
    } catch FormatError.encrypted {
      // The frame's checksum is right. Without the key, no more can be checked.
    } catch {
      corruption.append(archive.corruption(of: frame, "\(error)"))
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
      if let problem = problem(of: row) { return problem }
    }
    let said = header.summary
    guard summary.count == said.count else {
      return "it has \(summary.rows), and its header says \(said.count)"
    }
    let isSame =
      summary.firstTicks == said.firstTicks && summary.lastTicks == said.lastTicks
      && summary.levels == said.levels
    return isSame ? nil : "its header has other times or levels than its records"
  }

  // MARK: - Rings

  private mutating func inspect(_ ring: RingView) {
    let image = ring.image
    for segment in image.segments {
      let start = image.fileHeader.geometry.offset(ofSegment: segment.index)
      var scanner = image.scanner(of: segment, zeros: ring.isRunning ? .end : .mayBeLost)
      while let item = scanner.next() {
        let (place, what): (Range<Int>, String)
        switch item {
        case .corruption(let range):
          if ring.isDone(segment, range) { continue }
          (place, what) = (range, "records in segment \(segment.index)")
        case .record(let view, let offset):
          // Of an encrypted record, only the checksum can be checked.
          guard image.lock == nil, let problem = problem(of: view) else { continue }
          (place, what) = (offset..<offset + view.bytes.count, problem)
        }
        corruption.append(
          LogReader.Corruption(
            start + place.lowerBound..<start + place.upperBound, what, in: image.path))
      }
    }
  }

  // MARK: - Records

  /// Why a record could not be shown. For a record in fragments, that is not determined here.
  private func problem(of view: RecordView) -> String? {
    if view.isFragment { return nil }
    do throws(FormatError) {
      try sites.check(view)
      return nil
    } catch {
      return "a record: \(error)"
    }
  }
}
