import MMLogFormat
import MMLogStorage
import MMLogSystem

/// All files of one session.
package struct SessionFiles {
  package let identity: SessionIdentity
  package private(set) var ring: RingView?
  /// By rising number.
  package private(set) var archives: [ArchiveFile] = []
  /// Why files are not read that are of the same ring or archive as another, and no copies of it.
  private(set) var rivals: [LogError] = []
  /// Archives of it, as far as their names say, that cannot be opened now, and may be later.
  private var unopened: [(number: UInt32, error: LogError)] = []

  /// Sorts files by session. A copy of a file that is there already is left out: of each ring the
  /// one that goes further counts, and so of each archive.
  static func group(_ files: InputFiles) -> [SessionFiles] {
    var sessions: [SessionID: SessionFiles] = [:]
    for ring in files.rings {
      let identity = ring.image.fileHeader.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(ring)
    }
    // Where a file header is lost, other files of its session say who that is.
    for archive in files.archives.filter({ !$0.isFileHeaderLost })
      + files.archives.filter(\.isFileHeaderLost)
    {
      let identity = archive.fileHeader.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(archive)
    }
    for error in files.unreadable {
      guard let archive = error.archiveToCome else { continue }
      sessions[archive.session]?.unopened.append((archive.number, error))
    }
    return sessions.values.sorted {
      ($0.identity.startTime, $0.identity.session.description)
        < ($1.identity.startTime, $1.identity.session.description)
    }
  }

  init(identity: SessionIdentity) { self.identity = identity }

  /// Why an archive cannot be opened now, of those from a number on; nil if all can.
  func problem(from number: UInt32) -> LogError? {
    unopened.first { $0.number >= number }?.error
  }

  /// How large all frames of records are, in bytes.
  var recordBytes: Int {
    archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
      .reduce(0) { $0 + $1.header.payloadSize }
  }

  mutating func add(_ new: RingView) {
    guard let old = ring else {
      ring = new
      return
    }
    // A ring has changed since it was copied. What cannot be right in one may be another ring's.
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
  /// Which of two of one session is read: the one that its process has, then one without
  /// corruption, and then the one that goes further.
  fileprivate var rank: (Int, Int, UInt32, UInt32, UInt64, UInt64) {
    (
      isRunning ? 1 : 0, image.isSound ? 1 : 0, image.newestArchive, image.newestFrames,
      image.segments.last?.header.generation ?? 0, image.lastTicks
    )
  }
}

extension RingImage {
  /// The greatest ticks of a record in it; 0 if there is none.
  fileprivate var lastTicks: UInt64 {
    var last: UInt64 = 0
    for segment in segments {
      var scanner = scanner(of: segment, scansBehindZeros: false)
      while let item = scanner.next() {
        if case .record(let record, _) = item { last = max(last, record.ticks) }
      }
    }
    return last
  }

  /// Whether all that is in it can be read.
  fileprivate var isSound: Bool {
    corruption.isEmpty
      && segments.allSatisfy { segment in
        var scanner = scanner(of: segment, scansBehindZeros: false)
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

  /// When it crashed; nil if it did not.
  var crashTime: Timestamp? {
    var summary = SessionSummary()
    summary.read(self)
    guard case .ended(let end) = ending(summary.end), end.how.isCrash else { return nil }
    if end.how == .crashed { return end.time }
    return max(end.time, records(summary).lastTime ?? end.time)
  }

  /// When the last record was logged; and of the ring, how many records are in no archive, and what
  /// cannot be read. Of archives only the headers of frames are read.
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

  /// How many records its archives have, each once; see ``ArchiveFile/recordCount``.
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
  /// The same, where the last sign of life of a process that was killed is its last record: it
  /// gives others only once a second.
  package func notBefore(_ lastTime: Timestamp?) -> SessionEnding {
    guard case .ended(let end) = self, let lastTime else { return self }
    return .ended(end.notBefore(lastTime))
  }

  /// How a session ended that is not running. A crash counts first: a process may die of one while
  /// its store is being closed.
  ///
  /// - Parameters:
  ///   - mark: What its last archive says.
  ///   - ring: What its ring says; nil if there is none.
  init(_ mark: SessionEnd?, _ ring: SessionEnd?) {
    let hasCrashedSince = ring?.how == .crashed && mark?.how != .crashed
    self = (hasCrashedSince ? ring : mark ?? ring).map { .ended($0) } ?? .unknown
  }
}

extension LogError {
  /// The archive that the error keeps from being read, as far as its file's name says: it may be
  /// read later. Nil if the error is about something else, or about a corrupted file, of which
  /// nothing more is to come.
  var archiveToCome: FileNames.Archive? {
    isLasting ? nil : FileNames.Archive(fileName: path.splitAtLastSlash.name)
  }

  /// Whether nothing of a file can be read, whenever that is tried.
  var isLasting: Bool { code == .corruptedFile || code == .foreignFile }
}

extension Array {
  /// Where the first archive is, of some by rising number, whose number is not below one; the end
  /// if there is none.
  ///
  /// - Complexity: O(log *n*): a file may have as many archives as it likes.
  func firstIndex(from number: UInt32, by numberOf: (Element) -> UInt32) -> Int {
    var (first, end) = (startIndex, endIndex)
    while first < end {
      let middle = first + (end - first) / 2
      if numberOf(self[middle]) < number { first = middle + 1 } else { end = middle }
    }
    return first
  }
}
