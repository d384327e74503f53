import MMLog

/// What it costs to open a store in an empty directory, until the first record can be logged.
struct Openings {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    var table = Table(
      "openings", "Opening a store, by the size of its ring: milliseconds",
      columns: ["8 MiB", "64 MiB", "512 MiB"],
      note: "Until the call returns. The rest of a ring is populated behind it.")
    for (name, directory) in settings.places {
      let cells = try [8, 64, 512].map { Cell.figure(try opening($0 << 20, directory), digits: 1) }
      table.add(name, cells)
    }
    results.add(table)
  }

  private func opening(_ size: Int, _ parent: String) throws -> Figure {
    var figure = Figure()
    for _ in 0..<(settings.quick ? 3 : 9) {
      let directory = try Files.folder("\(parent)/opening")
      defer { Files.remove(directory) }
      var configuration = LogStore.Configuration()
      configuration.ringSize = size
      var store: LogStore?
      let seconds = try Clock.seconds {
        store = try LogStore(directory: directory, name: "opening", configuration: configuration)
      }
      try store?.close()
      figure.add(seconds * 1000)
    }
    return figure
  }
}
