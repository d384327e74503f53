import MMLogFormat
import MMLogStorage

/// The records of a ring's segment that no archive has, and that may pass the filter.
final class SegmentRun: Run {
  private let ring: RingView
  private let segment: RingImage.Segment
  private let start: Int
  private let ownThread: LogReader.Thread
  private let threads: RunThreads
  private let filter: SessionFilter
  /// If the session is followed, given records are noted here.
  private let emitted: EmittedSegments?
  /// Whether records that no identity decrypts are given, as they stand in the ring.
  private let givesSealed: Bool
  private var scanner: RecordScanner
  private var item: RecordScanner.Item?
  /// Where ``item`` ends.
  private var itemEnd = 0
  /// The greatest ticks of all records, whether or not they pass.
  private(set) var lastTicks: UInt64 = 0

  init(
    _ ring: RingView, _ segment: RingImage.Segment, _ threads: ThreadTable, _ filter: SessionFilter,
    emitted: EmittedSegments?, givesSealed: Bool
  ) {
    self.ring = ring
    self.segment = segment
    self.threads = RunThreads(threads)
    self.filter = filter
    self.emitted = emitted
    self.givesSealed = givesSealed
    start = ring.image.fileHeader.geometry.offset(ofSegment: segment.index)
    ownThread = self.threads.thread(segment.header.thread)
    scanner = ring.image.scanner(
      of: segment, from: emitted?.end(of: segment.header.generation) ?? SegmentLayout.size,
      zeros: ring.isRunning ? .end : .mayBeLost)
    super.init(
      path: ring.image.path, ticks: 0, clock: ring.image.clock,
      flightLevel: ring.image.fileHeader.archiveLevel.rawValue)
    advance()
  }

  override func step() -> RunStep {
    guard let item else { return .end }
    let ticks = ticks
    note(item, end: itemEnd)
    advance()
    switch item {
    case .corruption(let range):
      corruption = corruption(
        start + range.lowerBound, range.count, "records in segment \(segment.index)")
      return .corruption
    case .record(let view, let offset):
      return .record(view, ticks: ticks, offset: start + offset)
    }
  }

  override func thread(of view: RecordView) -> Unmanaged<LogReader.Thread> {
    .passUnretained(view.sharedThread.map { threads.thread($0) } ?? ownThread)
  }

  override func sealedPlace(of offset: Int) -> (stream: UInt64, offset: Int)? {
    isSealed ? (segment.header.stream, offset - start) : nil
  }

  override var owner: AnyObject { ring.image }
  override var threadOwner: AnyObject { threads }

  private var isSealed: Bool { ring.image.lock != nil }

  private func advance() {
    let generation = segment.header.generation
    while let next = scanner.next() {
      if case .corruption(let range) = next, emitted != nil, ring.isRunning,
        segment.header.end == 0
      {
        // The record may have been copied while it was being written: it is inspected again.
        emitted?.move(generation, to: range.lowerBound)
        break
      }
      if case .record(let view, _) = next {
        lastTicks = max(lastTicks, view.ticks)
        move(to: view.ticks)
      }
      if isDone(next) {
        emitted?.move(generation, to: scanner.offset)
        continue
      }
      if case .record(let view, _) = next,
        isSealed ? !givesSealed : !filter.mayPass(view, isFlight: isFlight(view))
      {
        note(next, end: scanner.offset)
        continue
      }
      (item, itemEnd) = (next, scanner.offset)
      return
    }
    item = nil
  }

  /// Notes that an item has been given, or passed over for good.
  private func note(_ item: RecordScanner.Item, end: Int) {
    guard let emitted else { return }
    let generation = segment.header.generation
    emitted.move(generation, to: end)
    guard case .record(let view, let offset) = item else { return }
    let thread = view.sharedThread?.ordinal ?? segment.header.thread.ordinal
    emitted.add(
      view, thread: thread, isFlight: isFlight(view), generation: generation, offset: offset)
  }

  private func isDone(_ item: RecordScanner.Item) -> Bool {
    switch item {
    case .record(let view, let offset): ring.isDone(segment, view, offset)
    case .corruption(let range): ring.isDone(segment, range)
    }
  }
}
