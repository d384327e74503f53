import MMLogFormat
import MMLogSystem

/// The store of loggers that were made without one, and their labels, which may be older than the
/// store.
enum DefaultStore {
  /// Taken before a store's lock, if both are taken.
  static let lock = ForkSafeMutex()
  // Under `lock`, as is the next one.
  nonisolated(unsafe) private static var labels = LabelList()
  nonisolated(unsafe) private static var store: StoreCore?
  private static let losses = LossCounters()

  /// The state of a label.
  static func label(_ name: String) -> LabelTable.Pointer {
    lock.withLock {
      if let known = labels[name] { return known }
      // Made here, and not by a log call, which may run in a signal handler.
      _ = losses
      let label = (name, LabelTable.makeState(level: .info))
      labels.append(label)
      if let store, store.isOpen { store.adopt([label]) }
      return label.1
    }
  }

  /// Gives all labels to a store, and makes the store count what was lost before.
  ///
  /// - Returns: False if another open store has the labels.
  static func set(_ new: StoreCore) -> Bool {
    lock.withLock {
      if store === new { return true }
      if let store, store.isOpen { return false }
      store = new
      new.adopt(labels)
      new.take(losses)
      return true
    }
  }

  /// Counts a record of a label for which there is no store yet. Lock-free and async-signal-safe.
  static func countLoss(_ level: Level, of label: LabelTable.Pointer) {
    losses.add(level)
    // A store that got the label meanwhile may have taken the earlier counts already.
    if let store = StoreCore.of(label) { store.take(losses) }
  }
}
