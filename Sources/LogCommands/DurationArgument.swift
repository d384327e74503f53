/// Reads how long something takes on the command line: `30s`, `10m`, `12h`, `30d`, `8w`; nil for
/// anything else.
package func durationArgument(_ text: String) -> Duration? {
  let units = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800]
  guard let last = text.last, let unit = units[String(last)], let value = Int(text.dropLast()),
    (0..<1 << 32).contains(value)
  else { return nil }
  return .seconds(value * unit)
}
