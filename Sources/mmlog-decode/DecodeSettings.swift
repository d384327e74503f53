import CommandLineTool
import MMLogReader
import MMLogSystem

/// What the command line asks for.
struct DecodeSettings {
  let inputs: [LogInput]
  let filter: LogFilter
  let formatter: any LogFormatter

  init(_ arguments: Arguments) throws(UsageError) {
    let zone = try Self.zone(arguments)
    inputs = arguments.operands.map { $0 == "-" ? .standardInput : .path($0) }
    formatter = Self.formatter(arguments.required(.format), zone)
    filter = try Self.filter(arguments, zone)
  }

  /// Makes a zone that was asked for that of the process.
  private static func zone(_ arguments: Arguments) throws(UsageError) -> LogTimeZone {
    guard let name = arguments.value(of: .zone) else {
      return arguments.isSet(.utc) ? .utc : .local
    }
    if arguments.isSet(.utc) && name != "UTC" {
      throw UsageError("--utc and --tz \(name) contradict each other; give one of them")
    }
    guard LocalTime.setZone(name) else {
      throw UsageError(
        "'\(name)' is not a time zone of this machine; see /usr/share/zoneinfo for their names")
    }
    return name == "UTC" ? .utc : .local
  }

  private static func formatter(_ name: String, _ zone: LogTimeZone) -> any LogFormatter {
    switch name {
    case "json": JSONFormatter(zone: zone)
    case "message": MessageFormatter()
    default: TextFormatter(zone: zone)
    }
  }

  private static func filter(
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
