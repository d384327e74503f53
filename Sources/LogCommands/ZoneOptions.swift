package import CommandLineTool
package import MMLogReader
import MMLogSystem

/// The options for the zone in which times are read and shown.
package let zoneOptions: [Option] = [.utc, .zone]

extension Arguments {
  /// Returns the zone that was asked for, and makes it the zone of the process.
  package func zone() throws(UsageError) -> LogTimeZone {
    guard let name = value(of: .zone) else {
      return isSet(.utc) ? .utc : .local
    }
    if isSet(.utc) && name != "UTC" {
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
