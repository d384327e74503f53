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
  private var isRunning = false
  private var archives: [Archive] = []
  private var hasEnded = false
  private let given = GivenSegments()
  private let memory: FrameMemory

  private struct Archive {
    let file: ArchiveFile
    /// The first frame, and the first damage, that has not been read.
    var nextFrame = 0
    var nextDamage = 0
  }

  /// - Parameter memory: What is shared with other sessions that are followed.
  init(_ identity: SessionIdentity, _ memory: FrameMemory) {
    (self.identity, self.memory) = (identity, memory)
  }

  func add(ring: consuming File) { self.ring = consume ring }

  func add(_ archive: ArchiveFile) {
    let number = archive.head.number
    let index = archives.firstIndex { $0.file.head.number >= number } ?? archives.count
    // A copy of one that is known.
    if index < archives.count, archives[index].file.head.number == number { return }
    archives.insert(Archive(file: archive), at: index)
  }

  /// Copies what is new in the ring. To be done for all sessions before anybody looks for new archives and frames: what
  /// is moved meanwhile is then in one of both, or in both.
  func readRing() {
    guard ring != nil else { return }
    // Before the copy: of a process that is gone, that has everything.
    isRunning = (try? ring?.isLockedByAnother()) ?? false
    image = readImage()
  }

  private func readImage() -> RingImage? {
    switch ring {
    case .some(let ring):
      try? RingImage(ring, knownDictionary: dictionarySize) { given.end(of: $0) }
    case .none: nil
    }
  }

  /// Looks for frames that were appended.
  func readArchives() {
    for archive in archives where !archive.file.isClosed { _ = try? archive.file.refresh() }
  }

  /// What there is of the session's files at this moment, if nothing of it has been read.
  var files: SessionFiles {
    var files = SessionFiles(identity: identity)
    if let image { files.add(InputFiles.RingInput(image: image, isRunning: isRunning)) }
    for archive in archives { files.add(archive.file) }
    return files
  }

  /// A reader of what is new, or nil if nothing is.
  func load(_ filter: LogFilter) -> SessionReader? {
    let batch = takeBatch()
    let ends = ring != nil && !isRunning && !hasEnded
    guard reader == nil || !batch.isEmpty || ends else { return nil }
    let reader = reader ?? SessionReader(following: identity, filter, memory, given)
    self.reader = reader
    reader.load(batch)
    if ends || (ring == nil && !hasEnded && reader.endMark != nil) {
      hasEnded = true
      reader.end(image)
      ring = nil
    }
    image = nil
    return reader
  }

  private func takeBatch() -> SessionBatch {
    var batch = SessionBatch()
    if let image {
      batch.ring = InputFiles.RingInput(image: image, isRunning: isRunning)
      dictionarySize = image.dictionarySize
    }
    for index in archives.indices {
      let (file, next) = (archives[index].file, archives[index].nextFrame)
      // What follows the last frame may be one that is being written.
      let damage = file.damage.filter { $0.upperBound <= file.end || file.isClosed }
      let new = damage.dropFirst(archives[index].nextDamage)
      archives[index].nextFrame = file.frames.count
      archives[index].nextDamage = damage.count
      guard next < file.frames.count || !new.isEmpty else { continue }
      batch.frames.append(
        SessionBatch.Frames(archive: file, range: next..<file.frames.count, damage: Array(new)))
    }
    return batch
  }
}

/// What is to be read of a session at one time.
struct SessionBatch {
  struct Frames {
    let archive: ArchiveFile
    let range: Range<Int>
    let damage: [Range<Int>]
  }

  var frames: [Frames] = []
  var ring: InputFiles.RingInput?

  var isEmpty: Bool {
    guard frames.isEmpty, let image = ring?.image else { return frames.isEmpty }
    return image.segments.isEmpty && image.entries.isEmpty
  }
}
