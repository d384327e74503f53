import MMLogReader

/// Reads a duration from the command line: `250us`, `1.5s`, `10m`, `12h`, `30d`, `8w`. Returns nil
/// for anything else.
package func durationArgument(_ text: String) -> Duration? {
  guard let nanoseconds = Quantity(text)?.nanoseconds, nanoseconds >= 0 else { return nil }
  return .nanoseconds(Int64(min(nanoseconds, 9e18)))
}
