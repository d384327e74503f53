package import CommandLineTool
package import MMLogStorage

/// The options for the limits to the archives that are kept.
package let retentionOptions: [Option] = [.count, .totalSize, .age, .freeSpace, .crashes]

extension Arguments {
  /// The limits that are given; for the others, those of `defaults`. Zero means no limit, for
  /// scripts that make options.
  package func retention(_ defaults: Retention) throws(UsageError) -> Retention {
    var retention = defaults
    if let count = try value(of: .count, expected: "a number", number) {
      retention.count = limit(count)
    }
    if let size = try value(of: .totalSize, expected: "a size as 500M", sizeArgument) {
      retention.totalSize = limit(size)
    }
    if let age = try value(of: .age, expected: "a time as 30d", age) {
      retention.age = limit(age)
    }
    if let free = try value(of: .freeSpace, expected: "a size as 1G or 5%", spaceArgument) {
      retention.freeSpace = free
    }
    if let crashes = try value(of: .crashes, expected: "a number", number) {
      retention.crashes = crashes
    }
    return retention
  }
}

private func limit<Value: AdditiveArithmetic>(_ value: Value) -> Value? {
  value == .zero ? nil : value
}

/// A zero needs no unit.
private func age(_ text: String) -> Duration? { text == "0" ? .zero : durationArgument(text) }

private func number(_ text: String) -> Int? { Int(text).flatMap { $0 >= 0 ? $0 : nil } }

extension Option {
  fileprivate static let count = Option(
    "count", value: "N", "Keep at most N archives of each store.")
  fileprivate static let totalSize = Option(
    "total-size", value: "SIZE",
    "Keep at most SIZE of each store, such as 500M or 2G (powers of 1024), or 500MB.")
  fileprivate static let age = Option(
    "age", value: "DURATION",
    "Keep what is not older, such as 12h, 30d or 8w, by its last record.")
  fileprivate static let freeSpace = Option(
    "free-space", value: "SIZE|PERCENT",
    "Leave at least this part of the file system free, such as 1G or 5%.")
  fileprivate static let crashes = Option(
    "crashes", value: "N", default: "1",
    "Keep the archives before and after each of the newest N crashes.")
}
