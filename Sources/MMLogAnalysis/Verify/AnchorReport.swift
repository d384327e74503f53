import MMLogFormat
public import MMLogReader
public import MMLogStorage
import MMLogSystem

/// What has become of the archives that a head covers. The head was noted elsewhere.
public struct AnchorReport: Sendable {
  /// The head that was noted.
  public let head: ArchiveHead
  /// What has become of the archives that the head covers.
  public let verdict: Verdict

  /// What has become of the archives that a head covers.
  @nonexhaustive
  public enum Verdict: Equatable, Sendable {
    /// All covered frames that still exist are unchanged.
    case intact
    /// The archive is gone, and a limit may have deleted it.
    case deleted
    /// An archive was changed, cut or removed. The text says how, without a full stop.
    case broken(String)
    /// The archives could not be checked. The text says why.
    case unchecked(String)
  }
}

extension LogFiles {
  /// Checks heads that were noted where nobody who can change the files can change them.
  ///
  /// An archive that is gone counts as deleted by a limit if the store has a later one, and has no
  /// older one except those that limits spare. Limits spare pinned archives, those of crashes, and
  /// those that are still to be sent. They also spare archives that were not sealed by then, or
  /// whose session was still to be recovered. This rule applies to the archives of the heads, and
  /// to missing archives before these.
  ///
  /// A head vouches for the archives before its own as far back as none is missing: each is chained
  /// to the one before. Archives that limits have spared before that need a head of their own.
  ///
  /// - Returns: A report for each head, in their order.
  /// - Complexity: O(size of the sessions' files), and for each head O(frames of its session).
  public func check(_ heads: [ArchiveHead]) -> [AnchorReport] {
    lazy var sessionsByStore = Dictionary(grouping: sessions, by: \.identity.storeName)
    var stores: [String: StoreArchives] = [:]
    func store(_ name: String) -> StoreArchives {
      let store = stores[name] ?? StoreArchives(sessionsByStore[name] ?? [])
      stores[name] = store
      return store
    }
    var checks: [SessionID: AnchoredSession] = [:]
    let given = Dictionary(grouping: heads, by: \.session)
    for session in sessions {
      guard let heads = given[session.identity.session] else { continue }
      checks[session.identity.session] = AnchoredSession(session, heads) {
        store(session.identity.storeName)
      }
    }
    return heads.map { head in
      let verdict = checks[head.session]?.verdict(head) ?? store(head.store).verdict(head)
      return AnchorReport(head: head, verdict: verdict)
    }
  }
}

extension LogFiles {
  /// Returns the head of each session whose frames are chained: that of its newest archive, up to
  /// its last frame. Before this method returns, it makes that archive safe from a power cut. A
  /// session has no head if its newest archive is one of those that ``LogFiles/unreadable`` names.
  ///
  /// - Throws: `LogError` if an archive cannot be read or made safe, or if libcrypto is missing.
  public func heads() throws(LogError) -> [ArchiveHead] {
    var heads: [ArchiveHead] = []
    for archive in sessions.compactMap(\.newestArchive) {
      let head = try explaining("Reading the head of \(archive.path) failed") {
        () throws(SystemError) in
        let head = try archive.head()
        if head != nil { try archive.sync() }
        return head
      }
      if let head, head.frames > 0 { heads.append(head) }
    }
    return heads
  }
}

/// A session of which a head was noted.
private struct AnchoredSession {
  private let archives: [ArchiveFile]
  private let check: ChainCheck
  /// By the index of an archive: which archives before it are missing that no limit has deleted. A
  /// sentence without its full stop.
  private var missing: [Int: String] = [:]
  /// The indices of the archives before missing ones that no head vouches for.
  private var unvouched: [Int] = []

  /// - Parameters:
  ///   - heads: All heads of the session that were noted.
  ///   - store: Returns the archives of the session's store.
  init(_ session: SessionFiles, _ heads: [ArchiveHead], in store: () -> StoreArchives) {
    archives = session.archives
    check = ChainCheck(session)
    // Archives before the first one were begun after the session.
    var last = (number: UInt32(0), begun: session.identity.startTime)
    for (index, archive) in archives.enumerated() {
      let number = archive.fileHeader.number
      if number > last.number &+ 1 {
        let gone = ArchiveID(session: session.identity.session, number: number - 1)
        if let witness = store().witness(against: gone, begunAfter: last.begun) {
          let what =
            gone.number == last.number + 1
            ? "archive \(gone.number) is" : "archives \(last.number + 1) to \(gone.number) are"
          missing[index] = "\(what) gone, and \(witness)"
        }
      }
      last = (number, archive.fileHeader.created)
    }
    let headsByArchive = Dictionary(grouping: heads, by: \.archive)
    for (index, pair) in zip(archives, archives.dropFirst()).enumerated() {
      let number = pair.0.fileHeader.number
      if number &+ 1 == pair.1.fileHeader.number { continue }
      if !(headsByArchive[number] ?? []).contains(where: { vouches($0, for: pair.0) }) {
        unvouched.append(index)
      }
    }
  }

  /// Returns nil if the archive does not exist.
  func verdict(_ head: ArchiveHead) -> AnchorReport.Verdict? {
    guard let place = archives.firstIndex(where: { $0.fileHeader.number == head.archive }) else {
      return nil
    }
    if let problem = (0...place).lazy.compactMap({ check.problems[$0] }).first {
      return .unchecked(problem)
    }
    guard let chain = check.chains[head.archive] else {
      return .broken("the frames of \(archives[place].path) are not chained any more")
    }
    guard let hash = chain.hash(ofFrames: head.frames) else {
      return .broken(
        "\(archives[place].path) has \(chain.frames) frames, and had \(head.frames) or more")
    }
    if hash != head.hash {
      return .broken("what \(archives[place].path) has up to there is not what it was")
    }
    // The head does not cover the frames behind the covered ones.
    let end = archives[place].frames.first { $0.header.ordinal >= head.frames }?.offset ?? .max
    for index in 0...place {
      if let missing = missing[index] { return .broken(missing) }
      if archives[index].isFileHeaderLost {
        return .broken("the file header of \(archives[index].path) cannot be read")
      }
      let corruption = (check.corruption[index] ?? []) + archives[index].corruption
      if let first = corruption.first(where: { index < place || $0.offset < end }) {
        return .broken("\(first.path): \(first.summary)")
      }
    }
    // A hash behind a hole proves nothing about what was in the hole.
    guard chain.linkedFrames >= head.frames else {
      return .broken(
        "\(archives[place].path) is not chained up to there: before its frame "
          + "\(chain.linkedFrames), something is missing, or is not what it was")
    }
    if let other = unvouched.last(where: { $0 < place }) {
      let number = archives[other].fileHeader.number
      return .unchecked(
        "nothing vouches for \(archives[other].path): archive \(number + 1), which was chained to "
          + "it, is gone, and no head of all of archive \(number) was given")
    }
    return .intact
  }

  /// Whether a head is that of all records of an archive.
  private func vouches(_ head: ArchiveHead, for archive: ArchiveFile) -> Bool {
    guard let chain = check.chains[head.archive],
      chain.linkedFrames >= head.frames, chain.hash(ofFrames: head.frames) == head.hash
    else { return false }
    // What closing the archive adds repeats what is known.
    return archive.frames.allSatisfy {
      $0.header.ordinal < head.frames
        || [.dictionary, .index, .keySlot, .ringKeySlot].contains($0.header.type)
    }
  }
}

/// The archives of a store. They show what may have become of archives that are gone.
private struct StoreArchives {
  /// A file, and the archives in it.
  private struct Entry {
    let info: ArchiveInfo
    let archives: [ArchiveID]
    let deletableSince: Timestamp

    /// Whether the file was begun before a moment, and could be deleted by then. If so, every limit
    /// deletes it first. If several processes have one store, their archives overlap.
    func isOlder(than time: Timestamp) -> Bool { info.created < time && deletableSince <= time }

    /// Whether the file has an archive of the same session with a lower number.
    func isBefore(_ archive: ArchiveID) -> Bool {
      archives.contains { $0.session == archive.session && $0.number < archive.number }
    }

    /// Whether the file has an archive of the same session with a higher number.
    func isBehind(_ archive: ArchiveID) -> Bool {
      archives.contains { $0.session == archive.session && $0.number > archive.number }
    }
  }

  /// All files, the oldest first.
  private let entries: [Entry]
  /// The files that limits do not spare: limits would have deleted these before any newer one.
  private let unspared: [Entry]

  init(_ sessions: [SessionFiles]) {
    let archives = sessions.flatMap { session in
      let end = session.end
      return session.archives.indices.map {
        (file: session.archives[$0], since: session.deletableSince($0, end))
      }
    }
    var found: [String: Entry] = [:]
    for (path, archives) in Dictionary(grouping: archives, by: \.file.path) {
      guard let info = Self.info(path) else { continue }
      found[info.path] = Entry(
        info: info, archives: archives.map(\.file.fileHeader.id),
        deletableSince: archives.reduce(info.lastTime) { max($0, $1.since) })
    }
    let infos = ArchiveOrder.sorted(found.values.map(\.info))
    entries = infos.compactMap { found[$0.path] }
    // Limits delete archives that were sent first, and may wait until the rest is sent.
    let areSent =
      infos.contains(where: \.state.isUploaded)
      || Set(infos.map(\.directory)).contains { Self.hasConsumers($0) }
    unspared = infos.indices.filter { place in
      let info = infos[place]
      return info.isSealed && !info.state.isPinned
        && info.contents?.count != 0 && (info.state.isUploaded || !areSent)
        && !infos[max(0, place - 1)..<min(infos.count, place + 2)].contains { $0.isOfCrash }
    }.map { [entries] in entries[$0] }
  }

  private static func info(_ path: String) -> ArchiveInfo? {
    let (folder, name) = path.splitAtLastSlash
    return try? Catalog(of: folder, store: nil).inspect(at: name)
  }

  private static func hasConsumers(_ path: String) -> Bool {
    guard let directory = try? Directory.open(path),
      let unsent = try? UnsentArchives(in: directory)
    else { return false }
    return !unsent.isEmpty
  }

  /// What has become of an archive that is gone.
  func verdict(_ head: ArchiveHead) -> AnchorReport.Verdict {
    let gone = ArchiveID(session: head.session, number: head.archive)
    guard entries.contains(where: { $0.info.created > head.begun || $0.isBehind(gone) }) else {
      return .broken("the archive is gone, and no later one of the store is there")
    }
    guard let witness = witness(against: gone, begunAfter: head.begun) else { return .deleted }
    return .broken("the archive is gone, and \(witness)")
  }

  /// Why no limit can have deleted an archive that is gone: an older archive exists. The text is a
  /// part of a sentence; nil if there is no such archive.
  ///
  /// - Parameter time: When the archive was begun, or an earlier time. An archive that was begun in
  ///   between proves nothing.
  func witness(against gone: ArchiveID, begunAfter time: Timestamp) -> String? {
    unspared.first { $0.isBefore(gone) || $0.isOlder(than: time) }.map {
      "an older one is there that limits delete first: \($0.info.path)"
    }
  }
}

extension SessionFiles {
  /// The time from which on limits could delete an archive. They spare an archive until it is
  /// sealed. If the process has died, they spare all archives of the session until its ring is
  /// recovered.
  ///
  /// - Parameters:
  ///   - place: The index of the archive in ``archives``.
  ///   - end: How the session ended; nil if it has not ended, or that is not known.
  fileprivate func deletableSince(_ place: Int, _ end: SessionEnd?) -> Timestamp {
    if let ring, !ring.isRunning { return .distantFuture }
    // The archive was sealed before the next one was begun.
    let next = archives[place...].dropFirst().first?.fileHeader.created
    let sealed = next ?? end?.time ?? .distantFuture
    return max(sealed, end?.recovered ?? sealed)
  }

  fileprivate var end: SessionEnd? {
    SessionSummary(self).end
  }
}
