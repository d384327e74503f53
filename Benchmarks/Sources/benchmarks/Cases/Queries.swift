import Foundation
import MMLog
import MMLogCalls

/// Questions to mmlog-decode, beside the usual tools on the same text in a gzip file; and the
/// memory that it takes for very many files.
struct Queries {
  private let settings: Settings
  private let directory: String
  private let text: String
  private var records: Int { 2 * settings.sustainedRecords }

  init(_ settings: Settings) {
    self.settings = settings
    directory = "\(settings.directory)/queries"
    text = "\(settings.directory)/queries.txt"
  }

  func run(_ results: inout Results) throws {
    defer { for path in [directory, text, "\(text).gz"] { Files.remove(path) } }
    let memory = try peakOfManyFiles()
    try log(to: Files.folder(directory), count: records)
    try shell("'\(decoder)' '\(directory)' > '\(text)' && gzip -kf '\(text)'")
    var table = Table(
      "queries",
      "Questions to \(decimal(Double(records), 0)) order records, 20 of which are errors",
      columns: ["seconds", "the usual way, seconds", "times as fast"],
      note:
        "Peak memory of reading 200 files of as many processes, all of the same time: \(decimal(memory, 1)) MiB."
    )
    for (name, ours, usual) in try questions() {
      var times = [Figure(), Figure()]
      for round in 0...(settings.quick ? 2 : 5) {
        for index in round % 2 == 0 ? [0, 1] : [1, 0] {
          let seconds = try Clock.seconds { try shell("\([ours, usual][index]) > /dev/null") }
          if round > 0 { times[index].add(seconds) }
        }
      }
      table.add(
        name,
        [
          .figure(times[0], digits: 3), .figure(times[1], digits: 2),
          .median(times[1].ratio(to: times[0]), digits: 1),
        ])
    }
    results.add(table)
  }

  private func questions() throws -> [(name: String, ours: String, usual: String)] {
    let gzip = "'\(text).gz'"
    let tool = "'\(decoder)' '\(directory)'"
    // This is as large a part as a minute of a day.
    let (from, to) = try window(share: 1440)
    return [
      ("--level error", "\(tool) --level error", "zgrep ' ERROR ' \(gzip)"),
      ("--grep WORD", "\(tool) --grep HALTED", "zgrep HALTED \(gzip)"),
      (
        "--grep, a regular expression", "\(tool) --grep 'HALT.D at [0-9]+'",
        "zgrep -E 'HALT.D at [0-9]+' \(gzip)"
      ),
      (
        "a 1440th of the time", "\(tool) --since \(from) --until \(to)",
        "zcat \(gzip) | awk '$1 >= \"\(from)\" && $1 < \"\(to)\"'"
      ),
      ("all as text", tool, "zcat \(gzip)"),
      ("the first line", "\(tool) --max-count 1", "zcat \(gzip) | head -n 1"),
      ("the last ten lines", "\(tool) --tail 10", "zcat \(gzip) | tail -n 10"),
    ]
  }

  /// Returns a part in the middle, as times in the text.
  private func window(share: Int) throws -> (String, String) {
    let line = { (number: Int) throws -> String in
      let child = try Child(
        "/bin/sh", ["-c", "sed -n '\(number){p;q}' '\(text)'"], capturing: true)
      let line = String(decoding: try child.finish(), as: UTF8.self)
      return String(line.prefix { $0 != " " })
    }
    return (try line(records / 2), try line(records / 2 + records / share))
  }

  private func log(to directory: String, count: Int) throws {
    let contender = try MMLogContender(directory: directory, for: .service)
    let log = contender.store.logger(label: "venue")
    let orders = Orders()
    for index in 0..<count {
      contender.order(orders[index])
      if index % (count / 20) == count / 40 { log.error("venue HALTED at \(index)") }
    }
    try contender.finish()
  }

  /// Returns the peak in MiB. The work is done in processes of their own: a new process counts the
  /// memory that its parent had as its own.
  private func peakOfManyFiles() throws -> Double {
    let folder = try Files.folder("\(settings.directory)/queries-many")
    defer { Files.remove(folder) }
    try Child(nil, ["child", "many", folder, "\(records)"]).finish()
    let peak = try Child(nil, ["child", "peak", decoder, folder], capturing: true).finish()
    return (Double(String(decoding: peak, as: UTF8.self)) ?? .nan) / 1024
  }

  /// Logs in turn with 200 stores, as 200 processes would at the same time.
  static func logToManyStores(_ folder: String, _ records: Int) throws {
    var stores: [MMLogContender] = []
    for _ in 0..<200 { stores.append(try MMLogContender(directory: folder, for: .service)) }
    let orders = Orders()
    for index in 0..<records { stores[index % stores.count].order(orders[index]) }
    for store in stores { try store.finish() }
  }

  /// Runs a program, and prints how much memory it had at most, in KiB.
  static func printPeak(of program: String, _ arguments: [String]) throws {
    try Child(program, arguments).finish()
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    print(usage.ru_maxrss, terminator: "")
  }

  private let decoder = Child.neighbor("mmlog-decode")
}
