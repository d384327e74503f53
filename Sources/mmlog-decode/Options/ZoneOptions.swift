import CommandLineTool
import MMLogReader
import MMLogSystem

/// In which zone times are read and shown.
enum ZoneOptions {
  static let all = [Option.utc, .zone]

  /// Makes a zone that was asked for that of the process.
  static func zone(_ arguments: Arguments) throws(UsageError) -> LogTimeZone {
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
}

extension Option {
  fileprivate static let utc = Option(
    "utc", "Show times in UTC, and read TIME so. Short for --tz UTC.")
  fileprivate static let zone = Option(
    "tz", value: "ZONE",
    "Show times in a zone such as Europe/Berlin, and read TIME so, instead of in the local zone.")
}
