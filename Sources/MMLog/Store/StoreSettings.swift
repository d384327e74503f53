import MMLogStorage
import MMLogSystem

/// What of a store's configuration can change while it is open: the one place for the store, its
/// threads, and a child of fork, which goes on with what was set before.
///
/// Proof of `@unchecked Sendable`: `values` is touched under `lock` only.
final class StoreSettings: @unchecked Sendable {
  /// Held for moments only. Taken around a fork.
  let lock = ForkSafeMutex()
  private var values: LogStore.Settings

  init(_ configuration: LogStore.Configuration) {
    values = LogStore.Settings(rotation: configuration.rotation, retention: configuration.retention)
  }

  var current: LogStore.Settings { lock.withLock { values } }

  /// Changes settings, all or none of them.
  ///
  /// - Throws: ``LogError`` if one would be out of its range.
  func change(_ body: (inout LogStore.Settings) -> Void) throws(LogError) {
    try lock.withLock { () throws(LogError) in
      var new = values
      body(&new)
      try LogStore.Configuration.check(rotation: new.rotation)
      try LogStore.Configuration.check(retention: new.retention)
      values = new
    }
  }
}
