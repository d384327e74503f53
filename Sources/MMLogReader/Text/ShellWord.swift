import MMLogFormat
import MMLogSystem

extension String {
  /// The text as one word for a shell, whatever is in it. It is on one line, and has no characters
  /// that a terminal would act on instead of showing them.
  ///
  /// Each of these characters stands as its bytes, in octal: that does not depend on the locale. No
  /// word of a shell can have U+0000, and the word ends before it.
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
        for byte in String(scalar).utf8 {
          let digits = String(byte, radix: 8)
          word += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
        }
      } else {
        word += scalar == "\\" ? "\\\\" : String(scalar)
      }
    }
    return word + "'"
  }
}
