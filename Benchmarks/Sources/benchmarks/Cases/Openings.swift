import MMLog

/// What it costs to open a store in an empty directory, until the first record can be logged.
struct Openings {
  /// The sizes of rings, in MiB.
  private static let sizes = [8, 64, 512]
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    var table = Table(
      "openings", "Opening a store, by the size of its ring: milliseconds",
      columns: Self.sizes.map { "\($0) MiB" },
      note: "Until the call returns. The rest of a ring is populated behind it.")
    let places = settings.places
    let cases = places.indices.flatMap { place in Self.sizes.indices.map { (place, $0) } }
    var figures = places.map { _ in Self.sizes.map { _ in Figure() } }
    for round in 0...(settings.quick ? 3 : 9) {
      for (place, size) in round % 2 == 0 ? cases : cases.reversed() {
        let milliseconds = try opening(Self.sizes[size] << 20, places[place].directory)
        if round > 0 { figures[place][size].add(milliseconds) }
      }
    }
    for (place, own) in zip(places, figures) {
      table.add(place.name, own.map { .figure($0, digits: 1) })
    }
    results.add(table)
  }

  private func opening(_ size: Int, _ parent: String) throws -> Double {
    let directory = try Files.folder("\(parent)/opening")
    defer { Files.remove(directory) }
    var configuration = LogStore.Configuration()
    configuration.ringSize = size
    var store: LogStore?
    let seconds = try Clock.seconds {
      store = try LogStore(directory: directory, name: "opening", configuration: configuration)
    }
    try store?.close()
    return seconds * 1000
  }
}
