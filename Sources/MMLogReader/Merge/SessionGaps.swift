import MMLogFormat
import MMLogStorage

/// What is missing among the files of a session: whole archives, and numbers of entries.
package struct SessionGaps {
  private let session: LogReader.Session
  /// The number that the next archive has if none is missing before it.
  private var next = 1
  /// Entries of consecutive archives, and of the ring.
  private var numbers = EntryNumbers()
  /// Whether ``numbers`` begins where the session did, so that each writer's first number is 0.
  private var isFromStart = true
  private var found: [EntryNumbers.Gap] = []
  package private(set) var gaps: [LogReader.Gap] = []

  /// - Parameters:
  ///   - files: The files of one session.
  ///   - summary: What was read of the files.
  ///   - session: The session of the gaps.
  /// - Complexity: O(*n* log *n*) in the number of frames and of the ring's records.
  package init(_ files: SessionFiles, _ summary: SessionSummary, of session: LogReader.Session) {
    self.init(session: session)
    add(files.archives, summary, after: nil)
    if summary.missingArchive == nil, let ring = summary.ring, !ring.isRunning { add(ring) }
    report()
  }

  /// As ``init(_:_:of:)``, of archives alone, for a reader that goes on: gaps that earlier readers
  /// have reported are left out. Records that are missing before those of a ring are reported once
  /// the latter are in an archive.
  ///
  /// - Parameter given: The progress of earlier readers; nil if there were none.
  init(
    archivesOf files: SessionFiles, _ summary: SessionSummary, of session: LogReader.Session,
    after given: LogReader.Cursor.Progress?
  ) {
    self.init(session: session)
    add(files.archives, summary, after: given)
    report()
  }

  private mutating func add(
    _ archives: [ArchiveFile], _ summary: SessionSummary, after given: LogReader.Cursor.Progress?
  ) {
    let first = Int(given?.start.archive ?? 1)
    for archive in archives { add(archive, reportingFrom: first, after: given?.next) }
    next = max(next, first)
    if let number = summary.missingArchive {
      addNewest(Int(number), wasSealed: summary.ring?.image.sessionState.mayNewestBeSealed == true)
    }
  }

  private mutating func report() {
    end()
    for records in MissingRecords.merged(found) { add(.recordsMissing(records)) }
  }

  /// How many entries the writers of a session have numbered, and how many of these are in its
  /// archives, and in the ring of a process that is gone.
  package static func totals(of files: SessionFiles) -> [EntryNumbers.Total] {
    let summary = SessionSummary(files)
    var gaps = SessionGaps(session: LogReader.Session(files.identity))
    for archive in files.archives {
      for frame in archive.frames where frame.header.type == .records {
        gaps.numbers.add(frame.header)
      }
    }
    if let ring = summary.ring, !ring.isRunning { gaps.add(ring) }
    return gaps.numbers.totals()
  }

  private init(session: LogReader.Session) { self.session = session }

  private mutating func add(_ cause: LogReader.Gap.Cause) {
    gaps.append(LogReader.Gap(session: session, cause: cause))
  }

  /// - Parameters:
  ///   - first: The number of the first archive whose absence is to be reported.
  ///   - place: Everything before this place was read; nil if nothing was.
  private mutating func add(
    _ archive: ArchiveFile, reportingFrom first: Int, after place: LogReader.Cursor.Place?
  ) {
    let number = Int(archive.fileHeader.number)
    if number > next {
      if number > first { add(.archivesNotHere(max(next, first)...number - 1)) }
      end()
      isFromStart = false
    }
    next = number + 1
    for frame in archive.frames where frame.header.type == .records {
      let start = LogReader.Cursor.Place(
        archive: archive.fileHeader.number, frame: frame.header.ordinal)
      numbers.add(frame.header, isRead: place.map { start < $0 } ?? false)
    }
  }

  /// Adds that the newest archive is missing: a limit may have deleted it after it was sealed.
  private mutating func addNewest(_ number: Int, wasSealed: Bool) {
    // The archive may be before the place where reading begins.
    if number < next { return }
    add(wasSealed ? .archivesNotHere(next...number) : .newestArchiveNotHere(number))
  }

  /// Adds the records that the ring of a dead process has and no archive. Archived records count in
  /// their archives. Therefore records that the ring calls archived are missing if no archive here
  /// has them.
  private mutating func add(_ ring: RingView) {
    let clock = ring.image.clock
    for segment in ring.image.segments where segment.header.writer != 0 {
      // A segment without entries still says which numbers were given before it.
      var part = NumberRange(
        writer: segment.header.writer, thread: segment.header.thread.ordinal,
        first: segment.header.firstNumber, count: 0)
      var ticks: ClosedRange<UInt64>?
      func add() {
        let times = ticks.map { ticks in
          let first = clock.wall(at: ticks.lowerBound)
          return first...max(first, clock.wall(at: ticks.upperBound))
        }
        numbers.add(part, times: times)
      }
      var scanner = ring.image.scanner(of: segment, zeros: .mayBeLost)
      while let item = scanner.next() {
        guard case .record(let view, let offset) = item, !ring.image.isFlight(view) else {
          continue
        }
        if ring.isDone(segment, view, offset) {
          if part.count > 0 { add() }
          (part.first, part.count) = (part.end &+ 1, 0)
          ticks = view.ticks...view.ticks
        } else {
          if part.count == 0 { ticks = nil }
          part.count += 1
          ticks = ticks?.extended(to: view.ticks) ?? view.ticks...view.ticks
        }
      }
      add()
    }
  }

  /// Ends a sequence of consecutive archives.
  private mutating func end() {
    found += numbers.gaps().filter { !$0.after.isRead && (isFromStart || $0.before != nil) }
    numbers = EntryNumbers()
  }
}

extension ClosedRange<UInt64> {
  fileprivate func extended(to value: UInt64) -> Self {
    Swift.min(lowerBound, value)...Swift.max(upperBound, value)
  }
}
