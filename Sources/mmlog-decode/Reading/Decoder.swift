import CommandLineTool
import LogCommands
import MMLogReader
import MMLogSystem

/// Gives the records of a query to a sink, and reports on standard error what else there is to
/// know.
struct Decoder {
  /// How much of what passes is wanted.
  struct Part {
    /// Only the last so many.
    var last: Int?
    /// No more than so many.
    var maximum = Int.max
    /// Whether the newest come first.
    var isReversed = false
    var surroundings = Surroundings()
  }

  private let query: Query
  private let part: Part
  private var sink: any ItemSink
  private var context: ContextSelection?
  /// How many more records may be printed.
  private var budget: Int
  private var attention: Attention
  private var isAnyFound = false
  /// When the last record was logged that the sink has taken.
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

  /// Reads what there is.
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

  /// Reads what is archived behind a cursor, and keeps the next one.
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
    // What did not reach anybody is printed again the next time. So is what a power cut would undo.
    if sink.hasReader {
      try sink.sync()
      try cursor.keep(reader.cursor, output)
    }
    attention.end()
    return status
  }

  /// What came of it.
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

  private var isWanting: Bool {
    budget > 0 && sink.hasReader && context?.isDone != true && !Interruption.isRequested
  }

  // MARK: - Newest first

  /// About so many records are in memory while they are turned round: few at first, so that the
  /// first are printed soon.
  private static let pages = 500...50_000
  /// They keep so many bytes there at most, if they are more than one.
  private static let pageBytes = 64 << 20

  /// Reads slices of time, the last one first, that do not overlap: so each record comes once, also
  /// where a clock was set back.
  private mutating func readBackwards(_ files: LogFiles) throws {
    var filter = query.filter
    var left = part.last ?? .max
    var page = Self.pages.lowerBound
    while isWanting, left > 0 {
      var slice = filter
      let asked = min(page, left)
      let start = start(ofLast: asked, files, filter)
      if let start { slice.since = start }
      let count = try printBackwards(files, slice, last: left)
      guard let start else { return }
      filter.until = start
      left -= count
      // Of a page that its bytes have made shorter, a longer one would be read in vain.
      page = count < asked ? max(count, 1) : min(2 * count, Self.pages.upperBound)
    }
  }

  /// When the first was logged of the last records, of so many that may be in memory together; nil
  /// if these are all.
  private func start(
    ofLast count: Int, _ files: LogFiles, _ filter: LogReader.Filter
  ) -> Timestamp? {
    var kept = KeptBytes()
    var newest: [(time: Timestamp, size: Int)] = []
    let reader = files.lastRecords(count, filter: filter, while: { !Interruption.isRequested })
    Self.forEachChunk(of: reader) { chunk in
      guard let records = chunk.records else { return }
      // What they keep counts with the first of them.
      var size = kept.add(records)
      records.forEach { record in
        newest.append((record.time, size))
        size = 0
      }
    }
    newest.sort { $0.time > $1.time }
    var size = 0
    // A frame counts with its first record here. Whoever takes only its last ones keeps it, too.
    let fitting = newest.prefix { record in
      size += record.size
      return size <= Self.pageBytes / 2
    }
    if newest.count < count && fitting.count == newest.count { return nil }
    return (fitting.last ?? newest.first)?.time
  }

  /// Gives what a reader gives, until it ends, or the program is interrupted: also between records
  /// that do not pass.
  private static func forEachChunk<Failure: Error>(
    of reader: LogReader, _ body: (LogReader.Chunk) throws(Failure) -> Void
  ) throws(Failure) {
    while !Interruption.isRequested, let chunk = reader.nextChunk() { try body(chunk) }
  }

  /// Prints the last records of a slice, the newest first.
  ///
  /// - Returns: How many.
  private mutating func printBackwards(
    _ files: LogFiles, _ slice: LogReader.Filter, last count: Int
  ) throws -> Int {
    var kept = KeptBytes()
    var (chunks, sizes, size) = ([LogReader.Records](), [Int](), 0)
    // Of the first records, as many as are of one time.
    var equal = (time: Timestamp.distantPast, count: 0, size: 0)
    try Self.forEachChunk(of: LogReader(files, filter: slice)) { chunk in
      guard let records = chunk.records else { return try take(chunk) }
      // What they keep counts with the first of them.
      var added = kept.add(records)
      size += added
      records.forEach { record in
        if sizes.isEmpty { equal.time = record.time }
        if equal.count == sizes.count, equal.time == record.time {
          equal = (record.time, equal.count + 1, equal.size + added)
        }
        sizes.append(added)
        added = 0
      }
      chunks.append(records)
      if size > Self.pageBytes { chunks = [] }
    }
    if size <= Self.pageBytes {
      var left = count
      for records in chunks.reversed() where isWanting && left > 0 {
        let last = records.dropFirst(max(0, records.count - left))
        try take(.records(last.reversed()))
        left -= last.count
      }
      return count - left
    }
    let start = max(0, sizes.count - count)
    let forwards = start..<max(start, equal.size > Self.pageBytes ? equal.count : 0)
    try printParts(sizes, behind: forwards.upperBound, files, slice)
    try printForwards(forwards, of: LogReader(files, filter: slice))
    return sizes.count - start
  }

  /// Prints records of a slice, the newest first, where they may not all be in memory: many were
  /// logged at one time, or a clock was set back. The slice is read for each part of it.
  ///
  /// - Parameters:
  ///   - sizes: What each record of the slice takes in memory.
  ///   - first: The place of the oldest that is printed.
  private mutating func printParts(
    _ sizes: [Int], behind first: Int, _ files: LogFiles, _ slice: LogReader.Filter
  ) throws {
    var end = sizes.count
    while end > first, isWanting {
      var (begin, size) = (end - 1, sizes[end - 1])
      while begin > first, size + sizes[begin - 1] <= Self.pageBytes {
        begin -= 1
        size += sizes[begin]
      }
      let part = Self.records(begin..<end, of: LogReader(files, filter: slice))
      for record in part.reversed() where isWanting { try print(record) }
      end = begin
    }
  }

  /// Prints records that are all of one time, by their places, as they come: none is newer than
  /// another, and to find each part of them would take as long as to find all.
  private mutating func printForwards(_ places: Range<Int>, of reader: LogReader) throws {
    if places.isEmpty { return }
    var place = 0
    for case .record(let record) in reader {
      if !isWanting { return }
      if places.contains(place) { try print(record) }
      place += 1
      if place == places.upperBound { return }
    }
  }

  /// Records by their places among those that a reader gives.
  private static func records(_ places: Range<Int>, of reader: LogReader) -> [LogReader.Record] {
    var (records, place) = ([LogReader.Record](), 0)
    for case .record(let record) in reader {
      if Interruption.isRequested { return [] }
      if places.contains(place) { records.append(record) }
      place += 1
      if place == places.upperBound { break }
    }
    return records
  }

  // MARK: - Following

  /// How long it waits between two scans, in milliseconds: the shorter, the more came last.
  private static let pauses: ClosedRange<CInt> = 4...40

  /// Goes on with what is logged from now on, up to the end of the time that is asked for, or until
  /// nobody reads.
  ///
  /// - Parameter output: What the sink prints to.
  consuming func follow(_ output: StandardOutput) throws -> Program.Status {
    let follower = LogFollower(
      query.inputs, filter: readFilter, last: part.last, identities: query.identities)
    attention.isEndless = true
    var unreadable: Set<String> = []
    try report(follower.unreadable, besides: &unreadable)
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

  // MARK: - Items

  private mutating func report(_ errors: [LogError]) throws {
    for error in errors {
      try sink.take(unreadable: error)
      attention.add(error)
    }
  }

  /// A summary of a part looks as one of the whole.
  private mutating func reportInterruption() {
    guard Interruption.isRequested, sink.isSummary else { return }
    attention.addInterruption(at: reached)
  }

  /// Reports what cannot be read now.
  ///
  /// - Parameter known: What could not be read the last time, and was reported then.
  private mutating func report(_ errors: [LogError], besides known: inout Set<String>) throws {
    try report(errors.filter { !known.contains($0.message) })
    known = Set(errors.map(\.message))
  }

  /// What the reader leaves out; of records around those that are found, that is decided here.
  private var readFilter: LogReader.Filter {
    context == nil ? query.filter : query.filter.withoutContent
  }

  private mutating func take(_ chunk: LogReader.Chunk) throws {
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
      guard let sentence = attention.sentence(for: item) else { return }
      // What was read before it is to be seen before it.
      try sink.flush()
      return Command.complain(sentence)
    }
    guard context != nil else { return try print(record) }
    let found = context?.take(record) ?? []
    if context?.isApart == true { try sink.separate() }
    for record in found { try print(record) }
  }

  private mutating func print(_ record: LogReader.Record) throws {
    guard budget > 0 else { return }
    budget -= 1
    isAnyFound = true
    reached = record.time
    try sink.take(.record(record))
  }

  private func complainOfNothing(in files: LogFiles) {
    let isAsked = part.maximum > 0 && part.last != 0 && sink.hasReader
    if query.isQuiet || !isAsked || Interruption.isRequested { return }
    // What there is in records that are encrypted for others is not known.
    if files.unreadable.contains(where: { $0.code == .encrypted }) { return }
    Command.complain(NothingFound(query, files).sentence)
  }
}
