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
  /// older one but such as limits spare: pinned ones, those of crashes, and those that are still to
  /// be sent.
  ///
  /// - Returns: A report for each, in their order.
  /// - Complexity: O(size of the sessions' files), and for each head O(frames of its session).
  public func check(_ heads: [ArchiveHead]) -> [AnchorReport] {
    let wanted = Set(heads.map(\.session))
    var checks: [SessionID: AnchoredSession] = [:]
    for session in sessions where wanted.contains(session.identity.session) {
      checks[session.identity.session] = AnchoredSession(session)
    }
    lazy var archives = Dictionary(
      grouping: sessions.flatMap(\.archives), by: \.fileHeader.identity.storeName)
    var stores: [String: StoreArchives] = [:]
    func verdict(ofGone head: ArchiveHead) -> AnchorReport.Verdict {
      let store = stores[head.store] ?? StoreArchives(archives[head.store] ?? [])
      stores[head.store] = store
      return store.verdict(head)
    }
    return heads.map { head in
      let verdict = checks[head.session]?.verdict(head) ?? verdict(ofGone: head)
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

  init(_ session: SessionFiles) {
    archives = session.archives
    check = ChainCheck(session)
  }

  /// Nil if the archive is not there.
  func verdict(_ head: ArchiveHead) -> AnchorReport.Verdict? {
    guard let place = archives.firstIndex(where: { $0.fileHeader.number == head.archive }) else {
      return nil
    }
    if let problem = check.problem { return .unchecked(problem) }
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
      if archives[index].isFileHeaderLost {
        return .broken("the file header of \(archives[index].path) cannot be read")
      }
      let corruption = (check.corruption[index] ?? []) + archives[index].corruption
      if let first = corruption.first(where: { index < place || $0.offset < end }) {
        return .broken("\(first.path): \(first.summary)")
      }
    }
    return .intact
  }
}

/// What a store has, which says what may have become of archives that are gone.
private struct StoreArchives {
  /// When the newest archive was begun.
  private let newest: Timestamp?
  /// The oldest archive that limits do not spare: they would have deleted it before any newer one.
  private let witness: ArchiveInfo?

  init(_ archives: [ArchiveFile]) {
    let infos = Set(archives.map(\.path)).compactMap { Self.info($0) }
      .sorted { $0.created < $1.created }
    newest = infos.last?.created
    // Limits delete what was sent first, and may wait for the rest.
    let areSent =
      infos.contains(where: \.state.isUploaded)
      || Set(infos.map(\.directory)).contains { Self.hasConsumers($0) }
    witness =
      infos.indices.lazy.map { (infos[$0], $0) }.first { info, place in
        info.isSealed && !info.state.isPinned
          && info.contents?.count != 0 && (info.state.isUploaded || !areSent)
          && !infos[max(0, place - 1)..<min(infos.count, place + 2)].contains { $0.isOfCrash }
      }?.0
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
    guard let newest, newest > head.begun else {
      return .broken("the archive is gone, and no later one of the store is there")
    }
    guard let witness, witness.created < head.begun else { return .deleted }
    return .broken(
      "the archive is gone, and an older one is there that limits delete first: \(witness.path)")
  }
}

extension ArchiveInfo {
  /// Whether a session crashed that ends in it: limits spare these, and those beside them.
  fileprivate var isOfCrash: Bool { contents?.ending?.isCrash == true }
}
