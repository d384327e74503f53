import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The files of a session that is followed, and how far each has been read.
final class FollowedSession {
  let identity: SessionIdentity
  private var reader: SessionReader?
  private var ring: File?
  private var image: RingImage?
  /// The generations of segments that were in use when ``image`` was made, as they stand there.
  private var generations: Set<UInt64> = []
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
  /// How much of each archive has been read, by its number: of its frames, of what is wrong between
  /// them, and whether nothing more of it is to come.
  private var read: [UInt32: (frames: Int, corruption: Int, isOver: Bool)] = [:]
  /// The greatest number of an archive that was found.
  private var newest: UInt32 = 0
  /// The greatest number of an archive that has been read, or need not be; nil: nothing has been
  /// loaded. Nobody who begins to follow misses what is gone by then.
  private var last: UInt32?
  /// A file with records that nobody here decrypts, and why.
  private(set) var locked: (path: String, reason: FormatError)?
  private var hasBegun = false
  private var hasEnded = false
  /// Whether it has ended, and nothing is left to be read. What is in memory of it is little then.
  private(set) var isOver = false
  /// The ring of a session that has ended, until it has been recovered: then nothing of it follows.
  private var deadRing: (path: String, identity: FileStatus.Identity)?
  let emitted = EmittedSegments()
  private let memory: FrameMemory
  private let identities: LogIdentities

  private struct Archive {
    let file: ArchiveFile
    /// Whether it had been deleted when the last scan began to read it.
    var isDeleted = false
  }

  /// - Parameters:
  ///   - isNew: Whether the session has begun since somebody follows: then its first archive counts
  ///     as missing if it is not there.
  ///   - memory: What is shared with other sessions that are followed.
  ///   - identities: Who decrypts the ring, if it is encrypted.
  init(
    _ identity: SessionIdentity, isNew: Bool, _ memory: FrameMemory, _ identities: LogIdentities
  ) {
    (self.identity, self.memory, self.identities) = (identity, memory, identities)
    last = isNew ? 0 : nil
  }

  func add(ring new: consuming File) {
    // A copy: its process has the other one.
    if (try? ring?.isLockedByAnother()) == true, (try? new.isLockedByAnother()) != true { return }
    ring = consume new
  }

  func add(_ archive: ArchiveFile) {
    let number = archive.fileHeader.number
    var index = archives.firstIndex(from: number, by: \.file.fileHeader.number)
    while index < archives.count, archives[index].file.fileHeader.number == number {
      // A copy of one that is there.
      if !archives[index].file.isDeleted { return }
      index += 1
    }
    // One that has taken the place of another may go on where that ended.
    let known = read[number]?.frames ?? -1
    if archive.isClosed, archive.frames.count <= known { return }
    archives.insert(Archive(file: archive), at: index)
    newest = max(newest, number)
  }

  /// Copies what is new in the ring. To be done for all sessions before anybody searches for new
  /// archives and frames: what is moved meanwhile is then in one of both, or in both.
  ///
  /// - Parameter ticks: What ``Clock/ticks()`` was when the scan began, which copies rings.
  func readRing(at ticks: UInt64) {
    if let dead = deadRing, isGone(dead) { deadRing = nil }
    guard ring != nil else { return }
    scanTicks = ticks
    // Before the copy: of a process that is gone, that has everything. But others may have logged
    // between the scan's beginning and its end: so that ends by the next scan.
    let isLocked = (try? ring?.isLockedByAnother()) ?? false
    isRunning = isLocked || wasLocked
    wasLocked = isLocked
    image = readImage()
  }

  private func isGone(_ ring: (path: String, identity: FileStatus.Identity)) -> Bool {
    do throws(SystemError) {
      return try File.status(ofPath: ring.path).identity != ring.identity
    } catch {
      return error.isNotFound
    }
  }

  /// Up to which ticks everything is there that has been logged: what was committed before the scan
  /// began is in the copy of the ring, or in an archive. Of archives alone that is not known, nor
  /// of the ring of another machine.
  private var horizon: UInt64 {
    ring != nil && isRunning && hasOurTicks ? scanTicks : .max
  }

  private func readImage() -> RingImage? {
    generations = []
    switch ring {
    case .some(let ring):
      return try? RingImage(ring, identities: identities, knownDictionary: dictionarySize) {
        generations.insert($0)
        return emitted.end(of: $0)
      }
    case .none: return nil
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

  /// Whether archives are missing before one that was found.
  var lacksArchives: Bool {
    guard var last else { return false }
    return archives.contains { last.gap(to: $0.file.fileHeader.number) != nil }
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
    isOver = false
    guard !hasBegun || held != nil || !batch.isEmpty || ends else {
      isOver = hasEnded && archives.isEmpty && deadRing == nil
      if isOver { forget() }
      return nil
    }
    hasBegun = true
    let reader = reader ?? SessionReader(following: identity, filter, memory, emitted)
    self.reader = reader
    reader.load(batch, until: horizon, since: filter.since)
    // What was archived before the ring was copied, and is not there any more, is in the batch.
    // A generation in which a bit was wrong is in the image as it was corrected.
    if let image {
      emitted.forget(besides: generations.union(image.segments.map(\.header.generation)))
    }
    if ends || (ring == nil && !hasEnded && reader.endMark != nil) {
      hasEnded = true
      reader.end(image.map { RingView(image: $0, isRunning: false) })
      if let path = ring?.path, let identity = try? ring?.status().identity {
        deadRing = (path, identity)
      }
      ring = nil
    }
    image = nil
    return reader
  }

  /// Forgets all that only those need who read more of it. Should an archive come after all, its
  /// records are given as those of a session that begins.
  private func forget() {
    (reader, image) = (nil, nil)
    emitted.forget(besides: [])
  }

  /// Finds out which archives are missing before those that were found, and behind them if the
  /// process is gone.
  private func findGaps() -> [LogReader.Gap.Cause] {
    let numbers = archives.map(\.file.fileHeader.number)
    let newest = image?.newestArchive ?? 0
    guard var last else {
      if !numbers.isEmpty || image != nil { self.last = max(numbers.last ?? 0, newest) }
      return []
    }
    var gaps = numbers.compactMap { last.gap(to: $0) }.map(LogReader.Gap.Cause.archivesNotHere)
    // Of a process that lives, an archive that is deleted is missed once the next one is there. Who
    // follows a ring alone misses none.
    if let image, !isRunning, !read.isEmpty, newest > last {
      gaps.append(
        image.mayNewestBeSealed
          ? .archivesNotHere(Int(last) + 1...Int(newest)) : .newestArchiveNotHere(Int(newest)))
      last = newest
    }
    self.last = last
    return gaps
  }

  private func takeBatch() -> SessionBatch {
    var batch = SessionBatch()
    batch.gaps = findGaps()
    if let image {
      batch.ring = RingView(image: image, isRunning: isRunning)
      if let reason = image.lock { locked = locked ?? (image.path, reason) }
      if batch.ring?.image.isOfThisBoot == false { hasOurTicks = false }
      dictionarySize = image.dictionarySize
    }
    for file in archives.map(\.file) {
      let number = file.fileHeader.number
      let known = read[number] ?? (0, 0, false)
      // What follows the last frame is left out until a later archive is there: it may be one that
      // is being written.
      let isOver = file.isClosed || number < newest
      let new =
        file.corruption.dropFirst(known.corruption)
        + (isOver && !known.isOver ? file.endCorruption : [])
      let end = max(known.frames, file.frames.count)
      read[number] = (
        end, max(known.corruption, file.corruption.count), isOver || known.isOver
      )
      guard known.frames < end || !new.isEmpty else { continue }
      let range = min(known.frames, file.frames.count)..<file.frames.count
      if locked == nil {
        let reason = file.frames[range].lazy.compactMap { file.lock(of: $0) }.first
        locked = reason.map { (file.path, $0) }
      }
      batch.frames.append(
        SessionBatch.Frames(archive: file, range: range, corruption: Array(new)))
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
  /// The archives that are missing.
  var gaps: [LogReader.Gap.Cause] = []
  var ring: RingView?

  var isEmpty: Bool {
    if !gaps.isEmpty { return false }
    guard frames.isEmpty, let image = ring?.image else { return frames.isEmpty }
    return image.segments.isEmpty && image.entries.isEmpty
  }
}

extension UInt32 {
  /// Goes on from the last archive's number to another one.
  ///
  /// - Returns: The numbers between; nil if there are none.
  fileprivate mutating func gap(to number: UInt32) -> ClosedRange<Int>? {
    let last = self
    self = Swift.max(last, number)
    return number > last && number - last > 1 ? Int(last) + 1...Int(number) - 1 : nil
  }
}
