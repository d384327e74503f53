import CampaignSupport
import MMLogReader

/// What verifying, repairing, recovering and decoding make of a mutated directory, beside what
/// reading it gave.
struct MutationSample {
  private let files: MutatedFiles
  private let found: FoundLog
  private let path: String
  private let folder: String

  /// - Parameters:
  ///   - found: What reading gave, which has been judged.
  ///   - path: Where the directory is; it stays as it is.
  ///   - folder: Where others may be made; nothing is left there.
  init(_ files: MutatedFiles, _ found: FoundLog, _ path: String, in folder: String) {
    (self.files, self.found, self.path, self.folder) = (files, found, path, folder)
  }

  func problems() throws -> [String] {
    defer { Folder.remove(folder) }
    return try problemsOfVerifying() + problemsOfRepair() + problemsOfRecovery()
      + problemsOfDecoding()
  }

  private func problemsOfVerifying() -> [String] {
    let files = LogFiles([.path(path)])
    let isGood = files.unreadable.isEmpty && files.verify().allSatisfy(\.damage.isEmpty)
    return isGood && !found.reports.paths.isEmpty
      ? ["verifying finds nothing, and reading does: \(found.reports.texts.prefix(2))"] : []
  }

  private func problemsOfRepair() throws -> [String] {
    let files = LogFiles([.path(path)])
    let target = "\(folder)/repaired"
    guard files.fileCount > 0 else { return [] }
    _ = try LogRepair.write(files, to: target)
    let repaired = FoundLog([target])
    var problems = differences(
      repaired.records.filter { $0.record.label != "mmlog.repair" }, "repair")
    if repaired.reports.paths.count > 0 {
      problems.append("what was repaired reports: \(repaired.reports.texts.prefix(2))")
    }
    return problems
  }

  private func problemsOfRecovery() throws -> [String] {
    let target = "\(folder)/recovered"
    try Folder.copy(path, to: target)
    _ = try LogRecovery.recover(target) { _ in }
    return differences(FoundLog([target]).records, "recovery")
  }

  /// What is not the same records in the same order of each thread.
  private func differences(_ records: [(record: LoggedRecord, time: Int64)], _ what: String)
    -> [String]
  {
    let (before, after) = (keys(found.records), keys(records))
    if before == after { return [] }
    let (lost, new) = (before.subtracting(after), after.subtracting(before))
    return ["after \(what) \(lost.count) records are not there any more, and \(new.count) are new"]
  }

  private func keys(_ records: [(record: LoggedRecord, time: Int64)]) -> Set<[Int]> {
    Set(records.compactMap { Scene.key(of: $0.record) }.map { [$0.lane, $0.sequence] })
  }

  // MARK: - The decoder

  private func problemsOfDecoding() throws -> [String] {
    let (output, errors) = ("\(folder)/output", "\(folder)/errors")
    try Folder.make(folder)
    let process = try ChildProcess(
      ChildProcess.path(of: "mmlog-decode"), ["--utc", "--format", "json", path], output: output,
      errors: errors)
    let ending = process.wait(seconds: 120)
    let said = Folder.text(errors)
    var problems: [String] = []
    if !expected.contains(ending) {
      problems.append("the decoder \(ending), and not as \(expected) says: \(said.prefix(500))")
    }
    if try Folder.read(output) != rendered() {
      problems.append("the decoder prints something else than reading gives")
    }
    if !found.reports.isEmpty && said.isEmpty { problems.append("the decoder reports nothing") }
    return problems
  }

  /// How it may end.
  private var expected: [Ending] {
    // Without a file that can be read; nil cannot be told from nothing in them.
    if LogFiles([.path(path)]).fileCount == 0 { return [.exited(3)] }
    return [.exited(found.reports.isSevere ? 1 : 0)]
  }

  private func rendered() -> [UInt8] {
    var formatter = JSONFormatter(zone: .utc)
    var buffer = TextBuffer()
    formatter.begin(&buffer)
    for case .record(let record) in LogReader(paths: [path]) {
      formatter.append(record, to: &buffer)
    }
    formatter.end(&buffer)
    return buffer.withUnsafeBytes { Array($0) }
  }
}
