import MMLogFormat
import MMLogSystem

extension String {
  /// The text as one word for a shell, whatever is in it. It is on one line, and has no characters
  /// that a terminal would act on instead of showing them.
  ///
  /// By scalars: for a shell, a quote ends a word, whatever combining mark stands behind it.
  package var quotedForShell: String {
    let scalars = unicodeScalars
    if !scalars.contains(where: { isUnsafeToShow($0.value) }) {
      let parts = scalars.split(separator: "'", omittingEmptySubsequences: false)
      return "'" + parts.map(String.init).joined(separator: "'\\''") + "'"
    }
    var word = "$'"
    for scalar in scalars {
      // A quote, too: a shell that does not know `$'` would take `\'` for the end.
      if isUnsafeToShow(scalar.value) || scalar == "'" {
        word += "\\u" + UInt16(truncatingIfNeeded: scalar.value).allHexDigits
      } else {
        word += scalar == "\\" ? "\\\\" : String(scalar)
      }
    }
    return word + "'"
  }
}
