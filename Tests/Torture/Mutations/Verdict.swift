import MMLogFormat
import MMLogReader

/// What reading a mutated directory gave, beside what was logged.
struct Verdict {
  /// What became of a copy; the worst of it, if several things did.
  enum Outcome: Int, CaseIterable {
    /// Every record is there, and nothing is reported.
    case unharmed
    /// Every record is there, and something is reported.
    case reported
    /// Records are missing, and that is reported.
    case missing
    /// Unreported, since nobody can know: the oldest archives of a session are not there, as after
    /// retention.
    case asRetained
    /// Unreported, since nobody can know: no byte of the session is left.
    case asNeverThere
    /// Unreported, since nobody can know: what a dead process left is as it was before its newest
    /// records.
    case asBefore
    /// Unreported: a finding.
    case silent
    /// Something is given that was not logged, or not so, or twice: a finding.
    case wrong
  }

  private(set) var outcome = Outcome.unharmed
  /// What is wrong.
  private(set) var problems: [String] = []
  private let files: MutatedFiles
  private let found: FoundLog
  /// What is reported of the copy, and not of the whole directory.
  private let reports: Reports
  private let folder: String
  private var given: Set<Int> = []

  private var scene: Scene { files.scene }

  /// - Parameters:
  ///   - found: What reading the files gave.
  ///   - folder: Where the files were.
  init(_ found: FoundLog, of files: MutatedFiles, in folder: String) {
    (self.found, self.files, self.folder) = (found, files, folder)
    reports = found.reports.subtracting(files.scene.reports)
    if !reports.isEmpty { raise(.reported) }
    if !found.isBounded { note(.wrong, "there is no end of items") }
    checkGiven()
    checkMissing()
  }

  private mutating func raise(_ outcome: Outcome) {
    if outcome.rawValue > self.outcome.rawValue { self.outcome = outcome }
  }

  private mutating func note(_ outcome: Outcome, _ problem: String) {
    raise(outcome)
    if problems.count < 3 { problems.append(problem) }
  }

  // MARK: - What is there

  private mutating func checkGiven() {
    var newest: [Int: Int] = [:]
    var others: Set<Scene.Key> = []
    for (record, time) in found.records {
      guard let key = Scene.key(of: record), scene.wasLogged(record, as: key) else {
        let key = Scene.key(of: record).map { "\($0.sequence) of lane \($0.lane)" } ?? "of nobody"
        note(.wrong, "session \(record.session) did not log this record: \(key)")
        continue
      }
      let name = "record \(key.sequence) of lane \(key.lane)"
      if key.sequence <= newest[key.lane, default: 0] {
        note(.wrong, "\(name) comes after \(newest[key.lane] ?? 0), or twice")
      }
      newest[key.lane] = key.sequence
      guard let number = scene.numbers[key] else {
        // The record was evicted, or deleted, before the end.
        if !others.insert(key).inserted { note(.wrong, "\(name), an old one, comes twice") }
        continue
      }
      given.insert(number)
      compare(record, time, scene.records[number], name)
    }
  }

  private mutating func compare(
    _ record: LoggedRecord, _ time: Timestamp, _ expected: Scene.Record, _ name: String
  ) {
    var given = record
    // A label may be lost as a record may.
    if given.label.isEmpty, isReported(expected) { given.label = expected.record.label }
    if given != expected.record {
      note(.wrong, "\(name) is \(record.attributes), and was \(expected.record.attributes)")
    } else if time != expected.time, !isReported(expected), !hasOtherClock(record.session) {
      note(.wrong, "\(name) is \(expected.time.duration(to: time)) late, and nothing is reported")
    }
  }

  /// Whether a ring of the session may have another clock, which now gives the time of a record
  /// that also stands elsewhere: something is said about the ring, or one of its clock pairs is an
  /// older one, or was being written.
  private func hasOtherClock(_ session: SessionID) -> Bool {
    files.files.contains { file in
      let original = scene.files[file.origin]
      return original.isRing && original.has(session)
        && (isReported(file) || isOlder(file, session))
    }
  }

  private func isOlder(_ ring: MutatedFiles.File, _ session: SessionID) -> Bool {
    guard ring.bytes.count >= RingAreas.usual.clocks.upperBound else { return false }
    return RingAreas.usual.clockPairs.contains {
      let place = $0..<$0 + ClockPairLayout.size
      return ring.bytes[place] != scene.files[ring.origin].bytes[place]
        && isOlderPair(ring.bytes[place], at: place, session)
    }
  }

  private func isOlderPair(
    _ pair: ArraySlice<UInt8>, at place: Range<Int>, _ session: SessionID
  ) -> Bool {
    pair.withUnsafeBytes { ClockPair.isUnfinished($0) }
      || scene.relics.contains { $0.isRing && $0.has(session) && $0.bytes[place] == pair }
  }

  // MARK: - What is missing

  private mutating func checkMissing() {
    let missing = scene.records.indices.filter { !given.contains($0) }
    if missing.isEmpty { return }
    raise(.missing)
    let silent = missing.filter { !isReported(scene.records[$0]) }
    for (session, numbers) in Dictionary(grouping: silent, by: { scene.records[$0].record.session })
    where !isInReportedFile(session) {
      let excuse = excuse(session, numbers)
      guard excuse == .silent else {
        raise(excuse)
        continue
      }
      note(
        .silent, "\(numbers.count) records of session \(session) are missing: \(place(numbers[0]))")
    }
  }

  private func place(_ number: Int) -> String {
    let record = scene.records[number]
    let key = Scene.key(of: record.record)
    let files = record.files.map { scene.files[$0].name }
    let gone = record.files.map { isGone(record, from: $0) }
    return "the first is \(key?.sequence ?? 0) of lane \(key?.lane ?? 0), in \(files) at "
      + "\(record.places), segments \(record.headers), gone there: \(gone)"
  }

  /// Whether something is said about the files that had the record, or about its session.
  private func isReported(_ record: Scene.Record) -> Bool {
    let session = record.record.session
    if reports.sessions.contains(session) || isUnreadable(session) { return true }
    // If the record stands in a file of another session, the report of that file names the record's
    // session.
    if reports.texts.contains(where: { $0.contains(session.description) }) { return true }
    if let ending = found.endings[session], ending != scene.endings[session] {
      switch ending {
      case .unknown: return true
      case .ended(let end) where end.how != .closed && end.recovered == nil: return true
      default: break
      }
    }
    return files.files.contains { file in
      // If a record's fragments are in several files, no file alone gives the record.
      let mayHaveIt =
        record.files.isEmpty
        ? scene.files[file.origin].has(session)
        : record.files.contains(file.origin)
      return mayHaveIt && isReported(file)
    }
  }

  /// Whether something is said about a file that has something of a session, whichever session's
  /// file it was.
  private func isInReportedFile(_ session: SessionID) -> Bool {
    files.files.contains { isReported($0) && !$0.bytes.ranges(of: Array(session.bytes)).isEmpty }
  }

  private func isReported(_ file: MutatedFiles.File) -> Bool {
    reports.paths.contains("\(folder)/\(file.name)")
  }

  /// Whether a session is no longer known, and something is said about each file that is left of
  /// it.
  private func isUnreadable(_ session: SessionID) -> Bool {
    let kept = files.files.filter { scene.files[$0.origin].has(session) }
    return found.endings[session] == nil && !kept.isEmpty && kept.allSatisfy(isReported)
  }

  /// Why nobody can know that these records are missing; `silent`: somebody can.
  private func excuse(_ session: SessionID, _ missing: [Int]) -> Outcome {
    let kept = files.files.filter { shows($0, session) && !isUnread($0) }
    if kept.isEmpty { return .asNeverThere }
    let removed = scene.files.indices.filter { index in
      scene.files[index].has(session) && !isUnfinished(scene.files[index].name)
        && !kept.contains { $0.origin == index }
    }
    // A ring may still have a record that later archives say is archived. If a record's fragments
    // are in several files, no file alone gives the record.
    var left = missing
    if let oldest = numbers(session, kept.map(\.origin)).min(),
      oldest > numbers(session, removed).max() ?? 0
    {
      left.removeAll { number in
        let files = scene.records[number].files
        let archives = files.filter { !scene.files[$0].isRing }
        return files.isEmpty || !archives.isEmpty && removed.contains(contentsOf: archives)
      }
      if left.isEmpty { return .asRetained }
    }
    // What a limit has deleted may still be in a ring, and nowhere else.
    left.removeAll { isOfDeletedArchive(scene.records[$0]) }
    if left.isEmpty { return .asRetained }
    let isOlder = left.allSatisfy { isOlderState(scene.records[$0]) }
    // If a session was closed, missing records can be known. If its end is not known, it is always
    // reported that its last records may be missing.
    let isClosed = found.endings[session]?.how == .closed
    return isOlder && !isClosed ? .asBefore : .silent
  }

  /// Whether a record may have been in an archive that a limit deleted, before anything was
  /// mutated: it is in a ring that has changed there.
  private func isOfDeletedArchive(_ record: Scene.Record) -> Bool {
    guard let lane = Scene.key(of: record.record)?.lane, scene.limitedLanes.contains(lane) else {
      return false
    }
    let areRings = record.files.allSatisfy { scene.files[$0].isRing }
    return areRings && scene.hasDeletedArchive(record.record.session)
      && record.files.allSatisfy { isGone(record, from: $0) }
  }

  /// Whether nobody reads a file: its name says that it is not finished, or it is reported and
  /// nothing of it is used.
  private func isUnread(_ file: MutatedFiles.File) -> Bool {
    isUnfinished(file.name) || found.unreadable.contains("\(folder)/\(file.name)")
  }

  private func isUnfinished(_ name: String) -> Bool { name.hasSuffix(".new") }

  private func numbers(_ session: SessionID, _ origins: [Int]) -> [Int] {
    origins.flatMap { scene.files[$0].sections }.filter { $0.session == session && $0.number > 0 }
      .map(\.number)
  }

  /// Whether a file shows that something of a session was in it: a file header of the session is
  /// there, or something is said about the file.
  private func shows(_ file: MutatedFiles.File, _ session: SessionID) -> Bool {
    let original = scene.files[file.origin]
    return original.has(session) && isReported(file)
      || zip(original.fileHeaders, original.sections).contains { fileHeader, section in
        section.session == session && file.bytes.count >= fileHeader.range.upperBound
          && file.bytes[fileHeader.range] == original.bytes[fileHeader.range]
      }
  }

  /// Whether a record's bytes are gone as if they had not been written yet. In a ring, they stood
  /// behind all that is left of the record's thread; in an archive, behind all that is left of its
  /// session.
  private func isOlderState(_ record: Scene.Record) -> Bool {
    let isInArchive =
      !record.files.isEmpty && !record.files.contains { scene.files[$0].isRing }
    let mine = record.record
    let hasLater = found.records.contains { found, _ in
      found.session == mine.session && found.ticks > mine.ticks
        && (isInArchive || found.thread == mine.thread && found.isFlight == mine.isFlight)
    }
    // Flight records have no numbers: if a segment is as it was before, nobody knows that its
    // record is missing.
    let isUnproved = mine.isFlight && record.files.allSatisfy { scene.files[$0].isRing }
    return (isUnproved || !hasLater) && record.files.allSatisfy { isGone(record, from: $0) }
  }

  private func isGone(_ record: Scene.Record, from origin: Int) -> Bool {
    // A ring that had noted an archive, and lacks it, says so.
    guard let file = files.files.first(where: { $0.origin == origin }) else { return true }
    let original = scene.files[origin]
    let isChanged = { (range: Range<Int>) in
      range.upperBound > file.bytes.count || file.bytes[range] != original.bytes[range]
    }
    if !original.isRing { return file.bytes != original.bytes }
    let isSealed = { (header: Range<Int>) in
      original.bytes[header.lowerBound + SegmentLayout.state] == UInt8(SegmentLayout.stateSealed)
        && !isChanged(header)
    }
    // If a record has several fragments, one that is gone is enough.
    return zip(record.places, record.headers).contains { place, header in
      (isChanged(place) || isChanged(header)) && !isSealed(header)
    }
  }
}

extension [Int] {
  fileprivate func contains(contentsOf others: [Int]) -> Bool { others.allSatisfy(contains) }
}

extension LoggedRecord {
  /// All of the record except its message, for people.
  fileprivate var attributes: String {
    "\(level) '\(label)' thread \(thread) '\(threadName)' \(file):\(line) \(fieldNames) at \(ticks)"
      + (isFlight ? " flight" : "")
  }
}
