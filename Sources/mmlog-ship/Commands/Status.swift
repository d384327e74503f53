import CommandLineTool
import LogCommands
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem

extension Command {
  static let status = Command(
    "status",
    description: [
      "Prints how much each destination of a directory has, as noted there, and how much waits "
        + "for it.",
      """
      A destination is listed by the name that its configuration gives it. Waiting records are the \
      records in archives behind its cursor, also those that its filter does not pass. Records \
      that are still in rings are not counted. A line follows for each corrupted place among the \
      waiting records, which is still to be sent as a gap. Whole archives are listed without their \
      destination: a mark on each archive says that it was sent.
      """,
    ],
    options: [.identity, .jsonSummary], operands: shippedOperands
  ) { arguments, output in
    var (status, isAnyRead) = (Program.Status.success, false)
    let isJSON = arguments.isSet(.jsonSummary)
    let identities = try arguments.identities()
    for directory in try arguments.directories() {
      let names: [String]
      do throws(SystemError) {
        names = try ConsumerFile.consumers(in: Directory.open(directory)).sorted()
      } catch {
        Command.complain("cannot read '\(directory)': \(error)")
        status = .corruptionOrLoss
        continue
      }
      isAnyRead = true
      var entries = [try StatusEntry(ofArchivesIn: directory)].compactMap(\.self)
      entries += try names.map { try StatusEntry(of: $0, in: directory, identities) }
      if entries.isEmpty, !isJSON {
        try output.append("\(directory): nothing was sent\n".escapedControls)
      }
      for entry in entries {
        for line in isJSON ? [entry.json.text] : entry.lines {
          try output.append("\(line)\n".escapedControls)
        }
        if !entry.isWhole { status = .corruptionOrLoss }
      }
    }
    return isAnyRead ? status : .nothingReadable
  }
}

/// What is said of a destination, or of whole archives.
private struct StatusEntry {
  private(set) var lines: [String] = []
  private(set) var json = JSONObject()
  /// Whether nothing was refused, or is missing.
  private(set) var isWhole = true

  /// What is noted on whole archives; nil if none was sent or refused.
  init?(ofArchivesIn directory: String) throws {
    let archives = try Catalog(of: directory, store: nil).scan().filter(\.isSealed)
    let refused = archives.filter(ArchiveShipper.isRefused)
    let sent = archives.count { $0.state.isUploaded }
    if sent == 0, refused.isEmpty { return nil }
    let waiting = archives.count - sent - refused.count
    json.add("directory", directory)
    json.add("archives_sent", sent)
    json.add("archives_waiting", waiting)
    var (line, objects) = ("\(sent) archives sent whole, \(waiting) wait", [String]())
    for archive in refused {
      let reason = archive.state.attributes[ArchiveShipper.refusedAttribute] ?? ""
      line += "; \(archive.fileName) was refused: \(reason)"
      var object = JSONObject()
      object.add("file", archive.fileName)
      object.add("reason", reason)
      objects.append(object.text)
    }
    json.add("archives_refused", json: JSONObject.array(objects))
    lines = ["\(directory): \(line)"]
    isWhole = refused.isEmpty
  }

  /// What is noted on a destination of records, and what waits for it.
  init(of name: String, in directory: String, _ identities: LogIdentities) throws {
    json.add("directory", directory)
    json.add("destination", name)
    var (noted, problem) = (ConsumerState?.none, "nothing is noted; what is there is sent again")
    do throws(LogError) { noted = try ConsumerState.noted(of: name, in: directory) } catch {
      problem = "nothing is sent: \(error)"
    }
    guard let state = noted else {
      json.add("error", problem)
      (lines, isWhole) = (["\(directory) to \(name): \(problem)"], false)
      return
    }
    let balances = state.balances.values
    let acknowledged = balances.reduce(0) { $0 &+ $1.acknowledged }
    let refused = balances.reduce(0) { $0 &+ $1.refused }
    let missed = balances.reduce(0) { $0 &+ $1.missed }
    json.add("sent", acknowledged)
    json.add("refused", refused)
    json.add("deleted", missed)
    let onTheirWay = state.batches.values.reduce(0) { $0 &+ $1.count }
    json.add("on_their_way", onTheirWay)
    isWhole = refused == 0 && missed == 0
    var line = "\(directory) to \(name): \(acknowledged) records sent"
    if refused > 0 { line += ", \(refused) refused" }
    if missed > 0 { line += ", \(missed) deleted before they were sent" }
    if !state.batches.isEmpty { line += ", \(onTheirWay) on their way" }
    lines = [line]
    // Nothing waits for a selection that somebody has asked for once.
    if !state.isSelection {
      addWaiting(behind: state.cursor, in: directory, identities)
    }
  }

  private mutating func addWaiting(
    behind cursor: LogReader.Cursor, in directory: String, _ identities: LogIdentities
  ) {
    do throws(LogError) {
      let waiting = try Shipper.Waiting.behind(cursor, in: directory, identities: identities)
      let records = waiting.reduce(0) { $0 + $1.records }
      let corruption = waiting.flatMap(\.corruption).map { "\($0)" }
      json.add("waiting", records)
      json.add("corruption", json: JSONObject.array(corruption.map(JSONObject.text(of:))))
      if records > 0 { lines[0] += ", \(records) wait" }
      if corruption.isEmpty { return }
      lines[0] += ", \(count(corruption.count, "corrupted place")) to be sent as a gap"
      lines += corruption.map { "  \($0)" }
    } catch {
      json.add("error", "\(error)")
      lines.append("  what waits cannot be read: \(error)")
    }
    isWhole = false
  }
}
