import MMLogReader

/// `1 session`, `2 sessions`.
package func count(_ number: Int, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}

extension String {
  /// The text escaped for a terminal, but for its last line end.
  package var escapedControls: String { String(dropLast()).escapedForTerminal + "\n" }
}
