package import MMLogFormat
import MMLogSystem

/// The ring of a process that runs, opened by another one to ask it for something through the
/// ring's control page (FORMAT.md, 3).
package final class LiveRing {
  package let path: String
  package let identity: SessionIdentity
  private let archiveLevel: Level
  /// Where in the ring its control page is.
  private let control: Range<Int>
  private let directory: Directory
  private let file: File

  /// Opens the rings of all processes that log into a directory now.
  ///
  /// - Parameters:
  ///   - path: The directory, or one ring.
  ///   - problem: Receives rings of running processes that cannot be used.
  /// - Throws: What keeps the directory from being read.
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

  private static func names(_ path: String) throws(SystemError) -> (String, [String]) {
    if path.hasSuffix(FileNames.ringSuffix), let slash = path.lastIndex(of: "/") {
      let folder = String(path[..<slash])
      return (folder.isEmpty ? "/" : folder, [String(path[path.index(after: slash)...])])
    }
    if path.hasSuffix(FileNames.ringSuffix) { return (".", [path]) }
    let names = try Directory.open(path).names()
    return (path, names.filter { FileNames.Ring(fileName: $0) != nil }.sorted())
  }

  private static func open(_ path: String) throws(LogError) -> Directory {
    try explaining("Opening the directory failed") { () throws(SystemError) in
      try Directory.open(path)
    }
  }

  /// Nil if no process has it.
  private init?(_ name: String, _ directory: consuming Directory) throws(LogError) {
    path = directory.path(of: name)
    do {
      // Before it is opened, too: that may be refused, and be no fault.
      guard let status = try directory.status(of: name) else { return nil }
      if try Ownership(of: directory).isForeign(status) {
        throw Ownership.error(directory.path(of: name), status)
      }
      file = try directory.openFile(name, [.read, .write, .nonBlocking])
      self.directory = directory
      if try !file.isLockedByAnother() { return nil }
    } catch let error as SystemError where error.isNotFound {
      return nil
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
    (identity, archiveLevel, self.control) = (fileHeader.identity, fileHeader.archiveLevel, control)
  }

  /// Whether its process still runs.
  package var isRunning: Bool { (try? file.isLockedByAnother()) ?? false }

  // MARK: - What there is

  /// A label of the process.
  package struct Label: Equatable {
    package let name: String
    /// Nil if the process does not say: of its first 576 labels it does, as of a second ago.
    package let level: Level?
    /// Whether somebody outside has set the level.
    package let isOverridden: Bool
  }

  /// The process's labels, by name.
  package func labels() throws(LogError) -> [Label] {
    let page = try controlPage()
    // Nothing of its segments: all that could be in them is known.
    let image = try RingImage(file) { _ in RingLayout.largestSegment }
    let all = image.dictionary.labels.map { id, name in
      let place = ControlLayout.labelLevels + Int(id) - 1
      let byte = (1...ControlLayout.labelCount).contains(Int(id)) ? page[place] : 0
      let known = byte & ControlLayout.levelMask
      return Label(
        name: name, level: known == 0 ? nil : Level(rawValue: known - 1),
        isOverridden: byte & ControlLayout.overridden != 0)
    }
    return all.sorted { $0.name < $1.name }
  }

  /// What somebody outside has set, and is not over.
  package func overrides() throws(LogError) -> [LevelOverride] {
    let now = Clock.sinceBoot()
    return (try newestLevelRequest()?.overrides ?? []).filter { $0.holds(at: now) }
  }

  private func newestLevelRequest() throws(LogError) -> LevelRequest? {
    try controlPage().withUnsafeBytes { LevelRequest.newest(inPage: $0) }
  }

  private func controlPage() throws(LogError) -> [UInt8] {
    let bytes = try explaining("Reading the ring failed") { () throws(SystemError) in
      try file.bytes(at: control.lowerBound, count: control.count)
    }
    guard bytes.count == control.count else {
      throw LogError(FormatError.truncated, path: path)
    }
    return bytes
  }

  // MARK: - What is asked for

  /// How long to wait for another who asks for something, in nanoseconds.
  private static let timeout: Int64 = 10_000_000_000

  /// Asks for other levels. What comes of it, says ``waitForLevels(_:within:)``.
  ///
  /// - Parameter change: Makes of the rules that hold those that are to hold.
  /// - Returns: The request's number.
  package func askForLevels(
    _ change: ([LevelOverride]) -> [LevelOverride]
  ) throws(LogError) -> UInt32 {
    try DirectoryLock.withLock(on: directory, within: Self.timeout) { () throws(LogError) in
      let present = try newestLevelRequest()
      let request = LevelRequest(
        ordinal: (present?.ordinal ?? 0) &+ 1, change(try overrides()))
      guard let bytes = request.encoded else {
        throw LogError(
          .invalidConfiguration,
          "\(path) has no room for \(request.overrides.count) rules: take some back, or use "
            + "fewer patterns",
          path: path)
      }
      try explaining("Writing into the ring failed") { () throws(SystemError) in
        // What is behind its first words first: so a request that is seen is seen whole.
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
  ///   - limit: How long to wait at most, in nanoseconds.
  /// - Throws: `timedOut`, or `closed` if the process has gone.
  package func waitForLevels(_ ordinal: UInt32, within limit: Int64) throws(LogError) {
    try wait(within: limit) { page in
      // A later request counts too: it was made of this one.
      page.load(ControlLayout.appliedLevels, as: UInt32.self) >= ordinal
    }
  }

  /// Asks for the flight records to be captured. What comes of it, says
  /// ``waitForCapture(_:within:)``.
  ///
  /// - Returns: The request's number.
  package func askForCapture() throws(LogError) -> UInt32 {
    try DirectoryLock.withLock(on: directory, within: Self.timeout) { () throws(LogError) in
      let place = ControlLayout.captureRequests
      let request = try controlPage().withUnsafeBytes { $0.load(place, as: UInt32.self) } &+ 1
      try explaining("Writing into the ring failed") { () throws(SystemError) in
        try file.write(
          all: withUnsafeBytes(of: request.littleEndian) { Array($0) },
          at: control.lowerBound + place)
      }
      return request
    }
  }

  /// Waits until the process has answered a request for a capture. Throws as
  /// ``waitForLevels(_:within:)``.
  package func waitForCapture(_ request: UInt32, within limit: Int64) throws(LogError) {
    try wait(within: limit) { page in
      page.load(ControlLayout.capturesDone, as: UInt32.self) >= request
    }
  }

  /// How many flight records the process has captured so far; nil if it keeps none.
  package func capturedCount() throws(LogError) -> UInt64? {
    guard archiveLevel > .trace else { return nil }
    return try controlPage().withUnsafeBytes {
      $0.load(ControlLayout.capturedRecords, as: UInt64.self)
    }
  }

  private func wait(
    within limit: Int64, until isDone: (UnsafeRawBufferPointer) -> Bool
  ) throws(LogError) {
    let deadline = Clock.monotonic() &+ UInt64(max(0, limit))
    while true {
      let runs = isRunning
      if try controlPage().withUnsafeBytes(isDone) { return }
      guard runs else {
        throw LogError(.closed, "The process has ended meanwhile: \(path)", path: path)
      }
      guard Clock.monotonic() < deadline else {
        throw LogError(
          .timedOut,
          "The process has not answered: it may be stopped, or have no time. It does what was "
            + "asked for as soon as it can: \(path)",
          path: path)
      }
      Sleep.nanoseconds(5_000_000)
    }
  }
}
