import Dispatch
import Foundation
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// `mmlogctl prune`.
@Suite struct PruneTests {
  private let folder = TemporaryDirectory()

  /// Puts the closed archives of `count` sessions into the folder.
  private func archives(_ count: Int) -> [String] {
    (1...count).map { number in
      let log = TestLog(session: UInt64(number))
      log.identity.storeName = "orders"
      log.beginArchive()
      log.close()
      let name = "orders-2025112\(number)T090000Z-\(log.identity.session)-000001.mmlog"
      folder.put(name, log.archives[0])
      return name
    }
  }

  @Test("what a limit does not allow is deleted and reported")
  func whatALimitDoesNotAllowIsDeletedAndReported() throws {
    let names = archives(4)
    folder.put("orders.txt", [1])
    let arguments = ["prune", "--count", "2", "--explain", folder.path]
    let dry = try control(arguments + ["--dry-run"])
    #expect(dry.status == 0 && dry.errors == "", "\(dry.errors)")
    #expect(try left() == names + ["orders.txt"])
    let lines = dry.output.split(separator: "\n")
    #expect(lines.count == 4 && lines.filter { $0.hasPrefix("would go ") }.count == 2, "\(lines)")
    #expect(lines.filter { $0.contains("more archives than the limit count") }.count == 2)
    let real = try control(arguments)
    #expect(real.status == 0 && real.errors == "", "\(real.errors)")
    #expect(real.output == dry.output.replacingOccurrences(of: "would go ", with: "deleted  "))
    #expect(try left().filter { $0.hasSuffix(".mmlog") }.count == 2)
    #expect(try left().contains("orders.txt"))
  }

  @Test("control characters of names do not reach the terminal") func hostileNames() throws {
    let hostile = folder("a\u{1b}[31m")
    try Folder.make(hostile)
    for name in archives(2) {
      try FileManager.default.moveItem(atPath: folder(name), toPath: "\(hostile)/\(name)")
    }
    let run = try control(["prune", "--count", "1", "--explain", hostile])
    #expect(run.status == 0 && !run.output.contains("\u{1b}"), "\(run)")
    #expect(run.output.contains("deleted  ") && run.output.contains("stays  "), "\(run)")
  }

  @Test(
    "what stands for no limit, or is none, deletes nothing",
    arguments: ["--crashes=2", "--age=0s", "--age=0"])
  func noLimit(option: String) throws {
    let names = archives(2)
    let run = try control(["prune", option, folder.path])
    #expect(run.status == 2 && run.errors.contains("deletes nothing without a limit"), "\(run)")
    #expect(try left() == names)
  }

  @Test("what acts prints nothing of what went well, on request")
  func nothingOnRequest() throws {
    let names = archives(3)
    let silent = Run(output: "", errors: "", status: 0)
    #expect(try decode(["verify", "-q", folder.path]) == silent)
    #expect(try decode(["repair", "-q", "-o", TemporaryDirectory().path, folder.path]) == silent)
    #expect(try decode(["recover", "-q", folder.path]) == silent)
    #expect(try control(["prune", "-q", "--explain", "--count", "1", folder.path]) == silent)
    #expect(try left().filter { $0.hasSuffix(".mmlog") } == Array(names.suffix(1)))
    // Problems are printed even with `-q`.
    folder.put("broken.mmlog", [UInt8](repeating: 7, count: 4096))
    let broken = try decode(["verify", "-q", folder.path])
    #expect(broken.status == 1 && broken.errors.contains("broken.mmlog"), "\(broken)")
  }

  @Test("without a limit, those count that the store has noted")
  func noted() throws {
    let names = archives(4)
    let none = try control(["prune", folder.path])
    #expect(none.status == 1 && none.errors.contains("no limits are noted for the store orders"))
    for broken in ["\u{1}\u{2}", "retention.count three\n"] {
      folder.put("orders.settings", Array(broken.utf8))
      let run = try control(["prune", "--explain", folder.path])
      #expect(run.status == 1 && run.output.isEmpty, "\(run)")
      #expect(run.errors.contains("\(folder("orders.settings")) is broken"), "\(run)")
    }
    folder.put("orders.settings", Array("retention.count 3\n".utf8))
    let done = try control(["prune", folder.path])
    #expect(done.status == 0 && done.errors == "" && done.output.contains("than the limit count"))
    #expect(try left().filter { $0.hasSuffix(".mmlog") } == Array(names.dropFirst()))
  }

  @Test("what is among the newest says so with the setting, whatever that is")
  func notedMinimumSize() throws {
    let names = archives(2)
    folder.put(
      "orders.settings", Array("retention.freeSpace 1.0\nretention.minimumSize 1073741824\n".utf8))
    let run = try control(["prune", "--explain", folder.path])
    #expect(run.status == 1, "\(run)")
    let lines = run.output.split(separator: "\n")
    let reason = ": it is among the newest, which stay whatever is free (retention.minimumSize)"
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix(reason) }, "\(run)")
    #expect(run.errors.contains("2 among the newest, which stay"), "\(run)")
    #expect(try left().filter { $0.hasSuffix(".mmlog") } == names)
  }

  @Test("what a store went on with since it was judged stays")
  func resumedMeanwhile() throws {
    let names = archives(3)
    let pruning = Pruning(of: folder.path)
    var retention = Retention.unlimited
    retention.count = 1
    let judgment = try pruning.judge(retention, store: nil) { Issue.record("\($0)") }
    #expect(judgment.verdicts.count { $0.rule != nil } == 2)
    let longer = try folder.bytes(names[0]) + TestLog.sealed(session: 9)
    folder.put(names[0], longer)
    var deleted: [String] = []
    try pruning.delete(judgment.verdicts) {
      deleted.append($0.archive.fileName)
    } failed: {
      Issue.record("\($0)")
    }
    #expect(deleted == [names[1]])
    #expect(try folder.bytes(names[0]) == longer)
  }

  @Test("a size may have the units that conditions have") func units() throws {
    _ = archives(2)
    for (size, count) in [("1kB", 2), ("1KiB", 2), ("1K", 2), ("100MB", 0), ("0.1GiB", 0)] {
      let run = try control(["prune", "--total-size", size, "--dry-run", folder.path])
      #expect(run.status == 0 && run.output.split(separator: "\n").count == count, "\(run)")
    }
    for size in ["1ms", "-1kB", "1000000000000TiB"] {
      #expect(try control(["prune", "--total-size=\(size)", folder.path]).status == 2, "\(size)")
    }
  }

  @Test("that a store has no archives is said") func unknownStore() throws {
    let names = archives(2)
    let run = try control(["prune", "--name", "ordres", "--count", "1", folder.path])
    #expect(run.status == 0 && run.errors.contains("no archive of the store ordres"), "\(run)")
    #expect(try left() == names)
    let known = try control(["prune", "--name", "orders", "--count", "1", "-q", folder.path])
    #expect(known == Run(output: "", errors: "", status: 0))
  }

  @Test("two that prune at once delete each archive once and no more")
  func twoThatPruneAtOnceDeleteEachArchiveOnceAndNoMore() throws {
    let names = archives(9)
    let runs = LockedValue<[Run]>([])
    DispatchQueue.concurrentPerform(iterations: 3) { _ in
      let run = try? control(["prune", "--count", "4", folder.path])
      runs.withLock { $0 += run.map { [$0] } ?? [] }
    }
    let done = runs.withLock { $0 }
    #expect(done.count == 3 && done.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(done)")
    let deleted = done.flatMap { $0.output.split(separator: "\n") }
    #expect(deleted.count == 5 && Set(deleted.map { $0.prefix { $0 != "(" } }).count == 5)
    #expect(try left().filter { $0.hasSuffix(".mmlog") } == Array(names.suffix(4)))
  }

  @Test("what a running service writes stays") func whatARunningServiceWritesStays() throws {
    let names = archives(2)
    // The archive looks as if a process were writing it: locked, and not closed.
    let path = folder(names[0])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path)).dropLast(8)
    try bytes.write(to: URL(fileURLWithPath: path))
    let file = try File.open(path, [.read, .write])
    #expect(try file.tryLock())
    let run = try control(["prune", "--total-size", "1", "--explain", folder.path])
    #expect(run.status == 1 && run.output.contains("being written by a process"), "\(run)")
    #expect(try left().filter { $0.hasSuffix(".mmlog") } == [names[0]])
    try file.unlock()
  }

  @Test("without a limit nothing is done") func withoutALimitNothingIsDone() throws {
    let run = try control(["prune", "--count", "0", folder.path])
    #expect(run.status == 2 && run.errors.contains("--count"))
    let wrong = try control(["prune", "--total-size", "lots", folder.path])
    #expect(wrong.status == 2 && wrong.errors.contains("500M"))
  }

  @Test(
    "what would have no effect is refused",
    arguments: [
      ("--dry-run", "it is one of 'mmlogctl prune'"),
      ("prune --count 1 --level error", "'mmlogctl prune' has no option '--level'"),
      ("prune --count 1 --recursive", "has no option '--recursive'"),
      ("prune --count 1 --levels", "did you mean the command 'mmlogctl levels'?"),
    ])
  func whatWouldHaveNoEffectIsRefused(line: String, expected: String) throws {
    let names = archives(2)
    let run = try control(line.split(separator: " ").map(String.init) + [folder.path])
    #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(expected), "\(run)")
    #expect(try left() == names)
    #expect(try control(["prune", "--count", "1"]).errors.contains("PATH is missing"))
  }

  @Test("small archives and other stores stay") func smallArchivesAndOtherStoresStay() throws {
    let names = archives(3)
    // A few small archives stay, however little space is free.
    for free in ["100%", "900T"] {
      let run = try control(["prune", "--free-space", free, folder.path])
      #expect(run.status == 1 && run.errors.contains("3 among the newest"), "\(run)")
      #expect(run.output.split(separator: "\n").allSatisfy { $0.hasPrefix("stays ") })
    }
    let wrong = try control(["prune", "--free-space", "101%", folder.path])
    #expect(wrong.status == 2 && wrong.errors.contains("a size as 1G or 5%"))
    let other = try control(["prune", "--count", "1", "--name", "other", folder.path])
    #expect(other.status == 0 && other.output == "", "\(other)")
    let named = try control(["prune", "--count", "2", "--name", "orders", folder.path])
    #expect(named.output.split(separator: "\n").count == 1 && named.output.contains(names[0]))
  }

  @Test("what a dead rings recovery needs stays") func whatADeadRingsRecoveryNeedsStays() throws {
    let names = archives(2)
    let log = TestLog(session: 1)
    log.identity.storeName = "orders"
    log.write("left", ticks: 1)
    let rings = TemporaryDirectory()
    rings.put("orders.\(log.identity.session).ring", log.ring)
    let arguments = ["prune", "--total-size", "1", "--dry-run", folder.path]
    #expect(try control(arguments).output.contains(names[0]))
    let spared = try control(arguments + ["--rings", rings.path])
    #expect(spared.status == 1 && spared.output.contains("needed to recover"), "\(spared)")
    let gone = spared.output.split(separator: "\n").filter { $0.hasPrefix("would go") }
    #expect(gone.count == 1 && gone[0].contains(names[1]), "\(spared)")
  }

  @Test("a limit that is not reached is reported with what keeps it from that")
  func aLimitThatIsNotReachedIsReportedWithWhatKeepsItFromThat() throws {
    let names = archives(5)
    let catalog = Catalog(of: folder.path, store: nil)
    try catalog.change(names[0]) { $0.pinned = "incident 7" }
    let arguments = ["prune", "--count", "1", folder.path]
    let reached = try control(arguments)
    #expect(reached.status == 0 && reached.errors.isEmpty, "\(reached)")
    #expect(reached.output.split(separator: "\n").count == 4)
    for run in [
      try control(["prune", "--total-size", "1", "--dry-run", folder.path]),
      try control(["prune", "--total-size", "1", folder.path]),
    ] {
      #expect(run.status == 1 && run.errors.contains("limit total-size"), "\(run)")
      #expect(run.errors.contains("orders") && run.errors.contains("1 pinned"), "\(run)")
      let lines = run.output.split(separator: "\n")
      #expect(lines.count == 1 && lines[0].hasPrefix("stays     \(folder(names[0])) ("), "\(run)")
      #expect(lines[0].hasSuffix(": it is pinned: incident 7"), "\(run)")
    }
  }

  @Test("what lies around a crash says so") func whatLiesAroundACrashSaysSo() throws {
    let log = TestLog(session: 1)
    log.identity.storeName = "orders"
    log.write("x", ticks: 1)
    log.archive()
    _ = log.save()
    _ = try decode(["recover", log.folder.path])
    let run = try control(["prune", "--total-size", "1", "--explain", log.folder.path])
    #expect(run.status == 1 && run.output.contains("around one of the newest crashes"), "\(run)")
  }

  @Test("age and size delete") func ageAndSizeDelete() throws {
    let names = archives(3)
    let run = try control(["prune", "--age", "1d", folder.path])
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      run.output.split(separator: "\n").allSatisfy { $0.contains("older than the limit age") })
    #expect(run.output.split(separator: "\n").count == names.count, "\(run.output)")
    #expect(try left() == [".mmlog-lock", ".mmlog-trash"])
  }

  private func left() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }
}
