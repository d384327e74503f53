import MMLogCrypto
package import MMLogFormat
package import MMLogStorage

/// A session in an ``ArchiveQueue``: how much of its archives has been given, and what comes next.
package final class QueuedSession {
  package typealias Progress = LogReader.Cursor.Progress
  package typealias Place = LogReader.Cursor.Place

  package let identity: SessionIdentity
  /// By rising number.
  package private(set) var archives: [QueuedArchive] = []
  /// What had been given when the current reader was made; without a reader, where the next one
  /// begins.
  private var start: Progress?
  private var reader: SessionReader?
  /// What was loaded last.
  private var loaded: (archive: QueuedArchive, frames: Int, corruption: Int, isOver: Bool)?
  private let filter: LogReader.Filter
  private let memory: FrameMemory
  private let keyAdvice: String

  init(
    _ identity: SessionIdentity, _ filter: LogReader.Filter, _ memory: FrameMemory,
    after progress: Progress?, keyAdvice: String
  ) {
    (self.identity, self.filter, self.memory) = (identity, filter, memory)
    (start, self.keyAdvice) = (progress, keyAdvice)
  }

  /// Adds an archive, or takes in that it has grown. Of several copies of an archive, the one that
  /// goes further is read.
  func add(_ archive: QueuedArchive) {
    let index = archives.firstIndex(from: archive.number, by: \.number)
    if index < archives.count, archives[index].number == archive.number {
      let known = archives[index]
      if known === archive { return }
      if known.isReadable, !archive.goesFurther(than: known) { return archive.close() }
      if loaded?.archive === known { goOn(at: given) }
      known.close()
      archives[index] = archive
    } else {
      archives.insert(archive, at: index)
    }
    // An archive that is being written stays open, because it is read again and again.
    if archive.isClosed { archive.close() }
  }

  /// The progress behind what has been given; nil if nothing has been given.
  package var given: Progress? { reader?.given ?? start }

  /// The place behind what has been given.
  package var place: Place { given?.next ?? Place(archive: 0) }

  /// Forgets archives that are gone, and stand before the place of what has been given.
  package func prune() {
    guard let place = given?.next else { return }
    archives.removeAll { $0.isGone && $0.number < place.archive }
  }

  /// Notes that nothing follows what has been given.
  package func noteEnd() {
    var progress = given ?? Progress(next: Place(archive: 1))
    // A place within the last archive would count as missing once that archive is deleted.
    if let last = archives.last, last.isClosed, progress.start == progress.next {
      progress = Progress(next: max(progress.next, .behind(last.number)))
    }
    progress.isEnded = true
    goOn(at: progress)
  }

  /// Goes on at a place, whatever has been given.
  package func goOn(at progress: Progress?) {
    (start, reader) = (progress.map(begunAgain), nil)
    loaded?.archive.close()
    loaded = nil
  }

  /// If a power cut has undone what was given of an archive, goes on at the archive's beginning.
  func beginUndoneAgain() {
    if let given, begunAgain(given) != given { goOn(at: given) }
  }

  /// The beginning of the archive, if the archive lacks the frame in which the progress is.
  private func begunAgain(_ progress: Progress) -> Progress {
    guard let archive = archive(progress.next.archive),
      archive.hasUndone(progress)
    else { return progress }
    return progress.begunAgain
  }

  /// The archive of a number; nil if it is not known.
  private func archive(_ number: UInt32) -> QueuedArchive? {
    let index = archives.firstIndex(from: number, by: \.number)
    return index < archives.count && archives[index].number == number ? archives[index] : nil
  }

  /// Frees the memory, and closes the files, that reading takes. They are needed again for more.
  package func rest() {
    goOn(at: given)
    for archive in archives { archive.close() }
  }

  /// Goes on behind ``goneAtEnd``.
  ///
  /// - Returns: The gap that is passed over; nil if there is none.
  func passGone() -> LogReader.Gap? {
    guard let gone = goneAtEnd else { return nil }
    let numbers = Int(gone.lowerBound)...Int(gone.upperBound)
    let owner = session ?? LogReader.Session(identity)
    goOn(at: Progress(next: .behind(gone.upperBound)))
    return LogReader.Gap(session: owner, cause: .archivesNotHere(numbers))
  }

  // MARK: - What there is

  /// The archives up to the last one that can be read. Nobody reads archives that are gone behind
  /// it.
  private var readable: ArraySlice<QueuedArchive> {
    archives[..<(archives.lastIndex(where: \.isReadable).map { $0 + 1 } ?? 0)]
  }

  /// The archives at the end that are gone, and had records that have not been given. No archive
  /// that can be read follows them. Nil if there are none.
  package var goneAtEnd: ClosedRange<UInt32>? {
    let gone = archives[readable.endIndex...].filter(isLost)
    guard let first = gone.first, let last = gone.last else { return nil }
    return first.number...last.number
  }

  /// The number behind the known archives at the beginning of which nothing is lost; 0 if there are
  /// none.
  package var firstMissing: UInt32 {
    archives.prefix { !isLost($0) }.last.map { $0.number &+ 1 } ?? 0
  }

  /// Whether an archive is gone, and had records that have not been given.
  private func isLost(_ archive: QueuedArchive) -> Bool {
    !archive.isReadable && archive.unread(behind: place).rows > 0
  }

  /// Whether there are rows behind what has been given, or corruption that stands in place of rows.
  package var hasUnread: Bool { unread.rows > 0 || corruptedEnd != nil }

  /// The end of the first archive that is over and has corruption behind its last row that was not
  /// given, and when the session logged last. A reader that goes on is then behind the whole
  /// archive.
  var corruptedEnd: (last: Timestamp, end: Place)? {
    readable.first { [place] in $0.number >= place.archive && $0.isEndCorrupted && isOver($0) }
      .map { (lastTime, .behind($0.number)) }
  }

  /// Whether nothing more of an archive is to come: it is complete, or a later one exists. A later
  /// one is begun only when the archive before has been left.
  private func isOver(_ archive: QueuedArchive) -> Bool {
    archive.isClosed || archives.last.map { $0.number > archive.number } ?? false
  }

  /// The number of rows behind what has been given, their size in bytes, and whether a complete
  /// archive has some of them. Rows of ``goneAtEnd`` do not count.
  package var unread: (rows: Int, bytes: Int, hasClosed: Bool) {
    var (rows, bytes, hasClosed) = (0, 0, false)
    let place = place
    for archive in readable.reversed() {
      if archive.number < place.archive { break }
      let found = archive.unread(behind: place)
      (rows, bytes) = (rows + found.rows, bytes + found.bytes)
      hasClosed = hasClosed || archive.isClosed && rows > 0
    }
    return (rows, bytes, hasClosed)
  }

  /// When the last record was logged of the first frame that can be read and has not been given
  /// completely.
  package var firstUnread: Timestamp? { firstUnreadFrame?.last }

  /// ``firstUnread``, and the end of the frame that it is of.
  var firstUnreadFrame: (last: Timestamp, end: Place)? {
    let place = place
    for archive in readable.dropFirst(archives.firstIndex(from: place.archive, by: \.number)) {
      for frame in archive.frames {
        let end = Place(archive: archive.number, frame: frame.ordinal, row: frame.rows)
        if end > place { return (frame.last, end) }
      }
    }
    return nil
  }

  /// Whether what has been given ends before a place.
  func isBefore(_ place: Place) -> Bool { given.map { $0.next < place } ?? true }

  /// The progress behind all known frames.
  package var end: Progress? {
    guard let archive = archives.last else { return nil }
    guard let frame = archive.frames.last else {
      return Progress(next: Place(archive: archive.number))
    }
    return Progress(
      next: Place(archive: archive.number, frame: frame.ordinal, row: frame.rows))
  }

  /// Whether the session's last archive is complete, and says how the session ended: nothing
  /// follows.
  package var hasEnded: Bool { archives.last.map { $0.isClosed && $0.hasEnding } ?? false }

  /// When the session logged last, as far as its frames say.
  package var lastTime: Timestamp {
    archives.reduce(identity.startTime) { time, archive in
      archive.frames.reduce(time) { max($0, $1.last) }
    }
  }

  /// Whether the session is being read.
  package var isReading: Bool { reader != nil }

  /// The number of rows between two places in known archives.
  package func rows(from first: Place?, to last: Place) -> Int {
    archives.reduce(0) { sum, archive in
      sum + archive.rows(before: last) - (first.map { archive.rows(before: $0) } ?? 0)
    }
  }

  /// How many archives between two places are gone, as far as the last scan and reading have found
  /// out. Nil if the archive of the last place is gone, or its frame is no longer the one that was
  /// noted. An archive that cannot be opened just now is not gone.
  package func goneArchives(from first: Progress?, to last: Progress) -> Int? {
    let begin = first?.next.archive ?? archives.first?.number ?? 1
    let end = last.next.lastArchive
    guard begin <= end else { return first == nil ? nil : 0 }
    // Not number by number: the cursor in a file may have any number.
    var (count, needsLast) = (0, (begin...end).contains(last.next.archive))
    for archive in archives where (begin...end).contains(archive.number) && archive.isReadable {
      if archive.number == last.next.archive {
        if archive.hasUndone(last) { return nil }
        needsLast = !archive.frames.contains { $0.ordinal >= last.next.frame }
      }
      count += 1
    }
    return needsLast ? nil : (begin...end).count - count
  }

  /// Reads what the session's last archive says besides records, and what the last ledger says that
  /// is there.
  ///
  /// - Throws: `LogError` if one of them cannot be read now.
  package func readEnd() throws(LogError) -> SessionSummary {
    var summary = SessionSummary()
    let ledger = archives.last(where: \.hasLosses)
    for archive in archives where archive === ledger || archive === archives.last {
      guard let file = try open(archive) else { continue }
      _ = summary.read(file, frames: file.frames.indices, corruption: [])
      archive.close()
      if let error = summary.readingError { throw error }
    }
    return summary
  }

  /// The items at the session's end, the last one first.
  ///
  /// - Throws: `LogError` if they cannot be read now.
  func closingItems() throws(LogError) -> [LogReader.Item] {
    let summary = try readEnd()
    let owner = session ?? LogReader.Session(identity)
    owner.learn(summary.dictionary)
    return LogReader.Item.closing(
      owner, SessionEnding(summary.end, nil), lastTime, summary.losses, summary.crash)
  }

  /// The session whose records are given; nil before the first chunk.
  package var session: LogReader.Session? { reader?.session }

  // MARK: - Reading

  /// Returns the next records or another item; nil if there is none at the moment, or none before a
  /// place.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of records.
  ///   - textSize: The approximate maximum size of their text in bytes, if there are several
  ///     records.
  ///   - last: No record from this place on is given; nil: no limit.
  /// - Throws: `LogError` if an archive cannot be read. Nothing of the archive is passed over: the
  ///   next call tries again.
  package func nextChunk(
    atMost limit: Int, textSize: Int = .max, until last: Place? = nil
  ) throws(LogError) -> LogReader.Chunk? {
    let before = given
    do throws(LogError) {
      return try readChunk(atMost: limit, textSize: textSize, until: last)
    } catch {
      goOn(at: before)
      throw error
    }
  }

  private func readChunk(
    atMost limit: Int, textSize: Int, until last: Place?
  ) throws(LogError) -> LogReader.Chunk? {
    while true {
      if let chunk = reader?.nextChunk(atMost: limit, textSize: textSize, until: last) {
        if case .item(.corruption) = chunk, let error = reader?.readingError { throw error }
        return chunk
      }
      if let error = reader?.readingError { throw error }
      if let reader, !reader.isExhausted { return nil }
      guard let gap = try load(until: last) else { return nil }
      if !gap.isEmpty, let session = reader?.session {
        let numbers = Int(gap.lowerBound)...Int(gap.upperBound) - 1
        return .item(.gap(LogReader.Gap(session: session, cause: .archivesNotHere(numbers))))
      }
    }
  }

  /// Loads what follows: more of the archive that was read last, or the next one.
  ///
  /// - Returns: The numbers of missing archives before what was loaded; nil if there is nothing to
  ///   load.
  private func load(until last: Place?) throws(LogError) -> Range<UInt32>? {
    if let loaded, let file = try open(loaded.archive) {
      if file.frames.count < loaded.frames || file.corruption.count < loaded.corruption {
        // The file was cut.
        goOn(at: given)
      } else if file.frames.count > loaded.frames || file.corruption.count > loaded.corruption
        || isOver(loaded.archive) != loaded.isOver
      {
        try checkKey(of: file, from: loaded.frames)
        try reader?.load(
          file, from: (loaded.frames, loaded.corruption), isOver: isOver(loaded.archive))
        note(loaded.archive, file)
        return 0..<0
      }
    }
    let first = loaded.map { $0.archive.number &+ 1 } ?? start?.start.archive ?? 1
    let following = archives[archives.firstIndex(from: first, by: \.number)...]
    guard let next = following.first(where: \.isReadable) else { return nil }
    if let last, next.number > last.archive { return nil }
    guard let file = try open(next) else { return nil }
    var gap = UInt32(0)..<0
    if next.number > first {
      // Fragments of a record from before the gap cannot be put together any more.
      if let given, given.next.archive >= next.number {
        goOn(at: Progress(next: given.next, checksum: given.checksum))
      } else {
        gap = max(first, given?.next.archive ?? first)..<next.number
        goOn(at: Progress(next: Place(archive: next.number)))
      }
    } else if reader != nil, let given, given.start.archive > loaded?.archive.number ?? 0 {
      // A record in pieces may go on in the next archive: then its reader does, too.
      goOn(at: given)
    }
    try checkKey(of: file, from: 0)
    if reader == nil { reader = SessionReader(archivesOf: identity, filter, memory, after: start) }
    try reader?.load(file, from: (0, 0), isOver: isOver(next))
    // Not earlier: frames that repeat those of the archive before are compared with these.
    loaded?.archive.close()
    note(next, file)
    return gap
  }

  /// A reader without a cursor passes over frames that no identity decrypts. A reader that keeps a
  /// cursor must not: what is before a cursor counts as given.
  ///
  /// - Parameter first: The first frame that was not loaded.
  /// - Throws: `encrypted` if no identity opens a frame of records that was not given.
  private func checkKey(of file: ArchiveFile, from first: Int) throws(LogError) {
    let place = place
    for frame in file.frames[first...] where frame.header.type == .records {
      let header = frame.header
      let end = Place(
        archive: file.fileHeader.number, frame: header.ordinal, row: header.summary.count)
      guard end > place, let reason = file.lock(of: frame) else { continue }
      var why = "\(reason)"
      if case .encrypted(.wrongIdentity) = reason {
        why = "they are encrypted, and no identity that opens them was given"
      }
      throw LogError(
        .encrypted,
        "The records of \(file.path) wait: \(why)" + (keyAdvice.isEmpty ? "" : ". \(keyAdvice)"),
        path: file.path, cause: reason)
    }
  }

  private func note(_ archive: QueuedArchive, _ file: ArchiveFile) {
    loaded = (archive, file.frames.count, file.corruption.count, isOver(archive))
  }

  private func open(_ archive: QueuedArchive) throws(LogError) -> ArchiveFile? {
    do { return try archive.open() } catch {
      throw LogError(error, while: "Reading an archive failed", path: "")
    }
  }
}

extension QueuedArchive {
  /// Whether a power cut has undone the archive's frame that was read last.
  fileprivate func hasUndone(_ progress: LogReader.Cursor.Progress) -> Bool {
    progress.isUndone(in: frames.lazy.map { ($0.ordinal, $0.checksum) }, isClosed: isClosed)
  }

  /// How many of the archive's rows are before a place.
  package func rows(before place: LogReader.Cursor.Place) -> Int {
    // With a backlog, most archives are behind the place: these need no walk.
    if number > place.archive { return 0 }
    return frames.reduce(0) { $0 + Int($1.rows) } - unread(behind: place).rows
  }

  /// How many of the archive's rows are behind a place, and the size of the frames that have them.
  fileprivate func unread(behind place: LogReader.Cursor.Place) -> (rows: Int, bytes: Int) {
    var (rows, bytes) = (0, 0)
    if number < place.archive { return (0, 0) }
    for frame in frames.reversed() {
      if number == place.archive {
        if frame.ordinal < place.frame { break }
        if frame.ordinal == place.frame {
          rows += max(0, Int(frame.rows) - Int(place.row))
          bytes += frame.rows > place.row ? frame.bytes : 0
          break
        }
      }
      (rows, bytes) = (rows + Int(frame.rows), bytes + frame.bytes)
    }
    return (rows, bytes)
  }
}
