import Glibc
import MMLogReader
import TestSupport

/// What reading gave, in short.
struct Reading: Equatable {
  var records: [LogReader.Record] = []
  var corruption: [LogReader.Corruption] = []
  var ends: [SessionEnding] = []
  var losses: [LossLedger] = []
  var gaps: [LogReader.Gap] = []
  var unfinished: [LogReader.UnfinishedRecord] = []
  var unreadable: [LogError] = []
  /// The order of all items: messages, `!` for corruption, `?` for an unfinished record, `_` for a
  /// gap, `$` for losses, `<` and `>` for the beginning and the end of a session.
  var trace: [String] = []

  var messages: [String] { records.map(\.message) }

  init(_ paths: [String], _ filter: LogReader.Filter = LogReader.Filter()) {
    let reader = LogReader(paths: paths, filter: filter)
    unreadable = reader.unreadable
    for item in reader { add(item) }
  }

  private mutating func add(_ item: LogReader.Item) {
    switch item {
    case .record(let record):
      records.append(record)
      trace.append(record.message)
    case .corruption(let found):
      corruption.append(found)
      trace.append("!")
    case .gap(let gap):
      gaps.append(gap)
      trace.append("_")
    case .unfinished(let record):
      unfinished.append(record)
      trace.append("?")
    case .losses(_, let ledger):
      losses.append(ledger)
      trace.append("$")
    case .crashed: trace.append("#")
    case .sessionStarted: trace.append("<")
    case .sessionEnded(_, let ending, _):
      ends.append(ending)
      trace.append(">")
    }
  }

  static func == (a: Reading, b: Reading) -> Bool {
    a.trace == b.trace && a.corruption == b.corruption && a.ends == b.ends
  }
}

extension TestLog {
  /// Saves the log, and reads the folder.
  func read(_ filter: LogReader.Filter = LogReader.Filter()) -> Reading {
    save()
    return Reading([folder.path], filter)
  }
}

/// The archives in the folder that this process has open.
func openArchives(in folder: TemporaryDirectory) throws -> [String] {
  var paths: Set<String> = []
  for name in try Folder.names("/proc/self/fd") {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/fd/\(name)", &buffer, buffer.count)
    guard count > 0 else { continue }
    let path = buffer.withUnsafeBytes { String(decoding: $0[..<count], as: UTF8.self) }
    if path.hasPrefix(folder.path) { paths.insert(path) }
  }
  return paths.sorted()
}
