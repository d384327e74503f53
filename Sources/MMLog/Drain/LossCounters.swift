import CMMLogCore
import MMLogFormat

/// Counts, by level, of the records that are lost because there is no ring, in this process's
/// memory. Counting is lock-free and async-signal-safe.
///
/// Proof of `@unchecked Sendable`: the words are touched by atomic operations only.
final class LossCounters: @unchecked Sendable {
  private let words: UnsafeMutablePointer<UInt64>
  private static let count = LossLedger.levels

  init() {
    words = .allocate(capacity: Self.count)
    words.initialize(repeating: 0, count: Self.count)
  }

  deinit { words.deallocate() }

  /// Counts one record.
  func add(_ level: Level) { _ = mmlog_fetch_add_u64(word(level), 1) }

  /// Adds the counts of others, and sets those to 0.
  func take(_ others: LossCounters) {
    // Not `for in`: see LogCall.freeWriter.
    var index = 0
    while index < Self.count {
      _ = mmlog_fetch_add_u64(words + index, mmlog_exchange_u64(others.words + index, 0))
      index += 1
    }
  }

  /// Returns the count of a level, and sets it to 0.
  func take(_ level: Level) -> UInt64 { mmlog_exchange_u64(word(level), 0) }

  /// Sets all counts to 0. For a fork's child, where nobody else counts (see ``StoreRegistry``).
  func clear() { words.update(repeating: 0, count: Self.count) }

  /// The counts as they are now.
  var ledger: LossLedger {
    var ledger = LossLedger()
    for level in Level.allCases { ledger[.noRing, level] = mmlog_load_acquire_u64(word(level)) }
    return ledger
  }

  private func word(_ level: Level) -> UnsafeMutablePointer<UInt64> { words + Int(level.rawValue) }
}
