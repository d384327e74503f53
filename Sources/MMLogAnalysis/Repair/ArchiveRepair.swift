import MMLogCrypto
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Writes a clean copy of an archive.
///
/// A frame that can be read keeps its ordinal, and a record keeps its row. Frames that cannot be
/// read leave a hole. The copy skips all ordinals of a hole except the last one, where a
/// *substitute* frame says what was there. If something is corrupted and no frame is missing, the
/// next substitute frame has the notes of the corruption; if there is none, they come behind all
/// frames.
struct ArchiveRepair {
  private let archive: ArchiveFile
  private let session: RepairedSession
  /// The offsets of frames that are not to be read.
  private let skipped: Set<Int>
  /// Corruption outside frames of records. The first one in the file comes last.
  private var known: [LogReader.Corruption]
  /// Notes that have no place yet, each with its ticks.
  private var notes: [(note: LogReader.Corruption, ticks: UInt64)] = []
  /// The ticks and the clock of the last frame of records so far.
  private var (ticks, clock): (UInt64, TickClock)
  /// Frames that cannot keep their ordinals: other frames have them, or they are too large.
  private var displaced: [ArchiveFile.Frame] = []
  /// Whether the copy has all entries of the session.
  private var hasDictionary = false
  private(set) var recordCount = 0
  /// All corruption that was found.
  private(set) var corruption: [LogReader.Corruption]

  /// How much of a frame can be read.
  private enum Content {
    /// All of it, and the number of records of each level if that can be known.
    case whole(LevelCounts?)
    /// Some records.
    case partial
    case nothing(LogReader.Corruption?)
    /// The frame says where frames are, or repeats others.
    case superfluous
  }

  /// - Parameters:
  ///   - known: Corruption that is not in frames of records.
  ///   - skipped: Frames of records that are not to be read.
  init(
    _ archive: ArchiveFile, of session: RepairedSession, _ known: [LogReader.Corruption],
    besides skipped: Set<Int>
  ) {
    (self.archive, self.session, self.skipped) = (archive, session, skipped)
    (corruption, self.known) = (known, known.sorted { $0.offset > $1.offset })
    (ticks, clock) = (0, TickClock(ticks: 0, wall: archive.fileHeader.created, rate: 0))
  }

  /// Writes the copy.
  ///
  /// - Parameter head: The hash at the end of the archive before, if that one is chained.
  /// - Returns: The hash at the end of the copy.
  mutating func write(to directory: borrowing Directory, behind head: FrameHash) throws -> FrameHash
  {
    let contents = archive.frames.map { content(of: $0) }
    if contents.isEmpty && known.isEmpty { return head }
    let writer = try ArchiveWriter(
      copying: archive, fileHeader(behind: head), in: directory,
      compressionLevel: ArchiveSeries.Settings.usual.compressionLevel)
    if isWhole(contents) {
      for (frame, content) in zip(archive.frames, contents) { try copy(frame, content, writer) }
      try writer.close(asIn: archive)
    } else {
      for (frame, content) in zip(archive.frames, contents) { try add(frame, content, writer) }
      try finish(writer)
    }
    return writer.head?.hash ?? .none
  }

  private func fileHeader(behind head: FrameHash) -> ArchiveHeader {
    let header = archive.fileHeader
    guard archive.isFileHeaderLost else { return header }
    return ArchiveHeader(
      identity: session.identity, number: header.number, created: header.created,
      previousHead: archive.isChained ? head : nil)
  }

  // MARK: - What there is

  private func isWhole(_ contents: [Content]) -> Bool {
    archive.isClosed && archive.isSound && corruption.isEmpty
      && zip(archive.frames, contents).allSatisfy { frame, content in
        switch content {
        case .whole: true
        case .superfluous: frame.header.type == .index
        case .partial, .nothing: false
        }
      }
  }

  private mutating func content(of frame: ArchiveFile.Frame) -> Content {
    if frame.header.type == .index { return .superfluous }
    let payload: [UInt8]
    do {
      payload = try archive.payload(of: frame)
    } catch FormatError.encrypted, FormatError.missingCoder, is CryptoError {
      // The frame's checksum is right.
      return .whole(nil)
    } catch {
      // Corruption of frames of other types, and of frames whose records the ring has, is known
      // already.
      guard frame.header.type == .records, !skipped.contains(frame.offset) else {
        return .nothing(nil)
      }
      return .nothing(found(frame.problem("a frame", error, in: archive)))
    }
    if frame.header.type != .records {
      var summary = SessionSummary(session.entries)
      let session = session.identity.session
      let isRight = (try? summary.read(frame.header.type, payload, session)) != nil
      return isRight ? .whole(nil) : .nothing(nil)
    }
    if skipped.contains(frame.offset) { return .superfluous }
    return content(of: payload, frame.header)
  }

  private func content(of payload: [UInt8], _ header: FrameHeader) -> Content {
    var levels = LevelCounts(repeating: 0)
    var count: UInt32 = 0
    do {
      try payload.withUnsafeBytes { payload in
        var rows = try RowReader(payload)
        while let row = try rows.next() {
          try session.sites.check(row)
          if row.isCounted { levels[row.levelIndex] += 1 }
          count += 1
        }
      }
    } catch {
      return .partial
    }
    return count == header.summary.count ? .whole(levels) : .partial
  }

  private mutating func found(_ new: LogReader.Corruption) -> LogReader.Corruption {
    corruption.append(new)
    return new
  }

  // MARK: - Frames

  private mutating func copy(
    _ frame: ArchiveFile.Frame, _ content: Content, _ writer: ArchiveWriter
  ) throws {
    let levels: LevelCounts? = if case .whole(let levels) = content { levels } else { nil }
    try writer.append(frame, of: archive, levels)
    recordCount += archive.recordCount(of: frame)
  }

  private mutating func add(
    _ frame: ArchiveFile.Frame, _ content: Content, _ writer: ArchiveWriter
  ) throws {
    let header = frame.header
    if header.type == .index { return }
    if header.type == .records { (ticks, clock) = (header.summary.firstTicks, header.clock) }
    defer { if header.type == .records { ticks = header.summary.lastTicks } }
    while let note = known.last, note.offset <= frame.offset {
      notes.append((note, ticks))
      known.removeLast()
    }
    guard header.ordinal >= writer.frameCount, header.ordinal <= Self.greatestOrdinal else {
      switch content {
      case .whole, .partial: displaced.append(frame)
      case .nothing, .superfluous: break
      }
      return
    }
    if header.ordinal > writer.frameCount {
      try fillHole(before: header.ordinal, frame.offset, writer)
    }
    switch content {
    case .whole: try copy(frame, content, writer)
    // Reads the frame again: keeping the records of all frames could take any amount of memory.
    case .partial: try rewrite(archive.payload(of: frame), frame, writer)
    case .superfluous: try writeNotes(at: frame, isRepeat: true, writer)
    case .nothing(let note):
      if let note { notes.append((note, ticks)) }
      if header.type == .dictionary, !hasDictionary, !isLocked {
        try writeDictionary(writer)
      } else {
        try writeNotes(at: frame, isRepeat: false, writer)
      }
    }
  }

  /// A trailer has 32 bits for the number of frames, which is one more.
  private static let greatestOrdinal = UInt64(1) << 31

  /// Without the key, the repair can encrypt nothing new for the archive's readers. An archive that
  /// has lost all that was encrypted does not show that it was.
  private var isLocked: Bool {
    (archive.isEncrypted || session.isEncrypted) && (try? archive.cipher.get()) == nil
  }

  private mutating func fillHole(
    before ordinal: UInt64, _ offset: Int, _ writer: ArchiveWriter
  ) throws {
    if !hasDictionary, !isLocked { try writeDictionary(writer) }
    guard writer.frameCount < ordinal else { return }
    writer.skip(to: ordinal - 1)
    if notes.isEmpty {
      let place = LogReader.Corruption(offset..<offset, "frames are missing", in: archive.path)
      notes.append((place, ticks))
    }
    try writeNotes(FrameHeader(.records), writer)
  }

  private mutating func writeDictionary(_ writer: ArchiveWriter) throws {
    try writer.append(substitute: session.dictionary)
    hasDictionary = true
  }

  /// Writes the notes in place of a frame. The numbers of the frame's entries stay, because it is
  /// known what is missing.
  private mutating func writeNotes(
    at frame: ArchiveFile.Frame, isRepeat: Bool, _ writer: ArchiveWriter
  ) throws {
    var header = FrameHeader(.records)
    if frame.header.type == .records, !frame.header.isFlight {
      header.lowestGeneration = frame.header.lowestGeneration
      if !isRepeat { header.ranges = frame.header.ranges }
    }
    if notes.isEmpty {
      notes.append((archive.corruption(of: frame, "it could not be read"), ticks))
    }
    try writeNotes(header, writer)
  }

  /// Writes as many notes as a frame has room for. The others go into frames behind it.
  private mutating func writeNotes(_ fields: FrameHeader, _ writer: ArchiveWriter) throws {
    var rows = RowBuilder()
    var count = 0
    while count < notes.count, rows.size < RowBuilder.targetSize {
      try rows.add(notes[count].note, ticks: notes[count].ticks, of: session)
      count += 1
    }
    notes.removeFirst(count)
    try write(rows, fields, writer)
  }

  private func write(
    _ rows: borrowing RowBuilder, _ fields: FrameHeader, _ writer: ArchiveWriter
  ) throws {
    var header = fields
    if header.clock.rate == 0 { header.clock = clock }
    header.isSubstitute = true
    try writer.append(
      session.frame(rows, header), dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Writes what can be read of a frame: each record in its row, and a note in the row of a record
  /// that cannot be read. A note is longer than such a record may be. If the frame has no room for
  /// the note, the record stays as it is.
  private mutating func rewrite(
    _ payload: [UInt8], _ frame: ArchiveFile.Frame, _ writer: ArchiveWriter
  ) throws {
    var rows = RowBuilder()
    let count = try payload.withUnsafeBytes { try add($0, of: frame, to: &rows) }
    if rows.isEmpty || !rows.isReadable {
      return try writeNotes(at: frame, isRepeat: false, writer)
    }
    recordCount += count
    var header = frame.header
    header.previous = nil
    try write(rows, header, writer)
  }

  /// Adds what can be read of a frame, and notes in the place of the rest.
  ///
  /// - Returns: The number of records that can be read.
  private mutating func add(
    _ payload: UnsafeRawBufferPointer, of frame: ArchiveFile.Frame, to rows: inout RowBuilder
  ) throws -> Int {
    var (count, place) = (0, frame.header.summary.firstTicks)
    do {
      var reader = try RowReader(payload)
      let threads = Dictionary(
        reader.threads.map { ($0.ordinal, $0) }, uniquingKeysWith: { first, _ in first })
      var left = reader.size
      while let row = try reader.next() {
        place = max(place, row.ticks)
        left -= row.bytes.count
        if let note = problem(of: row, in: frame) {
          let room = RowBuilder.largestSize - left
          if try rows.add(note, ticks: place, of: session, room: room) { continue }
        } else {
          if row.isCounted { count += 1 }
        }
        let ordinal = row.threadOrdinalOfRow
        let thread = threads[ordinal] ?? ThreadIdentity(ordinal: ordinal, id: 0, name: "")
        rows.add(row, thread: thread, ticks: place)
      }
    } catch let error as FormatError {
      let note = found(frame.problem("the rest of a frame", error, in: archive))
      let room = RowBuilder.largestSize
      let isAdded = try rows.add(note, ticks: place, of: session, room: room)
      if !isAdded { notes.append((note, place)) }
    }
    return count
  }

  /// Why a record cannot be shown; nil if it can.
  private mutating func problem(
    of row: RecordView, in frame: ArchiveFile.Frame
  ) -> LogReader.Corruption? {
    do throws(FormatError) {
      try session.sites.check(row)
      return nil
    } catch {
      let end = frame.offset + row.bytes.count
      return found(
        LogReader.Corruption(frame.offset..<end, "a record: \(error)", in: archive.path))
    }
  }

  // MARK: - The end

  private mutating func finish(_ writer: ArchiveWriter) throws {
    for note in known.reversed() { notes.append((note, ticks)) }
    known = []
    while !notes.isEmpty { try writeNotes(FrameHeader(.records), writer) }
    for frame in displaced {
      try append(displaced: frame, writer)
      while !notes.isEmpty { try writeNotes(FrameHeader(.records), writer) }
    }
    let dictionary = isLocked ? session.notesDictionary : session.dictionary
    try dictionary.withUnsafeBytes { try writer.close(dictionary: $0) }
  }

  /// Writes the content of a frame that could not keep its ordinal.
  private mutating func append(
    displaced frame: ArchiveFile.Frame, _ writer: ArchiveWriter
  ) throws {
    let type = frame.header.type
    switch type {
    case .records, .losses, .sessionEnd, .crash, .ringKeySlot:
      guard let payload = try? archive.payload(of: frame) else { return }
      if type == .records { return try rewrite(payload, frame, writer) }
      // The last frame of a type counts, and the frames that are written here come last.
      if archive.frames.last(where: { $0.header.type == type })?.offset == frame.offset {
        try writer.append(displaced: type, payload)
      }
    // Entries and the key are written at the end again. Only a later version knows its own types.
    case .dictionary, .keySlot, .index, .other: return
    }
  }
}

extension ArchiveFile.Frame {
  fileprivate func problem(
    _ what: String, _ error: any Error, in archive: ArchiveFile
  ) -> LogReader.Corruption {
    LogReader.Corruption(
      offset..<offset + header.frameSize,
      "\(what) of \(header.summary.rows): \(error)", in: archive.path)
  }
}
