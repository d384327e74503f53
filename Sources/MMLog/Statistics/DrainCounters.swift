import MMLogFormat
import MMLogSystem
import Synchronization

/// What drainers have counted, of all sessions of a store in this process.
final class DrainCounters: Sendable {
  private let counts = LockedValue(LogStore.Statistics())
  /// When the drainer gave its last sign of life, as monotonic time; 0 if there is none at work.
  private let lastSign = Atomic<UInt64>(0)

  /// As they are now; what drainers do not know is left at zero.
  var snapshot: LogStore.Statistics { counts.withLock { $0 } }

  /// Counts the records of a frame that was written.
  ///
  /// - Parameters:
  ///   - written: How many bytes the archive grew by.
  ///   - effort: How much effort was spent on its text.
  func add(_ rows: borrowing RowBuilder, written: Int, _ effort: TextEffort) {
    counts.withLock { counts in
      counts.frames &+= 1
      if effort == .reduced { counts.reducedFrames &+= 1 }
      if effort == .none { counts.storedFrames &+= 1 }
      if effort == .thorough { counts.thoroughFrames &+= 1 }
      for level in Level.allCases {
        let index = Int(level.rawValue)
        counts.archived.add(
          level, count: UInt64(rows.count(level: index)), bytes: rows.byteCount(level: index))
      }
      counts.rawBytes &+= UInt64(rows.size)
      counts.writtenBytes &+= UInt64(written)
    }
  }

  /// Notes that the drainer lives: at least once a second, unless it waits for the disk.
  func giveSign() { lastSign.store(Clock.monotonic(), ordering: .relaxed) }

  /// Notes that it has ended.
  func endSigns() { lastSign.store(0, ordering: .relaxed) }

  /// How long ago the last sign was; nil if there is no drainer.
  var silence: Duration? {
    let last = lastSign.load(ordering: .relaxed)
    if last == 0 { return nil }
    return .nanoseconds(Int64(max(Clock.monotonic(), last) - last))
  }

  /// Counts a pass.
  func endPass(failed: Bool) {
    let now = Timestamp.now
    counts.withLock { counts in
      counts.passes += 1
      if failed { counts.failedPasses += 1 } else { counts.lastPass = now }
    }
  }

  /// Counts records that a tap has not written.
  func addMissedByTaps(_ count: UInt64) { counts.withLock { $0.missedByTaps &+= count } }

  /// Counts an archive's sync.
  func endSync(failed: Bool) {
    counts.withLock { counts in
      if failed { counts.failedSyncs += 1 } else { counts.syncs += 1 }
    }
  }
}
