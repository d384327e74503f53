import CommandLineTool
import MMLogReader
import MMLogSystem

/// Gives what is read to a sink, and tells on standard error what else there is to know.
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
    let files = LogFiles(settings.inputs)
    for error in files.unreadable {
      Command.decode.report(error.message.escapedForTerminal)
      status = .damageOrLoss
    }
    if files.fileCount == 0 { return .nothingReadable }
    if let reader = reader(of: files) {
      while budget > 0, sink.hasReader, let item = reader.next() { try take(item) }
    } else {
      Command.decode.report("no session ended without being closed")
    }
    try sink.finish()
    return status
  }

  /// Nil if what is asked for is not there.
  private func reader(of files: LogFiles) -> LogReader? {
    let filter = context == nil ? settings.filter : settings.filter.withoutContent
    return switch settings.part {
    case .all, .first: LogReader(files, filter: filter)
    case .last(let count): files.lastRecords(count, filter: filter)
    case .beforeCrash(let count): files.lastCrash(recordsOfThread: count, filter: filter)
    }
  }

  private mutating func take(_ given: consuming LogItem) throws {
    let item = given
    if context == nil, case .record = item { return try print(item) }
    guard case .record(let record) = item else {
      try sink.take(item)
      return try report(item)
    }
    let found = context?.take(record) ?? []
    if context?.isApart == true { try sink.separate() }
    for record in found { try print(.record(record)) }
  }

  private mutating func print(_ item: consuming LogItem) throws {
    guard budget > 0 else { return }
    budget -= 1
    try sink.take(item)
  }

  private mutating func report(_ item: LogItem) throws {
    guard let report = Report(item, settings.filter) else { return }
    if report.isDamageOrLoss { status = .damageOrLoss }
    // What was read before it is to be seen before it.
    try sink.flush()
    Command.decode.report(report.sentence.escapedForTerminal)
  }
}
