import MMLogFormat
import MMLogStorage

/// What a session's archives say of its ring.
struct RingView {
  let image: RingImage
  let coverage: Coverage
  /// Whether the machine has been running since the ring was written.
  let isOfThisBoot: Bool
  /// Whether its process may be writing to it while it is copied: what stands behind a zero word may
  /// then have been written after that was copied. Otherwise it is real, and the zeros are not.
  let isRunning: Bool

  func isArchived(_ segment: RingImage.Segment, _ offset: Int) -> Bool {
    coverage.contains(segment.header, offset: offset, trustsDrained: isOfThisBoot)
  }
}

/// The records of a ring's segment that no archive has.
final class SegmentRun: Run {
  private let ring: RingView
  private let segment: RingImage.Segment
  private let start: Int
  private let thread: LogThread
  private let threads: ThreadTable
  private var scanner: RecordScanner
  private var item: RecordScanner.Item?

  init(_ ring: RingView, _ segment: RingImage.Segment, _ threads: ThreadTable) {
    self.ring = ring
    self.segment = segment
    self.threads = threads
    start = ring.image.head.geometry.offset(ofSegment: segment.index)
    thread = threads.thread(segment.header.thread)
    scanner = ring.image.scanner(of: segment, looksBehindZeros: !ring.isRunning)
    super.init(path: ring.image.path, ticks: 0, clock: ring.image.clock)
    advance()
  }

  override func next() -> RunItem? {
    guard let item else { return nil }
    let ticks = ticks
    advance()
    switch item {
    case .damage(let range):
      return .damage(
        damage(start + range.lowerBound, range.count, "records in segment \(segment.index)"))
    case .record(let view, let offset):
      return .record(
        RunRecord(
          view: view, ticks: ticks, offset: start + offset,
          thread: view.sharedThread.map(threads.thread) ?? thread, owner: ring.image))
    }
  }

  private func advance() {
    repeat {
      item = scanner.next()
      if case .record(let view, _) = item { move(to: view.ticks) }
    } while item.map(isArchived) ?? false
  }

  private func isArchived(_ item: RecordScanner.Item) -> Bool {
    switch item {
    case .record(_, let offset): ring.isArchived(segment, offset)
    // Nothing is lost where an archive has what stood there.
    case .damage(let range):
      ring.isArchived(segment, range.lowerBound)
        && ring.isArchived(segment, range.upperBound - wordSize)
    }
  }
}
