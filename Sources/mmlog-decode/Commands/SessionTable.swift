import MMLogFormat
import MMLogReader

/// The table of sessions. If a terminal is too narrow for a row, the cells at the row's end go
/// below the row.
struct SessionTable {
  private static let titles = ["SESSION", "PROCESS", "STARTED", "LAST RECORD", "RECORDS", "ENDED"]
  private static let (started, lastRecord, records) = (2, 3, 4)
  /// The cells of a row, the widest layout first, and whether times are without their zone.
  private static let layouts: [(cells: [Int], isShort: Bool)] = [
    ([0, 1, 2, 3, 4, 5], false), ([0, 1, 2, 3, 4], false), ([0, 1, 2, 3, 4], true),
    ([0, 1, 2, 4], true), ([0, 1, 4], true), ([0, 1], true),
  ]
  /// Without a terminal, these least widths align rows of different logs.
  private static let usualWidths = [10, 22, 27, 27, 9, 0]

  private let rows: [[String]]
  private let columns: Int?
  private let cells: [Int]
  private var widths = usualWidths

  /// - Parameters:
  ///   - rows: All rows, with a cell for each title. This initializer escapes them.
  ///   - columns: The width of the terminal; nil if there is none.
  init(_ rows: [[String]], columns: Int?) {
    let rows = rows.map { $0.map(\.escapedForTerminal) }
    self.columns = columns
    guard let columns else {
      (self.rows, cells) = (rows, Self.layouts[0].cells)
      widths = zip(Self.usualWidths, Self.widths(of: rows)).map(max)
      return
    }
    var (best, bestRows, bestWidths) = (Self.layouts[0].cells, rows, widths)
    for (cells, isShort) in Self.layouts {
      let shown = isShort ? rows.map(Self.short) : rows
      (best, bestRows, bestWidths) = (cells, shown, Self.widths(of: shown))
      if cells.reduce(-2, { $0 + bestWidths[$1] }) <= columns { break }
    }
    (cells, self.rows, widths) = (best, bestRows, bestWidths)
  }

  /// The widths that the cells and their titles take, with the space between.
  private static func widths(of rows: [[String]]) -> [Int] {
    titles.indices.map { index in
      ([titles] + rows).reduce(0) { max($0, $1[index].columns) } + 2
    }
  }

  var title: String { line(Self.titles) }

  /// A row, with its other details below it.
  func text(of index: Int, _ details: [String]) -> TextBuffer {
    let row = rows[index]
    let below = row.indices.filter { !cells.contains($0) }.map { cell in
      switch cell {
      case Self.started: "started at \(row[cell])"
      case Self.lastRecord: "last record at \(row[cell])"
      case Self.records: "\(row[cell]) records"
      default: row[cell]
      }
    }
    var text = TextBuffer()
    for line in [line(row)] + (below + details.map(\.escapedForTerminal)).map({ "  \($0)" }) {
      TerminalFormatter.append(line, columns ?? .max, indent: 4, to: &text)
      text.append("\n")
    }
    return text
  }

  private func line(_ row: [String]) -> String {
    let cells = cells.map { cell in
      row[cell] + String(repeating: " ", count: max(2, widths[cell] - row[cell].columns))
    }
    return String(cells.joined().reversed().drop { $0 == " " }.reversed())
  }

  /// Times as clocks in the zone show them.
  private static func short(_ row: [String]) -> [String] {
    var row = row
    for cell in [started, lastRecord] {
      row[cell] = String(row[cell].prefix(19).map { $0 == "T" ? " " : $0 })
    }
    return row
  }
}
