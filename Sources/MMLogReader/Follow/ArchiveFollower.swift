import MMLogFormat
public import MMLogStorage
import MMLogSystem

/// Reads archived records behind a cursor, while processes log. It returns each record once,
/// whatever was read before.
///
/// ```swift
/// import MMLogReader
///
/// let follower = ArchiveFollower("/var/log/orders", after: LogReader.Cursor())
/// while let item = try follower.next() { print(item) }
/// let cursor = follower.cursor
/// ```
///
/// Like ``LogReader/init(_:filter:after:)``, it returns records that only a ring has when they are
/// archived. Each session's records come in the order in which they were archived. Of several
/// sessions, the one whose next frame is the oldest comes first. Archives that are deleted before
/// they are read are a gap. If an archive cannot be read now, its session waits, and others go on.
/// A session ends when its last archive says how it ended, and its ring is gone. Corruption behind
/// an archive's last record comes when the archive is closed, or when the next archive exists. If
/// there are many files, archives that a store appends to a file behind a closed one come within a
/// second.
///
/// Records that a later archive repeats, because a recovery could not read their frame, come twice
/// if both frames can be read.
///
/// For one thread at a time.
public final class ArchiveFollower {
  let queue: ArchiveQueue
  /// When all files are inspected next, as monotonic time.
  private var nextFullScan: UInt64 = 0
  /// The session whose records come next, up to the end of a frame.
  private var current: (session: QueuedSession, end: LogReader.Cursor.Place)?
  private var started: Set<SessionID>
  private var ended: Set<SessionID> = []
  /// The last items of a session that has ended, the last one first.
  private var closing: (session: QueuedSession, items: [LogReader.Item])?
  /// Sessions with an archive that could not be read since the last scan. They wait for the next
  /// scan.
  private var failing: Set<SessionID> = []
  /// The first of these failures, until it is thrown.
  private var failure: LogError?

  /// Begins to follow.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted. The cursor also passes over the others, except those of
  ///     sessions that ``LogReader/Filter/processes`` or ``LogReader/Filter/sessions`` leave out.
  ///   - cursor: Where to begin; ``LogReader/Cursor/init()`` is before everything.
  public init(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor
  ) {
    queue = ArchiveQueue(of: directory, filter: filter, after: cursor)
    self.cursor = cursor
    started = Set(cursor.sessions.keys)
    ended = Set(cursor.sessions.filter(\.value.isEnded).keys)
  }

  /// Begins to follow, with identities that decrypt. A session waits before records that none of
  /// the identities opens.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted. The cursor also passes over the others, except those of
  ///     sessions that ``LogReader/Filter/processes`` or ``LogReader/Filter/sessions`` leave out.
  ///   - cursor: Where to begin.
  ///   - identities: The identities that decrypt.
  public init(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor, identities: LogIdentities
  ) {
    queue = ArchiveQueue(of: directory, filter: filter, after: cursor, identities: identities)
    self.cursor = cursor
    started = Set(cursor.sessions.keys)
    ended = Set(cursor.sessions.filter(\.value.isEnded).keys)
  }

  /// The position behind what ``next()`` has returned.
  public private(set) var cursor: LogReader.Cursor

  /// Returns the next record or other item; nil if there is none at the moment.
  ///
  /// - Throws: `LogError` if the directory cannot be read. If an archive cannot be read, it throws
  ///   when no items of other sessions are left. The next call tries again.
  public func next() throws(LogError) -> LogReader.Item? {
    if let item = try takeOrThrow() { return item }
    try scan()
    (current, failing) = (nil, [])
    for (id, session) in queue.sessions {
      note(session)
      session.prune()
      if session.archives.isEmpty, !queue.mayHaveRing(id) { queue.forgetFiles(of: id) }
      guard let error = queue.error(of: id, from: session.given?.start.archive ?? 0) else {
        continue
      }
      failing.insert(id)
      failure = failure ?? error
    }
    return try takeOrThrow()
  }

  /// The number of files up to which each scan inspects all of them. If there are more, it
  /// inspects those that are not expected to grow once a second.
  private static let fewFiles = 64
  private static let fullScanInterval: UInt64 = 1_000_000_000

  private func scan() throws(LogError) {
    let now = Clock.monotonic()
    let isFull = now >= nextFullScan || queue.fileCount <= Self.fewFiles
    if isFull { nextFullScan = now + Self.fullScanInterval }
    try explaining("Searching for archives failed") { () throws(SystemError) in
      try queue.scan(everything: isFull)
    }
  }

  private func takeOrThrow() throws(LogError) -> LogReader.Item? {
    if let item = take() { return item }
    defer { failure = nil }
    if let failure { throw failure }
    return nil
  }

  private func take() -> LogReader.Item? {
    if let item = takeClosing() { return item }
    while let session = oldest {
      if let item = start(of: session) { return item }
      defer { note(session) }
      do throws(LogError) {
        switch try session.nextChunk(atMost: 1) {
        case .records(let records):
          guard let record = records.first else { continue }
          return .record(record)
        case .item(let item): return item
        case nil:
          // The session's archive may have been deleted or cut since: the next scan finds that.
          if session.hasUnread { failing.insert(session.identity.session) }
          current = nil
        }
      } catch {
        failing.insert(session.identity.session)
        (current, failure) = (nil, failure ?? error)
      }
    }
    guard let session = sessionGoneAtEnd else {
      closeEnded()
      return takeClosing()
    }
    defer { note(session) }
    return start(of: session) ?? session.passGone().map { .gap($0) }
  }

  /// Notes how much of a session has been returned.
  private func note(_ session: QueuedSession) {
    cursor.sessions[session.identity.session] = session.given
  }

  /// A session whose last archives were deleted before they were read, and that gets no more
  /// records. If more records came, they would be read, and the gap would be found before them.
  private var sessionGoneAtEnd: QueuedSession? {
    queue.sessions.first { id, session in
      session.goneAtEnd != nil && !queue.mayHaveRing(id) && !failing.contains(id)
    }?.value
  }

  /// The start of a session, if it has not been returned.
  private func start(of session: QueuedSession) -> LogReader.Item? {
    guard started.insert(session.identity.session).inserted else { return nil }
    return .sessionStarted(LogReader.Session(session.identity))
  }

  /// The session whose next frame is the oldest, among those that can be read. If only corruption
  /// is left of a session, the time of its last record counts.
  private var oldest: QueuedSession? {
    if let current, current.session.isBefore(current.end) { return current.session }
    let waiting = queue.sessions.compactMap { id, session in
      failing.contains(id)
        ? nil : (session.firstUnreadFrame ?? session.corruptedEnd).map { (session, frame: $0) }
    }
    let oldest = waiting.min { $0.frame.last < $1.frame.last }
    current = oldest.map { ($0.0, $0.frame.end) }
    return oldest?.0
  }

  /// Reads the end of a session, if one has ended since. An archive that is complete says how, or
  /// is not the last one.
  private func closeEnded() {
    for (id, session) in queue.sessions
    where !ended.contains(id) && !queue.mayHaveRing(id) && session.hasEnded
      && !failing.contains(id)
    {
      do throws(LogError) {
        closing = (session, try session.closingItems())
        ended.insert(id)
        return
      } catch {
        failing.insert(id)
        failure = failure ?? error
      }
    }
  }

  private func takeClosing() -> LogReader.Item? {
    guard let session = closing?.session, let item = closing?.items.popLast() else { return nil }
    if case .sessionEnded = item {
      session.noteEnd()
      note(session)
      closing = nil
    }
    return item
  }
}

extension LogReader {
  /// Follows a directory behind a cursor: see ``ArchiveFollower``. The sequence ends when its task
  /// is canceled.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted.
  ///   - cursor: Where to begin.
  public static func follow(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor
  ) -> ArchiveFollower.Items {
    follow(directory, filter: filter, after: cursor, identities: LogIdentities())
  }

  /// Follows a directory behind a cursor, with identities that decrypt.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted.
  ///   - cursor: Where to begin.
  ///   - identities: The identities that decrypt. A session waits before records that none of them
  ///     opens.
  public static func follow(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor, identities: LogIdentities
  ) -> ArchiveFollower.Items {
    ArchiveFollower.Items(
      directory: directory, filter: filter, start: cursor, identities: identities)
  }
}

extension ArchiveFollower {
  /// The items of an ``ArchiveFollower`` as they come, each with the cursor behind it.
  public struct Items: AsyncSequence, Sendable {
    let directory: String
    let filter: LogReader.Filter
    let start: LogReader.Cursor
    let identities: LogIdentities

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator {
      Iterator(
        follower: ArchiveFollower(directory, filter: filter, after: start, identities: identities))
    }

    /// Searches for new records, and waits for them.
    public struct Iterator: AsyncIteratorProtocol {
      let follower: ArchiveFollower

      /// How long the iterator waits between two scans, in nanoseconds.
      static let pause: UInt64 = 20_000_000

      /// Returns the next item as soon as there is one; nil once the task is canceled.
      ///
      /// - Throws: `LogError` if the directory or an archive cannot be read.
      public mutating func next() async throws -> (
        item: LogReader.Item, cursor: LogReader.Cursor
      )? {
        while !Task.isCancelled {
          if let item = try follower.next() { return (item, follower.cursor) }
          try? await Task.sleep(nanoseconds: Self.pause)
        }
        return nil
      }
    }
  }
}
