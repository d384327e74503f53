import Glibc

/// The results of the rounds for one thing.
struct Figure: Encodable {
  private(set) var values: [Double] = []

  init(_ values: [Double] = []) { self.values = values }

  mutating func add(_ value: Double) { values.append(value) }

  var median: Double {
    let sorted = values.sorted()
    guard let middle = sorted.dropFirst(sorted.count / 2).first else { return .nan }
    return sorted.count % 2 == 1 ? middle : (middle + sorted[sorted.count / 2 - 1]) / 2
  }

  var minimum: Double { values.min() ?? .nan }
  var maximum: Double { values.max() ?? .nan }

  /// The ratio, round by round: rounds that the machine disturbed disturb both sides.
  func ratio(to other: Figure) -> Figure { Figure(zip(values, other.values).map { $0 / $1 }) }

  func minus(_ other: Figure) -> Figure { Figure(zip(values, other.values).map { $0 - $1 }) }

  private enum Key: CodingKey { case median, minimum, maximum, rounds }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(median, forKey: .median)
    try container.encode(minimum, forKey: .minimum)
    try container.encode(maximum, forKey: .maximum)
    try container.encode(values.count, forKey: .rounds)
  }
}
