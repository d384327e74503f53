import Foundation

/// Everything a run has found.
struct Results: Encodable {
  let machine = Machine()
  let quick: Bool
  private(set) var tables: [Table] = []
  /// By name: nanoseconds, and the part of all calls that took at most that time.
  var latencies: [String: [[Double]]] = [:]

  private enum CodingKeys: CodingKey { case machine, quick, tables, latencies }

  /// Whether tables are printed as Markdown.
  private let markdown: Bool

  init(_ settings: Settings) {
    quick = settings.quick
    markdown = settings.markdown
    print("\(machine.summary)")
  }

  /// Adds a table, and shows it.
  mutating func add(_ table: Table) {
    tables.append(table)
    print(markdown ? table.markdown : table.plain)
    fflush(nil)
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    try encoder.encode(self).write(to: URL(fileURLWithPath: path))
  }
}
