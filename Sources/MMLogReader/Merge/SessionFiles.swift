import MMLogFormat
import MMLogStorage
import MMLogSystem

/// All files of one session.
package struct SessionFiles {
  package let identity: SessionIdentity
  package private(set) var ring: RingView?
  /// By rising number.
  package private(set) var archives: [ArchiveFile] = []
  /// Why some files are not read: they are of the same ring or archive as another, but no copies of
  /// it.
  private(set) var rivals: [LogError] = []
  /// Why files cannot be read that have archives of the session, according to their names.
  private(set) var unreadable: [LogError] = []

  /// Sorts files by session. Copies of a file are left out: of several files of a ring or an
  /// archive, the one that goes further counts.
  static func group(_ files: InputFiles) -> [SessionFiles] {
    var sessions: [SessionID: SessionFiles] = [:]
    for ring in files.rings {
      let identity = ring.image.fileHeader.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(ring)
    }
    // If a file header is lost, other files of its session have the identity.
    for archive in files.archives.filter({ !$0.isFileHeaderLost })
      + files.archives.filter(\.isFileHeaderLost)
    {
      let identity = archive.fileHeader.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(archive)
    }
    var errors: [ArchiveID: LogError] = [:]
    for error in files.unreadable {
      guard let archive = error.archive else { continue }
      sessions[archive.session]?.unreadable.append(error)
      errors[archive.id] = error
    }
    // A session that went on with the archive of another session has its own archive behind that
    // one, in the same file.
    for (id, session) in sessions {
      guard let resumed = session.ring?.image.sessionState.resumed, let error = errors[resumed]
      else { continue }
      sessions[id]?.unreadable.append(error)
    }
    return sessions.values.sorted {
      ($0.identity.startTime, $0.identity.session.description)
        < ($1.identity.startTime, $1.identity.session.description)
    }
  }

  init(identity: SessionIdentity) { self.identity = identity }

  /// Why an archive with this number or a greater one cannot be opened now; nil if all can.
  func problem(from number: UInt32) -> LogError? {
    unreadable.first { $0.isOfArchiveToCome(of: identity.session, from: number) }
  }

  /// The newest archive; nil if there is none, or a newer one cannot be read.
  package var newestArchive: ArchiveFile? {
    guard let last = archives.last else { return nil }
    let isNewest = !unreadable.contains { error in
      guard let archive = error.archive else { return false }
      return archive.session == identity.session && archive.number > last.fileHeader.number
    }
    return isNewest ? last : nil
  }

  /// The size of all frames of records, in bytes.
  var recordBytes: Int {
    archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
      .reduce(0) { $0 + $1.header.payloadSize }
  }

  mutating func add(_ new: RingView) {
    guard let old = ring else {
      ring = new
      return
    }
    // A ring may differ from a copy, because it has changed since. But a file that cannot be right
    // may be of another ring.
    let isNewRead = new.rank > old.rank
    let (read, other) = isNewRead ? (new.image, old.image) : (old.image, new.image)
    ring = isNewRead ? new : old
    if !other.isSound { leaveOut(other.path, for: read.path, "ring") }
  }

  mutating func add(_ new: ArchiveFile) {
    let number = new.fileHeader.number
    let index = archives.firstIndex(from: number, by: \.fileHeader.number)
    guard index < archives.count, archives[index].fileHeader.number == number else {
      archives.insert(new, at: index)
      return
    }
    let old = archives[index]
    let (read, other) = old.rank < new.rank ? (new, old) : (old, new)
    archives[index] = read
    if !other.isCopy(of: read) { leaveOut(other.path, for: read.path, "archive \(number)") }
  }

  private mutating func leaveOut(_ path: String, for other: String, _ name: String) {
    rivals.append(
      LogError(
        .corruptedFile,
        "\(path) is not read: it and \(other) both say that they are \(name) of session "
          + "\(identity.session), and they differ; to see what is in it, read it alone",
        path: path))
  }
}

extension RingView {
  /// Which of two rings of one session is read: the one that its process has, then one without
  /// corruption, and then the one that goes further.
  fileprivate var rank: (Int, Int, UInt32, UInt32, UInt64, UInt64) {
    (
      isRunning ? 1 : 0, image.isSound ? 1 : 0, image.sessionState.newestArchive,
      image.sessionState.newestFrames, image.segments.last?.header.generation ?? 0, image.lastTicks
    )
  }
}

extension RingImage {
  /// The greatest ticks of a record in the ring; 0 if there is none.
  fileprivate var lastTicks: UInt64 {
    var last: UInt64 = 0
    for segment in segments {
      var scanner = scanner(of: segment, zeros: .end)
      while let item = scanner.next() {
        if case .record(let record, _) = item { last = max(last, record.ticks) }
      }
    }
    return last
  }

  /// Whether everything in the ring can be read.
  fileprivate var isSound: Bool {
    corruption.isEmpty
      && segments.allSatisfy { segment in
        var scanner = scanner(of: segment, zeros: .end)
        while let item = scanner.next() { if case .corruption = item { return false } }
        return true
      }
  }
}

extension SessionFiles {
  /// How the session ended, as its ring and the last mark of its archives say.
  package func ending(_ mark: SessionEnd?) -> SessionEnding {
    if let ring, ring.isRunning { return .running }
    return SessionEnding(mark, ring?.end)
  }

  /// When the session crashed; nil if it did not.
  var crashTime: Timestamp? {
    let summary = SessionSummary(self)
    guard case .ended(let end) = ending(summary.end), end.how.isCrash else { return nil }
    if end.how == .crashed { return end.time }
    return max(end.time, records(summary).lastTime ?? end.time)
  }

  /// When the last record was logged; how many records of the ring are in no archive, and what of
  /// the ring cannot be read. Of archives, only the headers of frames are read.
  package func records(
    _ summary: SessionSummary
  ) -> (countInRing: Int, lastTime: Timestamp?, corruption: [LogReader.Corruption]) {
    let ring = summary.ring.map { SessionRuns.segments(of: $0) }
    var lastTime = ring?.lastTime
    for (index, archive) in archives.enumerated() {
      for frame in archive.frames where frame.header.type == .records {
        if summary.skipped[index]?.contains(frame.offset) == true { continue }
        lastTime = max(lastTime ?? .distantPast, frame.header.summary.lastWall)
      }
    }
    return (ring?.count ?? 0, lastTime, ring?.corruption ?? [])
  }

  /// How many records the session's archives have, each once; see ``ArchiveFile/recordCount``.
  package func countInArchives(_ summary: SessionSummary) -> Int {
    var count = 0
    for (index, archive) in archives.enumerated() {
      let skipped = summary.skipped[index] ?? []
      if skipped.isEmpty {
        count += archive.recordCount
        continue
      }
      for frame in archive.frames where !skipped.contains(frame.offset) {
        count += archive.recordCount(of: frame)
      }
    }
    return count
  }
}

extension SessionEnding {
  /// The same ending. If the process was killed, its last record may be its last sign of life: it
  /// gives others only once a second.
  package func notBefore(_ lastTime: Timestamp?) -> SessionEnding {
    guard case .ended(let end) = self, let lastTime else { return self }
    return .ended(end.notBefore(lastTime))
  }

  /// How a session ended that is not running. A crash counts first: a process may crash while its
  /// store is being closed.
  ///
  /// - Parameters:
  ///   - mark: The ending in the session's last archive.
  ///   - ring: The ending in the session's ring; nil if there is none.
  init(_ mark: SessionEnd?, _ ring: SessionEnd?) {
    let hasCrashedSince = ring?.how == .crashed && mark?.how != .crashed
    self = (hasCrashedSince ? ring : mark ?? ring).map { .ended($0) } ?? .unknown
  }
}

extension LogError {
  /// The archive that the error keeps from being read, according to the file's name; nil if the
  /// error is about something else.
  fileprivate var archive: FileNames.Archive? {
    FileNames.Archive(fileName: path.splitAtLastSlash.name)
  }

  /// Whether the error keeps an archive of a session, according to the file's name, from being read
  /// now. The archive may be read later.
  ///
  /// - Parameter number: Archives with lower numbers do not count.
  func isOfArchiveToCome(of session: SessionID, from number: UInt32) -> Bool {
    guard !isLasting, let archive else { return false }
    return archive.session == session && archive.number >= number
  }

  /// Whether nothing of a file can be read, no matter when that is tried.
  var isLasting: Bool { code == .corruptedFile || code == .foreignFile }
}

extension Array {
  /// The index of the first archive whose number is not below a given one, in archives by rising
  /// number; the end if there is none.
  ///
  /// - Complexity: O(log *n*): a file may have any number of archives.
  func firstIndex(from number: UInt32, by numberOf: (Element) -> UInt32) -> Int {
    var (first, end) = (startIndex, endIndex)
    while first < end {
      let middle = first + (end - first) / 2
      if numberOf(self[middle]) < number { first = middle + 1 } else { end = middle }
    }
    return first
  }
}
