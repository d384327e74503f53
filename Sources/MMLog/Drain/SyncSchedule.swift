import MMLogSystem

/// When the archives are synced: on request, after a time, or because of a record's level. A plain
/// value. Times are monotonic, in nanoseconds.
struct SyncSchedule {
  private let interval: UInt64?
  /// The levels whose records are synced at once, a bit each.
  let levels: UInt8
  private var lastSync: UInt64 = 0
  private var isNeeded = false
  private var isUrgent = false

  init(_ configuration: LogStore.Configuration) {
    interval = configuration.syncInterval.map { UInt64(max(0, $0.nanoseconds)) }
    levels = configuration.syncLevel.map { .max << $0.rawValue } ?? 0
  }

  /// Takes in that records were written.
  ///
  /// - Parameter levels: Their levels, a bit each.
  mutating func noteWritten(levels: UInt8) {
    isNeeded = true
    if levels & self.levels != 0 { isUrgent = true }
  }

  /// Whether it is time for a sync.
  func isDue(at now: UInt64) -> Bool {
    isNeeded && (isUrgent || interval.map { now &- lastSync >= $0 } ?? false)
  }

  /// Takes in that everything was synced.
  mutating func noteSynced(at now: UInt64) {
    (lastSync, isNeeded, isUrgent) = (now, false, false)
  }
}
