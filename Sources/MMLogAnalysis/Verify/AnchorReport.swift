import MMLogFormat
public import MMLogReader
public import MMLogStorage
import MMLogSystem

/// What has become of what a head covers that was noted elsewhere.
public struct AnchorReport: Sendable {
  /// What was noted.
  public let head: ArchiveHead
  /// What has become of it.
  public let verdict: Verdict

  /// What has become of what a head covers.
  @nonexhaustive
  public enum Verdict: Equatable, Sendable {
    /// All that is there of it is what it was.
    case intact
    /// The archive is gone, as those are that limits delete.
    case deleted
    /// It was changed, or cut, or taken out: how, in a sentence without its point.
    case broken(String)
    /// It could not be checked: why.
    case unchecked(String)
  }
}

extension LogFiles {
  /// Checks what heads say that were noted where nobody can change them who can change the files.
  ///
  /// An archive that is gone counts as deleted by a limit if the store has a later one, and no
  /// older one but such as limits spare: pinned ones, those of crashes, those that are still to be
  /// sent, and those that were not sealed by then, or were of a session that was still to be
  /// recovered. That holds for the archives that heads are of, and for those that are missing
  /// before these.
  ///
  /// - Returns: A report for each, in their order.
  /// - Complexity: O(size of the sessions' files), and for each head O(frames of its session).
  public func check(_ heads: [ArchiveHead]) -> [AnchorReport] {
    let wanted = Set(heads.map(\.session))
    lazy var sessionsByStore = Dictionary(grouping: sessions, by: \.identity.storeName)
    var stores: [String: StoreArchives] = [:]
    func store(_ name: String) -> StoreArchives {
      let store = stores[name] ?? StoreArchives(sessionsByStore[name] ?? [])
      stores[name] = store
      return store
    }
    var checks: [SessionID: AnchoredSession] = [:]
    for session in sessions where wanted.contains(session.identity.session) {
      checks[session.identity.session] = AnchoredSession(session) {
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
  /// The head of each session whose frames are chained: of its newest archive, up to its last
  /// frame, which is made safe from a power cut first.
  ///
  /// - Throws: `LogError` if an archive cannot be read or made safe, or without libcrypto.
  public func heads() throws(LogError) -> [ArchiveHead] {
    var heads: [ArchiveHead] = []
    for archive in sessions.compactMap(\.archives.last) {
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

/// A session of which something was noted.
private struct AnchoredSession {
  private let archives: [ArchiveFile]
  private let check: ChainCheck
  /// By the index of an archive, which ones before it are missing that no limit has deleted: a
  /// sentence without its point.
  private var missing: [Int: String] = [:]

  /// - Parameter store: Gives what its store has.
  init(_ session: SessionFiles, in store: () -> StoreArchives) {
    archives = session.archives
    check = ChainCheck(session)
    // Those before the first archive were begun after the session.
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
  }

  /// Nil if the archive is not there.
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
    // What comes behind the frames that are covered is not covered.
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
    // A hash behind a hole proves nothing of what was in it.
    guard chain.linkedFrames >= head.frames else {
      return .broken(
        "\(archives[place].path) is not chained up to there: before its frame "
          + "\(chain.linkedFrames), something is missing, or is not what it was")
    }
    return .intact
  }
}

/// What a store has, which says what may have become of archives that are gone.
private struct StoreArchives {
  /// A file, and the archives in it.
  private struct Entry {
    let info: ArchiveInfo
    let archives: [ArchiveID]
    let deletableSince: Timestamp

    /// Whether it was begun before a moment, and could be deleted by then: then it is deleted
    /// first, whichever limit does that. Of several processes with one store, their archives
    /// overlap.
    func isOlder(than time: Timestamp) -> Bool { info.created < time && deletableSince <= time }

    /// Whether it has an archive of the same session with a lower number.
    func isBefore(_ archive: ArchiveID) -> Bool {
      archives.contains { $0.session == archive.session && $0.number < archive.number }
    }

    /// Whether it has an archive of the same session with a higher number.
    func isBehind(_ archive: ArchiveID) -> Bool {
      archives.contains { $0.session == archive.session && $0.number > archive.number }
    }
  }

  /// The oldest first.
  private let entries: [Entry]
  /// Those that limits do not spare: they would have deleted these before any newer one.
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
    let infos = ArchiveOrder.sorted(found.values.map(\.info), own: nil, now: .now)
    entries = infos.compactMap { found[$0.path] }
    // Limits delete what was sent first, and may wait for the rest.
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

  /// What shows that no limit has deleted an archive that is gone: an older one that is there, in a
  /// part of a sentence; nil if there is none.
  ///
  /// - Parameter time: When the archive was begun, or a time before that: an archive from between
  ///   shows nothing.
  func witness(against gone: ArchiveID, begunAfter time: Timestamp) -> String? {
    unspared.first { $0.isBefore(gone) || $0.isOlder(than: time) }.map {
      "an older one is there that limits delete first: \($0.info.path)"
    }
  }
}

extension SessionFiles {
  /// From when on limits could delete an archive: they spare it until it is sealed, and all of a
  /// session whose process has died until its ring is recovered.
  ///
  /// - Parameters:
  ///   - place: Of the archive in ``archives``.
  ///   - end: How the session ended; nil if it has not, or that is not known.
  fileprivate func deletableSince(_ place: Int, _ end: SessionEnd?) -> Timestamp {
    if let ring, !ring.isRunning { return .distantFuture }
    // It was sealed before the next one was begun.
    let next = archives[place...].dropFirst().first?.fileHeader.created
    let sealed = next ?? end?.time ?? .distantFuture
    return max(sealed, end?.recovered ?? sealed)
  }

  fileprivate var end: SessionEnd? {
    var summary = SessionSummary()
    summary.read(self)
    return summary.end
  }
}

extension ArchiveInfo {
  /// Whether a session crashed that ends in it: limits spare these, and those beside them.
  fileprivate var isOfCrash: Bool { contents?.ending?.isCrash == true }
}
