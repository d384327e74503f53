/// Counts records by level.
package struct LevelCounts: Equatable, Sendable {
  package private(set) var counts = [UInt32](repeating: 0, count: FrameLayout.numberOfCounts)

  package init() {}

  /// Counts of records whose levels are not known.
  package init(unknown count: UInt32) { counts[FrameLayout.numberOfCounts - 1] = count }

  mutating func add(_ level: Level) { counts[Int(level.rawValue)] &+= 1 }
}
