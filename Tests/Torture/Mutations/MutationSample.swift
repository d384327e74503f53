import TestSupport
import CrashRecords
import MMLog
import MMLogAnalysis
import MMLogReader

/// What verifying, repairing, recovering and decoding make of a mutated directory, compared with
/// what reading it gave.
struct MutationSample {
  private let files: MutatedFiles
  private let found: FoundLog
  private let path: String
  private let folder: String

  /// - Parameters:
  ///   - found: What reading gave, which has been judged.
  ///   - path: Where the directory is; it stays as it is.
  ///   - folder: Where other directories may be made; nothing is left there.
  init(_ files: MutatedFiles, _ found: FoundLog, _ path: String, in folder: String) {
    (self.files, self.found, self.path, self.folder) = (files, found, path, folder)
  }

  func problems() -> [String] {
    defer { Folder.remove(folder) }
    let checks = [
      problemsOfVerifying, problemsOfRepair, problemsOfRecovery, problemsOfGoingOn,
      problemsOfDecoding,
    ]
    return checks.flatMap { check in
      do { return try check() } catch { return ["\(error)"] }
    }
  }

  private func problemsOfVerifying() throws -> [String] {
    let files = LogFiles([.path(path)])
    let isGood = files.unreadable.isEmpty && files.verify().allSatisfy(\.corruption.isEmpty)
    return isGood && !found.reports.paths.isEmpty
      ? ["verifying finds nothing, and reading does: \(found.reports.texts.prefix(2))"] : []
  }

  private func problemsOfRepair() throws -> [String] {
    let files = LogFiles([.path(path)])
    let target = "\(folder)/repaired"
    guard files.fileCount > 0 else { return [] }
    _ = try LogRepair.write(files, to: target)
    // A folder without archives cannot be read; it is right if no session has anything.
    let repaired = FoundLog(try Folder.names(target).isEmpty ? [] : [target])
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

  /// Checks that a store that is opened there goes on behind what can be read, and loses none of
  /// it.
  private func problemsOfGoingOn() throws -> [String] {
    let target = "\(folder)/gone-on"
    try Folder.copy(path, to: target)
    var configuration = LogStore.Configuration()
    (configuration.ringSize, configuration.dictionarySize) = (256 << 10, 4 << 10)
    configuration.resumeLastArchive = true
    (configuration.level, configuration.retention) = (.trace, .unlimited)
    let store = try LogStore(directory: target, name: "mutations", configuration: configuration)
    let lane = Lane(Self.ownLane, sizes: 0...200, seed: 1)
    for sequence in 1...8 { lane.logInContext(sequence, to: store.logger(label: "new")) }
    try store.close()
    let records = FoundLog([target]).records
    let isMine = { (record: LoggedRecord) in Scene.key(of: record)?.lane == Self.ownLane }
    let mine = records.filter { isMine($0.record) }.count
    return differences(records.filter { !isMine($0.record) }, "a store that goes on there")
      + (mine == 8 ? [] : ["of 8 records that are logged there later, \(mine) can be read"])
  }

  /// A lane that no scene has.
  private static let ownLane = 1_000_000

  /// What has become of the records that reading gave. More records are allowed: a ring may still
  /// have those of an archive that cannot be read.
  private func differences(
    _ records: [(record: LoggedRecord, time: Timestamp)], _ what: String
  ) -> [String] {
    let (before, after) = (keys(found.records), keys(records))
    let lost = before.subtracting(after).count
    let isWrong = records.contains { record, _ in
      Scene.key(of: record).map { files.scene.wasLogged(record, as: $0) } != true
    }
    return (lost > 0 ? ["after \(what) \(lost) records are not there any more"] : [])
      + (isWrong ? ["after \(what) there is a record that nobody logged"] : [])
      + (records.count > after.count ? ["after \(what) a record is there twice"] : [])
  }

  private func keys(_ records: [(record: LoggedRecord, time: Timestamp)]) -> Set<Scene.Key> {
    Set(records.compactMap { Scene.key(of: $0.record) })
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
    // The decoder passes over what retention may have deleted.
    if found.reports.isSevere && said.isEmpty { problems.append("the decoder reports nothing") }
    return problems
  }

  /// How the decoder may end.
  private var expected: [Ending] {
    // Without a file that can be read; nil cannot be distinguished from nothing in them.
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
