import CommandLineTool
import LogCommands
import MMLogReader
import MMLogSystem

/// Gives the records of a query to a sink, and reports everything else on standard error.
struct Decoder {
  /// Which part of the records that pass is wanted.
  struct Part {
    /// How many records are wanted, the last ones; nil: all.
    var last: Int?
    /// The maximum number of records.
    var maximum = Int.max
    /// Whether the newest come first.
    var isReversed = false
    var surroundings = Surroundings()
  }

  let query: Query
  let part: Part
  private var sink: any ItemSink
  private var context: ContextSelection?
  /// How many more records may be printed.
  private var budget: Int
  private var attention: Attention
  private var isAnyFound = false
  /// The time of the last record that the sink has taken.
  private var reached: Timestamp?

  init(_ query: Query, _ sink: any ItemSink, _ part: Part = Part()) {
    // A directory may have more archives than the usual limit of open files.
    File.raiseOpenLimit()
    (self.query, self.sink, self.part) = (query, sink, part)
    attention = Attention(query)
    budget = part.maximum
    guard part.surroundings != Surroundings() else { return }
    context = ContextSelection(query.filter, part.surroundings, maximum: part.maximum)
    budget = .max
  }

  /// Reads all files.
  ///
  /// - Throws: what prevents printing.
  consuming func run() throws -> Program.Status {
    let files = LogFiles(query.inputs, identities: query.identities)
    try report(files.unreadable)
    if files.fileCount == 0 { return .nothingReadable }
    if part.isReversed { try readBackwards(files) } else { try read(files) }
    reportInterruption()
    try sink.finish()
    attention.end()
    if sink.isEmpty { isAnyFound = false }
    if !isAnyFound { complainOfNothing(in: files) }
    return status
  }

  /// Reads what is archived behind a cursor, and keeps the cursor for the next run.
  ///
  /// - Throws: what prevents printing, or keeping the cursor.
  consuming func run(from cursor: CursorChoice, _ output: StandardOutput) throws -> Program.Status {
    let files = LogFiles(query.inputs, identities: query.identities)
    try report(files.unreadable)
    if files.fileCount == 0 { return .nothingReadable }
    attention.isResumed = true
    let reader = LogReader(files, filter: query.filter, after: cursor.start)
    try read(reader)
    reportInterruption()
    try sink.finish()
    // Output that did not reach a reader is printed again the next time. So is output that a power
    // cut would undo.
    if sink.hasReader {
      try sink.sync()
      try cursor.keep(reader.cursor, output)
    }
    attention.end()
    return status
  }

  /// The exit status.
  private var status: Program.Status {
    isAnyFound || !query.mustMatch || attention.status != .success
      ? attention.status : .nothingMatched
  }

  private mutating func read(_ files: LogFiles) throws {
    try read(
      part.last.map {
        files.lastRecords($0, filter: readFilter, while: { !Interruption.isRequested })
      } ?? LogReader(files, filter: readFilter))
  }

  private mutating func read(_ reader: LogReader) throws {
    while isWanting, let chunk = reader.nextChunk() {
      try take(chunk)
      sink.note(progress: { reader.progress })
    }
  }

  var isWanting: Bool {
    budget > 0 && sink.hasReader && context?.isDone != true && !Interruption.isRequested
  }

  // MARK: - Following

  /// How long to wait between two scans, in milliseconds. The wait is short after records have
  /// come.
  private static let pauses: ClosedRange<CInt> = 4...40

  /// Prints what is logged from now on, until the requested time ends, or nobody reads the output.
  ///
  /// - Parameter output: The output that the sink prints to.
  consuming func follow(_ output: StandardOutput) throws -> Program.Status {
    let follower = LogFollower(
      query.inputs, filter: readFilter, last: part.last, identities: query.identities)
    attention.isEndless = true
    var unreadable: Set<String> = []
    try report(follower.unreadable, besides: &unreadable)
    if query.paths.allSatisfy(Self.isStream) { return .nothingReadable }
    var pause = Self.pauses.lowerBound
    var hasPaused = false
    while isWanting {
      // Asked before the scan, which finds what was logged until then.
      let isOver = query.filter.until.map { $0 <= .now } ?? false
      if let item = follower.next() {
        try take(item)
        pause = Self.pauses.lowerBound
        hasPaused = false
      } else if isOver, hasPaused {
        break
      } else {
        hasPaused = true
        try sink.flush()
        try report(follower.unreadable, besides: &unreadable)
        try output.pause(milliseconds: pause)
        pause = min(2 * pause, Self.pauses.upperBound)
      }
    }
    try sink.finish()
    return status
  }

  /// Whether a path stands for a pipe or a device, which is never followed. What does not exist may
  /// become a directory.
  private static func isStream(_ path: String) -> Bool {
    guard let status = try? File.status(ofPath: path) else { return false }
    return !status.isRegularFile && !status.isDirectory
  }

  // MARK: - Items

  private mutating func report(_ errors: [LogError]) throws {
    for error in errors {
      try sink.take(unreadable: error)
      attention.add(error)
    }
  }

  /// Without this report, a summary of a part would look like one of the whole.
  private mutating func reportInterruption() {
    guard Interruption.isRequested, sink.isSummary else { return }
    attention.addInterruption(at: reached)
  }

  /// Reports what cannot be read now.
  ///
  /// - Parameter known: The errors of the last time, which were reported then.
  private mutating func report(_ errors: [LogError], besides known: inout Set<String>) throws {
    try report(errors.filter { !known.contains($0.message) })
    known = Set(errors.map(\.message))
  }

  /// The filter of the reader. With surroundings, the content of records is checked here instead.
  private var readFilter: LogReader.Filter {
    context == nil ? query.filter : query.filter.withoutContent
  }

  mutating func take(_ chunk: LogReader.Chunk) throws {
    switch chunk {
    case .item(let item): try take(item)
    case .records(let records) where context != nil:
      try records.forEach { try take(.record($0)) }
    case .records(let records):
      let wanted = records.count > budget ? records.prefix(budget) : records
      budget -= wanted.count
      isAnyFound = isAnyFound || wanted.count > 0
      reached = wanted.lastTime ?? reached
      try sink.take(wanted)
    }
  }

  private mutating func take(_ item: LogReader.Item) throws {
    guard case .record(let record) = item else {
      try sink.take(item)
      return try complain(attention.sentence(for: item))
    }
    guard context != nil else { return try print(record) }
    let found = context?.take(record) ?? []
    if let count = context?.missingCount, count > 0 {
      try complain(attention.sentence(forMissing: count, before: record))
    }
    if context?.isApart == true { try sink.separate() }
    for record in found { try print(record) }
  }

  private mutating func complain(_ sentence: String?) throws {
    guard let sentence else { return }
    // Output about earlier records must be visible before the sentence.
    try sink.flush()
    Command.complain(sentence)
  }

  mutating func print(_ record: LogReader.Record) throws {
    guard budget > 0 else { return }
    budget -= 1
    isAnyFound = true
    reached = record.time
    try sink.take(.record(record))
  }

  private func complainOfNothing(in files: LogFiles) {
    let isAsked = part.maximum > 0 && part.last != 0 && sink.hasReader
    if query.isQuiet || !isAsked || Interruption.isRequested { return }
    // It is not known what is in records that are encrypted for others.
    if files.unreadable.contains(where: { $0.code == .encrypted }) { return }
    Command.complain(NothingFound(query, files).sentence)
  }
}
