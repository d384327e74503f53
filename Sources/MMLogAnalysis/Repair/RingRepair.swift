import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Writes the records of a ring that no archive has into a further archive of its session.
struct RingRepair: ~Copyable {
  private let session: RepairedSession
  private let ring: RingView
  private let series: ArchiveSeries
  /// The entries for the archives.
  private let dictionary: [UInt8]
  /// The rows of two frames: a frame says whether its records are flight records.
  private var rows = RowBuilder()
  private var flightRows = RowBuilder()
  private var ticks: UInt64 = 0
  private var hasWritten = false
  private(set) var recordCount = 0
  private(set) var corruption: [LogReader.Corruption] = []
  /// How many notes of corruption are written. The others wait for the next record: a note has the
  /// time of the record behind it, because rows are in the order of time.
  private var notedCount = 0

  /// - Parameters:
  ///   - number: The number of the session's last archive that exists.
  ///   - head: The hash at the end of that archive, if it is chained.
  init(
    _ ring: RingView, of session: RepairedSession, behind number: UInt32, _ head: FrameHash,
    _ directory: consuming Directory
  ) {
    (self.session, self.ring) = (session, ring)
    let image = ring.image
    dictionary = session.dictionary(for: image)
    var settings = ArchiveSeries.Settings.usual
    settings.recipients = image.keySlots.first?.recipients ?? []
    settings.isChained = image.fileHeader.isChained
    // The number in a ring may be any, and a next number must exist.
    let newest = min(max(number, image.sessionState.newestArchive), UInt32.max - (1 << 20))
    series = ArchiveSeries(in: directory, session.identity, settings, number: newest)
    series.head = newest == number ? head : .none
    series.ringKeySlot = image.keySlots.first?.slot ?? []
  }

  /// Writes all records, and notes of what cannot be read.
  ///
  /// - Parameters:
  ///   - notes: Further notes to write.
  ///   - goesOn: Is called now and then. False stops the work.
  /// - Returns: False if the work was stopped.
  mutating func write(
    _ notes: [LogReader.Corruption], while goesOn: () -> Bool
  ) throws -> Bool {
    var runs = SessionRuns(ring)
    while let step = runs.step(), let run = runs.current {
      switch step {
      case .record(let view, let ticks, let offset):
        let place = run.sealedPlace(of: offset)
        do throws(FormatError) {
          if place == nil { try session.sites.check(view) }
        } catch {
          corruption.append(run.corruption(offset, view.bytes.count, "a record: \(error)"))
          continue
        }
        try add(view, ticks, of: run, from: place)
        if recordCount & 0xFFF == 0, !goesOn() { return false }
      case .corruption:
        if let found = run.corruption { corruption.append(found) }
      case .nothing, .end: continue
      }
    }
    try writeNotes()
    for note in notes { try add(note: note) }
    try writeFrames()
    return true
  }

  /// - Parameter place: The record's place in the ring, if no identity has its key. Then the record
  ///   is stored as it is.
  private mutating func add(
    _ view: RecordView, _ ticks: UInt64, of run: Run, from place: (stream: UInt64, offset: Int)?
  ) throws {
    if view.isCounted { recordCount += 1 }
    self.ticks = max(self.ticks, ticks)
    try writeNotes()
    let thread = run.thread(of: view).takeUnretainedValue()
    let identity = ThreadIdentity(ordinal: thread.ordinal, id: thread.id, name: thread.name)
    if run.isFlight(view) {
      flightRows.add(view, thread: identity, ticks: ticks)
      if let place { flightRows.noteLast(stream: place.stream, at: place.offset) }
    } else {
      rows.add(view, thread: identity, ticks: ticks)
      if let place { rows.noteLast(stream: place.stream, at: place.offset) }
    }
    if max(rows.size, flightRows.size) >= RowBuilder.targetSize { try writeFrames() }
  }

  /// Writes notes of all corruption that was found so far.
  private mutating func writeNotes() throws {
    while notedCount < corruption.count {
      try add(note: corruption[notedCount])
      notedCount += 1
    }
  }

  /// Adds a row with a note. A note has no stream.
  private mutating func add(note: LogReader.Corruption) throws {
    try rows.add(note, ticks: ticks, of: session)
    if ring.image.lock != nil { rows.noteLast(stream: 0, at: SegmentLayout.size) }
    if rows.size >= RowBuilder.targetSize { try writeFrames() }
  }

  private mutating func writeFrames() throws {
    for isFlight in [false, true] {
      guard let frame = takeFrame(isFlight: isFlight) else { continue }
      hasWritten = true
      try dictionary.withUnsafeBytes {
        try series.append(frame, dictionary: $0)
        try series.rotateIfDue(dictionary: $0)
      }
    }
  }

  /// Encodes and removes the rows; nil if there are none.
  private mutating func takeFrame(isFlight: Bool) -> EncodedFrame? {
    var header = FrameHeader(.records)
    (header.clock, header.isFlight) = (ring.image.clock, isFlight)
    if isFlight {
      if flightRows.isEmpty { return nil }
      defer { flightRows.removeAll() }
      return session.frame(flightRows, header)
    }
    if rows.isEmpty { return nil }
    defer { rows.removeAll() }
    return session.frame(rows, header)
  }

  /// Writes the losses, the crash report and the session's ending. If the archives have that ending
  /// and nothing came behind them, there is nothing to write.
  mutating func finish(_ ending: SessionEnding, _ summary: SessionSummary) throws {
    if !hasWritten, let mark = summary.end, ending == .ended(mark) || ending == .running { return }
    if !summary.losses.isEmpty { try series.append(summary.losses) }
    if let crash = summary.crash { try series.append(crash) }
    try dictionary.withUnsafeBytes { dictionary in
      switch ending {
      case .ended(let end):
        // What was in the session's ring is now in these archives.
        let isOpen = end.how != .closed && end.recovered == nil
        let done = isOpen ? end.recovered(at: Timestamp.now) : end
        try series.end(done, dictionary: dictionary)
      // How the session ended is not known.
      case .running, .unknown: try series.close(dictionary: dictionary)
      }
    }
  }
}
