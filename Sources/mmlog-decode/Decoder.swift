import CommandLineTool
import MMLogReader
import MMLogSystem

/// Gives what is read to a sink, and reports on standard error what else there is to know.
struct Decoder {
  private let settings: DecodeSettings
  private var sink: any ItemSink
  private var context: ContextSelection?
  /// How many more records may be printed.
  private var budget = Int.max
  private var status = Program.Status.success

  init(_ settings: DecodeSettings) {
    // A directory may have more archives than the usual limit of open files.
    File.raiseOpenLimit()
    self.settings = settings
    sink = settings.sink
    if settings.context > 0 { context = ContextSelection(settings.filter, settings.context) }
    if case .first(let count) = settings.part { budget = count }
  }

  /// - Throws: what prevents printing.
  consuming func run() throws -> Program.Status {
    if settings.follows { return try follow() }
    let files = LogFiles(settings.inputs)
    try report(files.unreadable)
    if files.fileCount == 0 { return .nothingReadable }
    if let reader = reader(of: files) {
      while budget > 0, sink.hasReader, let chunk = reader.nextChunk() {
        try take(chunk)
        sink.note(progress: { reader.progress })
      }
    } else {
      Command.decode.report("no session crashed")
    }
    try sink.finish()
    if case .beforeCrash = settings.part { reportOpenSpans(files) }
    return status
  }

  /// Reports what was in flight when the process died whose last records were printed.
  private func reportOpenSpans(_ files: LogFiles) {
    guard let session = files.lastCrashedSession(filter: readFilter) else { return }
    var time = TimeFormatter(settings.zone)
    for line in files.openSpans(of: session.id).lines(&time) {
      Command.decode.report("\(session.title): \(line)".escapedForTerminal)
    }
  }

  /// How long it waits between two scans, in nanoseconds: the shorter, the more came last.
  private static let pauses = Int64(4_000_000)...40_000_000

  private mutating func follow() throws -> Program.Status {
    var last: Int?
    if case .last(let count) = settings.part { last = count }
    let follower = LogFollower(settings.inputs, filter: readFilter, last: last)
    try report(follower.unreadable)
    var pause = Self.pauses.lowerBound
    while budget > 0, sink.hasReader {
      if let item = follower.next() {
        try take(item)
        pause = Self.pauses.lowerBound
      } else {
        try sink.flush()
        Sleep.nanoseconds(pause)
        pause = min(2 * pause, Self.pauses.upperBound)
      }
    }
    try sink.finish()
    return status
  }

  private mutating func report(_ errors: [LogError]) throws {
    for error in errors {
      try sink.take(unreadable: error)
      Command.decode.report(error.message.escapedForTerminal)
      status = .corruptionOrLoss
    }
  }

  /// What the reader leaves out; of records around those that are found, that is decided here.
  private var readFilter: LogReader.Filter {
    context == nil ? settings.filter : settings.filter.withoutContent
  }

  /// Nil if what is asked for is not there.
  private func reader(of files: LogFiles) -> LogReader? {
    switch settings.part {
    case .all, .first: LogReader(files, filter: readFilter)
    case .last(let count): files.lastRecords(count, filter: readFilter)
    case .beforeCrash(let count): files.lastCrash(recordsOfThread: count, filter: readFilter)
    }
  }

  private mutating func take(_ chunk: LogReader.Chunk) throws {
    switch chunk {
    case .item(let item): try take(item)
    case .records(let records) where context != nil:
      try records.forEach { try take(.record($0)) }
    case .records(let records):
      let wanted = records.count > budget ? records.prefix(budget) : records
      budget -= wanted.count
      try sink.take(wanted)
    }
  }

  private mutating func take(_ item: LogReader.Item) throws {
    guard case .record(let record) = item else {
      try sink.take(item)
      return try report(item)
    }
    guard context != nil else { return try print(record) }
    let found = context?.take(record) ?? []
    if context?.isApart == true { try sink.separate() }
    for record in found { try print(record) }
  }

  private mutating func print(_ record: LogReader.Record) throws {
    guard budget > 0 else { return }
    budget -= 1
    try sink.take(.record(record))
  }

  private mutating func report(_ item: LogReader.Item) throws {
    guard let report = Report(item, settings.filter, settings.zone) else { return }
    if report.isCorruptionOrLoss { status = .corruptionOrLoss }
    // What was read before it is to be seen before it.
    try sink.flush()
    Command.decode.report(report.sentence.escapedForTerminal)
    for line in report.details { StandardError.write("\(line.escapedForTerminal)\n") }
  }
}
