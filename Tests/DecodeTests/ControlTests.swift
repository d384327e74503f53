import Glibc
import MMLog
import TestSupport
import Testing

/// Requests to running processes: `mmlogctl set-level`, `levels`, `capture`.
@Suite struct ControlTests {
  private let folder = TemporaryDirectory()

  @Test("levels of running processes are set listed and taken back")
  func levelsOfRunningProcessesAreSetListedAndTakenBack() throws {
    // Two stores stand for two processes: each has its ring.
    let stores = try [("orders", Logger.Level.info), ("prices", .error)].map { name, level in
      var configuration = LogStore.Configuration()
      configuration.level = level
      return try LogStore(directory: folder.path, name: name, configuration: configuration)
    }
    let logs = stores.map { $0.logger(label: "db.pool") }
    let set = try control(["set-level", "db.*=debug, web=trace", folder.path])
    #expect(set.status == 0 && set.errors == "", "\(set)")
    let lines = set.output.split(separator: "\n").map { $0.drop { $0 != "]" } }
    #expect(lines == ["]  db.pool: info to debug", "]  db.pool: error to debug"], "\(set.output)")
    #expect(logs.map(\.level) == [.debug, .debug])

    _ = try control(["set-level", "db.pool=trace,web=default", "--for", "100m", folder.path])
    let listed = try control(["levels", folder.path])
    #expect(listed.status == 0 && listed.errors == "", "\(listed)")
    let first = listed.output.split(separator: "\n").prefix(3).map { $0.drop { $0 != "]" } }
    #expect(first[0] == "]  trace     db.pool  set from outside", "\(listed.output)")
    #expect(first[1] == "]  rule db.*=debug holds until it is taken back", "\(listed.output)")
    let rule = "]  rule db.pool=trace holds for "
    #expect(first[2].hasPrefix(rule) && first[2].hasSuffix(" s more"), "\(listed.output)")
    let left = Int(first[2].dropFirst(rule.count).prefix { $0.isNumber }) ?? 0
    #expect(1...6001 ~= left, "\(listed.output)")

    let back = try control(["set-level", "default", folder.path])
    #expect(back.status == 0 && back.output.contains("trace to error"), "\(back)")
    #expect(logs.map(\.level) == [.info, .error])
    for store in stores { try store.close() }
  }

  @Test("of rules for one pattern the last counts, and of paths that are equal one")
  func twice() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "db.pool")
    let set = try control(["set-level", "db.*=debug,db.*=error,db.*=5/1s", folder.path])
    #expect(set.status == 0 && log.level == .error, "\(set)")
    let listed = try control(["levels", folder.path, folder.path])
    let rules = listed.output.split(separator: "\n").filter { $0.contains("rule db.*=") }
    #expect(rules.count == 2 && !rules[0].contains("debug"), "\(listed.output)")
    try store.close()
  }

  @Test("levels are taken by the names of other loggers; of what is none, the names are said")
  func levelsByOtherNames() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let logs = ["db", "web", "jobs"].map { store.logger(label: $0) }
    let set = try control(["set-level", "db=warn,web=FATAL,jobs=Off", folder.path])
    #expect(set.status == 0 && set.errors == "", "\(set)")
    #expect(logs.map(\.level) == [.warning, .critical, .off])
    for wrong in ["loud", "all"] {
      let refused = try control(["set-level", "db=\(wrong)", folder.path])
      #expect(refused.status == 2, "\(refused)")
      let names = "the levels trace, debug, info, notice, warning, error, critical, off\n"
      #expect(refused.errors.contains("'\(wrong)' is neither a level"), "\(refused)")
      #expect(refused.errors.contains(names), "\(refused)")
    }
    try store.close()
  }

  @Test("a rate limit is set beside a level, shown, replaced and taken back")
  func aRateLimitIsSetShownAndTakenBack() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "db.pool")
    func lines(_ arguments: [String]) throws -> [String] {
      let run = try control(arguments + [folder.path])
      #expect(run.status == 0 && run.errors == "", "\(run)")
      return run.output.split(separator: "\n").map { String($0.drop { $0 != "]" }.dropFirst(3)) }
    }
    func logAll() { for index in 0..<5 { log.debug("\(index)", line: 1) } }
    #expect(
      try lines(["set-level", "db.*=debug,db.*=9/1h"]) == [
        "db.pool: info to debug", "db.pool: the program's own limit to limit 9/1h",
      ])
    #expect(
      try lines(["set-level", "db.*=2/720h"]) == ["db.pool: limit 9/1h to limit 2/720h"])
    #expect(
      try lines(["levels"]) == [
        "debug     db.pool  set from outside  limit 2/720h from outside",
        "rule db.*=debug holds until it is taken back",
        "rule db.*=2/720h holds until it is taken back",
      ])
    logAll()
    // The process reports suppressed records once a second.
    var shown = ""
    while !shown.contains("limits    3 records suppressed") {
      let run = try control(["status", folder.path])
      try #require(run.status == 0, "\(run)")
      shown = run.output
    }
    let inspected = try decode(["inspect", folder.path])
    #expect(inspected.output.contains("\n  noted: 3 records suppressed by rate limits\n"))
    #expect(inspected.output.contains("\n  noted: rule from outside: db.*=2/720h\n"))
    #expect(
      try lines(["set-level", "db.*=default"]) == [
        "db.pool: debug to info", "db.pool: limit 2/720h to the program's own limit",
      ])
    logAll()
    #expect(
      try lines(["set-level", "web=3/1s"]) == ["no level or limit of a present label changed"])
    _ = try lines(["set-level", "debug"])
    logAll()
    try store.close()
    #expect(try decode(["--format", "message", folder.path]).output == "0\n1\n0\n1\n2\n3\n4\n")
  }

  @Test("what is neither a command nor there is taken for a wrong command")
  func wrongCommand() throws {
    let run = try control(["nosuch", folder.path])
    #expect(run.status == 2 && run.output.isEmpty)
    #expect(
      run.errors.hasPrefix(
        "mmlogctl: there is neither a command nor a file 'nosuch'; --help lists the commands\n"),
      "\(run)")
    let path = try control(["./nosuch", folder.path])
    #expect(path.status == 3 && path.errors.contains("open ./nosuch: "), "\(path)")
    let named = try control(["status", "nosuch", folder.path])
    #expect(named.status == 3 && named.errors.contains("open nosuch: "), "\(named)")
  }

  @Test("flight records are captured shown and left away")
  func flightRecordsAreCapturedShownAndLeftAway() throws {
    var configuration = LogStore.Configuration()
    (configuration.level, configuration.archiveLevel) = (.debug, .info)
    let store = try LogStore(directory: folder.path, name: "n", configuration: configuration)
    let log = store.logger(label: "db")
    log.debug("why")
    log.info("what")
    let run = try control(["capture", folder.path])
    #expect(run.status == 0 && run.output.hasSuffix("]  1 flight record captured\n"), "\(run)")
    try store.close()
    let template = ["--template", "{message} {flight}"]
    #expect(try decode(template + [folder.path]).output == "why flight\nwhat \n")
    #expect(try decode(template + ["--flight", folder.path]).output == "why flight\n")
    #expect(try decode(template + ["--no-flight", folder.path]).output == "what \n")
    #expect(try decode(["--flight", folder.path]).output.contains(" <flight>"))
    #expect(
      try decode(["--flight", "--format", "json", folder.path]).output.contains(#""flight":true"#))
    let both = try decode(["--flight", "--no-flight", folder.path])
    #expect(both.status == 2 && both.errors.contains("contradict"))
    let verified = try decode(["verify", folder.path])
    #expect(verified.status == 0, "\(verified)")
  }

  @Test("where no process runs nothing can be set")
  func whereNoProcessRunsNothingCanBeSet() throws {
    let run = try control(["set-level", "debug", folder.path])
    #expect(run.status == 3 && run.errors.contains("no process logs into"), "\(run)")
    // The process of this ring is dead.
    let log = TestLog(session: 1)
    folder.put("orders.\(log.identity.session).ring", log.ring)
    let dead = try control(["levels", folder.path])
    #expect(dead.status == 3 && dead.output == "", "\(dead)")
    let gone = try control(["levels", folder("nowhere")])
    #expect(gone.status == 3 && gone.errors.contains("nowhere"), "\(gone)")
  }

  @Test(
    "where the ring of a dead process cannot be written to nothing can be set either",
    .enabled(if: mountsCanBeMade, "no file system can be made read-only"))
  func whereTheRingCannotBeWrittenToNothingCanBeSetEither() throws {
    let log = TestLog(session: 1)
    folder.put("orders.\(log.identity.session).ring", log.ring)
    let run = try shell(
      """
      unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit
      exec "$2" levels "$1"' sh '\(folder.path)' '\(ChildProcess.path(of: "mmlogctl"))'
      """, folder: TemporaryDirectory())
    #expect(run.status == 3 && run.errors.contains("no process logs into"), "\(run)")
  }

  @Test(
    "what makes no sense is refused",
    arguments: [
      (["set-level", "db=loud"], "'loud' is neither a level nor a limit"),
      (["set-level", " , "], "asks for nothing"), (["prune", "-"], "needs directories, not '-'"),
      (["set-level", "debug", "--for", "soon"], "10m"),
      (["--for", "10m"], "it is one of 'mmlogctl set-level'"),
      (["levels", "--format", "json"], "'mmlogctl levels' has no option '--format'"),
    ])
  func whatMakesNoSenseIsRefused(_ arguments: [String], _ reason: String) throws {
    let run = try control(arguments + [folder.path])
    #expect(run.status == 2 && run.errors.contains(reason), "\(run)")
  }

  @Test("a file in place of a directory is refused, with its directory")
  func fileForDirectory() throws {
    let names = ["a.mmlog", "b.ring"]
    for name in names { folder.put(name, [1]) }
    for (command, name) in [("flush", 0), ("status", 0), ("prune", 0), ("prune", 1)] {
      let run = try control([command, folder(names[name])])
      #expect(run.status == 2, "\(run)")
      #expect(run.errors.contains("is a file; name its directory, '\(folder.path)'"), "\(run)")
    }
    let recovered = try decode(["recover", folder("b.ring")])
    #expect(recovered.status == 2 && recovered.errors.contains("name its directory"))
    let pinned = try control(["pin", folder("none.mmlog")])
    #expect(pinned.status == 1 && pinned.errors.contains("No such file: "), "\(pinned)")
  }
}
