/// Breaks a text between words, so that no line is wider than `width`. A longer word gets a line of
/// its own.
///
/// - Parameters:
///   - indent: spaces before each line but the first.
///   - first: spaces before the first line.
///   - used: columns of the first line that are already taken.
/// - Returns: lines, each with a line end.
func wrap(_ text: String, width: Int, indent: Int, first: Int, used: Int) -> String {
  var result = String(repeating: " ", count: first)
  var column = used + first
  var isLineEmpty = true
  for word in text.split(separator: " ") {
    if !isLineEmpty && column + 1 + word.count > width {
      result += "\n" + String(repeating: " ", count: indent)
      (column, isLineEmpty) = (indent, true)
    }
    if !isLineEmpty { result += " " }
    column += (isLineEmpty ? 0 : 1) + word.count
    result += word
    isLineEmpty = false
  }
  return result + "\n"
}
