import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The files of a session that is followed, and how far each has been read.
final class FollowedSession {
  let identity: SessionIdentity
  private var reader: SessionReader?
  private var ring: File?
  private var image: RingImage?
  /// How far the ring's dictionary has been read, in bytes.
  private var dictionarySize = 0
  /// Whether more may come from the ring: until a scan has found its process gone, and one more has
  /// been made.
  private var isRunning = true
  private var wasLocked = true
  /// When the scan began by which ``image`` was made, by the counter that the session's records are
  /// stamped with.
  private var scanTicks: UInt64 = 0
  /// Whether that counter and ours are one.
  private var hasOurTicks = true
  /// Archives of which more may come, by rising number.
  private var archives: [Archive] = []
  /// The numbers of all archives that there were.
  private var numbers: Set<UInt32> = []
  private var hasEnded = false
  private let emitted = EmittedSegments()
  private let memory: FrameMemory
  private let identities: LogIdentities

  private struct Archive {
    let file: ArchiveFile
    /// The first frame, and the first corruption, that has not been read.
    var nextFrame = 0
    var nextCorruption = 0
    /// Whether it had been deleted when the last scan began to read it.
    var isDeleted = false
  }

  /// - Parameters:
  ///   - memory: What is shared with other sessions that are followed.
  ///   - identities: Who decrypts the ring, if it is encrypted.
  init(_ identity: SessionIdentity, _ memory: FrameMemory, _ identities: LogIdentities) {
    (self.identity, self.memory, self.identities) = (identity, memory, identities)
  }

  func add(ring new: consuming File) {
    // A copy: its process has the other one.
    if (try? ring?.isLockedByAnother()) == true, (try? new.isLockedByAnother()) != true { return }
    ring = consume new
  }

  func add(_ archive: ArchiveFile) {
    let number = archive.fileHeader.number
    // Not a copy of one that is known.
    guard numbers.insert(number).inserted else { return }
    let index = archives.firstIndex { $0.file.fileHeader.number > number } ?? archives.count
    archives.insert(Archive(file: archive), at: index)
  }

  /// Copies what is new in the ring. To be done for all sessions before anybody searches for new
  /// archives and frames: what is moved meanwhile is then in one of both, or in both.
  ///
  /// - Parameter ticks: What ``Clock/ticks()`` was when the scan began, which copies rings.
  func readRing(at ticks: UInt64) {
    guard ring != nil else { return }
    scanTicks = ticks
    // Before the copy: of a process that is gone, that has everything. But others may have logged
    // between the scan's beginning and its end: so that ends by the next scan.
    let isLocked = (try? ring?.isLockedByAnother()) ?? false
    isRunning = isLocked || wasLocked
    wasLocked = isLocked
    image = readImage()
  }

  /// Up to which ticks everything is there that has been logged: what was committed before the scan
  /// began is in the copy of the ring, or in an archive. Of archives alone that is not known, nor
  /// of the ring of another machine.
  private var horizon: UInt64 {
    ring != nil && isRunning && hasOurTicks ? scanTicks : .max
  }

  private func readImage() -> RingImage? {
    switch ring {
    case .some(let ring):
      try? RingImage(ring, identities: identities, knownDictionary: dictionarySize) {
        emitted.end(of: $0)
      }
    case .none: nil
    }
  }

  /// Searches for frames that were appended.
  func readArchives() {
    for index in archives.indices {
      let file = archives[index].file
      // Before it is read: what was appended until then is read, too.
      archives[index].isDeleted = file.isDeleted
      if !file.isClosed { _ = try? file.refresh() }
    }
  }

  /// What there is of the session's files at this moment, if nothing of it has been loaded.
  var files: SessionFiles {
    var files = SessionFiles(identity: identity)
    if let image { files.add(RingView(image: image, isRunning: isRunning)) }
    for archive in archives { files.add(archive.file) }
    return files
  }

  /// A reader of what is new, or nil if nothing is.
  func load(_ filter: LogReader.Filter) -> SessionReader? {
    let held = reader?.heldTicks
    // What the scan before this one has seen was logged before this one began.
    if let held, held > scanTicks { hasOurTicks = false }
    let batch = takeBatch()
    let ends = ring != nil && !isRunning && !hasEnded
    guard reader == nil || held != nil || !batch.isEmpty || ends else { return nil }
    let reader = reader ?? SessionReader(following: identity, filter, memory, emitted)
    self.reader = reader
    reader.load(batch, until: horizon)
    if ends || (ring == nil && !hasEnded && reader.endMark != nil) {
      hasEnded = true
      reader.end(image.map { RingView(image: $0, isRunning: false) })
      ring = nil
    }
    image = nil
    return reader
  }

  private func takeBatch() -> SessionBatch {
    var batch = SessionBatch()
    if let image {
      batch.ring = RingView(image: image, isRunning: isRunning)
      if batch.ring?.image.isOfThisBoot == false { hasOurTicks = false }
      dictionarySize = image.dictionarySize
    }
    for index in archives.indices {
      let (file, next) = (archives[index].file, archives[index].nextFrame)
      // What follows the last frame is left out: it may be one that is being written.
      let new = file.corruption[archives[index].nextCorruption...]
      archives[index].nextFrame = file.frames.count
      archives[index].nextCorruption = file.corruption.count
      guard next < file.frames.count || !new.isEmpty else { continue }
      batch.frames.append(
        SessionBatch.Frames(archive: file, range: next..<file.frames.count, corruption: Array(new)))
    }
    // Nothing more comes of these. They are open until what is in the batch has been read.
    archives.removeAll { $0.file.isClosed || $0.isDeleted }
    return batch
  }
}

/// What is to be read of a session at one time.
struct SessionBatch {
  struct Frames {
    let archive: ArchiveFile
    let range: Range<Int>
    let corruption: [LogReader.Corruption]
  }

  var frames: [Frames] = []
  var ring: RingView?

  var isEmpty: Bool {
    guard frames.isEmpty, let image = ring?.image else { return frames.isEmpty }
    return image.segments.isEmpty && image.entries.isEmpty
  }
}
