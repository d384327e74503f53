import CMMLogCore
import MMLogFormat

/// The records of a ring that are in no archive yet, and are to be archived.
struct WaitingRecords {
  /// Records below this level stay in the ring.
  let archiveLevel: Level
  private(set) var records = LogStore.Statistics.Records()
  private var oldest: (ticks: UInt64, clock: TickClock)?

  init(archiveLevel: Level) { self.archiveLevel = archiveLevel }

  /// How long ago the oldest record was logged.
  var oldestAge: Duration? {
    oldest.map { max(.zero, $0.clock.wall(at: mmlog_ticks()) - $0.clock.wall(at: $0.ticks)) }
  }

  /// Counts the records of a segment from where it is archived.
  ///
  /// If the segment was emptied while it was copied, checksums do not match, and nothing is
  /// counted.
  ///
  /// - Parameters:
  ///   - segment: A copy of the segment.
  ///   - clock: Turns the session's ticks into time.
  mutating func add(_ segment: UnsafeRawBufferPointer, of session: SessionID, _ clock: TickClock) {
    guard let header = try? SegmentHeader(segment), !header.isFree else { return }
    let end = header.end > 0 ? header.end : segment.count
    guard header.archived < end else { return }
    var scanner = RecordScanner(segment, header, of: session, from: header.archived, to: end)
    while let item = scanner.next() {
      if case .record(let record, _) = item, record.level >= archiveLevel { add(record, clock) }
    }
  }

  private mutating func add(_ record: RecordView, _ clock: TickClock) {
    records.add(record.level, count: record.isCounted ? 1 : 0, bytes: UInt64(record.bytes.count))
    if record.ticks < oldest?.ticks ?? .max { oldest = (record.ticks, clock) }
  }
}
