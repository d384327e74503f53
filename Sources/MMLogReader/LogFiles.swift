import MMLogFormat
public import MMLogStorage

/// Opened rings and archives as they are at one moment: copies of the rings, and the lists of the
/// archives' frames. They can be read more than once, each time with the same result.
///
/// For one thread at a time.
public final class LogFiles {
  /// Files and directories that are not read, and why: they cannot be read, or another file is of
  /// the same ring or archive, and has other content.
  public let unreadable: [LogError]
  /// The number of files.
  public let fileCount: Int
  package let sessions: [SessionFiles]
  /// The identities that decrypt.
  package let identities: LogIdentities

  /// Opens files, reads rings, and reads the headers of archives' frames.
  ///
  /// - Parameters:
  ///   - inputs: Files and directories. One that is given more than once is read once.
  ///   - identities: The identities that decrypt. Records of archives that none of them opens are
  ///     passed over, and ``unreadable`` says so once.
  /// - Complexity: O(size of the rings + number of frames).
  public init(_ inputs: [LogReader.Input], identities: LogIdentities = LogIdentities()) {
    self.identities = identities
    let files = InputFiles(inputs, identities)
    fileCount = files.rings.count + files.archives.count
    sessions = SessionFiles.group(files)
    unreadable =
      files.unreadable + sessions.flatMap(\.rivals)
      + [LogError(locked: files.archives, files.rings)].compactMap(\.self)
  }

  /// The errors in ``unreadable`` that also concern a reader who needs no key: all except that
  /// records are encrypted.
  package var unreadableWithKeys: [LogError] { unreadable.filter { $0.code != .encrypted } }

  /// Takes sessions whose files are open already.
  init(sessions: [SessionFiles], _ identities: LogIdentities) {
    (self.sessions, self.identities) = (sessions, identities)
    unreadable = []
    fileCount = sessions.reduce(0) { $0 + $1.archives.count + ($1.ring == nil ? 0 : 1) }
  }

  /// Returns the last records, in the order of time, and other items from the first of them on.
  ///
  /// - Parameters:
  ///   - count: The maximum number of records.
  ///   - filter: Which records are wanted.
  /// - Complexity: As reading the time of these records twice. If few records pass, it takes a few
  ///   times more.
  public func lastRecords(_ count: Int, filter: LogReader.Filter = LogReader.Filter()) -> LogReader
  {
    lastRecords(count, filter: filter, while: { true })
  }

  /// As ``lastRecords(_:filter:)``. Once `goesOn` returns false, it does not matter which records
  /// these are.
  package func lastRecords(
    _ count: Int, filter: LogReader.Filter, while goesOn: () -> Bool
  ) -> LogReader {
    let (narrowed, skipping) = narrowed(toLast: count, filter, while: goesOn)
    return LogReader(self, narrowed, skipping)
  }

  /// A filter that passes the last records, and some before them, which are to be passed over.
  func narrowed(
    toLast count: Int, _ filter: LogReader.Filter, while goesOn: () -> Bool = { true }
  ) -> (LogReader.Filter, RecordSkip) {
    var wanted = count
    while true {
      var narrowed = filter
      let start = self.start(ofLast: wanted, filter)
      if let start { narrowed.since = max(start, filter.since ?? start) }
      let found = LogReader(self, filter: narrowed).countRecords(while: goesOn)
      // At the very beginning, or far enough back.
      if start == nil || found >= count || !goesOn() {
        return (narrowed, found > count ? .first(found - count) : .none)
      }
      wanted = max(4 * wanted, 1000)
    }
  }

  /// Returns the last records of each thread of the session that crashed last; nil if none did.
  ///
  /// - Parameters:
  ///   - count: The maximum number of records of each thread.
  ///   - filter: Which sessions and records are wanted.
  public func lastCrash(
    recordsOfThread count: Int, filter: LogReader.Filter = LogReader.Filter()
  ) -> LogReader? {
    guard let crashed = lastCrashedSession(filter: filter) else { return nil }
    var narrowed = filter
    narrowed.sessions = [crashed.id.description]
    var counts: [UInt32: Int] = [:]
    for case .record(let record) in LogReader(self, filter: narrowed) {
      counts[record.thread.ordinal, default: 0] += 1
    }
    return LogReader(self, narrowed, .firstOfThreads(counts.mapValues { max(0, $0 - count) }))
  }

  /// The session that crashed last, no matter which session began last; nil if none did. See
  /// ``SessionEnd/How/isCrash``.
  ///
  /// - Parameter filter: Which sessions count.
  public func lastCrashedSession(
    filter: LogReader.Filter = LogReader.Filter()
  ) -> LogReader.Session? {
    let wanted = sessions.filter { filter.passes($0.identity) }
    let crashes = wanted.compactMap { session in session.crashTime.map { (session, time: $0) } }
    return crashes.max { $0.time < $1.time }.map { LogReader.Session($0.0.identity) }
  }

  /// A time that at least `count` records follow if all pass, or nil if there are no more.
  private func start(ofLast count: Int, _ filter: LogReader.Filter) -> Timestamp? {
    var frames: [(last: Timestamp, first: Timestamp, count: Int)] = []
    for session in sessions where filter.passes(session.identity) {
      for archive in session.archives {
        for frame in archive.frames where frame.header.type == .records {
          let summary = frame.header.summary
          guard filter.mayPass(summary) else { continue }
          // It is not known how many records of this frame are before `until`. If too many were
          // counted, not enough records would be read, and all of them again.
          let isCut = filter.until.map { summary.lastWall >= $0 } ?? false
          frames.append((summary.lastWall, summary.firstWall, isCut ? 0 : Int(summary.count)))
        }
      }
    }
    frames.sort { $0.last > $1.last }
    var (found, start) = (0, Timestamp.distantFuture)
    for frame in frames {
      found += frame.count
      start = min(start, frame.first)
      if found >= count { return start }
    }
    return nil
  }
}

extension LogReader {
  fileprivate func countRecords(while goesOn: () -> Bool) -> Int {
    var count = 0
    while goesOn(), let chunk = nextChunk() {
      switch chunk {
      case .records(let records): count += records.count
      case .item(.record): count += 1
      case .item: continue
      }
    }
    return count
  }
}

extension LogError {
  /// The error that records are encrypted for others, and cannot be read. Nil if there are none.
  fileprivate init?(locked archives: [ArchiveFile], _ rings: [RingView]) {
    typealias Locked = (path: String, reason: FormatError, records: UInt64)
    let locked: [Locked] =
      archives.compactMap { archive in
        archive.lock.map { (archive.path, $0, archive.encryptedCount) }
      }
      + rings.compactMap { ring in
        ring.image.lock.map { (ring.image.path, $0, ring.image.waitingCount) }
      }
    guard let first = locked.first else { return nil }
    let records = locked.reduce(UInt64(0)) { $0 &+ $1.records }
    self.init(
      .encrypted,
      "\(records) records in \(locked.count == 1 ? first.path : "\(locked.count) files") are not "
        + "read: \(first.reason)", path: first.path, cause: first.reason)
  }
}

extension ArchiveFile {
  /// The number of encrypted records in the archive. Unless its index has the number, each fragment
  /// of a record counts.
  fileprivate var encryptedCount: UInt64 {
    let all = frames.filter { $0.header.type == .records }
    let encrypted = all.filter(\.header.isEncrypted)
    if encrypted.count == all.count { return UInt64(recordCount) }
    return encrypted.reduce(0) { $0 &+ UInt64($1.header.summary.count) }
  }
}

extension RingImage {
  /// The number of records that are not noted to be in an archive.
  fileprivate var waitingCount: UInt64 {
    segments.reduce(0) { sum, segment in
      var scanner = scanner(of: segment, from: segment.header.archived, zeros: .end)
      var count = sum
      while let item = scanner.next() {
        if case .record(let record, _) = item, record.isCounted { count &+= 1 }
      }
      return count
    }
  }
}
