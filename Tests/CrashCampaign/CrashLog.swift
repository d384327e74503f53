package import TestSupport
package import CrashRecords
import Glibc
import MMLogFormat
import MMLogReader
package import MMLogStorage
import MMLogSystem

/// A store in a folder of its own that children log into and recover, and die in.
package final class CrashLog {
  package let path: String
  package let settings: Settings
  /// The page of each process that logged, by its number: see ``LoggingProcess``.
  private var pages: [Int: CountPage] = [:]
  private var children = 0
  /// The signals that processes died of, by their numbers.
  private(set) var crashes: [Int: CInt] = [:]
  /// How processes ended, by their numbers, except those that closed their store or were killed.
  private(set) var ends: [Int: SessionEnd.How] = [:]
  /// The processes that have survived a fatal signal.
  private(set) var survivors: Set<Int> = []
  private let owned: TemporaryDirectory?
  /// What was known of archives at several times, if their frames are chained.
  private var heads: [ArchiveHead] = []
  /// Keeps deleted archives; nil if no archive is deleted.
  private let ledger: ArchiveLedger?

  /// - Parameter path: An empty folder that stays; nil: one that is removed with this object.
  package init(_ settings: Settings, in path: String? = nil) throws {
    owned = path == nil ? TemporaryDirectory() : nil
    self.path = path ?? owned?.path ?? ""
    self.settings = settings
    ledger = settings.keep == nil ? nil : ArchiveLedger("\(self.path)/ledger")
    if settings.hasRingsElsewhere { try Folder.make(self("rings")) }
  }

  /// The path of a file in the folder.
  package func callAsFunction(_ name: String) -> String {
    "\(path)/\(name)"
  }

  /// How many records of each lane are acknowledged, over all processes.
  package var acknowledged: [Int] {
    (0...(pages.keys.max() ?? 0)).flatMap {
      pages[$0]?.counts ?? [Int](repeating: 0, count: CountPage.laneCount)
    }
  }

  /// The pages of a process and its children by fork.
  func pages(ofFamily process: Int) -> [CountPage] {
    (process...process + settings.forks).compactMap { pages[$0] }
  }

  /// Notes that a process died of a signal that it was to record.
  func noteCrash(of process: Int, _ signal: CInt) {
    crashes[process] = signal
    ends[process] = .crashed
  }

  /// Notes how a process ended.
  func noteEnd(of process: Int, _ how: SessionEnd.How) { ends[process] = how }

  /// Waits until a process has noted that it survived a signal.
  func waitForSurvival(of number: Int, _ process: LoggingProcess) throws {
    var filter = LogReader.Filter()
    filter.minimumLevel = .critical
    let id = process.page.processID
    filter.processes = ["\(id)"].compactMap { NamePattern($0) }
    let paths = [self("store")] + (settings.hasRingsElsewhere ? [self("rings")] : [])
    try process.child.wait {
      Sleep.nanoseconds(100_000_000)
      // A limit may delete the archive with the record before somebody has checked.
      let deleted = ledger?.deleted(from: self("store")) ?? []
      let files = CampaignIdentity.files(paths + deleted.map(\.path))
      return LogReader(files, filter: filter).contains { item in
        guard case .record(let record) = item else { return false }
        return Findings.isSurvival(record) && record.session.identity.processID == id
      }
    }
    survivors.insert(number)
  }

  /// Makes all processes that log record only from a level on.
  ///
  /// - Parameter time: For how long, in nanoseconds; nil: for ever.
  /// - Returns: What is wrong with that.
  func setLevel(_ level: Level, _ time: UInt64?) -> [String] {
    var problems: [String] = []
    let rule = LevelOverride(
      LevelRule(level, for: "*"), expiry: time.map { Clock.sinceBoot() + $0 } ?? 0)
    do throws(LogError) {
      let folder = self(settings.hasRingsElsewhere ? "rings" : "store")
      for ring in try LiveRing.all(in: folder, problem: { problems.append("\($0)") }) {
        do throws(LogError) {
          let request = try ring.askForLevels { _ in [rule] }
          try ring.waitForLevels(request, within: 60_000_000_000)
        } catch  where error.code == .closed {
          // The process has ended meanwhile, or another process only recovers the ring.
        }
      }
    } catch  where error.systemErrorNumber == ENOENT {
      // The processes that log have not made their directory yet.
    } catch {
      problems.append("levels: \(error)")
    }
    return problems
  }

  /// Whether a process that logs died at a test point.
  package func died(at point: TestPoint) -> Bool {
    pages.values.contains { $0.deathPoint == point.rawValue }
  }

  /// Starts a child that logs.
  ///
  /// - Parameter process: Its number. Its children by fork have the next ones.
  package func startLogging(process: Int = 0, _ arguments: [String] = []) throws -> LoggingProcess {
    let name = self("page \(process)")
    let mine = try CountPage(name)
    pages[process] = mine
    for fork in 0..<settings.forks {
      pages[process + 1 + fork] = try CountPage("\(name).\(fork + 1)")
    }
    let child = try start(
      name, ["--lifeline", "--process", "\(process)"] + settings.logArguments + arguments,
      in: "store",
      hasFamily: true)
    return LoggingProcess(child, mine, hasForks: settings.forks > 0)
  }

  /// Starts a child that opens the store and closes it again.
  package func startRecovering(_ arguments: [String] = [], in store: String = "store") throws
    -> LoggingProcess
  {
    let name = self("page of recovery \(children + 1)")
    let page = try CountPage(name)
    let child = try start(name, ["--recover"] + arguments, in: store)
    return LoggingProcess(child, page)
  }

  /// Starts a child that deletes the archives that exceed the limits.
  package func startPruning(_ arguments: [String] = [], in store: String = "store") throws
    -> LoggingProcess
  {
    let name = self("page of pruning \(children + 1)")
    let page = try CountPage(name)
    return LoggingProcess(try start(name, ["--prune"] + arguments, in: store), page)
  }

  private func start(
    _ page: String, _ arguments: [String], in store: String, hasFamily: Bool = false
  ) throws -> ChildProcess {
    children += 1
    return try ChildProcess(
      ChildProcess.path(of: "mmlog-crash-child"),
      ["--directory", self(store), "--page", page] + settings.storeArguments { self($0) }
        + arguments, errors: self("errors \(children)"), hasFamily: hasFamily)
  }

  /// Lets a child recover the store. Nobody kills the child.
  ///
  /// - Returns: What is wrong with that.
  package func recover(in store: String = "store") throws -> [String] {
    let child = try startRecovering(in: store)
    return child.problems(with: child.wait(), "the last recovery") { $0 == .success }
  }

  /// Compares what is in the store with what was logged.
  ///
  /// - Parameter isRecovered: False as long as records may be in a ring. If true, no ring may be
  ///   left.
  package func findings(in store: String = "store", isRecovered: Bool = true) throws -> Findings {
    var paths = [self(store)]
    if settings.hasRingsElsewhere { paths.append(self("rings")) }
    // Leaves out a folder without a log, since readers report it as unreadable: a process may have
    // died early.
    let withLogs = paths.filter { path in
      (try? Folder.names(path))?.contains { $0.hasSuffix(".ring") || $0.hasSuffix(".mmlog") }
        ?? false
    }
    let deleted = ledger?.deleted(from: self(store)) ?? []
    var findings = Findings(
      in: withLogs + deleted.map(\.path), settings, pages, crashes: crashes, ends: ends,
      survivors: survivors, isRecovered: isRecovered)
    if let ledger, let keep = settings.keep {
      let check = MaintenanceCheck(of: self(store), ledger, deleted, keep: keep, settings)
      for problem in check.problems(isRecovered: isRecovered) { findings.note(problem) }
    }
    let check = SealCheck(
      of: CampaignIdentity.files(withLogs), deleted: CampaignIdentity.files(deleted.map(\.path)),
      settings, in: path, heads, isRecovered: isRecovered)
    for problem in check.problems { findings.note(problem) }
    heads = check.heads
    if isRecovered {
      for path in paths {
        for name in try Folder.names(path)
        // An unfinished ring may be one that a living process is just making: it is removed later.
        where name.hasSuffix(".ring") || name.hasSuffix(".mmlog.new") {
          findings.note("\(name) is left")
        }
      }
    }
    return findings
  }
}

/// A child of a campaign, and its page.
package struct LoggingProcess {
  package let child: ChildProcess
  package let page: CountPage
  package let hasForks: Bool

  init(_ child: ChildProcess, _ page: CountPage, hasForks: Bool = false) {
    (self.child, self.page, self.hasForks) = (child, page, hasForks)
  }

  /// Waits until the child does what it is to be killed in.
  package func waitUntilReady() throws { try child.wait { page.isReady } }

  package func wait(seconds: UInt64 = 120) -> Ending { child.wait(seconds: seconds) }

  /// What is wrong with how the child ended, and with what it said.
  func problems(
    with ending: Ending, _ name: String, _ isExpected: (Ending) -> Bool
  ) -> [String] {
    // Leaves out a store's own lines about failures whose events nobody takes: they are not the
    // child's.
    let said = child.complaints.split(separator: "\n").filter { !$0.hasPrefix("mmlog: the store ") }
      .joined(separator: "\n")
    if isExpected(ending) && said.isEmpty { return [] }
    return ["\(name) \(ending)\(said.isEmpty ? "" : ": \(said.prefix(4000))")"]
  }
}
