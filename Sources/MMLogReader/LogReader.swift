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
/// Files belong together by the session that their heads name. Within a session records come in the
/// order of its ticks, each once, whether an archive has it, or a ring, or both; sessions are merged
/// by wall time. Nothing in a file, however damaged, makes the reader trap, hang or give a record that
/// was not logged.
///
/// A frame of an archive is in memory only while its time lasts; of a ring there is a copy.
///
/// For one thread at a time. What it gives may go to any.
public final class LogReader: Sequence, IteratorProtocol {
  /// Files and directories of which nothing could be read, and why.
  public let unreadable: [LogError]
  /// How many files are read.
  public let fileCount: Int
  private var sessions = MergeHeap<Int64, SessionReader>()

  /// Opens files, reads rings, and reads the heads of archives' frames.
  ///
  /// What cannot be opened or is no log is told by ``unreadable``.
  /// - Parameters:
  ///   - inputs: Files and directories; one that is given more than once is read once.
  ///   - filter: Which records are wanted.
  /// - Complexity: O(size of the rings + number of frames).
  public init(_ inputs: [LogInput], filter: LogFilter = LogFilter()) {
    let files = InputFiles(inputs)
    unreadable = files.unreadable
    fileCount = files.rings.count + files.archives.count
    for (order, session) in SessionFiles.group(files).enumerated() {
      let reader = SessionReader(session, filter)
      sessions.insert(reader, key: reader.time, order: order)
    }
  }

  /// The same for files and directories by name.
  public convenience init(paths: [String], filter: LogFilter = LogFilter()) {
    self.init(paths.map(LogInput.path), filter: filter)
  }

  /// The next record, or what else is to know at this place; nil at the end.
  ///
  /// - Complexity: O(log of the frames, segments and sessions of that time).
  public func next() -> LogItem? {
    guard let session = sessions.first, let item = session.head else { return nil }
    session.advance()
    if session.head == nil {
      sessions.removeFirst()
    } else {
      sessions.updateFirst(key: session.time)
    }
    return item
  }
}
