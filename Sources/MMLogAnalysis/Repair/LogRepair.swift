import MMLogFormat
public import MMLogReader
public import MMLogStorage
import MMLogSystem

/// Writes clean archives of everything that can be read, whatever the files are that it comes from.
///
/// Each session keeps its identity and its records as they are, with their threads, times,
/// fragments and losses. Each corruption becomes a record in its place, of level `error` and with
/// the label `mmlog.repair`.
public struct LogRepair {
  /// What was written.
  public struct Result: Sendable {
    /// How many sessions have anything.
    public internal(set) var sessionCount = 0
    /// How many records were written; of a large one each part counts. Those about corruption are
    /// not counted.
    public internal(set) var recordCount = 0
    /// What could not be read.
    public internal(set) var corruption: [LogReader.Corruption] = []
    /// What is missing.
    public internal(set) var gaps: [LogReader.Gap] = []
  }

  private let files: LogFiles
  private let isStopped: () -> Bool
  private var result = Result()

  /// Writes archives of `files` into a directory.
  ///
  /// They are written in a folder of their own in it, and get their places when all of them are
  /// whole: an interruption leaves none of them.
  ///
  /// - Parameters:
  ///   - files: What is read.
  ///   - directory: Where they go; made if it is not there. It may not have archives or rings in
  ///     it.
  ///   - isStopped: Is asked now and then; true ends the work, and nothing is left of it.
  /// - Returns: What was written; nil if it was stopped.
  /// - Throws: if something cannot be written.
  public static func write(
    _ files: LogFiles, to directory: String, isStopped: () -> Bool = { false }
  ) throws(LogError) -> Result? {
    do {
      return try withoutActuallyEscaping(isStopped) { isStopped in
        var repair = LogRepair(files: files, isStopped: isStopped)
        return try repair.write(to: directory)
      }
    } catch {
      throw LogError(error, while: "Writing the repaired archives failed", path: directory)
    }
  }

  private init(files: LogFiles, isStopped: @escaping () -> Bool) {
    self.files = files
    self.isStopped = isStopped
  }

  private mutating func write(to path: String) throws -> Result? {
    try Directory.create(path)
    let directory = try Directory.open(path)
    let isOurs = { (name: String) in
      name.hasSuffix(FileNames.archiveSuffix) || name.hasSuffix(FileNames.ringSuffix)
    }
    guard !(try directory.names().contains(where: isOurs)) else {
      throw LogError(
        .invalidConfiguration, "\(path) has logs in it already; name an empty or a new directory",
        path: path)
    }
    try discardLeftovers(in: directory)
    let folder = Self.folderPrefix + "\(CurrentProcess.id)"
    try directory.makeDirectory(folder)
    defer { discard(folder, in: directory) }
    for session in files.sessions {
      guard try write(session, in: directory.openDirectory(folder)) else { return nil }
    }
    let unfinished = try directory.openDirectory(folder)
    for name in try unfinished.names().sorted() {
      try unfinished.rename(name, to: name, in: directory)
    }
    try directory.sync()
    return result
  }

  private static let folderPrefix = ".mmlog-repair-"

  /// Removes the folders of those that were killed: whoever still writes has the directory locked.
  private func discardLeftovers(in directory: borrowing Directory) throws {
    // Without locks, as on some network file systems, it cannot be determined who still writes.
    guard let isOurs = try? directory.tryLock() else { return }
    guard isOurs else {
      throw LogError(
        .invalidConfiguration,
        "Another repair writes into \(directory.path) just now; wait for it, or name another "
          + "directory",
        path: directory.path)
    }
    for name in try directory.names() where name.hasPrefix(Self.folderPrefix) {
      discard(name, in: directory)
    }
  }

  private func discard(_ folder: String, in directory: borrowing Directory) {
    guard let unfinished = try? directory.openDirectory(folder) else { return }
    for name in (try? unfinished.names()) ?? [] { try? unfinished.remove(name) }
    try? directory.removeDirectory(folder)
  }

  /// - Returns: false if it was stopped.
  private mutating func write(
    _ session: SessionFiles, in directory: consuming Directory
  ) throws -> Bool {
    var summary = SessionSummary()
    summary.read(session)
    var writer = SessionWriter(session.identity, summary, directory)
    var runs = SessionRuns(session, summary)
    var clock = TickClock(ticks: 0, wall: session.identity.startTime, rate: 0)
    while let step = runs.step(), let run = runs.current {
      clock = run.clock
      writer.order = runs.currentOrder
      switch step {
      case .record(let view, let ticks, let offset):
        if let corruption = try writer.add(view, ticks: ticks, offset: offset, of: run) {
          result.corruption.append(corruption)
        } else {
          result.recordCount += 1
        }
      case .corruption:
        guard let corruption = run.corruption else { continue }
        result.corruption.append(corruption)
        try writer.add(corruption, ticks: run.ticks, clock: run.clock)
      case .nothing, .end: continue
      }
      if result.recordCount & 0xFFF == 0, isStopped() { return false }
    }
    let gaps = SessionGaps(session, summary, of: LogReader.Session(session.identity)).gaps
    for gap in gaps where gap.isLoss {
      try writer.add(session.corruption(gap), ticks: 0, clock: clock)
    }
    result.gaps += gaps
    try writer.finish(session.ending(summary.end), summary.losses, summary.crash)
    result.sessionCount += 1
    return !isStopped()
  }
}

extension SessionFiles {
  /// A gap, reported the session's first file: no byte of it is where the records are missing.
  fileprivate func corruption(_ gap: LogReader.Gap) -> LogReader.Corruption {
    let path = archives.first?.path ?? ring?.image.path ?? ""
    return LogReader.Corruption(0..<0, gap.summary, in: path)
  }
}

/// Writes the archives of one session.
private struct SessionWriter: ~Copyable {
  private let series: ArchiveSeries
  private let dictionary: [UInt8]
  private let sites = SiteTable()
  private let corruptionSite: UInt32
  private let corruptionLabel: UInt32
  private var frames: [OpenFrame] = []
  private var ticks: UInt64 = 0
  /// Which of the session's runs the next record is of.
  var order = 0

  /// Rows that go into one frame: it has one clock, and says whether they are flight records.
  /// Frames overlap in time, so that what belongs into one comes between what belongs into others.
  private final class OpenFrame {
    let clock: TickClock
    let isFlight: Bool
    /// The first of the runs that its records are of.
    var order = Int.max
    var rows = RowBuilder()

    init(_ clock: TickClock, isFlight: Bool) { (self.clock, self.isFlight) = (clock, isFlight) }
  }

  /// So many are open at once.
  private static let maximumOpen = 16

  init(
    _ identity: SessionIdentity, _ summary: SessionSummary, _ directory: consuming Directory
  ) {
    series = ArchiveSeries(in: directory, identity, .usual)
    var entries = summary.dictionary
    // Numbers rise from 1. The last ones are of no record whose entry is lost.
    corruptionSite =
      (1...UInt32.max).last {
        entries.callSites[$0] == nil && entries.keySets[$0] == nil
      } ?? 0
    // Sixteen bits, as in a record.
    corruptionLabel = (1...UInt32(UInt16.max)).last { entries.labels[$0] == nil } ?? 0
    entries.insert(.callSite(id: corruptionSite, .corruption))
    if corruptionLabel > 0 { entries.insert(.label(id: corruptionLabel, "mmlog.repair")) }
    sites.add(entries)
    dictionary = entries.encoded(seed: checksumSeed(session: identity.session, generation: 0))
  }

  /// Adds a record, or what is wrong with it.
  mutating func add(
    _ view: RecordView, ticks: UInt64, offset: Int, of run: Run
  ) throws -> LogReader.Corruption? {
    do throws(FormatError) {
      try sites.check(view)
    } catch {
      let corruption = run.corruption(offset, view.bytes.count, "a record: \(error)")
      try add(corruption, ticks: ticks, clock: run.clock)
      return corruption
    }
    let thread = run.thread(of: view).takeUnretainedValue()
    let identity = ThreadIdentity(ordinal: thread.ordinal, id: thread.id, name: thread.name)
    try add(view, identity, ticks, run.clock, isFlight: run.isFlight(view))
    return nil
  }

  /// Adds a record about corruption.
  mutating func add(_ corruption: LogReader.Corruption, ticks: UInt64, clock: TickClock) throws {
    var words = WordWriter()
    words.append(0)
    words.append(max(ticks, self.ticks))
    words.append(
      UInt64(corruptionSite) | UInt64(corruptionLabel) << RecordLayout.labelShift
        | UInt64(Level.error.rawValue) << RecordLayout.levelShift)
    words.append(UInt64(corruption.size))
    words.append(UInt64(corruption.offset))
    words.append(corruption.path)
    words.append(corruption.what)
    words.set(UInt64(words.words.count) | RecordLayout.recordKind, at: 0)
    // A payload without threads, of one row.
    try ([0] + words.words).withUnsafeBytes { payload in
      var reader = try RowReader(payload)
      guard let row = try reader.next() else { return }
      try add(row, ThreadIdentity(ordinal: 0, id: 0, name: ""), max(ticks, self.ticks), clock)
    }
  }

  private mutating func add(
    _ view: RecordView, _ thread: ThreadIdentity, _ ticks: UInt64, _ clock: TickClock,
    isFlight: Bool = false
  ) throws {
    self.ticks = max(self.ticks, ticks)
    let frame = try frame(clock, isFlight: isFlight)
    frame.order = min(frame.order, order)
    frame.rows.add(view, thread: thread, ticks: ticks)
    if frame.rows.size >= RowBuilder.targetSize { try writeFrames() }
  }

  private mutating func frame(_ clock: TickClock, isFlight: Bool) throws -> OpenFrame {
    if let frame = frames.first(where: { $0.clock == clock && $0.isFlight == isFlight }) {
      return frame
    }
    if frames.count == Self.maximumOpen { try writeFrames() }
    let frame = OpenFrame(clock, isFlight: isFlight)
    frames.append(frame)
    return frame
  }

  /// Writes what is open, in the order in which it was in the files: of records with equal ticks,
  /// such as the fragments of one, those of the earlier frame come first.
  private mutating func writeFrames() throws {
    for frame in frames.sorted(by: { $0.order < $1.order }) {
      var fields = FrameHeader(.records)
      (fields.clock, fields.isFlight) = (frame.clock, frame.isFlight)
      try dictionary.withUnsafeBytes {
        try series.append(frame.rows, dictionary: $0, fields)
        try series.rotateIfDue(dictionary: $0)
      }
    }
    frames = []
  }

  /// Writes the rest, what was lost, what the process died of, and how the session ended.
  mutating func finish(
    _ ending: SessionEnding, _ losses: LossLedger, _ crash: CrashReport?
  ) throws {
    try writeFrames()
    if !losses.isEmpty { try series.append(losses) }
    if let crash { try series.append(crash) }
    try dictionary.withUnsafeBytes { dictionary in
      switch ending {
      case .ended(let end):
        // What was in its ring is in these archives now.
        let isOpen = end.how != .closed && end.recovered == nil
        let done = isOpen ? end.recovered(at: Timestamp.now) : end
        try series.end(done, dictionary: dictionary)
      // Nobody knows.
      case .running, .unknown: try series.close(dictionary: dictionary)
      }
    }
  }
}

extension CallSite {
  /// `corrupted: 512 bytes at 4096 of a.mmlog: between frames`
  fileprivate static let corruption = CallSite(
    file: "", function: "", line: 0, column: 0,
    parts: [
      .literal("corrupted: "), .named("size", .int), .literal(" bytes at "), .named("offset", .int),
      .literal(" of "), .named("path", .string), .literal(": "), .named("what", .string),
    ])
}

extension CallSite.Part {
  fileprivate static func named(_ name: String, _ type: ValueType) -> Self {
    .argument(
      CallSite.Argument(
        type: type.rawValue, privacy: 0, width: 64, format: 0, alignment: 0, name: name))
  }
}

extension LogDictionary {
  /// All entries, call sites first.
  fileprivate func encoded(seed: UInt32) -> [UInt8] {
    let sites = callSites.sorted { $0.key < $1.key }.map { DictionaryEntry.callSite(id: $0, $1) }
    let labels = labels.sorted { $0.key < $1.key }.map { DictionaryEntry.label(id: $0, $1) }
    let sets = keySets.sorted { $0.key < $1.key }.map { DictionaryEntry.keySet(id: $0, $1) }
    let fields = sessionFields.map { [DictionaryEntry.sessionFields($0)] } ?? []
    let state = lastState.map { [DictionaryEntry.lastState($0)] } ?? []
    return (sites + labels + sets + fields + state).flatMap { entry in
      entry.encoded(seed: seed).withUnsafeBytes { Array($0) }
    }
  }
}
