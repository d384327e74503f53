import MMLogFormat
import Synchronization

/// What the drainer does once a second with a ring whose records wait: it finds out whether one of
/// the records must not wait, and makes the memory ready that threads will write next.
///
/// The kernel writes a page back some thirty seconds after a store, and then the next store to the
/// page costs a fault. Memory that waits longer for its use would cost a log call one fault for
/// each page.
///
/// For one thread at a time: the drainer's.
struct RingSurvey {
  private let ring: Ring
  /// The levels whose records are archived at once, a bit each.
  private let urgentLevels: UInt8
  /// Up to where each segment in use is inspected, by generation.
  private var ends: [UInt64: Int] = [:]
  /// How many segments had been opened at the last survey.
  private var opened: UInt64 = 0

  /// How much memory is made ready at a time behind a thread's last record, and in free segments.
  private static let readySize = 1 << 20

  init(_ ring: Ring, urgentLevels: UInt8) {
    (self.ring, self.urgentLevels) = (ring, urgentLevels)
  }

  /// Inspects what was logged since the last time.
  ///
  /// - Returns: Whether one of the records is to be archived at once.
  mutating func inspect() -> Bool {
    var newEnds: [UInt64: Int] = [:]
    var (isUrgent, isActive) = (false, false)
    for index in 0..<ring.pool.count {
      let isOpen = ring.pool.pinOpen(index)
      // A sealed segment is of interest only for its records.
      guard isOpen || urgentLevels != 0 && ring.pool.acquireInTurn(index) else { continue }
      defer { if isOpen { ring.pool.unpin(index) } else { ring.pool.release(index) } }
      guard let header = ring.openHeader(ofSegment: index) else { continue }
      let start = max(header.archived, ends[header.generation] ?? 0)
      let end = scan(index, header, from: start, isSealed: !isOpen, &isUrgent)
      newEnds[header.generation] = end
      if isOpen, end > max(start, SegmentLayout.size) {
        isActive = true
        ring.makeReady(segment: index, from: end, count: Self.readySize)
      }
    }
    ends = newEnds
    if isActive { makeFreeSegmentsReady() }
    return isUrgent
  }

  /// Walks over records from an offset on.
  ///
  /// - Returns: Where they end.
  private func scan(
    _ index: Int, _ header: SegmentHeader, from start: Int, isSealed: Bool,
    _ isUrgent: inout Bool
  ) -> Int {
    var scanner = ring.scanner(ofSegment: index, header, from: start, isSealed: isSealed)
    while let item = scanner.next() {
      guard case .record(let record, _) = item else { continue }
      isUrgent = isUrgent || urgentLevels >> record.level.rawValue & 1 != 0
    }
    return scanner.offset
  }

  /// Makes the segments ready that threads will take next: one more than threads took in the last
  /// second.
  private mutating func makeFreeSegmentsReady() {
    let now = ring.generationsStarted.load(ordering: .relaxed)
    let size = ring.geometry.segmentSize
    let count = min(Int(clamping: now &- opened) + 1, max(1, Self.readySize / size))
    opened = now
    for index in ring.pool.nextFree(count) {
      ring.makeReady(segment: index, from: 0, count: Self.readySize)
    }
  }
}
