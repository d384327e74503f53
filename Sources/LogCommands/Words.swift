import MMLogReader
import MMLogSystem

/// `1 session`, `2 sessions`, `2 passes`.
package func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
  "\(number) \(number == 1 ? noun : plural ?? "\(noun)s")"
}

/// `12.3 MiB`
package func sizeText(_ bytes: Int) -> String {
  var (size, units) = (Double(bytes), ["bytes", "KiB", "MiB", "GiB", "TiB"][...])
  while abs(size) >= 1024, units.count > 1 { (size, units) = (size / 1024, units.dropFirst()) }
  let tenths = Int((size * 10).rounded())
  let text =
    units.startIndex == 0 || tenths >= 1000 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  return "\(text) \(units[units.startIndex])"
}

/// How long something takes, or how long ago it was: `12.3 s`, `5 min 20 s`, `2 h 5 min`, `3 d 4
/// h`.
package func ageText(_ duration: Duration) -> String {
  let milliseconds = duration.nanoseconds / 1_000_000
  let seconds = milliseconds / 1000
  switch seconds {
  case ..<1: return "\(milliseconds) ms"
  case ..<60: return "\(seconds).\(milliseconds % 1000 / 100) s"
  case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
  case ..<86400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
  default: return "\(seconds / 86400) d \(seconds / 3600 % 24) h"
  }
}

extension String {
  /// The text escaped for a terminal, except for its last line end.
  package var escapedControls: String { String(dropLast()).escapedForTerminal + "\n" }
}
