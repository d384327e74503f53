import MMLogFormat
import MMLogStorage

/// The runs of a session, merged.
struct SessionRuns {
  private var heap = MergeHeap<UInt64, Run>()
  private var count = 0
  /// Frames that wait for others to end, so that not too much is in memory.
  private var waiting: [FrameRun] = []
  private var openBytes = 0
  private let threads = ThreadTable()

  /// What opened frames may take. Only a file that lies about its times comes near; its records are
  /// then given later than they should.
  private static let mostOpenBytes = 256 << 20

  init(_ files: SessionFiles, _ summary: SessionSummary, _ filter: LogFilter) {
    for (index, archive) in files.archives.enumerated() {
      add(archive, summary.damage[index] ?? [], besides: summary.replaced[index] ?? [], filter)
    }
    if let ring = summary.ring { add(ring) }
  }

  /// The next item and the run that it is of; nil at the end.
  mutating func next() -> (item: RunItem, run: Run)? {
    while let run = heap.first {
      if let frame = run as? FrameRun, !frame.isOpened, mustWait(frame) { continue }
      guard let item = run.next() else {
        remove(run)
        continue
      }
      heap.updateFirst(key: run.ticks)
      if case .nothing = item { continue }
      return (item, run)
    }
    return nil
  }

  private mutating func mustWait(_ frame: FrameRun) -> Bool {
    if openBytes > 0 && openBytes + frame.size > Self.mostOpenBytes {
      heap.removeFirst()
      waiting.append(frame)
      return true
    }
    openBytes += frame.size
    return false
  }

  private mutating func remove(_ run: Run) {
    heap.removeFirst()
    guard let frame = run as? FrameRun else { return }
    openBytes -= frame.size
    if !waiting.isEmpty { insert(waiting.removeFirst()) }
  }

  private mutating func insert(_ run: Run) {
    heap.insert(run, key: run.ticks, order: count)
    count += 1
  }

  /// Adds the frames of an archive that may have what is wanted, and all damage between them.
  private mutating func add(
    _ archive: ArchiveFile, _ damage: [LogDamage], besides replaced: Set<Int>, _ filter: LogFilter
  ) {
    var damage = damage.sorted { $0.offset > $1.offset }
    var (ticks, clock) = (UInt64(0), TickClock(ticks: 0, wall: archive.head.created, rate: 0))
    for frame in archive.frames where frame.header.type == .records {
      (ticks, clock) = (frame.header.summary.firstTicks, frame.header.clock)
      while let note = damage.last, note.offset <= frame.offset {
        insert(NoteRun(note, ticks: ticks, clock: clock))
        damage.removeLast()
      }
      if filter.mayPass(frame.header.summary) && !replaced.contains(frame.offset) {
        insert(FrameRun(archive, frame, threads))
      }
      ticks = frame.header.summary.lastTicks
    }
    for note in damage.reversed() { insert(NoteRun(note, ticks: ticks, clock: clock)) }
  }

  private mutating func add(_ ring: RingView) {
    let image = ring.image
    for damage in image.damage {
      let note = LogDamage(
        path: image.path, offset: damage.range.lowerBound, size: damage.range.count,
        what: damage.what)
      insert(NoteRun(note, ticks: 0, clock: image.clock))
    }
    for segment in image.segments { insert(SegmentRun(ring, segment, threads)) }
  }
}
