public import MMLogFormat
package import MMLogSystem

/// What is known of an archive without reading its records.
public struct ArchiveInfo: Equatable, Sendable {
  /// The archive's path.
  public var path: String { "\(directory)/\(fileName)" }
  /// Its name in the store's directory. Names of one store sort as the archives were begun.
  public let fileName: String
  /// The store's directory.
  public let directory: String
  /// The store that it belongs to.
  public let storeName: String
  /// The session that began it. The file may have others, too, if `resumeLastArchive` was set.
  public let session: SessionID
  /// Counts the session's archives from 1.
  public let number: UInt32
  /// When it was begun.
  public let created: Timestamp
  /// When its bytes last changed, as the file system says.
  public let modified: Timestamp
  /// How long the file is, in bytes.
  public let size: Int
  /// The space that it takes on the disk, in bytes.
  public let allocatedSize: Int
  /// Whether the archive is complete. Then it never changes again, unless a store whose
  /// `resumeLastArchive` is set goes on with it. No store does so with an archive that is uploaded,
  /// pinned or leased. If it is not complete, it is being written, or was when its process died.
  public let isSealed: Bool
  /// Whether a process is writing it now.
  public let isActive: Bool
  /// What it holds; nil if it is not sealed, or was written by a version of mmlog that did not note
  /// it.
  public let contents: Contents?
  /// The head of the last archive in it; nil if it is not sealed, or its frames are not chained.
  public let head: ArchiveHead?
  /// What was noted about it.
  public internal(set) var state: ArchiveInfo.State

  /// What a sealed archive holds.
  public struct Contents: Equatable, Sendable {
    /// The wall times of its first and last record; nil without records.
    public let times: ClosedRange<Timestamp>?
    /// How the session ended, if it ends in this archive; of several sessions, that of the last one
    /// that crashed, or of the last one if none did.
    public let ending: SessionEnd.How?
    /// When that session ended: see ``SessionEnd/time``.
    public let endTime: Timestamp?
    private let counts: [UInt32]
    /// How many rows its frames have: each fragment of a record counts.
    package let rowCount: Int

    /// How many records there are of a level.
    public func count(_ level: Level) -> Int { Int(counts[Int(level.rawValue)]) }

    /// How many records there are whose level is not known: those that were written before a crash,
    /// after which the archive was continued. Each fragment of such a record counts.
    public var countOfUnknownLevel: Int { Int(counts[counts.count - 1]) }

    /// How many records there are. In ``countOfUnknownLevel``, each fragment counts.
    public var count: Int { counts.reduce(0) { $0 + Int($1) } }

    /// What two parts of an archive hold together.
    static func + (first: Contents, second: Contents) -> Contents {
      Contents(first, second)
    }

    private init(_ first: Contents, _ second: Contents) {
      let ranges = [first.times, second.times].compactMap { $0 }
      let (minimum, maximum) = (ranges.map(\.lowerBound).min(), ranges.map(\.upperBound).max())
      times = if let minimum, let maximum { minimum...maximum } else { nil }
      rowCount = first.rowCount + second.rowCount
      counts = zip(first.counts, second.counts).map { UInt32(clamping: Int($0) + Int($1)) }
      // By this, people search for the archives around a crash.
      let crash = [second, first].first { $0.ending?.isCrash == true } ?? second
      (ending, endTime) = (crash.ending, crash.endTime)
    }

    init(_ summary: RecordSummary, _ archiveCounts: ArchiveCounts) {
      let isOrdered = summary.count > 0 && summary.firstWall <= summary.lastWall
      times = isOrdered ? summary.firstWall...summary.lastWall : nil
      rowCount = Int(summary.count)
      counts = archiveCounts.counts
      ending = archiveCounts.ending
      endTime = archiveCounts.ending.map { _ in archiveCounts.endTime }
    }
  }

  /// When its last record was logged, if that is known; else when the archive was begun.
  /// ``Retention/age`` counts from that time.
  public var lastTime: Timestamp { contents?.times?.upperBound ?? created }

  /// How long ago ``lastTime`` was, by the present time of the clock; zero if it is in the future.
  public var age: Duration {
    max(.zero, .now - lastTime)
  }

  /// Whether a session that crashed ends in the archive. Limits spare such archives, and those
  /// beside them.
  package var isOfCrash: Bool { contents?.ending?.isCrash == true }
}

extension ArchiveInfo {
  /// What is noted about an archive, for all processes: in extended attributes `user.mmlog.*` of
  /// its file, or, where the file system has none, in a file beside it.
  public struct State: Equatable, Sendable {
    /// When it was uploaded; nil: it was not.
    public package(set) var uploaded: Timestamp?
    /// What the uploader noted with the mark, such as the receiver's receipt; nil: nothing, or it
    /// was not uploaded.
    public package(set) var receipt: String?
    /// Why it is pinned, so that no limit deletes it; nil: it is not.
    public package(set) var pinned: String?
    /// Who is uploading it, if anyone is.
    public package(set) var lease: UploadLease?
    /// What programs have noted: `LogStore.setAttribute(_:for:on:)`.
    public internal(set) var attributes: [String: String] = [:]

    init() {}

    /// Whether it is uploaded.
    public var isUploaded: Bool { uploaded != nil }
    /// Whether it is pinned.
    public var isPinned: Bool { pinned != nil }
  }
}

/// A lease on an archive. Whoever has the lease uploads the archive, and nobody else does before it
/// ends.
///
/// Other processes of the same machine and the same namespace of process numbers see it end with
/// the process that took it, too.
public struct UploadLease: Equatable, Sendable {
  /// Who has the lease: any text that distinguishes uploaders.
  public let owner: String
  /// When it ends by itself.
  public let expiry: Timestamp

  /// The longest lease that there is: a day. A lease that claims to end later, since the clock was
  /// set back, has ended.
  public static let longest = Duration.seconds(86400)

  /// The process that took it; nil if that is not known.
  package let process: ProcessMark?

  package init(owner: String, expiry: Timestamp, process: ProcessMark? = nil) {
    self.owner = owner
    self.expiry = expiry
    self.process = process
  }

  /// What keeps others from changing or removing the archive, and what to do about it.
  package var obstacle: String {
    "is being uploaded by \(owner), whose lease ends at \(expiry): release the lease, or wait for "
      + "its end"
  }

  /// Whether the lease is in force at a moment. It is not if its process is known to be gone now.
  public func isInForce(at now: Timestamp) -> Bool {
    now < expiry && expiry <= now + Self.longest && process?.isGone != true
  }
}
