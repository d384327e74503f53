/// Counts of records by level.
package typealias LevelCounts = [8 of UInt32]

/// What an archive holds in all, as the header of its index says. A reader needs nothing else for
/// it.
package struct ArchiveCounts: Equatable, Sendable {
  /// Records by level. The last count is of records whose level is not known, each fragment
  /// counted: those that were written before a crash.
  package private(set) var counts = [UInt32](repeating: 0, count: FrameLayout.numberOfCounts)
  /// How the session ended, if it ends here.
  package private(set) var ending: SessionEnd.How?
  /// When the session ended; zero if it ends elsewhere.
  package private(set) var endTime = Timestamp.zero

  /// What stands on disk if the session ends in a later archive. Otherwise the sum of this and
  /// ``ending`` does.
  private static let elsewhere: UInt8 = 1

  package init() {}

  /// Adds so many records of each level.
  package mutating func add(_ more: LevelCounts) {
    for index in counts.indices { add(more[index], at: index) }
  }

  /// Adds so many records whose levels are not known.
  package mutating func add(unknown count: UInt32) { add(count, at: counts.count - 1) }

  private mutating func add(_ more: UInt32, at index: Int) {
    let (sum, overflow) = counts[index].addingReportingOverflow(more)
    counts[index] = overflow ? .max : sum
  }

  /// How many records there are; nil if the counts may include fragments.
  package var total: Int? {
    counts.last == 0 ? counts.reduce(0) { $0 + Int($1) } : nil
  }

  /// Notes how the session ended.
  package mutating func add(_ end: SessionEnd) { (ending, endTime) = (end.how, end.time) }

  func encode(into out: UnsafeMutableRawBufferPointer) {
    out.store(Self.elsewhere + UInt8(ending?.rawValue ?? 0), FrameLayout.countsState)
    out.store(endTime, FrameLayout.countsEndTime)
    for (index, count) in counts.enumerated() { out.store(count, FrameLayout.counts + 4 * index) }
  }

  /// Reads the header of an index; nil if it does not say.
  init?(header: UnsafeRawBufferPointer) {
    let state = header[FrameLayout.countsState]
    guard state >= Self.elsewhere else { return nil }
    ending = SessionEnd.How(rawValue: UInt32(state - Self.elsewhere))
    if ending == nil && state > Self.elsewhere { return nil }
    endTime = header.load(FrameLayout.countsEndTime, as: Timestamp.self)
    for index in counts.indices {
      counts[index] = header.load(FrameLayout.counts + 4 * index, as: UInt32.self)
    }
  }
}
