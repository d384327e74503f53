import MMLogFormat
import MMLogStorage

/// The runs of a session, merged.
package struct SessionRuns {
  private typealias Place = MergeHeap<UInt64, Run>.Place

  /// The run at the front. It is out of the heap for as long as it comes before all others.
  package private(set) var current: Run?
  /// The order of that run: frames in the order of the archives, then the ring's segments.
  package private(set) var currentOrder = 0
  /// The current run comes before all others as long as its ticks are not greater.
  private(set) var limit = UInt64.max
  private var heap = MergeHeap<UInt64, Run>()
  /// Frames that the merge has not arrived at, the earliest last.
  private var later: [LaterFrame] = []
  private var count = 0
  /// Frames that wait for others to end, so that memory stays limited.
  private var waiting: [FrameRun] = []
  private var openBytes = 0
  /// The size of the frames that the merge has not arrived at, in bytes.
  private(set) var laterBytes = 0
  private let threads: ThreadTable
  private let filter: SessionFilter
  private let memory: FrameMemory
  /// Whether frames are read one after the other, as they were written.
  private let isInOrder: Bool
  /// Whether records of a ring are given that no identity decrypts.
  private let givesSealed: Bool

  private struct LaterFrame {
    let place: Place
    let archive: ArchiveFile
    let frame: ArchiveFile.Frame
    let emitted: EmittedRecords?
    let passedRows: UInt32
  }

  /// How much memory open frames may take. Only a file with false times comes near the limit; its
  /// records are then given later than they should be.
  private static let maximumOpenBytes = 256 << 20

  /// - Parameters:
  ///   - memory: The memory that all sessions share that are read at the same time.
  ///   - isInOrder: Whether to read frames one after the other, as they were written, and not
  ///     merged by time.
  ///   - givesSealed: Whether to give records of a ring that no identity decrypts, as they stand
  ///     there.
  init(
    _ threads: ThreadTable, _ filter: SessionFilter, _ memory: FrameMemory = FrameMemory(),
    isInOrder: Bool = false, givesSealed: Bool = false
  ) {
    self.isInOrder = isInOrder
    self.givesSealed = givesSealed
    self.threads = threads
    self.filter = filter
    self.memory = memory
  }

  /// Takes the next step of the run that is then ``current``; nil at the end.
  package mutating func step() -> RunStep? {
    while let run = front() {
      switch run.step() {
      case .nothing: continue
      case .end: end(run)
      case let step: return step
      }
    }
    return nil
  }

  /// The run whose turn it is, taken out of the heap; nil if there is none.
  mutating func front() -> Run? {
    if let current {
      if current.ticks <= limit { return current }
      heap.insert(current, key: current.ticks, order: currentOrder)
    }
    return choose()
  }

  /// Leaves the front run, which has come to its end.
  mutating func end(_ run: Run) {
    current = nil
    guard let frame = run as? FrameRun else { return }
    openBytes -= frame.size
    if !waiting.isEmpty { insert(waiting.removeFirst()) }
  }

  private mutating func choose() -> Run? {
    repeat {
      insertDue()
      current = nil
      guard let (run, order) = heap.popFirst() else { return nil }
      if let frame = run as? FrameRun, !frame.isOpened, mustWait(frame) { continue }
      (current, currentOrder) = (run, order)
    } while current == nil
    var next = heap.firstPlace
    if let frame = later.last, next.map({ frame.place < $0 }) ?? true {
      next = frame.place
    }
    limit = isInOrder ? .max : next.map { $0.lastKey(before: currentOrder) } ?? .max
    return current
  }

  /// Puts the frames that are due into the heap.
  private mutating func insertDue() {
    while let next = later.last {
      if let first = heap.firstPlace, first < next.place { return }
      later.removeLast()
      laterBytes -= next.frame.header.payloadSize
      let run = FrameRun(
        next.archive, next.frame, threads, filter, memory, emitted: next.emitted,
        passing: next.passedRows)
      heap.insert(run, key: next.place.key, order: next.place.order)
    }
  }

  private mutating func mustWait(_ frame: FrameRun) -> Bool {
    if openBytes > 0 && openBytes + frame.size > Self.maximumOpenBytes {
      waiting.append(frame)
      return true
    }
    openBytes += frame.size
    return false
  }

  private mutating func insert(_ run: Run) {
    heap.insert(run, key: key(run.ticks), order: count)
    count += 1
  }

  /// Decides which of two runs comes first. If both have the same key, the run that was added first
  /// comes first.
  private func key(_ ticks: UInt64) -> UInt64 { isInOrder ? 0 : ticks }

  // MARK: - Filling

  /// Prepares for additions while there are runs that have not come to their end.
  ///
  /// Segments are removed: what of them was not given is in the next copy of the ring, or in a
  /// frame.
  mutating func makeRoom() {
    if let current { heap.insert(current, key: current.ticks, order: currentOrder) }
    current = nil
    heap.removeAll { $0 is SegmentRun }
  }

  /// Adds frames of an archive, and all corruption between them.
  ///
  /// - Parameters:
  ///   - end: Where a reader goes on that has read the whole archive; nil if more of it may come.
  ///   - skipped: The offsets of the frames that are not to be read.
  ///   - start: The ordinal of the first frame to read, and how many of its rows are passed over.
  ///   - passed: Corruption before this place is passed over.
  ///   - given: Returns what of a frame was given before.
  mutating func add(
    _ archive: ArchiveFile, _ frames: ArraySlice<ArchiveFile.Frame>,
    _ corruption: [LogReader.Corruption], end: LogReader.Cursor.Place? = nil,
    besides skipped: Set<Int>, from start: (frame: UInt64, row: UInt32) = (0, 0),
    passing passed: LogReader.Cursor.Place? = nil,
    given: (FrameHeader) -> EmittedRecords = { _ in EmittedRecords() }
  ) {
    var corruption = corruption.sorted { $0.offset > $1.offset }
    let number = archive.fileHeader.number
    // Not the time when the archive was begun: records of the session that wait behind it may be
    // older.
    let began = archive.fileHeader.identity.startTime
    var (ticks, clock) = (UInt64(0), TickClock(ticks: 0, wall: began, rate: 0))
    for frame in frames
    where frame.header.type == .records && frame.header.ordinal >= start.frame {
      (ticks, clock) = (frame.header.summary.firstTicks, frame.header.clock)
      let place = LogReader.Cursor.Place(archive: number, frame: frame.header.ordinal)
      while let note = corruption.last, note.offset <= frame.offset {
        corruption.removeLast()
        // At the start of an archive, nothing of it has been given.
        if let passed, passed != .init(archive: number), place <= passed { continue }
        insert(CorruptionRun(note, ticks: ticks, clock: clock, before: place))
      }
      let passed = frame.header.ordinal == start.frame ? start.row : 0
      if !skipped.contains(frame.offset) {
        add(archive, frame, given(frame.header), passing: passed)
      }
      ticks = frame.header.summary.lastTicks
    }
    for note in corruption.reversed() {
      if let passed, let end, end <= passed { continue }
      insert(CorruptionRun(note, ticks: ticks, clock: clock, before: end))
    }
  }

  private mutating func add(
    _ archive: ArchiveFile, _ frame: ArchiveFile.Frame, _ given: EmittedRecords,
    passing passedRows: UInt32
  ) {
    // For a follower, most frames have nothing new, and need not be read. The number alone does not
    // prove that: records that were given may have been erased before the frame was written, and as
    // many new ones may have come.
    let isGiven = !given.isPartial && given.count == frame.header.summary.count
    guard filter.mayPass(frame.header.summary, isFlight: frame.header.isFlight),
      passedRows < max(1, frame.header.summary.count), given.isEmpty || !isGiven
    else { return }
    laterBytes += frame.header.payloadSize
    later.append(
      LaterFrame(
        place: Place(key: key(frame.header.summary.firstTicks), order: count),
        archive: archive, frame: frame,
        emitted: given.isEmpty ? nil : given, passedRows: passedRows))
    count += 1
  }

  /// Adds the segments and the corruption of a ring.
  ///
  /// - Returns: The segments' runs.
  mutating func add(
    _ ring: RingView, _ segments: [RingImage.Segment], corruption: [LogReader.Corruption],
    emitted: EmittedSegments?
  ) -> [SegmentRun] {
    let image = ring.image
    for note in corruption { insert(CorruptionRun(note, ticks: 0, clock: image.clock)) }
    let runs = segments.map {
      SegmentRun(ring, $0, threads, filter, emitted: emitted, givesSealed: givesSealed)
    }
    for run in runs { insert(run) }
    return runs
  }

  /// Completes the filling. Call it after everything has been added.
  mutating func start() {
    later.sort { $1.place < $0.place }
  }
}
