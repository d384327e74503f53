import CommandLineTool
import MMLogStorage

/// Which archives `--prune` deletes. Only the limits that are given count; if none is, those of
/// each store.
let pruneOptions: [Option] = [.prune, .dryRun, .explain, .store, .rings] + limitOptions

private let limitOptions: [Option] = [.count, .totalSize, .age, .freeSpace, .crashes]

extension Arguments {
  /// Whether archives are to be deleted.
  ///
  /// - Throws: for options that would have no effect beside this one, or without it: whoever gives
  ///   one expects something else of what is deleted.
  func areToPrune() throws(UsageError) -> Bool {
    guard isSet(.prune) else {
      if let option = pruneOptions.first(where: { isSet($0) }) {
        throw UsageError("--\(option.long) says what --prune is to do; add --prune")
      }
      return false
    }
    let others =
      inputOptions + filterOptions + zoneOptions + outputOptions + fileJobOptions
    if let other = others.first(where: { isSet($0) }) {
      throw UsageError("--\(other.long) has no meaning with --prune; leave it away")
    }
    if operands.isEmpty { throw UsageError("PATH is missing; name one") }
    return true
  }

  /// The limits; nil if none is given.
  func retention() throws(UsageError) -> Retention? {
    if !limitOptions.contains(where: { isSet($0) }) { return nil }
    var retention = Retention.unlimited
    retention.count = limit(try value(of: .count, expected: "a number", number))
    retention.totalSize = limit(try value(of: .totalSize, expected: "a size as 500M", size))
    retention.age = limit(try value(of: .age, expected: "a time as 30d", durationArgument))
    retention.crashes = try value(of: .crashes, expected: "a number", number) ?? 1
    if let free = try value(of: .freeSpace, expected: "a size as 1G or 5%", space) {
      retention.freeSpace = free
    }
    return retention
  }
}

/// Zero stands for no limit, too, as where options are made by scripts.
private func limit<Value: AdditiveArithmetic>(_ value: Value?) -> Value? {
  value == .zero ? nil : value
}

private func number(_ text: String) -> Int? { Int(text).flatMap { $0 >= 0 ? $0 : nil } }

private func size(_ text: String) -> Int? {
  let shift = ["K": 10, "M": 20, "G": 30, "T": 40][text.last?.uppercased() ?? ""]
  guard let value = number(shift == nil ? text : String(text.dropLast())) else { return nil }
  let (size, overflow) = value.multipliedReportingOverflow(by: 1 << (shift ?? 0))
  return overflow ? nil : size
}

private func space(_ text: String) -> Retention.FreeSpace? {
  guard text.hasSuffix("%") else { return size(text).map { .bytes($0) } }
  guard let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
  return .fraction(percent / 100)
}

extension Option {
  fileprivate static let prune = Option(
    "prune",
    """
    Print nothing of the log: delete the archives of PATH, which are directories, that a limit \
    does not allow. Without any limit, the limits count that each store has noted there. Safe \
    beside running services; what is being written or pinned stays. Status 1 and what stays, with \
    reasons, if a limit cannot be reached.
    """)
  static let dryRun = Option("dry-run", "With --prune: delete nothing, say what would be.")
  static let explain = Option(
    "explain", "With --prune: say of each archive whether it stays, and why.")
  static let store = Option("name", value: "NAME", "With --prune: only archives of this store.")
  static let rings = Option(
    "rings", value: "DIR",
    "With --prune: where the services' rings are, if not in PATH. What a dead one's recovery "
      + "still needs, stays."
  )
  fileprivate static let count = Option(
    "count", value: "N", "With --prune: keep so many archives.")
  fileprivate static let totalSize = Option(
    "total-size", value: "SIZE", "With --prune: keep so many bytes on the disk, such as 500M or 2G."
  )
  fileprivate static let age = Option(
    "age", value: "TIME",
    "With --prune: keep what is not older, such as 12h, 30d or 8w, by its last record.")
  fileprivate static let freeSpace = Option(
    "free-space", value: "SIZE|PERCENT",
    "With --prune: leave so much of the file system free, such as 1G or 5%.")
  fileprivate static let crashes = Option(
    "crashes", value: "N", default: "1",
    "With --prune: keep the archives before and after so many crashes, the newest.")
}
