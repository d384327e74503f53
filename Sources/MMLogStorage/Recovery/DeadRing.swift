import MMLogFormat
import MMLogSystem

/// The ring of a session whose process is dead, locked by the process that recovers it.
///
/// The recovery notes in the ring how far it has come, as the session's own drainer did. A limit
/// may delete an archive before the recovery has ended, and another recovery that begins again must
/// not take the archive's records for lost.
final class DeadRing: SessionNotes {
  let image: RingImage
  private let ring: LockedFile
  /// The number of the newest archive, as the ring says it.
  private var newestArchive: UInt32

  init(_ ring: consuming LockedFile) throws(LogError) {
    image = try RingImage(ring.file, keepsRecords: false)
    newestArchive = image.sessionState.newestArchive
    self.ring = ring
  }

  /// How many bytes of segments are read at a time: all of a ring of the default size.
  private static let readSize = 8 << 20

  /// Merges the records of the segments in use by time. In memory are only segments whose turn has
  /// come, as far as records of them are left. So the recovery of a large ring fits into the memory
  /// that its service is allowed.
  ///
  /// - Parameters:
  ///   - run: Makes the run of a segment, which is in memory.
  ///   - take: Takes all records that a collector gives.
  ///   - ended: Receives each run when none of its records is left.
  func merge(
    _ run: (RingImage.Segment) -> CollectedSegment, take: (inout FrameCollector) throws -> Void,
    ended: (CollectedSegment) -> Void
  ) throws {
    let earliest = earliestTicks
    let count = Self.readSize / image.fileHeader.geometry.segmentSize + 1
    var (runs, next) = ([CollectedSegment](), 0)
    while next < image.segments.count {
      for segment in image.segments[next...].prefix(count) {
        try image.load(segment, from: ring.file)
        runs.append(run(segment))
        next += 1
      }
      // A segment that is not in memory has no record before this one. If ticks do not rise with
      // generations, order gives way to memory.
      let cutoff = runs.count > 8 * count ? .max : earliest[next]
      var collector = FrameCollector(runs, cutoff: cutoff)
      try take(&collector)
      for run in collector.runs where run.isEmpty {
        ended(run)
        image.unload(segment: run.index)
      }
      runs = collector.runs.filter { !$0.isEmpty }
    }
  }

  /// Element `n`: the earliest ticks of any record in `segments[n...]`; `.max` behind the last
  /// segment.
  private var earliestTicks: [UInt64] {
    var ticks = [UInt64.max]
    for segment in image.segments.reversed() {
      ticks.append(min(ticks[ticks.count - 1], segment.firstTicks ?? .max))
    }
    return ticks.reversed()
  }

  /// Calls `body` with each segment in use while its records are in memory.
  func forEachSegment(_ body: (RingImage.Segment) -> Void) throws {
    for segment in image.segments {
      try image.load(segment, from: ring.file)
      body(segment)
      image.unload(segment: segment.index)
    }
  }

  /// The sessions that have a ring, and the dead ones among them: no process works for these, and
  /// they are not recovered yet. The sessions in whose files they went on are included.
  ///
  /// - Parameter strange: Receives each file that has a ring's name, but is none of ours: it stands
  ///   for no session. Receives, too, each ring that cannot be inspected: it counts as dead, and
  ///   stands for the session in its name.
  /// - Throws: ``LogError`` if the directory cannot be listed, or the process lacks descriptors or
  ///   memory for it now.
  static func sessions(
    in directory: String, strange: (LogError) -> Void
  ) throws(LogError) -> (all: Set<SessionID>, dead: Set<SessionID>) {
    var (all, dead) = (Set<SessionID>(), Set<SessionID>())
    do throws(SystemError) {
      let directory = try Directory.open(directory)
      let ownership = try Ownership(of: directory)
      for name in try directory.names() {
        guard let ring = FileNames.Ring(fileName: name) else { continue }
        do throws(SystemError) {
          guard let (isAlive, resumed) = try inspect(at: name, ownership, in: directory, strange)
          else { continue }
          let sessions = [ring.session, resumed].compactMap(\.self)
          all.formUnion(sessions)
          if !isAlive { dead.formUnion(sessions) }
        } catch  where !error.isOutOfResources {
          // The ring may stay like this for ever, and limits have to hold for all other sessions.
          all.insert(ring.session)
          dead.insert(ring.session)
          strange(
            LogError(
              error,
              while: "Inspecting a ring failed; no archive of its session is deleted meanwhile"))
        }
      }
      return (all, dead)
    } catch {
      throw LogError(
        error,
        while:
          "Searching for rings that are still to be recovered failed; no archive is deleted "
          + "meanwhile"
      )
    }
  }

  /// Whether a process works with a ring, and the session in whose file it went on; nil if the ring
  /// is gone, or not ours to open.
  private static func inspect(
    at name: String, _ ownership: Ownership, in directory: borrowing Directory,
    _ strange: (LogError) -> Void
  ) throws(SystemError) -> (isAlive: Bool, resumed: SessionID?)? {
    guard let status = try directory.status(of: name) else { return nil }
    do throws(LogError) { try ownership.check(status, directory.path(of: name)) } catch {
      strange(error)
      return nil
    }
    let file: File
    do throws(SystemError) {
      file = try directory.openFile(name, [.read, .nonBlocking])
    } catch  where error.isNotFound || error.isSymbolicLink || error.isRefusal {
      return nil
    }
    // Another file may have taken its place since the check.
    guard try ownership.isOwn(file.status()) else { return nil }
    let isAlive = try file.isLockedByAnother()
    let fileHeader = try file.bytes(at: 0, count: RingLayout.fileHeaderSize)
    // If the file header cannot be read, the areas are where a ring of this version has them.
    let areas = fileHeader.withUnsafeBytes { try? RingHeader($0) }?.areas ?? .usual
    let place = areas.sessionState
    let state = try file.bytes(at: place.lowerBound, count: place.count)
    guard state.count == place.count else { return (isAlive, nil) }
    return (isAlive, state.withUnsafeBytes { SessionState($0) }.resumed?.session)
  }

  /// A recovery begins each archive in a file of its own.
  func noteResumed(_ archive: ArchiveID) {}

  /// Notes the number of the newest archive only, and clears the number of frames that the one
  /// before has.
  func noteArchive(_ number: UInt32, frames: UInt32) throws(SystemError) {
    if number == newestArchive { return }
    let place = image.fileHeader.areas.sessionState.lowerBound
    try ring.file.write(all: [0, 0, 0, 0], at: place + SessionStateLayout.newestFrames)
    try ring.file.write(
      all: withUnsafeBytes(of: number.littleEndian) { Array($0) },
      at: place + SessionStateLayout.newestArchive)
    newestArchive = number
  }

  /// Notes what the session's next archive is chained to.
  func note(_ head: NotedHead) throws(SystemError) {
    guard let place = image.fileHeader.areas.head else { return }
    try ring.file.write(all: head.encoded, at: place.lowerBound)
  }

  /// Notes how many records were corrupted, at the level critical.
  func note(corrupted count: UInt64) throws(SystemError) {
    let place =
      image.fileHeader.areas.ledger.lowerBound + LossLedger.offset(.corrupted, .critical)
    try ring.file.write(all: withUnsafeBytes(of: count.littleEndian) { Array($0) }, at: place)
  }

  /// Notes how far the records of each segment are in an archive.
  ///
  /// - Parameters:
  ///   - areFlight: Whether the runs are of flight records, or of all others.
  ///   - noted: How far the run of each segment was the last time.
  func note(
    _ runs: [CollectedSegment], areFlight: Bool = false, _ noted: inout [Int: Int]
  ) throws(SystemError) {
    // After the machine went down, nobody believes what the ring says of archives.
    guard image.isOfThisBoot else { return }
    for run in runs where run.taken > noted[run.index, default: 0] {
      if areFlight {
        try note(captured: run.taken, of: run)
      } else {
        try note(archived: run.taken, ofSegment: run.index)
      }
      noted[run.index] = run.taken
    }
  }

  private func note(captured: Int, of run: CollectedSegment) throws(SystemError) {
    let seed = checksumSeed(
      session: image.fileHeader.identity.session, generation: run.header.generation)
    let word = SegmentUse.word(captured, seed: seed)
    let bytes = withUnsafeBytes(of: word.littleEndian) { Array($0) }
    try ring.file.write(all: bytes, at: image.fileHeader.geometry.use(ofSegment: run.index))
  }

  /// Notes it with one write, so that it is there with its complement, or not at all.
  private func note(archived: Int, ofSegment index: Int) throws(SystemError) {
    let start = image.fileHeader.geometry.offset(ofSegment: index) + SegmentLayout.archived
    let count = SegmentLayout.endChecksum - SegmentLayout.archived
    var bytes = try ring.file.bytes(at: start, count: count)
    // Someone has cut the ring.
    guard bytes.count == count else { return }
    let value = UInt32(archived)
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: value.littleEndian, as: UInt32.self)
      $0.storeBytes(
        of: (~value).littleEndian,
        toByteOffset: SegmentLayout.archivedChecksum - SegmentLayout.archived,
        as: UInt32.self)
    }
    try ring.file.write(all: bytes, at: start)
  }
}
