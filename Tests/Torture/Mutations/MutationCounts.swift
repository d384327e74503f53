/// What came of many mutated copies.
struct MutationCounts {
  private(set) var copies = 0
  private(set) var findings = 0
  private(set) var samples = 0
  /// How often each mutation happened, alone or with others, and what became of these copies.
  private var outcomes = [[Int]](
    repeating: [Int](repeating: 0, count: Verdict.Outcome.allCases.count),
    count: Mutation.allCases.count)
  private var totals = [Int](repeating: 0, count: Verdict.Outcome.allCases.count)

  init() {}

  /// Mutations that never happened, or never made a difference.
  var idle: [Mutation] {
    zip(Mutation.allCases, outcomes).filter { $1.dropFirst().allSatisfy { $0 == 0 } }.map(\.0)
  }

  mutating func add(
    _ kinds: [Mutation], _ outcome: Verdict.Outcome, isFinding: Bool, isSample: Bool
  ) {
    copies += 1
    if isFinding { findings += 1 }
    if isSample { samples += 1 }
    totals[outcome.rawValue] += 1
    for kind in Set(kinds) {
      guard let index = Mutation.allCases.firstIndex(of: kind) else { continue }
      outcomes[index][outcome.rawValue] += 1
    }
  }

  mutating func add(_ other: MutationCounts) {
    let numbers = zip(numbers, other.numbers).map { $0 + $1 }
    self = MutationCounts(numbers)
  }

  private var numbers: [Int] { [copies, findings, samples] + totals + outcomes.flatMap { $0 } }

  private init(_ numbers: [Int]) {
    (copies, findings, samples) = (numbers[0], numbers[1], numbers[2])
    let width = totals.count
    totals = Array(numbers[3..<3 + width])
    for index in outcomes.indices {
      outcomes[index] = Array(numbers[(3 + width * (index + 1))...].prefix(width))
    }
  }

  /// For the process that started this one: all numbers on one line.
  var text: String { numbers.map(String.init).joined(separator: " ") }

  /// Reads the last line that a process printed. All counts are 0 if the process did not come to
  /// its end.
  init(report: String) {
    let line = report.split(separator: "\n").last ?? ""
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    self =
      numbers.count == MutationCounts().numbers.count ? MutationCounts(numbers) : MutationCounts()
  }

  func summary(seconds: Double) -> String {
    let names = Verdict.Outcome.allCases.map { "\($0)" }
    let rows = zip(Mutation.allCases, outcomes).map { Self.row("\($0)", $1.map(String.init)) }
    return """
      \(copies) mutated directories in \(Int(seconds)) s: \(findings) with findings
      \(samples) of them verified, repaired, recovered and decoded by a process, too
      how often each mutation happened, by what became of the directory:
      \(Self.row("", names))\(rows.joined())\(Self.row("all", totals.map(String.init)))
      """
  }

  private static func row(_ name: String, _ cells: [String]) -> String {
    let widths = Verdict.Outcome.allCases.map { "\($0)".count + 2 }
    let padded = zip(cells, widths).map { cell, width in
      String(repeating: " ", count: max(1, width - cell.count)) + cell
    }
    let title = "  \(name)" + String(repeating: " ", count: max(0, 24 - name.count))
    return title + padded.joined() + "\n"
  }
}
