import MMLogFormat
import MMLogStorage

/// All files of one session.
struct SessionFiles {
  let identity: SessionIdentity
  private(set) var ring: InputFiles.RingInput?
  /// By rising number.
  private(set) var archives: [ArchiveFile] = []

  /// Sorts files by session. A copy of a file that is there already is left out: of each ring the one
  /// that goes further counts, and so of each archive.
  static func group(_ files: InputFiles) -> [SessionFiles] {
    var sessions: [SessionID: SessionFiles] = [:]
    for ring in files.rings {
      let identity = ring.image.head.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(ring)
    }
    // Where a head is lost, other files of its session say who that is.
    for archive in files.archives.filter({ !$0.isHeadLost }) + files.archives.filter(\.isHeadLost) {
      let identity = archive.head.identity
      sessions[identity.session, default: SessionFiles(identity: identity)].add(archive)
    }
    return sessions.values.sorted {
      ($0.identity.startTime, $0.identity.session.description)
        < ($1.identity.startTime, $1.identity.session.description)
    }
  }

  init(identity: SessionIdentity) { self.identity = identity }

  /// How large all frames of records are, in bytes.
  var recordBytes: Int {
    archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
      .reduce(0) { $0 + $1.header.payloadSize }
  }

  mutating func add(_ new: InputFiles.RingInput) {
    let newest = { (ring: InputFiles.RingInput) in ring.image.segments.last?.header.generation ?? 0
    }
    if let ring, newest(ring) >= newest(new) { return }
    ring = new
  }

  mutating func add(_ new: ArchiveFile) {
    let number = new.head.number
    if let index = archives.firstIndex(where: { $0.head.number >= number }) {
      if archives[index].head.number > number {
        archives.insert(new, at: index)
      } else if archives[index].length < new.length {
        archives[index] = new
      }
    } else {
      archives.append(new)
    }
  }
}

extension SessionFiles {
  /// How the session ended, as its ring and the last mark of its archives say.
  func ending(_ mark: SessionEnd?) -> SessionEnding {
    if let ring, ring.isRunning { return .running }
    return SessionEnding(mark, ring?.end)
  }

  /// When it crashed, in nanoseconds since 1970; nil if it did not.
  var crashTime: Int64? {
    var summary = SessionSummary()
    summary.read(self)
    guard case .ended(let end) = ending(summary.end), end.how.isCrash else { return nil }
    return end.time
  }
}

extension SessionEnding {
  /// How a session ended that is not running.
  ///
  /// - Parameters:
  ///   - mark: What its last archive says.
  ///   - ring: What its ring says; nil if there is none.
  init(_ mark: SessionEnd?, _ ring: SessionEnd?) {
    self = (mark ?? ring).map { .ended($0) } ?? .unknown
  }
}
