import CommandLineTool
import MMLogReader
import MMLogSystem

/// Which records are printed.
enum FilterOptions {
  static let all = [Option.level, .since, .until]

  static func filter(
    _ arguments: Arguments, _ zone: LogTimeZone
  ) throws(UsageError) -> LogFilter {
    let now = Clock.realtime()
    let time = { (option: Option) throws(UsageError) -> Int64? in
      try arguments.value(
        of: option, expected: "a time such as 2026-11-21, 2026-11-21T09:00:00Z or -15m"
      ) { TimeArgument.parse($0, zone: zone, now: now) }
    }
    var filter = LogFilter()
    filter.minimumLevel = Level(name: arguments.required(.level)) ?? .trace
    filter.since = try time(.since)
    filter.until = try time(.until)
    if let since = filter.since, let until = filter.until, since >= until {
      throw UsageError("--since is not before --until: no time is left between them")
    }
    return filter
  }
}

extension Option {
  fileprivate static let level = Option(
    "level", short: "l",
    oneOf: ["trace", "debug", "info", "notice", "warning", "error", "critical"], default: "trace",
    "The least level that is printed.")
  fileprivate static let since = Option(
    "since", short: "s", value: "TIME", "Print only what was logged at TIME or later.")
  fileprivate static let until = Option(
    "until", short: "u", value: "TIME", "Print only what was logged before TIME.")
}
