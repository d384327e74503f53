import MMLogFormat
import MMLogStorage

/// What is missing among the files of a session: whole archives, and numbers of entries.
package struct SessionGaps {
  private let session: LogReader.Session
  /// The number that the next archive has if none is missing before it.
  private var next = 1
  /// Entries of archives that follow one another, and of the ring.
  private var numbers = EntryNumbers()
  /// Whether ``numbers`` begins where the session did, so that each writer's first number is 0.
  private var isFromStart = true
  private var found: [EntryNumbers.Gap] = []
  package private(set) var gaps: [LogReader.Gap] = []

  /// - Parameters:
  ///   - files: The files of one session.
  ///   - summary: What was read of them.
  ///   - session: Whose gaps they are.
  /// - Complexity: O(*n* log *n*) in the number of frames and of the ring's records.
  package init(_ files: SessionFiles, _ summary: SessionSummary, of session: LogReader.Session) {
    self.init(files, summary, of: session, from: nil)
  }

  /// The same from a place on: what is before it does not matter.
  init(
    _ files: SessionFiles, _ summary: SessionSummary, of session: LogReader.Session,
    from start: LogReader.Cursor.Place?
  ) {
    self.session = session
    if let start { (next, isFromStart) = (Int(start.archive), false) }
    for archive in files.archives where archive.fileHeader.number >= start?.archive ?? 0 {
      add(archive, from: archive.fileHeader.number == start?.archive ? start?.frame ?? 0 : 0)
    }
    if let number = summary.missingArchive {
      addNewest(Int(number), wasSealed: summary.ring?.image.mayNewestBeSealed == true)
    } else if let ring = summary.ring, !ring.isRunning {
      add(ring)
    }
    end()
    for records in MissingRecords.merged(found) { add(.recordsMissing(records)) }
  }

  /// How many entries the writers of a session have numbered, and how many of them its archives
  /// have, and the ring of a process that is gone.
  package static func totals(of files: SessionFiles) -> [EntryNumbers.Total] {
    var summary = SessionSummary()
    summary.read(files)
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

  private mutating func add(_ archive: ArchiveFile, from first: UInt64) {
    let number = Int(archive.fileHeader.number)
    if number > next {
      add(.archivesNotHere(next...number - 1))
      end()
      isFromStart = false
    }
    next = number + 1
    for frame in archive.frames
    where frame.header.type == .records && frame.header.ordinal >= first {
      numbers.add(frame.header)
    }
  }

  /// Adds that the newest archive is not there: a limit may have deleted it once it was sealed.
  private mutating func addNewest(_ number: Int, wasSealed: Bool) {
    // It may be before the place where reading begins.
    if number < next { return }
    add(wasSealed ? .archivesNotHere(next...number) : .newestArchiveNotHere(number))
  }

  /// Adds what the ring of a dead process has: what of it is archived, too, counts once.
  private mutating func add(_ ring: RingView) {
    for segment in ring.image.segments {
      var (count, ticks) = (UInt32(0), UInt64.max...UInt64.max)
      var scanner = ring.image.scanner(of: segment, scansBehindZeros: true)
      while let item = scanner.next() {
        guard case .record(let view, _) = item, !ring.image.isFlight(view) else { continue }
        ticks = count == 0 ? view.ticks...view.ticks : ticks.extended(to: view.ticks)
        count += 1
      }
      let header = segment.header
      guard header.writer != 0 else { continue }
      let clock = ring.image.clock
      let first = clock.wall(at: ticks.lowerBound)
      numbers.add(
        NumberRange(
          writer: header.writer, thread: header.thread.ordinal, first: header.firstNumber,
          count: count),
        times: first...max(first, clock.wall(at: ticks.upperBound)))
    }
  }

  /// Ends the stretch of archives that follow one another.
  private mutating func end() {
    found += numbers.gaps().filter { isFromStart || $0.before != nil }
    numbers = EntryNumbers()
  }
}

extension ClosedRange<UInt64> {
  fileprivate func extended(to value: UInt64) -> Self {
    Swift.min(lowerBound, value)...Swift.max(upperBound, value)
  }
}
