import Glibc

/// How many acknowledged records a logger loses when its process is killed at full speed.
struct Losses {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    var table = Table(
      "losses", "Killed with SIGKILL at full speed: acknowledged records that cannot be read",
      columns: ["kills", "acknowledged", "lost", "most lost at once", "lost, %"],
      note:
        "Order messages from one thread, killed after 100 to 500 ms. Acknowledged: its call has returned."
    )
    for contender in AnyContender.loggers {
      var (acknowledged, lost, maximum) = (0, 0, 0)
      for kill in 0..<settings.kills {
        let (had, left) = try killed(contender, after: 100_000 + UInt32(kill * 137_000 % 400_000))
        acknowledged += had
        lost += max(0, had - left)
        maximum = max(maximum, had - left)
      }
      table.add(
        contender.name,
        [
          .number(Double(settings.kills), digits: 0), .number(Double(acknowledged), digits: 0),
          .number(Double(lost), digits: 0), .number(Double(maximum), digits: 0),
          .number(100 * Double(lost) / Double(max(1, acknowledged)), digits: 2),
        ])
    }
    results.add(table)
  }

  /// How many records were acknowledged, and how many can be read.
  private func killed(
    _ contender: AnyContender, after microseconds: UInt32
  ) throws -> (had: Int, left: Int) {
    let directory = try Files.folder("\(settings.directory)/killed")
    let page = "\(settings.directory)/killed-count"
    defer {
      Files.remove(directory)
      Files.remove(page)
    }
    let count = try SharedCount(page)
    let child = try Child(nil, ["child", "flood", contender.name, directory, page])
    while count.value == 0 {
      if child.hasEnded { throw BenchmarkError("\(contender.name) did not begin") }
      usleep(1_000)
    }
    usleep(microseconds)
    child.kill()
    return (count.value, try contender.records(directory))
  }
}
