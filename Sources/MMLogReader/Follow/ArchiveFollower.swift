import MMLogFormat
public import MMLogStorage
import MMLogSystem

/// Reads on behind a cursor while processes log: what is archived, each record once, whatever was
/// read before.
///
/// ```swift
/// import MMLogReader
///
/// let follower = ArchiveFollower("/var/log/orders", after: LogReader.Cursor())
/// while let item = try follower.next() { print(item) }
/// let cursor = follower.cursor
/// ```
///
/// As ``LogReader/init(_:filter:after:)`` reads, it gives what only a ring has when that is
/// archived. Each session's records come in the order in which they were archived; of several
/// sessions, that whose next frame is the oldest comes first. Archives that are deleted before they
/// are read are a gap. A session of which an archive cannot be read now waits, and others go on.
/// What is corrupted behind an archive's last record comes when the archive is closed, or the next
/// one is there. Where there are many files, what a store appends to a file behind a closed archive
/// comes within a second.
///
/// For one thread at a time.
public final class ArchiveFollower {
  let queue: ArchiveQueue
  /// When all files are inspected next, as monotonic time.
  private var nextFullScan: UInt64 = 0
  /// Whose records come next, up to the end of a frame.
  private var current: (session: QueuedSession, end: LogReader.Cursor.Place)?
  private var started: Set<SessionID>
  private var ended: Set<SessionID> = []
  /// Sessions of which an archive could not be read since the last scan: they wait for the next.
  private var failing: Set<SessionID> = []
  /// The first of these failures, until it is thrown.
  private var failure: LogError?

  /// Begins to follow.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted. The cursor passes over the others, too, but not over
  ///     those of sessions that ``LogReader/Filter/processes`` or ``LogReader/Filter/sessions``
  ///     leave out.
  ///   - cursor: Where to go on; ``LogReader/Cursor/init()`` is before everything.
  public init(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor
  ) {
    queue = ArchiveQueue(of: directory, filter: filter, after: cursor)
    self.cursor = cursor
    started = Set(cursor.sessions.keys)
    ended = Set(cursor.sessions.filter(\.value.isEnded).keys)
  }

  /// The same, with who decrypts what is encrypted. A session with records that none of the
  /// identities opens waits before these.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted. The cursor passes over the others, too, but not over
  ///     those of sessions that ``LogReader/Filter/processes`` or ``LogReader/Filter/sessions``
  ///     leave out.
  ///   - cursor: Where to go on.
  ///   - identities: Who decrypts.
  public init(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor, identities: LogIdentities
  ) {
    queue = ArchiveQueue(of: directory, filter: filter, after: cursor, identities: identities)
    self.cursor = cursor
    started = Set(cursor.sessions.keys)
    ended = Set(cursor.sessions.filter(\.value.isEnded).keys)
  }

  /// The position behind what ``next()`` has given.
  public private(set) var cursor: LogReader.Cursor

  /// The next record, or what else is to know; nil if there is nothing at the moment.
  ///
  /// - Throws: What keeps the directory from being read; or an archive, once nothing of other
  ///   sessions is left to be given. The call after that tries again.
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

  /// So many files are inspected at each scan; of more, those that are not expected to grow once a
  /// second.
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
          // Its archive may be gone since.
          current = nil
          if session.hasUnread { return nil }
        }
      } catch {
        failing.insert(session.identity.session)
        (current, failure) = (nil, failure ?? error)
      }
    }
    guard let session = sessionGoneAtEnd else { return endedSession }
    defer { note(session) }
    return start(of: session) ?? session.passGone().map { .gap($0) }
  }

  /// Notes how much of a session has been given.
  private func note(_ session: QueuedSession) {
    cursor.sessions[session.identity.session] = session.given
  }

  /// A session whose last archives are gone before they were read, and of which no more is to come.
  /// Where more comes, that is read, and the gap is found before it.
  private var sessionGoneAtEnd: QueuedSession? {
    queue.sessions.first { id, session in
      session.goneAtEnd != nil && !queue.sessionsWithRing.contains(id) && !failing.contains(id)
    }?.value
  }

  /// The start of a session that has not been given.
  private func start(of session: QueuedSession) -> LogReader.Item? {
    guard started.insert(session.identity.session).inserted else { return nil }
    return .sessionStarted(LogReader.Session(session.identity))
  }

  /// The session whose next frame is the oldest, of those that can be read. One that has nothing
  /// left but corruption stands where it logged last.
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

  /// The end of a session, where one has ended since.
  private var endedSession: LogReader.Item? {
    for (id, session) in queue.sessions
    where !ended.contains(id) && !queue.sessionsWithRing.contains(id) && session.isClosed
      && !failing.contains(id)
    {
      let end = session.found.end
      let owner = session.session ?? LogReader.Session(session.identity)
      ended.insert(id)
      session.noteEnd()
      note(session)
      return .sessionEnded(
        session: owner, ending: SessionEnding(end, nil), lastTime: session.lastTime)
    }
    return nil
  }
}

extension LogReader {
  /// Follows a directory behind a cursor: see ``ArchiveFollower``. It ends when its task is
  /// canceled.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted.
  ///   - cursor: Where to go on.
  public static func follow(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor
  ) -> ArchiveFollower.Items {
    follow(directory, filter: filter, after: cursor, identities: LogIdentities())
  }

  /// The same, with who decrypts what is encrypted.
  ///
  /// - Parameters:
  ///   - directory: A directory of archives.
  ///   - filter: Which records are wanted.
  ///   - cursor: Where to go on.
  ///   - identities: Who decrypts. A session with records that none of them opens waits before
  ///     these.
  public static func follow(
    _ directory: String, filter: LogReader.Filter = LogReader.Filter(),
    after cursor: LogReader.Cursor, identities: LogIdentities
  ) -> ArchiveFollower.Items {
    ArchiveFollower.Items(
      directory: directory, filter: filter, start: cursor, identities: identities)
  }
}

extension ArchiveFollower {
  /// What an ``ArchiveFollower`` gives, as it comes, each with the cursor behind it.
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

      /// How long it waits between two scans, in nanoseconds.
      static let pause: UInt64 = 20_000_000

      /// The next item, as soon as there is one; nil once the task is canceled.
      ///
      /// - Throws: What keeps the directory, or an archive, from being read.
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
