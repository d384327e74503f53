import CommandLineTool
import LogCommands
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension Command {
  static let status = Command(
    "status",
    description: [
      "Shows the processes that log into PATH now, and how their logs fare.",
      """
      For each process, the command shows its name and number, how full its ring is, what waits \
      there and how long, what was lost, levels, and archives. Then it shows a line for each dead \
      process whose ring waits for its recovery. The command reads files only, so it also shows a \
      process that hangs or is stopped. The exit status is 1 if a process has lost records, or a \
      ring cannot be read, and 3 if no process runs there: for a stopped service, that is no \
      error. Where rings and archives are in different directories, name both.
      """,
    ],
    options: [.jsonSummary] + zoneOptions + [.silent], operands: storeOperands
  ) { arguments, output in
    var time = TimeFormatter(try arguments.zone())
    let found = try FoundRings(arguments.directories(), withArchives: true)
    if !arguments.isSet(.silent) {
      for ring in found.running + found.dead {
        let archives = found.archives(of: ring)
        let lines =
          arguments.isSet(.jsonSummary)
          ? [time.json(ring, archives).text]
          : ring.isRunning ? time.lines(ring, archives) : [time.line(ofDead: ring)]
        for line in lines { try output.append(line.escapedForTerminal + "\n") }
      }
    }
    if found.running.isEmpty { return found.reportNone() }
    let hasLost = (found.running + found.dead).contains { !$0.image.losses.isEmpty }
    return found.isComplete && !hasLost ? .success : .corruptionOrLoss
  }
}

extension RingStatus {
  /// `running`, `stopped` and the like.
  var stateName: String {
    if !isRunning { return "dead" }
    switch processState {
    case .stopped: return "stopped"
    case .waitingForDisk: return "waiting for a disk"
    case .dead: return "dying"
    case .running, nil: return image.crash == nil ? "running" : "dying"
    }
  }
}

extension ThreadIdentity {
  fileprivate var title: String {
    ordinal == 0 ? "shared by threads" : name.isEmpty ? "\(id)" : "\(id) \(name)"
  }

  fileprivate func json(_ openSegments: Int) -> String {
    var object = JSONObject()
    object.add("thread_id", id)
    object.add("thread_ordinal", ordinal)
    if !name.isEmpty { object.add("thread_name", name) }
    object.add("open_segments", openSegments)
    return object.text
  }
}

// MARK: - As text

extension TimeFormatter {
  fileprivate mutating func lines(_ ring: RingStatus, _ archives: [ArchiveInfo]) -> [String] {
    let identity = ring.identity
    let head =
      "\(identity.processTitle)  \(ring.stateName)  store \(identity.storeName), session "
      + "\(identity.session), since \(text(of: identity.startTime, digits: 0))"
    var rows = [
      ("ring", ring.fillText), ("waiting", ring.waiting.text),
      ("lost", ring.image.losses.isEmpty ? "nothing" : "\(ring.image.losses)"),
    ]
    if let crash = ring.image.crash { rows.append(("dying of", crash.summary)) }
    let state = ring.image.state.fields.texts
    if !state.isEmpty { rows.append(("state", state.joined(separator: " "))) }
    if let control = ring.control {
      if ring.image.fileHeader.archiveLevel > .trace {
        rows.append(
          ("flight", "\(control.capturedCount) captured, \(control.forgottenCount) evicted"))
      }
      if control.suppressedCount > 0 {
        let records = LogCommands.count(Int(clamping: control.suppressedCount), "record")
        rows.append(("limits", "\(records) suppressed"))
      }
      rows.append(("drainer", drainer(ring, control)))
      rows += control.levelRows(ring.image.dictionary)
    }
    rows.append(("archives", archives.text))
    return [head]
      + rows.map { name, text in
        "  \(name)\(String(repeating: " ", count: Swift.max(1, 10 - name.count)))\(text)"
      }
  }

  private func drainer(_ ring: RingStatus, _ control: ControlPage) -> String {
    let last =
      control.lastPass.map { "last pass \(ageText(max(.zero, .now - $0))) ago" }
      ?? "no pass has ended"
    var parts = [last, "last sign of life \(ageText(ring.silence)) ago"]
    if control.failedPasses > 0 {
      parts.append("\(count(Int(control.failedPasses), "pass", "passes")) failed")
    }
    if control.failedSyncs > 0 { parts.append("\(count(Int(control.failedSyncs), "sync")) failed") }
    if !control.answer.answers(control.request.ordinal) {
      parts.append("a request is not answered yet")
    }
    return parts.joined(separator: ", ")
  }

  fileprivate mutating func line(ofDead ring: RingStatus) -> String {
    let waiting = ring.waiting
    return
      "\(ring.identity.processTitle)  \(text(of: ring.end)); \(count(waiting.count, "record")) "
      + "\(waiting.count == 1 ? "waits" : "wait") for recovery in \(ring.image.path)"
  }
}

extension RingStatus {
  fileprivate var fillText: String {
    let geometry = image.fileHeader.geometry
    let names = writers.prefix(8).map { writer in
      writer.openSegments == 1
        ? writer.thread.title : "\(writer.thread.title) (\(writer.openSegments) segments)"
    }
    let others = writers.count - names.count
    let list = names.joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
    let use =
      "\(image.segments.count) of \(count(geometry.segmentCount, "segment")) of "
      + "\(sizeText(geometry.segmentSize)) in use"
    return writers.isEmpty ? "\(use); no thread writes" : "\(use); writing: \(list)"
  }
}

extension RingStatus.Waiting {
  fileprivate var text: String {
    guard let oldestAge else { return "nothing" }
    let levels = Level.allCases.reversed().filter { self[$0] > 0 }.map { "\($0) \(self[$0])" }
    return
      "\(LogCommands.count(count, "record")), \(sizeText(bytes)), "
      + "the oldest for \(ageText(oldestAge)): "
      + levels.joined(separator: ", ")
  }
}

extension ControlPage {
  /// Labels by level, and the rules from outside.
  fileprivate func levelRows(_ dictionary: LogDictionary) -> [(String, String)] {
    var names: [Level: [String]] = [:]
    for label in labels(dictionary) {
      if let level = label.level { names[level, default: []].append(label.shownName) }
    }
    let levels = names.sorted { $0.key < $1.key }.map { level, names in
      let others = names.count - 6
      return "\(level) \(names.prefix(6).joined(separator: ", "))"
        + (others > 0 ? " and \(others) more" : "")
    }
    let rules = overrides.map { "\($0.rule)" }
    return (levels.isEmpty ? [] : [("levels", levels.joined(separator: "; "))])
      + (rules.isEmpty ? [] : [("rules", "from outside: \(rules.joined(separator: ", "))")])
  }
}

extension [ArchiveInfo] {
  fileprivate func size(_ isWanted: (ArchiveInfo) -> Bool) -> (count: Int, bytes: Int) {
    let wanted = filter(isWanted)
    return (wanted.count, wanted.reduce(0) { $0 + $1.allocatedSize })
  }

  fileprivate var all: (count: Int, bytes: Int) { size { _ in true } }
  fileprivate var active: (count: Int, bytes: Int) { size(\.isActive) }
  /// The archives that wait for a recovery.
  fileprivate var left: (count: Int, bytes: Int) { size { !$0.isActive && !$0.isSealed } }
  /// The archives that are sealed and not uploaded.
  fileprivate var pending: (count: Int, bytes: Int) { size { $0.isSealed && !$0.state.isUploaded } }
  fileprivate var uploaded: (count: Int, bytes: Int) { size(\.state.isUploaded) }
  fileprivate var pinned: (count: Int, bytes: Int) { size(\.state.isPinned) }

  fileprivate var text: String {
    if isEmpty { return "none" }
    let kinds = [
      (active, "being written"), (left, "left unsealed by a dead process"),
      (pending, "sealed and not uploaded"), (uploaded, "uploaded"), (pinned, "pinned"),
    ]
    let parts = kinds.filter { $0.0.count > 0 }.map { size, word in
      "\(size.count) \(word) (\(sizeText(size.bytes)))"
    }
    return "\(count), \(sizeText(all.bytes)): \(parts.joined(separator: ", "))"
  }
}

// MARK: - As JSON

extension TimeFormatter {
  mutating func json(_ ring: RingStatus, _ archives: [ArchiveInfo]) -> JSONObject {
    let (image, geometry) = (ring.image, ring.image.fileHeader.geometry)
    var object = JSONObject()
    object.add(LogReader.Session(ring.identity))
    object.add("process_state", ring.stateName)
    object.add("start_time", ring.identity.startTime, &self)
    object.add("ring", image.path)
    object.add("segments", geometry.segmentCount)
    object.add("used_segments", image.segments.count)
    object.add("segment_bytes", geometry.segmentSize)
    object.add(
      "threads", json: JSONObject.array(ring.writers.map { $0.thread.json($0.openSegments) }))
    add(ring.waiting, to: &object)
    object.add("lost", json: image.losses.json)
    object.add("crash", image.crash?.summary)
    if !image.state.values.isEmpty { object.add("state", json: image.state.fields.json.text) }
    if ring.isRunning {
      object.add("silence_ns", ring.silence.nanoseconds)
    } else {
      let end = ring.end
      object.add("ending", "\(end.how)")
      object.add("ending_time", end.time, &self)
    }
    if let control = ring.control { add(control, image.dictionary, to: &object) }
    var sizes = JSONObject()
    for (name, size) in [
      ("all", archives.all), ("active", archives.active), ("pending", archives.pending),
      ("uploaded", archives.uploaded), ("pinned", archives.pinned), ("left", archives.left),
    ] {
      sizes.add(name, size.count)
      sizes.add("\(name)_bytes", size.bytes)
    }
    object.add("archives", json: sizes.text)
    return object
  }

  private func add(_ waiting: RingStatus.Waiting, to object: inout JSONObject) {
    var levels = JSONObject()
    for level in Level.allCases where waiting[level] > 0 {
      levels.add(level.description, waiting[level])
    }
    object.add("waiting", waiting.count)
    object.add("waiting_bytes", waiting.bytes)
    object.add("waiting_by_level", json: levels.text)
    object.add("oldest_waiting_ns", waiting.oldestAge?.nanoseconds)
  }

  private mutating func add(
    _ control: ControlPage, _ dictionary: LogDictionary, to object: inout JSONObject
  ) {
    object.add("flight_captured", control.capturedCount)
    object.add("flight_evicted", control.forgottenCount)
    object.add("last_pass_time", control.lastPass, &self)
    object.add("failed_passes", control.failedPasses)
    object.add("failed_syncs", control.failedSyncs)
    object.add("suppressed", control.suppressedCount)
    let labels = control.labels(dictionary).map { label -> String in
      var object = JSONObject()
      object.add("label", label.name)
      object.add("level", label.level?.description)
      object.add("overridden", json: "\(label.isOverridden)")
      return object.text
    }
    object.add("levels", json: JSONObject.array(labels))
    let rules = control.overrides.map { JSONObject.text(of: "\($0.rule)") }
    object.add("rules", json: JSONObject.array(rules))
  }
}
