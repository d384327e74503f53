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
      "Prints what each destination of a directory has, as is noted there.",
      """
      A destination stands for itself by the name that its configuration gives it. Rows that wait \
      are in archives behind its cursor; what is still in rings is not counted. Whole archives are \
      noted as sent by themselves, for whatever destination.
      """,
    ],
    options: [], operands: shippedOperands
  ) { arguments, output in
    var (status, isAnyRead) = (Program.Status.success, false)
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
      let archives = try Command.archives(of: directory)
      if let archives {
        try output.append("\(directory): \(archives.text)\n")
        if !archives.isWhole { status = .corruptionOrLoss }
      } else if names.isEmpty {
        try output.append("\(directory): nothing was sent\n")
      }
      for name in names {
        let line = try Command.state(of: name, in: directory)
        try output.append("\(directory) to \(name): \(line.text)\n")
        if !line.isWhole { status = .corruptionOrLoss }
      }
    }
    return isAnyRead ? status : .nothingReadable
  }

  /// What is noted on whole archives; nil if none was sent or refused.
  private static func archives(of directory: String) throws -> (text: String, isWhole: Bool)? {
    let archives = try Catalog(of: directory, store: nil).scan().filter(\.isSealed)
    let refused = archives.filter(ArchiveShipper.isRefused)
    let sent = archives.count { $0.state.isUploaded }
    if sent == 0, refused.isEmpty { return nil }
    var line = "\(sent) archives sent whole, \(archives.count - sent - refused.count) wait"
    for archive in refused {
      let reason = archive.state.attributes[ArchiveShipper.refusedAttribute] ?? ""
      line += "; \(archive.fileName) was refused: \(reason)"
    }
    return (line, refused.isEmpty)
  }

  private static func state(
    of name: String, in directory: String
  ) throws -> (text: String, isWhole: Bool) {
    guard let text = ConsumerFile.state(of: name, in: try Directory.open(directory)),
      let state = ConsumerState(text)
    else { return ("what is noted cannot be read; what is there is sent again", false) }
    let balances = state.balances.values
    let acknowledged = balances.reduce(0) { $0 &+ $1.acknowledged }
    let refused = balances.reduce(0) { $0 &+ $1.refused }
    let missed = balances.reduce(0) { $0 &+ $1.missed }
    var line = "\(acknowledged) records sent"
    if refused > 0 { line += ", \(refused) refused" }
    if missed > 0 { line += ", \(missed) deleted before they were sent" }
    if let batch = state.batch { line += ", \(batch.count) on their way" }
    return (line, refused == 0 && missed == 0)
  }
}
