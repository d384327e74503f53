public import MMLogStorage

/// Reads rings and archives, of processes that live or died, as one stream in the order of time.
///
/// ```swift
/// let reader = LogReader(paths: ["/var/log/orders"])
/// for item in reader {
///   if case .record(let record) = item { print(record.level, record.message) }
/// }
/// ```
///
/// Files belong together by the session that their file headers name. Within a session, records
/// come in the order of its ticks. Each record comes once, whether an archive has it, or a ring, or
/// both. Sessions are merged by wall time. Nothing in a file, however corrupted, makes the reader
/// trap, hang or give a record that was not logged.
///
/// A frame of an archive is in memory only while records of its time are read. Rings are copied.
///
/// For one thread at a time. Its items may go to any thread.
public final class LogReader: Sequence, IteratorProtocol {
  /// Files and directories of which nothing could be read, and why.
  public let unreadable: [LogError]
  /// The number of files that are read.
  public let fileCount: Int
  // One thread reads, and no access to these variables happens within another one: see `Run`.
  @exclusivity(unchecked)
  private var sessions = SessionMerge()
  private var readers: [SessionReader] = []
  private var allBytes = 0
  @exclusivity(unchecked)
  private var skipping: RecordSkip
  /// The position behind what earlier readers have given; nil if rings are read, too.
  private let start: LogReader.Cursor?

  /// Opens files, reads rings, and reads the headers of archives' frames.
  ///
  /// Inputs that cannot be opened or are no logs are in ``unreadable``.
  /// - Parameters:
  ///   - inputs: Files and directories. One that is given more than once is read once.
  ///   - filter: Which records are wanted.
  /// - Complexity: O(size of the rings + number of frames).
  public convenience init(
    _ inputs: [LogReader.Input], filter: LogReader.Filter = LogReader.Filter()
  ) {
    self.init(LogFiles(inputs), filter: filter)
  }

  /// Opens files and directories by name.
  public convenience init(paths: [String], filter: LogReader.Filter = LogReader.Filter()) {
    self.init(paths.map(LogReader.Input.path), filter: filter)
  }

  /// Reads files that are open already.
  public convenience init(_ files: LogFiles, filter: LogReader.Filter = LogReader.Filter()) {
    self.init(files, filter, .none)
  }

  /// Reads archives from a cursor on. Each archived record is given once, whatever was read before.
  ///
  /// Records that only a ring has are given when they are in an archive; those of a dead process's
  /// ring are given after its recovery. Within a session, records come in the order in which they
  /// were archived, which is nearly that of their times. A session's start and end are given once.
  /// Gaps come before a session's records. Records that retention has deleted unread are a gap.
  ///
  /// If the system keeps an archive from being read, that is reported as corruption, and the
  /// session's reading ends there: the next reader may go on. Reading also ends before the first
  /// records that are encrypted for others, as ``LogFiles/unreadable`` says: a reader with the key
  /// goes on there. If an archive cannot even be opened, nothing of the session that its file name
  /// says is given until it can be opened. If a power cut has undone records that were given, their
  /// archive is given again from its beginning.
  ///
  /// - Parameters:
  ///   - files: At least all files of each session that has not ended. For records that are deleted
  ///     one session after the other, all files of the store.
  ///   - filter: Which records are wanted. The cursor also passes over the others, except those of
  ///     sessions that ``LogReader/Filter/processes`` or ``LogReader/Filter/sessions`` leave out.
  ///   - cursor: Where to begin; ``LogReader/Cursor/init()`` is before everything.
  public convenience init(
    _ files: LogFiles, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor
  ) {
    self.init(files, filter, .none, after: cursor)
  }

  /// Reads files and directories by name, from a cursor on.
  public convenience init(
    paths: [String], filter: LogReader.Filter = LogReader.Filter(), after cursor: LogReader.Cursor
  ) {
    self.init(LogFiles(paths.map(LogReader.Input.path)), filter: filter, after: cursor)
  }

  /// The position behind what ``next()`` and ``nextChunk()`` have returned, for the next reader. It
  /// moves only in a reader that began at a cursor.
  ///
  /// - Complexity: O(sessions).
  public var cursor: LogReader.Cursor {
    var cursor = start ?? LogReader.Cursor()
    for reader in readers { cursor.sessions[reader.session.id] = reader.given }
    return cursor
  }

  init(
    _ files: LogFiles, _ filter: LogReader.Filter, _ skipping: RecordSkip,
    after cursor: LogReader.Cursor? = nil
  ) {
    start = cursor
    unreadable = files.unreadable
    fileCount = files.fileCount
    self.skipping = skipping
    let memory = FrameMemory(opening: files.identities.slots)
    for session in files.sessions where filter.passes(session.identity) {
      let reader = SessionReader(session, filter, memory, after: cursor)
      sessions.insert(reader)
      readers.append(reader)
      allBytes += reader.laterBytes
    }
  }

  /// How much of the archives has been read, from 0 to 1.
  ///
  /// - Complexity: O(sessions).
  public var progress: Double {
    let later = readers.reduce(0) { $0 + $1.laterBytes }
    return allBytes == 0 ? 1 : 1 - Double(later) / Double(allBytes)
  }

  /// Returns the next record or other item; nil at the end.
  ///
  /// - Complexity: O(log of the frames, segments and sessions of that time).
  public func next() -> LogReader.Item? {
    let item = sessions.next()
    if case .none = skipping { return item }
    return skip(item)
  }

  /// Returns the next items at once: as many records as stand together, or one other item; nil at
  /// the end. Together with ``LogReader/Records/forEach(_:)``, this is the fastest way to read many
  /// records.
  ///
  /// A chunk may have no records: a caller who wants few of many records can check something
  /// meanwhile.
  public func nextChunk() -> LogReader.Chunk? {
    // A caller who takes only a part of a chunk would leave the cursor behind all of it.
    if start != nil { return next().map { .item($0) } }
    switch skipping {
    case .none: return sessions.nextChunk()
    case .first(let count): return sessions.nextChunk().map { skip(count, of: $0) }
    case .firstOfThreads: return next().map { .item($0) }
    }
  }

  private func skip(_ count: Int, of chunk: LogReader.Chunk) -> LogReader.Chunk {
    let records: LogReader.Records
    switch chunk {
    case .records(let found): records = found
    case .item(.record(let record)): records = LogReader.Records(record)
    case .item: return chunk
    }
    skipping = records.count < count ? .first(count - records.count) : .none
    return .records(records.dropFirst(count))
  }

  private func skip(_ first: LogReader.Item?) -> LogReader.Item? {
    var item = first
    while case .record(let record) = item, skipping.takes(record) { item = sessions.next() }
    return item
  }
}

/// Records that are passed over because they were counted before.
enum RecordSkip {
  case none
  /// The first records, up to this number.
  case first(Int)
  /// The first records of each thread, up to the number that stands under its ordinal.
  case firstOfThreads([UInt32: Int])

  /// Whether to pass over a record.
  mutating func takes(_ record: LogReader.Record) -> Bool {
    switch self {
    case .none: return false
    case .first(let count):
      self = count > 1 ? .first(count - 1) : .none
      return count > 0
    case .firstOfThreads(var counts):
      guard let count = counts[record.thread.ordinal], count > 0 else { return false }
      self = .none
      counts[record.thread.ordinal] = count - 1
      self = .firstOfThreads(counts)
      return true
    }
  }
}
