import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The files of a session that is followed, and how far each has been read.
final class FollowedSession {
  let identity: SessionIdentity
  private(set) var reader: SessionReader?
  private var ring: File?
  private var image: RingImage?
  /// Why the last scan could not copy the ring.
  private(set) var ringError: LogError?
  /// The generations of segments that were in use when the ring was copied last.
  private var generations: Set<UInt64> = []
  /// How far the ring's dictionary has been read, in bytes.
  private var dictionarySize = 0
  /// Whether more may come from the ring. This ends one scan after a scan has found the process
  /// gone.
  private var isRunning = true
  private var wasLocked = true
  /// The ticks when the scan began that made ``image``, by the counter that the session's records
  /// are stamped with.
  private var scanTicks: UInt64 = 0
  /// Whether this process has the same counter.
  private var hasOurTicks = true
  /// Archives of which more may come, by rising number.
  private var archives: [Archive] = []
  /// How much of each archive has been read, by its number: frames, corruption between the frames,
  /// and whether nothing more of the archive is to come.
  private var read: [UInt32: (frames: Int, corruption: Int, isOver: Bool)] = [:]
  /// The greatest number of an archive that was found.
  private var newest: UInt32 = 0
  /// The greatest number of an archive that has been read, or need not be; nil: nothing has been
  /// loaded. Archives that are gone when following begins are not missing.
  private var last: UInt32?
  /// A file with records that no identity decrypts, and why.
  private(set) var locked: (path: String, reason: FormatError)?
  private var hasBegun = false
  private var hasEnded = false
  /// Whether the session has ended, and nothing is left to be read. Then it takes little memory.
  var isOver = false
  /// The ring of a session that has ended, until it has been recovered: then nothing more comes.
  private var deadRing: (path: String, identity: FileStatus.Identity)?
  let emitted = EmittedSegments()
  private let memory: FrameMemory
  private let identities: LogIdentities

  private struct Archive {
    let file: ArchiveFile
    /// Whether the archive had been deleted when the last scan began to read it.
    var isDeleted = false
  }

  /// - Parameters:
  ///   - isNew: Whether the session began after following began. Then its first archive counts as
  ///     missing if it does not exist.
  ///   - memory: The memory that all followed sessions share.
  ///   - identities: The identities that decrypt the ring, if it is encrypted.
  init(
    _ identity: SessionIdentity, isNew: Bool, _ memory: FrameMemory, _ identities: LogIdentities
  ) {
    (self.identity, self.memory, self.identities) = (identity, memory, identities)
    last = isNew ? 0 : nil
  }

  func add(ring new: consuming File) {
    // The new file is a copy: the session's process has the other one.
    if (try? ring?.isLockedByAnother()) == true, (try? new.isLockedByAnother()) != true { return }
    ring = consume new
  }

  func add(_ archive: ArchiveFile) {
    let number = archive.fileHeader.number
    let index = archives.firstIndex(from: number, by: \.file.fileHeader.number)
    // A copy of an archive, or one that has replaced it, may go on where that one ended.
    let known = read[number]?.frames ?? -1
    if archive.isClosed, archive.frames.count <= known { return }
    archives.insert(Archive(file: archive), at: index)
    newest = max(newest, number)
  }

  /// Copies what is new in the ring. This must be done for all sessions before any search for new
  /// archives and frames. Then records that are moved meanwhile are in the copy, in an archive, or
  /// in both.
  ///
  /// - Parameter ticks: The value of ``Clock/ticks()`` when the scan began that copies rings.
  func readRing(at ticks: UInt64) {
    if let dead = deadRing, isGone(dead) { deadRing = nil }
    guard ring != nil else { return }
    scanTicks = ticks
    // The lock is tested before the copy: if the process is gone, the copy has everything. But
    // other processes may have logged after the scan began and before this process ended. Therefore
    // the session ends with the next scan.
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

  /// Whether the ring does not have its name any more: then a recovery has archived what it had, or
  /// has put it aside.
  private var isRingDeleted: Bool {
    guard let path = ring?.path, let identity = try? ring?.status().identity else { return false }
    return isGone((path, identity))
  }

  /// The ticks up to which every logged record was found: what was committed before the scan began
  /// is in the copy of the ring, or in an archive. This is not known for archives without a ring,
  /// or for the ring of another machine.
  private var horizon: UInt64 {
    ring != nil && isRunning && hasOurTicks ? scanTicks : .max
  }

  private func readImage() -> RingImage? {
    switch ring {
    case .some(let ring):
      var found: Set<UInt64> = []
      do throws(LogError) {
        let image = try RingImage(ring, identities: identities, knownDictionary: dictionarySize) {
          found.insert($0)
          return emitted.end(of: $0)
        }
        // If a bit of a generation was wrong, the image has the corrected generation.
        generations = found.union(image.segments.map(\.header.generation))
        ringError = nil
        return image
      } catch {
        ringError = error
      }
    case .none: break
    }
    return nil
  }

  /// Searches for frames that were appended.
  func readArchives() {
    for index in archives.indices {
      let file = archives[index].file
      // Before the refresh: what was appended until the deletion is read, too.
      archives[index].isDeleted = file.isDeleted
      if !file.isClosed { _ = try? file.refresh() }
    }
  }

  /// Whether archives are missing before one that was found.
  var lacksArchives: Bool {
    guard var last else { return false }
    return archives.contains { last.gap(to: $0.file.fileHeader.number) != nil }
  }

  /// The session's files at this moment, if nothing of the session has been loaded.
  var files: SessionFiles {
    var files = SessionFiles(identity: identity)
    if let image { files.add(RingView(image: image, isRunning: isRunning)) }
    for archive in archives { files.add(archive.file) }
    return files
  }

  /// A reader of what is new, or nil if nothing is.
  func load(_ filter: LogReader.Filter) -> SessionReader? {
    let held = reader?.heldTicks
    // Records that the previous scan has seen were logged before this scan began.
    if let held, held > scanTicks { hasOurTicks = false }
    let batch = takeBatch()
    let ends = ring != nil && !isRunning && !hasEnded && (image != nil || isRingDeleted)
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
    // Records that were archived before the ring was copied, and that the ring no longer has, are
    // in the batch, or in frames that could not be read yet.
    if !isBehindRing { emitted.forget(besides: generations) }
    reader.forget(besides: generations)
    if ends || (ring == nil && !hasEnded && reader.endMark != nil) {
      hasEnded = true
      reader.end(image.map { RingView(image: $0, isRunning: false) })
      if let path = ring?.path, let identity = try? ring?.status().identity {
        deadRing = (path, identity)
      }
      ring = nil
      ringError = nil
    }
    image = nil
    return reader
  }

  /// Whether the ring's process has written frames that have not been found yet. If only a ring is
  /// followed, or the frames are lost, that remains so.
  private var isBehindRing: Bool {
    guard let image, emitted.count < Self.maximumEmitted else { return false }
    let state = image.sessionState
    if state.newestArchive > newest { return true }
    return furthest.contains {
      $0.fileHeader.number == state.newestArchive && $0.lack(ofFrames: state.newestFrames) != nil
    }
  }

  /// How many records of the ring are remembered at least, to find them in frames that are read
  /// late.
  private static let maximumEmitted = 1 << 18

  /// Forgets everything that only a reader of more records needs. If another archive comes after
  /// all, its records are given as those of a session that begins.
  private func forget() {
    (reader, image) = (nil, nil)
    emitted.forget(besides: [])
  }

  /// Finds out which archives are missing before those that were found. If the process is gone,
  /// also those that are missing behind them.
  private func findGaps() -> [LogReader.Gap.Cause] {
    let numbers = archives.map(\.file.fileHeader.number)
    let newest = image?.sessionState.newestArchive ?? 0
    guard var last else {
      if !numbers.isEmpty || image != nil { self.last = max(numbers.last ?? 0, newest) }
      return []
    }
    var gaps = numbers.compactMap { last.gap(to: $0) }.map(LogReader.Gap.Cause.archivesNotHere)
    // While the process lives, a deleted archive is reported once the next one exists. A reader
    // that follows only a ring misses no archive.
    if let image, !isRunning, !read.isEmpty, newest > last {
      gaps.append(
        image.sessionState.mayNewestBeSealed
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
    for file in furthest {
      let number = file.fileHeader.number
      let known = read[number] ?? (0, 0, false)
      // What follows the last frame is left out until a later archive exists: it may be a frame
      // that is being written.
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
    // Nothing more comes of these archives. They stay open until the batch has been read.
    let closed = Set(archives.map(\.file).filter(\.isClosed).map(\.fileHeader.number))
    archives.removeAll { $0.isDeleted || closed.contains($0.file.fileHeader.number) }
    return batch
  }

  /// The archives to read: of several copies of one, the one that goes furthest.
  private var furthest: [ArchiveFile] {
    var files: [ArchiveFile] = []
    for file in archives.map(\.file) {
      guard let last = files.last, last.fileHeader.number == file.fileHeader.number else {
        files.append(file)
        continue
      }
      if (last.frames.count, last.isClosed ? 1 : 0) < (file.frames.count, file.isClosed ? 1 : 0) {
        files[files.count - 1] = file
      }
    }
    return files
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
