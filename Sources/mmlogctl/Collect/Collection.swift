import CommandLineTool
import LogCommands
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// What `collect` puts into one file.
struct Collection {
  /// A ring or an archive.
  private struct Source {
    let path: String
    /// Its name in the tar file.
    let name: String
    let isRing: Bool
    /// Whether it is the ring of a running process.
    let isRunning: Bool
  }

  private var found: FoundRings
  /// Files whose time is not known, because they cannot be read: support needs these most.
  private let others: [String]
  private let filter: LogReader.Filter
  private let zone: LogTimeZone
  private let limit: Int
  private var tar: TarWriter
  private let now = Timestamp.now
  /// What the manifest says.
  private var collected: [String] = []
  private var leftOut: [(path: String, size: Int)] = []
  private var problems: [String] = []
  private let complaints = Complaints(Command.complain)

  /// The maximum number of sessions whose crash reports are in the file: the newest ones.
  private static let maximumCrashes = 20
  /// The maximum size of a crash's text, in bytes: all texts are in memory before they are written.
  /// A record of a few bytes may have a message of megabytes.
  private static let longestCrash = 8 << 20

  init(
    _ found: FoundRings, _ filter: LogReader.Filter, _ zone: LogTimeZone, limit: Int,
    _ output: StandardOutput
  ) {
    (self.found, self.filter, self.zone, self.limit) = (found, filter, zone, limit)
    others = found.others
    let host = Host.name().filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    tar = TarWriter(to: output, folder: "mmlog-\(host)-\(UTCTime(now).compact)")
  }

  /// Writes everything.
  ///
  /// - Throws: What prevents writing, or ``UsageError`` for a limit that is too small.
  mutating func write() throws {
    let texts = self.texts()
    let said = (rings + archives).reduce(0) { $0 + Self.mostSaid(of: $1) }
    let entries = texts.reduce(said) { $0 + Self.entry($1.name, .max, nil).utf8.count }
    // The rest of the manifest, besides the files, is known already.
    let reserve = TarWriter.space(of: manifest.utf8.count + 4096 + entries) + TarWriter.endSpace
    let room = limit - reserve - texts.reduce(0) { $0 + TarWriter.space(of: $1.text.utf8.count) }
    guard room >= 0 else {
      throw UsageError("--limit is too small: reports alone take \(sizeText(limit - room))")
    }
    for (name, text) in texts { try add(name, text) }
    var end = tar.size + room
    for ring in rings { try add(ring, before: end) }
    // This comes after the rings: records that a process has moved meanwhile are in an archive that
    // exists now.
    found.scanArchives()
    end += said - (rings + archives).reduce(0) { $0 + Self.mostSaid(of: $1) }
    var isFull = false
    let unreadable = Set(others)
    for archive in archives {
      if unreadable.contains(archive.path) {
        try add(archive, before: end)
        continue
      }
      // No older archive replaces one that is too large: a log with holes helps nobody.
      isFull = try isFull || !add(archive, before: end)
      if isFull, leftOut.last?.path != archive.path {
        leftOut.append((archive.path, (try? File.status(ofPath: archive.path))?.size ?? 0))
      }
    }
    try add("manifest.json", manifest)
    try tar.finish()
    complaints.end()
  }

  /// What was collected, in a line.
  var summary: String { "\(count(collected.count, "file")), \(sizeText(tar.size))" }

  /// What was left out, in a line; nil if nothing was.
  var omission: String? {
    if leftOut.isEmpty { return nil }
    let size = leftOut.reduce(0) { $0 + $1.size }
    return "--limit leaves out \(count(leftOut.count, "file")) of \(sizeText(size)); "
      + "manifest.json in it lists them"
  }

  /// Which processes ran, in a line; nil if none did. A copy of a ring does not show that.
  var running: String? {
    let names = found.running.map { "\($0.identity.processTitle) (session \($0.identity.session))" }
    if names.isEmpty { return nil }
    return "\(names.joined(separator: ", ")) \(names.count == 1 ? "was" : "were") running, though "
      + "readers of the file say killed: see status.json in it"
  }

  /// Whether something could not be read.
  var hasProblems: Bool { !problems.isEmpty || !found.isComplete }

  private mutating func add(_ name: String, _ text: String) throws {
    try tar.add(name, text: text, modified: now.nanosecondsSince1970)
    note(name, text.utf8.count, nil)
  }

  private mutating func note(_ name: String, _ size: Int, _ path: String?) {
    collected.append(Self.entry(name, size, path))
  }

  private static func entry(_ name: String, _ size: Int, _ path: String?) -> String {
    var entry = JSONObject()
    entry.add("name", name)
    entry.add("bytes", size)
    entry.add("path", path)
    return entry.text
  }

  /// The maximum number of bytes about a file in the manifest: that the file is in it or left out,
  /// and what was wrong with the file.
  private static func mostSaid(of source: Source) -> Int {
    entry(source.name, .max, source.path).utf8.count
      + JSONObject.text(of: source.path).utf8.count + 512
  }

  /// - Returns: False if there is no room for the source.
  @discardableResult
  private mutating func add(_ source: Source, before end: Int) throws -> Bool {
    guard let file = open(source.path), let status = try? file.status(), status.isRegularFile else {
      // The file was deleted or recovered since it was listed: it cannot be collected any more.
      return true
    }
    // A running process may free a segment, and use it anew, while its ring is read.
    if source.isRunning, let copy = try? RingImage(file).fileCopy(of: file) {
      return try add(source, copy.bytes.count, status.modified, before: end) { part, offset in
        let rest = UnsafeRawBufferPointer(rebasing: copy.bytes[offset...].prefix(part.count))
        part.copyMemory(from: rest)
        return rest.count
      }
    }
    return try add(source, status.size, status.modified, before: end) { part, offset in
      (try? file.readFully(into: part, at: offset)) ?? 0
    }
  }

  private mutating func add(
    _ source: Source, _ size: Int, _ modified: Int64, before end: Int, _ read: TarWriter.Reading
  ) throws -> Bool {
    // Most of a ring is empty.
    let parts = source.isRing ? TarWriter.parts(ofSize: size, read) : [0..<size]
    let stored = parts.reduce(0) { $0 + $1.count }
    guard tar.size + TarWriter.space(of: stored, parts: parts.count) <= end else {
      leftOut.append((source.path, size))
      return false
    }
    let isComplete = try tar.add(
      source.name, parts: parts, size: size, modified: modified, read)
    if !isComplete {
      problem("\(source.path) became shorter while it was read, or has become unreadable")
    }
    note(source.name, size, source.path)
    return true
  }

  private mutating func open(_ path: String) -> File? {
    do throws(SystemError) { return try File.open(path, [.read, .nonBlocking]) } catch {
      // A file that was deleted since it was listed is no problem.
      if !error.isNotFound { problem("\(error)") }
      return nil
    }
  }

  private mutating func problem(_ sentence: String) {
    complaints.add(sentence)
    problems.append(sentence)
  }

  // MARK: - Files

  /// The rings; those of dead processes come first.
  private var rings: [Source] {
    sources((found.dead + found.running).map { ($0.image.path, "rings") })
  }

  /// The files whose time is not known, and the archives of the time that is asked for, the newest
  /// first.
  private var archives: [Source] {
    let unreadable = Set(others)
    let wanted = found.archives.filter { archive in
      if unreadable.contains(archive.path) { return false }
      let last = archive.isSealed ? archive.lastTime : max(archive.lastTime, archive.modified)
      let first = archive.contents?.times?.lowerBound ?? archive.created
      return filter.since.map { last >= $0 } ?? true && filter.until.map { first < $0 } ?? true
    }
    let sorted = wanted.sorted { ($0.lastTime, $0.fileName) > ($1.lastTime, $1.fileName) }
    return sources(
      others.map { ($0, $0.hasSuffix(FileNames.archiveSuffix) ? "archives" : "rings") }
        + sorted.map { ($0.path, "archives") })
  }

  /// Gives each file a name of its own in the tar file.
  private func sources(_ files: [(path: String, folder: String)]) -> [Source] {
    var used: Set<String> = []
    let running = Set(found.running.map(\.image.path))
    return files.map { path, folder in
      let file = path.splitAtLastSlash.name
      var name = "\(folder)/\(file)"
      while !used.insert(name).inserted { name = "\(folder)/copy-\(used.count)/\(file)" }
      return Source(
        path: path, name: name, isRing: file.hasSuffix(FileNames.ringSuffix),
        isRunning: running.contains(path))
    }
  }

  // MARK: - Texts

  private mutating func texts() -> [(name: String, text: String)] {
    File.raiseOpenLimit()
    var time = TimeFormatter(zone)
    let files = LogFiles(found.folders.map(LogReader.Input.path))
    for error in files.unreadableWithKeys { problem(error.message) }
    var texts = [
      ("machine.json", MachineFacts.json(of: found.folders)), ("versions.json", versions),
      (
        "status.json",
        lines((found.running + found.dead).map { time.json($0, found.archives(of: $0)) })
      ),
    ]
    let sessions = files.overview()
    texts.append(
      ("sessions.json", lines(sessions.map { time.json($0, spans(of: $0, files)) })))
    texts.append(("statistics.json", statistics(files)))
    let crashed = sessions.filter { isWanted($0) && $0.ending.isCrash }
    for session in crashed.suffix(Self.maximumCrashes) {
      texts.append(("crashes/\(session.session.id).txt", crash(files, session.session)))
    }
    return texts
  }

  private func lines(_ objects: [JSONObject]) -> String {
    objects.map { $0.text + "\n" }.joined()
  }

  /// What was in flight when a session crashed.
  private func spans(of session: SessionOverview, _ files: LogFiles) -> OpenSpans {
    session.ending.isCrash ? files.openSpans(of: session.session.id) : OpenSpans()
  }

  private var versions: String {
    var object = JSONObject()
    object.add("mmlogctl", mmlogVersion)
    object.add("format", formatVersion)
    return object.text + "\n"
  }

  private func isWanted(_ session: SessionOverview) -> Bool {
    guard case .ended(let end) = session.ending else { return true }
    let start = session.session.identity.startTime
    return filter.since.map { end.time >= $0 } ?? true && filter.until.map { start < $0 } ?? true
  }

  private func statistics(_ files: LogFiles) -> String {
    var statistics = LogStatistics(zone: zone, of: filter)
    for item in LogReader(files, filter: filter) { statistics.add(item) }
    var text = TextBuffer()
    statistics.appendJSON(to: &text)
    return text.text()
  }

  private mutating func crash(_ files: LogFiles, _ session: LogReader.Session) -> String {
    var missing: [String] = []
    let complaints = Complaints { missing.append($0) }
    let crash = CrashOutput(
      files, session, zone, recordsOfThread: 50, complain: complaints.add)
    complaints.end()
    var (text, isWhole) = ([UInt8](), true)
    crash.printText { part in
      part.withUnsafeBytes { bytes in
        text += bytes.prefix(Self.longestCrash - text.count)
        isWhole = isWhole && text.count < Self.longestCrash
      }
    }
    if !isWhole { missing.append("The rest is left out: all of it is too long") }
    return String(decoding: text, as: UTF8.self) + missing.map { "\n\($0)\n" }.joined()
  }

  private var manifest: String {
    var time = TimeFormatter(zone)
    var object = JSONObject()
    object.add("made_time", now, &time)
    object.add("since_time", filter.since, &time)
    object.add("until_time", filter.until, &time)
    object.add("paths", json: JSONObject.array(found.paths.map(JSONObject.text)))
    if limit != .max { object.add("limit_bytes", limit) }
    object.add("files", json: JSONObject.array(collected))
    let missing = leftOut.map { path, size in
      var entry = JSONObject()
      entry.add("path", path)
      entry.add("bytes", size)
      return entry.text
    }
    object.add("left_out", json: JSONObject.array(missing))
    object.add("problems", json: JSONObject.array(problems.map(JSONObject.text)))
    return object.text + "\n"
  }
}
