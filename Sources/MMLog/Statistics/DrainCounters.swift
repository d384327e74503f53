import MMLogFormat
import MMLogSystem
import Synchronization

/// What the drainers of all sessions of a store in this process have counted.
final class DrainCounters: Sendable {
  private let counts = LockedValue(LogStore.Statistics())
  /// When the drainer gave its last sign of life, as monotonic time; 0 if no drainer is at work.
  private let lastSign = Atomic<UInt64>(0)

  /// The counts as they are now. Numbers that drainers do not know are left at zero.
  var snapshot: LogStore.Statistics { counts.withLock { $0 } }

  /// Counts the records of a frame that was written.
  ///
  /// - Parameters:
  ///   - written: How many bytes the archive grew by.
  ///   - effort: How much effort was spent on the frame's text.
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

  /// Notes that the drainer lives. Called at least once a second, unless the drainer waits for the
  /// disk.
  func giveSign() { lastSign.store(Clock.monotonic(), ordering: .relaxed) }

  /// Notes that the drainer has ended.
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
