import MMLogReader

/// Reading the newest records first.
extension Decoder {
  /// About how many records are in memory while their order is reversed. There are few at first, so
  /// that the first ones are printed soon.
  private static let pages = 500...50_000
  /// How many bytes these records may keep in memory, unless there is only one.
  private static let pageBytes = 64 << 20

  /// Reads slices of time, the last one first. The slices do not overlap, and thus each record
  /// comes once, even if a clock was set back.
  mutating func readBackwards(_ files: LogFiles) throws {
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
      // If a page became shorter because of its bytes, a longer one would be read in vain.
      page = count < asked ? max(count, 1) : min(2 * count, Self.pages.upperBound)
    }
  }

  /// The time of the first of the last records, as many of them as may be in memory together; nil
  /// if these are all records.
  private func start(
    ofLast count: Int, _ files: LogFiles, _ filter: LogReader.Filter
  ) -> Timestamp? {
    var kept = KeptBytes()
    var newest: [(time: Timestamp, size: Int)] = []
    let reader = files.lastRecords(count, filter: filter, while: { !Interruption.isRequested })
    Self.forEachChunk(of: reader) { chunk in
      guard let records = chunk.records else { return }
      // What the records keep in memory counts with the first of them.
      var size = kept.add(records)
      records.forEach { record in
        newest.append((record.time, size))
        size = 0
      }
    }
    newest.sort { $0.time > $1.time }
    var size = 0
    // Here, a frame counts with its first record. A page that has only its last records keeps it,
    // too.
    let fitting = newest.prefix { record in
      size += record.size
      return size <= Self.pageBytes / 2
    }
    if newest.count < count && fitting.count == newest.count { return nil }
    return (fitting.last ?? newest.first)?.time
  }

  /// Calls `body` with all chunks of a reader, until the reader ends or the program is interrupted.
  /// An interruption is noticed even between records that do not pass.
  private static func forEachChunk<Failure: Error>(
    of reader: LogReader, _ body: (LogReader.Chunk) throws(Failure) -> Void
  ) throws(Failure) {
    while !Interruption.isRequested, let chunk = reader.nextChunk() { try body(chunk) }
  }

  /// Prints the last records of a slice, the newest first.
  ///
  /// - Returns: The number of records.
  private mutating func printBackwards(
    _ files: LogFiles, _ slice: LogReader.Filter, last count: Int
  ) throws -> Int {
    var (kept, size, recordCount) = (KeptBytes(), 0, 0)
    var chunks: [LogReader.Records] = []
    // Where each part begins that may be in memory.
    var parts = [0]
    // How many of the first records have the same time.
    var equal = (time: Timestamp.distantPast, count: 0)
    try Self.forEachChunk(of: LogReader(files, filter: slice)) { chunk in
      guard let records = chunk.records else { return try take(chunk) }
      size += kept.add(records)
      if size > Self.pageBytes, recordCount > parts[parts.count - 1] {
        parts.append(recordCount)
        chunks = []
        kept = KeptBytes()
        size = kept.add(records)
      }
      if parts.count == 1 { chunks.append(records) }
      records.forEach { record in
        if recordCount == 0 { equal.time = record.time }
        if equal.count == recordCount, equal.time == record.time { equal.count += 1 }
        recordCount += 1
      }
    }
    if parts.count == 1 {
      var left = count
      for records in chunks.reversed() where isWanting && left > 0 {
        let last = records.dropFirst(max(0, records.count - left))
        try take(.records(last.reversed()))
        left -= last.count
      }
      return count - left
    }
    let start = max(0, recordCount - count)
    let forwards = start..<max(start, equal.count > parts[1] ? equal.count : 0)
    try printParts(parts, until: recordCount, behind: forwards.upperBound, files, slice)
    try printForwards(forwards, of: LogReader(files, filter: slice))
    return recordCount - start
  }

  /// Prints records of a slice, the newest first, if they may not all be in memory: many were
  /// logged at one time, or a clock was set back. The slice is read anew for each part.
  ///
  /// - Parameters:
  ///   - parts: The place of the first record of each part.
  ///   - count: The number of records of the slice.
  ///   - first: The place of the oldest record to print.
  private mutating func printParts(
    _ parts: [Int], until count: Int, behind first: Int, _ files: LogFiles,
    _ slice: LogReader.Filter
  ) throws {
    var end = count
    for begin in parts.reversed() where end > first && isWanting {
      let part = Self.records(max(begin, first)..<end, of: LogReader(files, filter: slice))
      for record in part.reversed() where isWanting { try print(record) }
      end = begin
    }
  }

  /// Prints records that all have the same time, by their places, as they come. None is newer than
  /// another, and finding each part of them would take as long as finding all.
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
}
