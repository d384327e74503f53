/// A table of results, to be printed and kept.
struct Table: Encodable {
  let id: String
  let title: String
  /// What a reader has to know to understand it.
  let note: String
  let columns: [String]
  private(set) var rows: [Row] = []

  struct Row: Encodable {
    let name: String
    let cells: [Cell]
  }

  init(_ id: String, _ title: String, columns: [String], note: String = "") {
    (self.id, self.title, self.columns, self.note) = (id, title, columns, note)
  }

  mutating func add(_ name: String, _ cells: [Cell]) { rows.append(Row(name: name, cells: cells)) }
}

enum Cell: Encodable {
  /// The median of rounds, with the minimum and the maximum.
  case figure(Figure, digits: Int)
  /// The median alone.
  case median(Figure, digits: Int)
  case number(Double, digits: Int)
  case text(String)
  case none

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .figure(let figure, _), .median(let figure, _): try container.encode(figure)
    case .number(let number, _): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .none: try container.encodeNil()
    }
  }

  var text: String {
    switch self {
    case .figure(let figure, let digits):
      "\(decimal(figure.median, digits)) (\(decimal(figure.minimum, digits))–\(decimal(figure.maximum, digits)))"
    case .median(let figure, let digits): decimal(figure.median, digits)
    case .number(let number, let digits): decimal(number, digits)
    case .text(let text): text
    case .none: "–"
    }
  }
}
