import MMLogFormat
public import MMLogStorage
import MMLogSystem

/// Reads rings and archives while processes log: across rotation, new sessions, and processes that
/// start and die.
///
/// ```swift
/// import Glibc
/// import MMLogReader
///
/// let follower = LogFollower(paths: ["/var/log/orders"], last: 10)
/// while true {
///   while let item = follower.next() { print(item) }
///   usleep(20_000)
/// }
/// ```
///
/// In a task, ``LogReader/follow(_:filter:last:identities:)`` does the waiting.
///
/// A record that was committed is given at the next scan, from the ring or from the archive that it
/// has been moved to. Each record is given once, and in order with the others of its thread.
/// Writers are not disturbed: rings are copied with pread(2), and nothing is locked. Archives that
/// are deleted before they are read are a gap.
///
/// **Order.** For processes that run on this machine, one record comes before another if its log
/// call had returned before the other log call began, whatever threads they are of. For this, a
/// scan gives what was logged before it began, and holds back later records, until the next scan at
/// most. If two calls overlapped, their records are in the order of their ticks if one scan has
/// seen both, else in either order. Between processes, this order is as exact as the conversion of
/// two clocks into wall time, about a microsecond. If there are archives without their ring, or a
/// ring of another machine, the records that one scan finds are merged by time.
///
/// For one thread at a time.
public final class LogFollower {
  /// Files and directories that could not be read when they were last inspected, and why, in the
  /// order of their paths. They are inspected again. A path that does not exist yet is waited for.
  /// If records are passed over because no identity opens them, the last error says so.
  public var unreadable: [LogError] {
    (places.unreadable.values + sessions.compactMap(\.ringError)).sorted { $0.path < $1.path }
      + [locked].compactMap(\.self)
  }

  /// Says that records are encrypted for others, for the first file that has such records. It
  /// leaves out their number, which changes with each scan.
  private var locked: LogError?
  /// When following began.
  private let began = Timestamp.now
  private let filter: LogReader.Filter
  private var places: FollowedPaths
  /// The last archive of each file: a store may go on behind it.
  private var tails: [ArchiveFile] = []
  /// The sessions of which more may come.
  private(set) var sessions: [FollowedSession] = []
  /// ``sessions``, and those that are over.
  private var known: [SessionID: FollowedSession] = [:]
  private let memory: FrameMemory
  private let identities: LogIdentities
  private var merge = SessionMerge()
  private var skipping = RecordSkip.none
  /// Whether something was given since the last scan.
  private var hasGiven = false

  /// Begins to follow.
  ///
  /// - Parameters:
  ///   - inputs: Files and directories. Of a file, only this file is followed; a process's next
  ///     archive appears in a directory. ``LogReader/Input/standardInput`` is passed over.
  ///   - filter: Which records are wanted.
  ///   - last: How many of the existing records are given first; nil for all.
  ///   - identities: The identities that decrypt. Records that none of them opens are passed over.
  public init(
    _ inputs: [LogReader.Input], filter: LogReader.Filter = LogReader.Filter(), last: Int? = nil,
    identities: LogIdentities = LogIdentities()
  ) {
    places = FollowedPaths(inputs, identities)
    self.identities = identities
    memory = FrameMemory(opening: identities.slots)
    self.filter = filter
    scan()
    var narrowed = filter
    if let last {
      let files = LogFiles(sessions: sessions.map(\.files), identities)
      (narrowed, skipping) = files.narrowed(toLast: last, filter)
    }
    load(narrowed)
  }

  /// Begins to follow files and directories by name.
  public convenience init(
    paths: [String], filter: LogReader.Filter = LogReader.Filter(), last: Int? = nil
  ) {
    self.init(paths.map(LogReader.Input.path), filter: filter, last: last)
  }

  /// Returns the next record or other item; nil when everything that the last scan found has been
  /// given. The next call scans again.
  ///
  /// - Complexity: O(new records + segments of the rings + files of archives) for a call that
  ///   scans: one at which all earlier records were taken or held back.
  public func next() -> LogReader.Item? {
    if let item = take() {
      hasGiven = true
      return item
    }
    if hasGiven {
      hasGiven = false
      return nil
    }
    scan()
    load(filter)
    let item = take()
    hasGiven = item != nil
    return item
  }

  private func take() -> LogReader.Item? {
    var item = merge.next()
    while case .record(let record) = item, skipping.takes(record) { item = merge.next() }
    return item
  }

  /// Rings first, then archives (FORMAT.md, 5). An archive that is found together with a ring is
  /// inspected again after the ring.
  private func scan() {
    find()
    // All sessions get the same moment: otherwise a ring that was copied first could lack a record
    // that was logged before a record of another ring.
    let ticks = Clock.ticks()
    for session in sessions { session.readRing(at: ticks) }
    find()
    // One listing may have found an archive, and missed the one that was made just before.
    if sessions.contains(where: \.lacksArchives) { find() }
    // Before the archives are read: what was appended until the deletion is read, too.
    let areDeleted = tails.map(\.isDeleted)
    for session in sessions { session.readArchives() }
    goOnBehindTails()
    if !areDeleted.contains(true) { return }
    // No store goes on with a file that was deleted. While the file is open, its space is not free.
    for (tail, isDeleted) in zip(tails, areDeleted) where isDeleted { places.forget(tail.path) }
    tails = zip(tails, areDeleted).compactMap { $1 ? nil : $0 }
  }

  private func find() {
    places.scan { found in
      switch consume found {
      case .ring(let file, of: let identity): session(identity)?.add(ring: file)
      case .archive(let archive):
        add(archive)
        if archive.isLast { tails.append(archive) }
      }
    }
  }

  /// Finds the archives that follow in the same files, also behind those of sessions that are not
  /// wanted. Each tail keeps its index.
  private func goOnBehindTails() {
    for index in tails.indices {
      if !tails[index].isClosed, !filter.passes(tails[index].fileHeader.identity) {
        _ = try? tails[index].refresh()
      }
      guard tails[index].isClosed, let more = try? tails[index].following(), let last = more.last
      else { continue }
      for archive in more { add(archive) }
      tails[index] = last
    }
  }

  private func add(_ archive: ArchiveFile) { session(archive.fileHeader.identity)?.add(archive) }

  /// Nil for a session that is not wanted.
  private func session(_ identity: SessionIdentity) -> FollowedSession? {
    guard filter.passes(identity) else { return nil }
    let session =
      known[identity.session]
      ?? FollowedSession(identity, isNew: identity.startTime > began, memory, identities)
    if known.updateValue(session, forKey: identity.session) == nil || session.isOver {
      session.isOver = false
      sessions.append(session)
    }
    return session
  }

  private func load(_ filter: LogReader.Filter) {
    merge = SessionMerge()
    for session in sessions {
      if let reader = session.load(filter) { merge.insert(reader) }
      locked = locked ?? session.locked.map { LogError(passingOver: $0.reason, in: $0.path) }
    }
    sessions.removeAll(where: \.isOver)
  }
}

extension LogError {
  fileprivate init(passingOver reason: FormatError, in path: String) {
    self.init(
      .encrypted, "records are not read, first of \(path): \(reason)", path: path, cause: reason)
  }
}

extension LogFollower {
  /// The items of a ``LogFollower`` as they come. The sequence ends when its task is canceled.
  public struct Items: AsyncSequence, Sendable {
    let inputs: [LogReader.Input]
    let filter: LogReader.Filter
    let last: Int?
    let identities: LogIdentities

    /// Opens the files.
    public func makeAsyncIterator() -> Iterator {
      Iterator(
        follower: LogFollower(inputs, filter: filter, last: last, identities: identities))
    }

    /// Searches for new records, and waits for them.
    public struct Iterator: AsyncIteratorProtocol {
      let follower: LogFollower

      /// How long the iterator waits between two scans, in nanoseconds.
      static let pause: UInt64 = 20_000_000

      /// Returns the next item as soon as there is one; nil once the task is canceled.
      public mutating func next() async -> LogReader.Item? {
        while !Task.isCancelled {
          if let item = follower.next() { return item }
          try? await Task.sleep(nanoseconds: Self.pause)
        }
        return nil
      }
    }
  }
}

extension LogReader {
  /// Follows files and directories: see ``LogFollower``, also for the order in which records come.
  ///
  /// ```swift
  /// for await item in LogReader.follow([.path("/var/log/orders")], last: 10) { print(item) }
  /// ```
  ///
  /// - Parameters:
  ///   - inputs: Files and directories.
  ///   - filter: Which records are wanted.
  ///   - last: How many of the existing records are given first; nil for all.
  ///   - identities: The identities that decrypt. Records that none of them opens are passed over.
  public static func follow(
    _ inputs: [LogReader.Input], filter: LogReader.Filter = LogReader.Filter(), last: Int? = nil,
    identities: LogIdentities = LogIdentities()
  ) -> LogFollower.Items {
    LogFollower.Items(inputs: inputs, filter: filter, last: last, identities: identities)
  }
}
