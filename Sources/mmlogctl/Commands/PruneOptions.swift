import CommandLineTool
import LogCommands
import MMLogStorage

/// Which archives `prune` deletes.
let pruneOptions: [Option] = [.dryRun, .explain, .store, .rings] + retentionOptions + [.silent]

extension Arguments {
  /// The limits; nil if none is given.
  func retention() throws(UsageError) -> Retention? {
    if !retentionOptions.contains(where: { isSet($0) }) { return nil }
    return try retention(.unlimited)
  }
}

extension Retention {
  /// Whether something can be deleted because of a limit. What is kept around crashes is no limit.
  var hasLimit: Bool {
    var limits = self
    limits.crashes = Retention.unlimited.crashes
    return limits != .unlimited
  }
}

extension Option {
  static let dryRun = Option("dry-run", "Delete nothing; print which archives would be deleted.")
  static let explain = Option(
    "explain", "Say of each archive whether it stays, and why.")
  static let store = Option(
    "name", value: "NAME", candidates: "stores", "Only archives of this store.")
  static let rings = Option(
    "rings", value: "DIR",
    "Where the services' rings are, if not in DIR. Archives that the recovery of a dead "
      + "process still needs stay."
  )
}
