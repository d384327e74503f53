import MMLogStorage
import MMLogSystem

/// What of a store's configuration can change while it is open: the one place for the store, its
/// threads, and a child of fork, which goes on with what was set before.
///
/// Proof of `@unchecked Sendable`: `values` is touched under `lock` only.
final class StoreSettings: @unchecked Sendable {
  struct Values: Sendable {
    var rotation: Rotation
    var retention: Retention
  }

  /// Held for moments only. Taken around a fork.
  let lock = ForkSafeMutex()
  private var values: Values

  init(_ configuration: LogStore.Configuration) {
    values = Values(rotation: configuration.rotation, retention: configuration.retention)
  }

  var current: Values { lock.withLock { values } }

  /// Changes settings, all or none of them.
  ///
  /// - Throws: ``LogError`` if one would be out of its range.
  func change(_ body: (inout Values) -> Void) throws(LogError) {
    try lock.withLock { () throws(LogError) in
      var new = values
      body(&new)
      try LogStore.Configuration.check(rotation: new.rotation)
      try LogStore.Configuration.check(retention: new.retention)
      values = new
    }
  }
}
