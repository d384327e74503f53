import Foundation

/// A number with `digits` digits behind the point, and its thousands set apart.
func decimal(_ value: Double, _ digits: Int) -> String {
  guard value.isFinite else { return "–" }
  let text = String(format: "%.\(digits)f", value)
  guard abs(value) >= 10_000, let end = text.firstIndex(of: ".") ?? Optional(text.endIndex) else {
    return text
  }
  var whole = ""
  for (index, digit) in text[..<end].reversed().enumerated() {
    if index > 0 && index % 3 == 0 && digit != "-" { whole.append(",") }
    whole.append(digit)
  }
  return String(whole.reversed()) + text[end...]
}

extension Table {
  /// For a terminal: columns in line.
  var plain: String {
    let lines = [[""] + columns] + rows.map { [$0.name] + $0.cells.map(\.text) }
    let widths = (0...columns.count).map { column in lines.map { $0[column].count }.max() ?? 0 }
    let body = lines.map { cells in
      cells.enumerated().map { (column, text) in
        let gap = String(repeating: " ", count: widths[column] - text.count)
        return column == 0 ? text + gap : gap + text
      }.joined(separator: "  ")
    }
    return (["", title] + (note.isEmpty ? [] : [note]) + [""] + body).joined(separator: "\n")
  }

  /// For a document.
  var markdown: String {
    let head = ["| " + ([""] + columns).joined(separator: " | ") + " |"]
    let rule = ["|---|" + columns.map { _ in "---:|" }.joined()]
    let body = rows.map { row in
      "| \(row.name) | " + row.cells.map(\.text).joined(separator: " | ") + " |"
    }
    let above = ["", "### \(title)", ""] + (note.isEmpty ? [] : [note, ""])
    return (above + head + rule + body).joined(separator: "\n")
  }
}
