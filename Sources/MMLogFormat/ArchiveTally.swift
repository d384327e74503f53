/// What an archive holds in all, as the header of its index says: known without reading anything else.
package struct ArchiveTally: Equatable, Sendable {
  /// Where the session ends.
  package enum Ending: UInt8, Sendable {
    /// In a later archive.
    case elsewhere = 1
    /// Here, closed in order.
    case closed
    /// Here: its process died, and it was recovered.
    case died
  }

  /// Records by level; last, those whose level is not known: fragments counted, written before a crash.
  package private(set) var counts = [UInt32](repeating: 0, count: FrameLayout.tallyCounts)
  package var ending = Ending.elsewhere

  package init() {}

  /// Adds so many records of each level.
  package mutating func add(_ more: LevelCounts) {
    for index in counts.indices {
      let (sum, overflow) = counts[index].addingReportingOverflow(more.counts[index])
      counts[index] = overflow ? .max : sum
    }
  }

  /// Takes in how the session ended.
  package mutating func add(_ how: SessionEnd.How) { ending = how == .closed ? .closed : .died }

  func encode(into out: UnsafeMutableRawBufferPointer) {
    out.store(ending.rawValue, FrameLayout.tallyState)
    for (index, count) in counts.enumerated() { out.store(count, FrameLayout.tally + 4 * index) }
  }

  /// Nil if the header does not say.
  init?(header: UnsafeRawBufferPointer) {
    guard let ending = Ending(rawValue: header[FrameLayout.tallyState]) else { return nil }
    self.ending = ending
    for index in counts.indices {
      counts[index] = header.load(FrameLayout.tally + 4 * index, as: UInt32.self)
    }
  }
}

/// Counts records by level.
package struct LevelCounts: Equatable, Sendable {
  package private(set) var counts = [UInt32](repeating: 0, count: FrameLayout.tallyCounts)

  package init() {}

  /// Counts of records whose levels are not known.
  package init(unknown count: UInt32) { counts[FrameLayout.tallyCounts - 1] = count }

  mutating func add(_ level: Level) { counts[Int(level.rawValue)] &+= 1 }
}
