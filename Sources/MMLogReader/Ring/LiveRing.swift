package import MMLogFormat
package import MMLogStorage
import MMLogSystem

/// The ring of a process that runs. Another process has opened it to make requests through the
/// ring's control page (FORMAT.md, 3).
package final class LiveRing {
  package let path: String
  package let identity: SessionIdentity
  private let archiveLevel: Level
  private let areas: RingAreas
  /// Where in the ring its control page is.
  private let control: Range<Int>
  private let directory: Directory
  private let file: File

  /// Opens the rings of all processes that log into a directory now.
  ///
  /// - Parameters:
  ///   - path: The directory, or one ring.
  ///   - problem: Receives rings of running processes that cannot be used.
  /// - Throws: `LogError` if the directory cannot be read.
  package static func all(
    in path: String, problem: (LogError) -> Void
  ) throws(LogError) -> [LiveRing] {
    var rings: [LiveRing] = []
    try explaining("Searching for running processes failed") { () throws(SystemError) in
      let (folder, names) = try Self.names(path)
      for name in names {
        do throws(LogError) {
          if let ring = try LiveRing(name, try open(folder)) { rings.append(ring) }
        } catch {
          problem(error)
        }
      }
    }
    return rings
  }

  /// The folder of a path, and the names of the rings in it; for the path of a ring, its own name.
  static func names(_ path: String) throws(SystemError) -> (folder: String, names: [String]) {
    if path.hasSuffix(FileNames.ringSuffix) {
      let (folder, name) = path.splitAtLastSlash
      return (folder, [name])
    }
    let names = try Directory.open(path).names()
    return (path, names.filter { FileNames.Ring(fileName: $0) != nil }.inOrder())
  }

  private static func open(_ path: String) throws(LogError) -> Directory {
    try explaining("Opening the directory failed") { () throws(SystemError) in
      try Directory.open(path)
    }
  }

  /// Nil if no process has the ring.
  private init?(_ name: String, _ directory: consuming Directory) throws(LogError) {
    path = directory.path(of: name)
    do {
      // A ring that only its user may write to is no error if its process is dead.
      guard let found = try directory.openOwnIfThere(name), try found.isLockedByAnother()
      else { return nil }
      file = try directory.openFile(name, [.read, .write, .nonBlocking])
      self.directory = directory
      if try !file.isLockedByAnother() { return nil }
    } catch let error as SystemError where error.isNotFound {
      return nil
    } catch let error as SystemError where error.isRefusal {
      throw LogError(
        .system, "Only its own user and root may ask the process for something: \(path)",
        path: path, systemErrorNumber: error.errno, cause: error)
    } catch {
      throw LogError(
        error, while: "Opening the ring of a running process failed", path: path)
    }
    let fileHeader = try RingImage.fileHeader(of: file)
    guard let control = fileHeader.areas.control else {
      throw LogError(
        .unsupported,
        "\(path) has no control page: its process cannot be asked for anything", path: path)
    }
    (identity, archiveLevel) = (fileHeader.identity, fileHeader.archiveLevel)
    (areas, self.control) = (fileHeader.areas, control)
  }

  /// Whether the ring's process still runs.
  package var isRunning: Bool { (try? file.isLockedByAnother()) ?? false }

  // MARK: - What there is

  /// The process's labels, by name.
  package func labels() throws(LogError) -> [ControlPage.Label] {
    let page = try controlPage()
    // No records of segments: everything in them counts as known.
    return page.labels(try RingImage(file) { _ in RingLayout.largestSegment }.dictionary)
  }

  /// The overrides that somebody outside has set, and that are not over.
  package func overrides() throws(LogError) -> [LevelOverride] { try controlPage().overrides }

  /// ``overrides()``, with the number of records that each statement has had since it was turned
  /// on, as of a second ago.
  package func overridesWithCounts() throws(LogError) -> [(override: LevelOverride, count: UInt64?)]
  {
    try controlPage().overridesWithCounts
  }

  /// How many statements at a place have had a record.
  package func count(of statement: LevelRule.Statement) throws(LogError) -> Int {
    // No records of segments: everything in them counts as known.
    let image = try RingImage(file) { _ in RingLayout.largestSegment }
    return image.dictionary.callSites.values.count {
      statement.matches(file: $0.file, line: $0.line)
    }
  }

  /// The number of the session's newest archive that is sealed; 0 if none is.
  package func newestSealedArchive() throws(LogError) -> Int {
    let place = areas.sessionState
    let bytes = try explaining("Reading the ring failed") { () throws(SystemError) in
      try file.bytes(at: place.lowerBound, count: place.count)
    }
    guard bytes.count == place.count else { throw LogError(FormatError.truncated, path: path) }
    let state = bytes.withUnsafeBytes { SessionState($0) }
    let isSealed = state.newestFrames == SessionStateLayout.allFrames
    return max(0, Int(state.newestArchive) - (isSealed ? 0 : 1))
  }

  /// The path of an archive of the session; nil if it is not in the ring's directory.
  package func path(ofArchive number: Int) -> String? {
    let names = (try? directory.names()) ?? []
    return names.first { name in
      let parts = FileNames.Archive(fileName: name)
      return parts?.session == identity.session && parts.map { Int($0.number) } == number
    }.map { directory.path(of: $0) }
  }

  private func controlPage() throws(LogError) -> ControlPage {
    try ControlPage(file, control, areas.switchCounts)
  }

  // MARK: - What is asked for

  /// How long to wait for another process that makes a request, in nanoseconds.
  private static let timeout: Int64 = 10_000_000_000

  /// Asks for other levels. ``waitForLevels(_:within:)`` waits for the result.
  ///
  /// - Parameter change: Takes the rules that hold, and returns those that are to hold.
  /// - Returns: The request's number.
  package func askForLevels(
    _ change: ([LevelOverride]) -> [LevelOverride]
  ) throws(LogError) -> UInt32 {
    try DirectoryLock.withLock(on: directory, within: Self.timeout) { () throws(LogError) in
      let present = try controlPage().levelRequest
      var request = LevelRequest(
        ordinal: (present?.ordinal ?? 0) &+ 1, change(try overrides()))
      for (index, override) in request.overrides.enumerated()
      where override.rule.statement != nil && override.ordinal == 0 {
        request.overrides[index].ordinal = request.ordinal
      }
      guard let bytes = request.encoded else {
        throw LogError(
          .invalidConfiguration,
          "\(path) has no room for \(request.overrides.count) rules: take some back, or use "
            + "fewer patterns",
          path: path)
      }
      try explaining("Writing into the ring failed") { () throws(SystemError) in
        // The first words of the request are written last: a request that is seen is complete.
        let first = ControlLayout.requestCount
        let slot = control.lowerBound + request.offset
        try file.write(all: Array(bytes[first...]), at: slot + first)
        try file.write(all: Array(bytes[..<first]), at: slot)
      }
      return request.ordinal
    }
  }

  /// Waits until the process has done what was asked for.
  ///
  /// - Parameters:
  ///   - ordinal: The request's number.
  ///   - limit: The maximum time in nanoseconds.
  /// - Throws: `timedOut`, or `closed` if the process has gone.
  package func waitForLevels(_ ordinal: UInt32, within limit: Int64) throws(LogError) {
    // A later request counts, too: it was made of this one.
    try wait(within: limit) { $0.appliedLevels >= ordinal }
  }

  /// Asks for actions after everything is archived that was logged before.
  /// ``waitForAnswer(to:within:)`` waits for the result.
  ///
  /// - Returns: The request's number.
  package func ask(for actions: ControlRequest.Actions) throws(LogError) -> UInt32 {
    try DirectoryLock.withLock(on: directory, within: Self.timeout) { () throws(LogError) in
      let page = try controlPage()
      let request = page.request.next(actions, after: page.answer)
      try explaining("Writing into the ring failed") { () throws(SystemError) in
        try file.write(
          all: withUnsafeBytes(of: request.word.littleEndian) { Array($0) },
          at: control.lowerBound + ControlLayout.request)
      }
      return request.ordinal
    }
  }

  /// Waits until the process has done what was asked for.
  ///
  /// - Throws: As ``waitForLevels(_:within:)``, or the reason why the process could not do it.
  package func waitForAnswer(to request: UInt32, within limit: Int64) throws(LogError) {
    let errorNumber = try wait(within: limit) { $0.answer.answers(request) }.answer.errorNumber
    if errorNumber == 0 { return }
    let reason = SystemError.text(of: CInt(truncatingIfNeeded: errorNumber))
    throw LogError(
      .system,
      "The process could not write its archive: \(reason). It tries again; the records are safe in "
        + "its ring as long as the machine runs: \(path)",
      path: path, systemErrorNumber: CInt(truncatingIfNeeded: errorNumber))
  }

  /// How many flight records the process has captured so far; nil if it keeps none.
  package func capturedCount() throws(LogError) -> UInt64? {
    archiveLevel > .trace ? try controlPage().capturedCount : nil
  }

  /// - Returns: The page for which `isDone` has returned true.
  @discardableResult
  private func wait(
    within limit: Int64, until isDone: (ControlPage) -> Bool
  ) throws(LogError) -> ControlPage {
    let deadline = Deadline(after: limit)
    while true {
      let runs = isRunning
      let page = try controlPage()
      if isDone(page) { return page }
      guard runs else {
        throw LogError(.closed, "The process has ended meanwhile: \(path)", path: path)
      }
      if deadline.isOver { throw unanswered }
      Sleep.nanoseconds(5_000_000)
    }
  }

  /// Why the process has not answered, as far as that can be seen.
  private var unanswered: LogError {
    let reason =
      if let report = try? crash() {
        "it is dying: \(report.summary)"
      } else {
        switch processState {
        case .stopped: "it is stopped, by SIGSTOP or a debugger, and does it when it goes on"
        case .waitingForDisk: "it waits for a disk or a file system that does not answer"
        case .dead: "it has died, and its parent has not been informed"
        case nil, .running: "it has no time, or waits for a disk; it does it as soon as it can"
        }
      }
    return LogError(.timedOut, "The process has not answered: \(reason): \(path)", path: path)
  }

  /// What the kernel says of the process; nil if it says nothing of it here.
  var processState: ProcessState? {
    ProcessState(of: identity.processID, name: identity.processName)
  }

  /// The report of what the process is dying of, if the ring has one.
  private func crash() throws(LogError) -> CrashReport? {
    guard let place = areas.crash else { return nil }
    let bytes = try explaining("Reading the ring failed") { () throws(SystemError) in
      try file.bytes(at: place.lowerBound, count: place.count)
    }
    guard bytes.count == place.count, bytes[CrashLayout.state] == CrashLayout.stateComplete else {
      return nil
    }
    return bytes.withUnsafeBytes { CrashReport($0) }
  }
}
