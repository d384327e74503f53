import Foundation

/// mmlog-decode over archives, beside zcat of the same text in a gzip file.
struct Decode {
  private let settings: Settings
  init(_ settings: Settings) { self.settings = settings }

  func run(_ results: inout Results) throws {
    let directory = try Files.folder("\(settings.directory)/decode")
    let text = "\(settings.directory)/decode.txt"
    defer { for path in [directory, text, "\(text).gz"] { Files.remove(path) } }
    let records = settings.sustainedRecords
    let job = Sustained.Job(records: records)
    _ = try Sustained.start(AnyContender(MMLogContender.self), job, in: directory)
    try shell("'\(decoder)' '\(directory)' > '\(text)' && gzip -k '\(text)'")

    let commands = [
      ("mmlog-decode, text", "'\(decoder)' '\(directory)'"),
      ("mmlog-decode, message", "'\(decoder)' --format message '\(directory)'"),
      ("mmlog-decode, json", "'\(decoder)' --format json '\(directory)'"),
      ("zcat of the text", "zcat '\(text).gz'"),
    ]
    var times = [Figure](repeating: Figure(), count: commands.count)
    for round in 0...(settings.quick ? 2 : 5) {
      for index in round % 2 == 0 ? Array(commands.indices) : commands.indices.reversed() {
        let seconds = try Clock.seconds { try shell("\(commands[index].1) > /dev/null") }
        if round > 0 { times[index].add(seconds) }
      }
    }
    var table = Table(
      "decode", "Reading \(decimal(Double(records), 0)) order records",
      columns: ["seconds", "records/s", "to zcat"],
      note:
        "Archives of \(decimal(Double(Files.size(of: Files.list(directory))) / 1e6, 1)) MB; text of "
        + "\(decimal(Double(Files.size(text)) / 1e6, 1)) MB, with gzip \(decimal(Double(Files.size("\(text).gz")) / 1e6, 1)) MB."
    )
    for (index, command) in commands.enumerated() {
      table.add(
        command.0,
        [
          .figure(times[index], digits: 2),
          .number(Double(records) / times[index].median, digits: 0),
          .median(times[index].ratio(to: times[commands.count - 1]), digits: 2),
        ])
    }
    results.add(table)
  }

  private let decoder = Child.neighbor("mmlog-decode")
}
