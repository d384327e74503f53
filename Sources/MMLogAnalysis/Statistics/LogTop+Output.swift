package import MMLogFormat
import MMLogReader

extension LogTop {
  /// Appends a table for people.
  ///
  /// - Parameters:
  ///   - rows: The maximum number of groups.
  ///   - columns: The maximum width of lines; longer names are cut.
  package func appendText(rows: Int, columns: Int = .max, to output: inout TextBuffer) {
    let groups = sorted
    var cells = ["COUNT", "%", "/S"]
    if measure != nil { cells += ["P50", "P90", "P99", "MAX"] }
    if groups.contains(where: { $0.group.failed > 0 }) { cells.append("FAILED") }
    append(cells, "", columns, to: &output)
    for (name, group) in groups.prefix(rows) {
      append(self.cells(of: group, cells.count), name, columns, to: &output)
    }
    if groups.count > rows { output.append(text: "and \(moreGroups(than: rows))\n") }
    for note in uncounted { output.append(text: "\(note)\n") }
  }

  /// The groups and records that are not in the first rows: a text for each kind.
  package func leftOut(rows: Int) -> [String] {
    (groupCount > rows ? [moreGroups(than: rows)] : []) + uncounted
  }

  private func moreGroups(than rows: Int) -> String {
    let count = groupCount - rows
    return "\(count) more \(count == 1 ? "group" : "groups")"
  }

  /// The records that are in no group.
  private var uncounted: [String] {
    [(others, "records of further groups"), (without, "records without what is asked for")]
      .filter { $0.0 > 0 }.map { "\(grouped($0)) \($1)" }
  }

  private func cells(of group: Group, _ number: Int) -> [String] {
    let share = Double(group.count) / Double(max(total, 1)) * 100
    var cells = [
      grouped(group.count), narrow(share),
      seconds > 0 ? narrow(Double(group.count) / seconds) : "",
    ]
    if measure != nil {
      cells += [0.5, 0.9, 0.99, 1].map { part in group.values.value(at: part).map(shown) ?? "" }
    }
    if cells.count < number { cells.append(grouped(group.failed)) }
    return cells
  }

  private func append(
    _ cells: [String], _ name: String, _ columns: Int, to output: inout TextBuffer
  ) {
    var line = TextBuffer(capacity: 128)
    for (index, cell) in cells.enumerated() {
      let width = index == 0 ? 10 : index < 3 ? 7 : 10
      line.append(UInt8(ascii: " "), count: max(1, width - cell.columns))
      line.append(text: cell)
    }
    output.append(cells: line.text(), name, within: columns)
  }

  private func shown(_ value: Double) -> String {
    guard case .duration? = measure else { return short(value) }
    return Self.shown(nanoseconds: value)
  }

  /// `1.23 ms`
  static func shown(nanoseconds: Double) -> String {
    for (size, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "µs")] where nanoseconds >= size {
      return short(nanoseconds / size) + " \(unit)"
    }
    return short(nanoseconds) + " ns"
  }

  /// Appends a JSON object on a line for each group.
  package func appendJSON(rows: Int, to output: inout TextBuffer) {
    for (name, group) in sorted.prefix(rows) {
      var object = JSONObject()
      object.add("name", name)
      object.add("count", group.count)
      if seconds > 0 { object.add("per_second", json: "\(Double(group.count) / seconds)") }
      if group.failed > 0 { object.add("failed", group.failed) }
      if measure != nil, group.values.count > 0 { add(group.values, to: &object) }
      output.append(text: object.text + "\n")
    }
  }

  private func add(_ values: Percentiles, to object: inout JSONObject) {
    let suffix = if case .duration? = measure { "_nano" } else { "" }
    let numbers = [
      ("minimum", values.minimum), ("p50", values.value(at: 0.5) ?? 0),
      ("p90", values.value(at: 0.9) ?? 0), ("p99", values.value(at: 0.99) ?? 0),
      ("maximum", values.maximum), ("sum", values.sum),
    ]
    for (name, number) in numbers {
      // The sum of large numbers may be infinite.
      object.add(name + suffix, json: number.isFinite ? "\(number)" : "null")
    }
  }
}

/// A text that fits into a narrow column, however small the value is.
private func narrow(_ value: Double) -> String {
  value > 0 && value < 0.001 ? "<0.001" : short(value)
}

/// Three significant digits: `0.123`, `12.3`, `1,234`.
private func short(_ value: Double) -> String {
  let size = value.magnitude
  if size >= 1e15 || (size > 0 && size < 0.001) { return "\(value)" }
  if size >= 100 || value == 0 {
    let whole = grouped(UInt64(size.rounded()))
    return value < 0 ? "-\(whole)" : whole
  }
  let scale = size >= 10 ? 10.0 : size >= 1 ? 100 : 1000
  let text = "\((value * scale).rounded() / scale)"
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

extension TextBuffer {
  /// Appends a line: cells that are not cut, and a name behind them. Some of the name is there even
  /// if the line is too wide then.
  mutating func append(cells: String, _ name: String, within columns: Int) {
    append(text: cells)
    if !name.isEmpty {
      append("  ")
      append(text: name.escapedForTerminal.cut(to: max(10, columns - cells.columns - 2)))
    }
    append("\n")
  }
}
