import CommandLineTool
import LogCommands
import MMLogStorage

/// Which archives `prune` deletes.
let pruneOptions: [Option] = [.dryRun, .explain, .store, .rings] + limitOptions + [.silent]

private let limitOptions: [Option] = [.count, .totalSize, .age, .freeSpace, .crashes]

extension Arguments {
  /// The limits; nil if none is given.
  func retention() throws(UsageError) -> Retention? {
    if !limitOptions.contains(where: { isSet($0) }) { return nil }
    var retention = Retention.unlimited
    retention.count = limit(try value(of: .count, expected: "a number", number))
    retention.totalSize = limit(try value(of: .totalSize, expected: "a size as 500M", sizeArgument))
    retention.age = limit(try value(of: .age, expected: "a time as 30d", durationArgument))
    retention.crashes = try value(of: .crashes, expected: "a number", number) ?? 1
    if let free = try value(of: .freeSpace, expected: "a size as 1G or 5%", spaceArgument) {
      retention.freeSpace = free
    }
    return retention
  }
}

extension Retention {
  /// Whether something can be deleted because of it. What is kept around crashes is no limit.
  var hasLimit: Bool {
    var limits = self
    limits.crashes = Retention.unlimited.crashes
    return limits != .unlimited
  }
}

/// Zero stands for no limit, too, as where options are made by scripts.
private func limit<Value: AdditiveArithmetic>(_ value: Value?) -> Value? {
  value == .zero ? nil : value
}

private func number(_ text: String) -> Int? { Int(text).flatMap { $0 >= 0 ? $0 : nil } }

extension Option {
  static let dryRun = Option("dry-run", "Delete nothing, say what would be.")
  static let explain = Option(
    "explain", "Say of each archive whether it stays, and why.")
  static let store = Option(
    "name", value: "NAME", candidates: "stores", "Only archives of this store.")
  static let rings = Option(
    "rings", value: "DIR",
    "Where the services' rings are, if not in PATH. What a dead one's recovery "
      + "still needs, stays."
  )
  fileprivate static let count = Option(
    "count", value: "N", "Keep so many archives.")
  fileprivate static let totalSize = Option(
    "total-size", value: "SIZE", "Keep so many bytes on the disk, such as 500M or 2G."
  )
  fileprivate static let age = Option(
    "age", value: "DURATION",
    "Keep what is not older, such as 12h, 30d or 8w, by its last record.")
  fileprivate static let freeSpace = Option(
    "free-space", value: "SIZE|PERCENT",
    "Leave so much of the file system free, such as 1G or 5%.")
  fileprivate static let crashes = Option(
    "crashes", value: "N", default: "1",
    "Keep the archives before and after so many crashes, the newest.")
}
