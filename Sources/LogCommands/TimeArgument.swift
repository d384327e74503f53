package import CommandLineTool
import MMLogFormat
package import MMLogReader
import MMLogStorage

/// The description of TIME in help.
package let timeDescription =
  """
  TIME is a date (2026-11-21), a date and a time (2026-11-21T09:00, 2026-11-21T09:00:00.5Z, \
  2026-11-21T09:00:00+01:00), a time of today (15:00) or 'yesterday 15:00', now, today, \
  yesterday, boot (when the machine was started), how long ago it was (30s, 15m, 2h, 1d, 1w, \
  '10 min ago'), or seconds since 1970 (@1795361907).
  """

extension Arguments {
  /// The time that an option says; nil if it is not given.
  private func time(
    of option: Option, _ zone: LogTimeZone, _ now: Timestamp
  ) throws(UsageError) -> Timestamp? {
    if let text = value(of: option), isOutOfRange(text, zone, now) {
      throw UsageError(
        "'\(text)', the value of '--\(option.long)', is no time of a record: these are from "
          + "1677-09-22 to 2262-04-11")
    }
    return try value(
      of: option,
      expected: "a time such as 2026-11-21, 2026-11-21T09:00:00Z, 15:00, 15m, today or boot"
    ) { timeArgument($0, zone: zone, now: now) }
  }

  /// Whether an option is given with a time that depends on the present, such as `today` or `1h`.
  package func isRelativeTime(_ option: Option) -> Bool {
    guard let text = value(of: option) else { return false }
    // Of all forms of a time, only a date has '-' behind four characters.
    return !text.hasPrefix("@") && text.dropFirst(4).first != "-"
  }

  /// Sets the times that ``Option/since`` and ``Option/until`` say.
  package func setTimes(
    of filter: inout LogReader.Filter, _ zone: LogTimeZone
  ) throws(UsageError) {
    let now = Timestamp.now
    filter.since = try time(of: .since, zone, now)
    filter.until = try time(of: .until, zone, now)
    let hint = hintOfToday(filter.since, now)
    if let since = filter.since, let until = filter.until, since >= until {
      let end = hint.map { "; \($0)" } ?? ""
      throw UsageError("--since is not before --until: no time is left between them\(end)")
    }
    if let hint { command.report(hint) }
  }

  /// What to say of a time of today that is still to come: at night, most people mean yesterday's.
  private func hintOfToday(_ since: Timestamp?, _ now: Timestamp) -> String? {
    guard let text = value(of: .since), let since, since > now,
      text.utf8.allSatisfy({ 48...58 ~= $0 }), text.utf8.contains(UInt8(ascii: ":"))
    else { return nil }
    return "--since \(text) is still to come today; --since 'yesterday \(text)' was before that"
  }
}

/// Whether a text is a valid date or number of seconds, except that its year is out of range.
private func isOutOfRange(_ text: String, _ zone: LogTimeZone, _ now: Timestamp) -> Bool {
  func isTime(_ text: String) -> Bool { timeArgument(text, zone: zone, now: now) != nil }
  if text.hasPrefix("@"), text.count > 1, !isTime(text) {
    return text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }
  let digits = text.prefix { $0.isASCII && $0.isNumber }
  guard digits.count == 4, let year = Int(digits), !isTime(text) else { return false }
  // A year with the same calendar: it repeats after 400 years.
  return isTime("\(1700 + (year + 300) % 400)" + text.dropFirst(4))
}

extension Option {
  package static let since = Option(
    "since", short: "s", value: "TIME", "Only what was logged at TIME or later.")
  package static let until = Option(
    "until", short: "u", value: "TIME", "Only what was logged before TIME.")
}
