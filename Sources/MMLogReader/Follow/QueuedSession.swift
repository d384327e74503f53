import MMLogCrypto
package import MMLogFormat
package import MMLogStorage

/// A session in an ``ArchiveQueue``: what of its archives has been given, and what comes next.
package final class QueuedSession {
  package typealias Progress = LogReader.Cursor.Progress
  package typealias Place = LogReader.Cursor.Place

  package let identity: SessionIdentity
  /// By rising number.
  package private(set) var archives: [QueuedArchive] = []
  /// What the reader that is in use had given when it was made; and where a new one begins.
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

  func add(_ archive: QueuedArchive) {
    let index = archives.firstIndex(from: archive.number, by: \.number)
    // A copy of one that is known; or the same that has come back, or was replaced in its file.
    if index < archives.count, archives[index].number == archive.number {
      if archives[index].isReadable { return archive.close() }
      if loaded?.archive === archives[index] { goOn(at: given) }
      archives[index] = archive
    } else {
      archives.insert(archive, at: index)
    }
    // One that is being written is read again and again.
    if archive.isClosed { archive.close() }
  }

  /// What has been given; nil: nothing.
  package var given: Progress? { reader?.given ?? start }

  /// Behind what has been given.
  package var place: Place { given?.next ?? Place(archive: 0) }

  /// Forgets archives that are gone, and before what has been given.
  package func prune() {
    guard let place = given?.next else { return }
    archives.removeAll { $0.isGone && $0.number < place.archive }
  }

  /// Notes that nothing follows what has been given.
  package func noteEnd() {
    var progress = given ?? Progress(next: Place(archive: 1))
    // Within its last archive, that would count as missing once it is deleted.
    if let last = archives.last, last.isClosed, progress.start == progress.next {
      progress = Progress(next: max(progress.next, .behind(last.number)))
    }
    progress.isEnded = true
    goOn(at: progress)
  }

  /// Goes on at a place, whatever was given meanwhile.
  package func goOn(at progress: Progress?) {
    (start, reader) = (progress.map(begunAgain), nil)
    loaded?.archive.close()
    loaded = nil
  }

  /// Goes on at the beginning of an archive of which a power cut has undone what was given.
  func beginUndoneAgain() {
    if let given, begunAgain(given) != given { goOn(at: given) }
  }

  /// The beginning of an archive, if it lacks the frame in which the progress is.
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

  /// Gives back the memory and the open file that reading takes, until more is read.
  package func rest() {
    goOn(at: given)
    for archive in archives { archive.close() }
  }

  /// Goes on behind ``goneAtEnd``.
  ///
  /// - Returns: What is passed over; nil if there is nothing.
  func passGone() -> LogReader.Gap? {
    guard let gone = goneAtEnd else { return nil }
    let numbers = Int(gone.lowerBound)...Int(gone.upperBound)
    let owner = session ?? LogReader.Session(identity)
    goOn(at: Progress(next: .behind(gone.upperBound)))
    return LogReader.Gap(session: owner, cause: .archivesNotHere(numbers))
  }

  // MARK: - What there is

  /// The archives up to the last one that can be read. What is gone behind that one nobody reads.
  private var readable: ArraySlice<QueuedArchive> {
    archives[..<(archives.lastIndex(where: \.isReadable).map { $0 + 1 } ?? 0)]
  }

  /// The archives that are gone with records that have not been given, and that no archive follows
  /// which can be read; nil if there are none.
  package var goneAtEnd: ClosedRange<UInt32>? {
    let gone = archives[readable.endIndex...].filter(isLost)
    guard let first = gone.first, let last = gone.last else { return nil }
    return first.number...last.number
  }

  /// The number behind the last archive that is known, and of which nothing is lost, nor of
  /// those before it; 0 if there is none.
  package var firstMissing: UInt32 {
    archives.prefix { !isLost($0) }.last.map { $0.number &+ 1 } ?? 0
  }

  /// Whether an archive is gone with records that have not been given.
  private func isLost(_ archive: QueuedArchive) -> Bool {
    if archive.isReadable { return false }
    let all = archive.frames.reduce(0) { $0 + Int($1.rows) }
    return archive.rows(before: place) < all
  }

  /// Whether there are rows behind what has been given, or corruption in whose place there should
  /// be some.
  package var hasUnread: Bool { unread.rows > 0 || corruptedEnd != nil }

  /// Where the first archive ends that is over, and is corrupted behind its last row, which is not
  /// given, and when the session logged last. Who goes on is behind the whole archive then.
  var corruptedEnd: (last: Timestamp, end: Place)? {
    readable.first { [place] in $0.number >= place.archive && $0.isEndCorrupted && isOver($0) }
      .map { (lastTime, .behind($0.number)) }
  }

  /// Whether nothing more of an archive is to come: it is complete, or a later one is there, which
  /// is begun when the one before has been left.
  private func isOver(_ archive: QueuedArchive) -> Bool {
    archive.isClosed || archives.last.map { $0.number > archive.number } ?? false
  }

  /// How many rows there are behind what has been given, how many bytes these take, and whether an
  /// archive is among them that is complete. Those of ``goneAtEnd`` do not count.
  package var unread: (rows: Int, bytes: Int, hasClosed: Bool) {
    var (rows, bytes, hasClosed) = (0, 0, false)
    let place = place
    for archive in readable.reversed() {
      if archive.number < place.archive { break }
      for frame in archive.frames.reversed() {
        if archive.number == place.archive {
          if frame.ordinal < place.frame { break }
          if frame.ordinal == place.frame {
            rows += max(0, Int(frame.rows) - Int(place.row))
            bytes += frame.rows > place.row ? frame.bytes : 0
            break
          }
        }
        (rows, bytes) = (rows + Int(frame.rows), bytes + frame.bytes)
      }
      hasClosed = hasClosed || archive.isClosed && rows > 0
    }
    return (rows, bytes, hasClosed)
  }

  /// When the last record of the first frame was logged that has not been given whole, and can be.
  package var firstUnread: Timestamp? { firstUnreadFrame?.last }

  /// The same, and where that frame ends.
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

  /// Behind all that there is.
  package var end: Progress? {
    guard let archive = archives.last else { return nil }
    guard let frame = archive.frames.last else {
      return Progress(next: Place(archive: archive.number))
    }
    return Progress(
      next: Place(archive: archive.number, frame: frame.ordinal, row: frame.rows))
  }

  /// Whether its last archive is complete.
  package var isClosed: Bool { archives.last?.isClosed ?? false }

  /// Whether its last archive is complete, and says how the session ended: nothing will follow.
  package var hasEnded: Bool { isClosed && archives.last?.hasEnding == true }

  /// When it logged last, as far as its frames say.
  package var lastTime: Timestamp {
    archives.reduce(identity.startTime) { time, archive in
      archive.frames.reduce(time) { max($0, $1.last) }
    }
  }

  /// Whether it is being read.
  package var isReading: Bool { reader != nil }

  /// How many rows there are between two places of archives that are there.
  package func rows(from first: Place?, to last: Place) -> Int {
    archives.reduce(0) { sum, archive in
      sum + archive.rows(before: last) - (first.map { archive.rows(before: $0) } ?? 0)
    }
  }

  /// How many archives between two places are gone, as far as the last scan and reading have found
  /// out; nil if that of the last place is, or its frame is not the one any more that is noted. One
  /// that cannot be opened just now is not gone.
  package func goneArchives(from first: Progress?, to last: Progress) -> Int? {
    let begin = first?.next.archive ?? archives.first?.number ?? 1
    let end = last.next.lastArchive
    guard begin <= end else { return first == nil ? nil : 0 }
    // Not number by number: a cursor that was read may have any.
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

  /// What the archives say that were read.
  package var found: (losses: LossLedger, crash: CrashReport?, end: SessionEnd?) {
    reader?.found ?? (LossLedger(), nil, nil)
  }

  /// Whose records it gives; nil before the first chunk.
  package var session: LogReader.Session? { reader?.session }

  // MARK: - Reading

  /// The next records, or what else there is to know; nil if there is nothing at the moment, or
  /// nothing before a place.
  ///
  /// - Parameters:
  ///   - limit: How many records at most.
  ///   - textSize: How many bytes they take as text at most, about, if they are more than one.
  ///   - last: No record from this place on is given; nil for any.
  /// - Throws: What keeps an archive from being read. Nothing of it is passed over: the next call
  ///   tries again.
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
  /// - Returns: The archives that are not there before it; nil if there is nothing to load.
  private func load(until last: Place?) throws(LogError) -> Range<UInt32>? {
    if let loaded, let file = try open(loaded.archive) {
      if file.frames.count < loaded.frames || file.corruption.count < loaded.corruption {
        // Somebody has cut it.
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
      // What was in pieces before it cannot be put together any more.
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
    // Not before: frames that repeat those of the archive before are compared with these.
    loaded?.archive.close()
    note(next, file)
    return gap
  }

  /// Who reads on passes over frames that nobody here decrypts. Whoever keeps a cursor must not:
  /// what is before a cursor counts as given.
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
  /// Whether a power cut has undone the frame of it that was read last.
  fileprivate func hasUndone(_ progress: LogReader.Cursor.Progress) -> Bool {
    progress.isUndone(in: frames.lazy.map { ($0.ordinal, $0.checksum) }, isClosed: isClosed)
  }

  /// How many of its rows are before a place.
  package func rows(before place: LogReader.Cursor.Place) -> Int {
    if number > place.archive { return 0 }
    var rows = 0
    for frame in frames {
      if number == place.archive {
        if frame.ordinal > place.frame { break }
        if frame.ordinal == place.frame { return rows + min(Int(frame.rows), Int(place.row)) }
      }
      rows += Int(frame.rows)
    }
    return rows
  }
}
