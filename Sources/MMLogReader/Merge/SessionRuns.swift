import MMLogFormat
import MMLogStorage

/// The runs of a session, merged.
package struct SessionRuns {
  private typealias Place = MergeHeap<UInt64, Run>.Place

  /// The run that is at the front, taken out of the heap for as long as it is before all others.
  package private(set) var current: Run?
  /// Which of the runs it is: frames in the order of the archives, then the ring's segments.
  package private(set) var currentOrder = 0
  /// How far the current run is before all others: as long as its ticks are not greater.
  private(set) var limit = UInt64.max
  private var heap = MergeHeap<UInt64, Run>()
  /// Frames that the merge has not arrived at, the earliest last.
  private var later: [LaterFrame] = []
  private var count = 0
  /// Frames that wait for others to end, so that not too much is in memory.
  private var waiting: [FrameRun] = []
  private var openBytes = 0
  /// Of frames that the merge has not arrived at, in bytes.
  private(set) var laterBytes = 0
  private let threads: ThreadTable
  private let filter: SessionFilter
  private let memory: FrameMemory
  /// Whether frames are read one after the other, as they were written.
  private let isInOrder: Bool
  /// Whether records of a ring are given that nobody here can decrypt.
  private let givesSealed: Bool

  private struct LaterFrame {
    let place: Place
    let archive: ArchiveFile
    let frame: ArchiveFile.Frame
    let emitted: EmittedRecords?
    let passedRows: UInt32
  }

  /// What opened frames may take. Only a file that lies about its times comes near; its records are
  /// then given later than they should.
  private static let maximumOpenBytes = 256 << 20

  /// - Parameter memory: What is shared with other sessions that are read at the same time.
  ///   - isInOrder: Whether to read frames one after the other, as they were written, and not
  ///     merged by time.
  ///   - givesSealed: Whether to give records of a ring that nobody here can decrypt, as they stand
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

  /// Takes the next step, of the run that is ``current`` then; nil at the end.
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

  /// Puts frames into the heap whose time has come.
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

  /// What decides which of two runs comes first; of those with the same, the one that was added
  /// first does.
  private func key(_ ticks: UInt64) -> UInt64 { isInOrder ? 0 : ticks }

  // MARK: - Filling

  /// Gets ready for what is added while runs are there that have not come to their end.
  ///
  /// Segments go: what of them was not given is in the next copy of the ring, or in a frame.
  mutating func makeRoom() {
    if let current { heap.insert(current, key: current.ticks, order: currentOrder) }
    current = nil
    heap.removeAll { $0 is SegmentRun }
  }

  /// Adds frames of an archive, and all corruption between them.
  ///
  /// - Parameters:
  ///   - end: Where whoever has read the whole archive goes on; nil if more of it may come.
  ///   - skipped: Where frames are that are not to be read.
  ///   - start: The frame that is read first, by its ordinal, and how many of its rows are passed
  ///     over.
  ///   - passed: Corruption before this place is passed over.
  ///   - given: What of a frame was given before.
  mutating func add(
    _ archive: ArchiveFile, _ frames: ArraySlice<ArchiveFile.Frame>,
    _ corruption: [LogReader.Corruption], end: LogReader.Cursor.Place? = nil,
    besides skipped: Set<Int>, from start: (frame: UInt64, row: UInt32) = (0, 0),
    passing passed: LogReader.Cursor.Place? = nil,
    given: (FrameHeader) -> EmittedRecords = { _ in EmittedRecords() }
  ) {
    var corruption = corruption.sorted { $0.offset > $1.offset }
    let number = archive.fileHeader.number
    // Not when the archive was begun: records of the session that wait behind it may be older.
    let began = archive.fileHeader.identity.startTime
    var (ticks, clock) = (UInt64(0), TickClock(ticks: 0, wall: began, rate: 0))
    for frame in frames
    where frame.header.type == .records && frame.header.ordinal >= start.frame {
      (ticks, clock) = (frame.header.summary.firstTicks, frame.header.clock)
      let place = LogReader.Cursor.Place(archive: number, frame: frame.header.ordinal)
      while let note = corruption.last, note.offset <= frame.offset {
        corruption.removeLast()
        // At the start of the archive, nothing of it has been given.
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
    // Most frames that a follower comes to have nothing new: they need not be read. The number
    // alone does not prove that: records that were given may have been erased before the frame was
    // written, and as many may have come behind them.
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

  /// Adds the segments of a ring, and the corruption of it.
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

  /// After everything has been added.
  mutating func start() {
    later.sort { $1.place < $0.place }
  }
}
