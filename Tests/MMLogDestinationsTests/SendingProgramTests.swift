import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// `mmlog-ship send` for users who want some of the records, or have unusual files.
@Suite("mmlog-ship send") struct SendingProgramTests {
  private let folder = TemporaryDirectory()
  private let server: TestReceiver

  init() throws {
    server = try TestReceiver()
    for session in ["first", "second"] {
      let store = try LogStore(directory: folder("logs"), name: session)
      store.logger(label: "orders").info("of the \(session)")
      try store.close()
    }
  }

  private func send(
    _ arguments: String...
  ) throws -> (status: Ending, complaints: String) {
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("said"))
    return (program.wait(), program.complaints)
  }

  private var consumers: [String] {
    get throws { try ConsumerFile.consumers(in: Directory.open(folder("logs"))) }
  }

  @Test("a selection is sent once, and no archive waits for its cursor")
  func selection() throws {
    for _ in 1...2 {
      let result = try send("--to", server.url, "--since", "1h", folder("logs"))
      #expect(result.status == .success, "\(result.complaints)")
      #expect(try server.requests.count == 2 && consumers.count == 1)
    }
    #expect(try UnsentArchives(in: Directory.open(folder("logs"))).isEmpty)
    _ = try send("--once", "--to", server.url, folder("logs"))
    #expect(try !UnsentArchives(in: Directory.open(folder("logs"))).isEmpty)
  }

  @Test("what was too new for --until is sent when that is a later time, as 'today' is each day")
  func movingUntil() throws {
    let log = TestLog(session: 3)
    log.writesRing = false
    let now = Timestamp.now
    for (text, hours) in [("old", 30), ("newer", 10)] {
      let time = now - .seconds(hours * 3600) - TestLog.epoch
      log.write(text, ticks: UInt64(time.nanoseconds))
    }
    log.archive()
    log.close()
    folder.put("logs/third.mmlog", log.archives[0])
    // In a zone in which so many hours of today are over.
    func sendUntilToday(_ hours: Int) throws -> [Bool] {
      let second = Int(now.nanosecondsSince1970 / 1_000_000_000)
      let ahead = hours * 3600 - second % 86_400
      let (sign, minutes) = (ahead < 0 ? "+" : "-", abs(ahead) / 60)
      let zone = "TZ=TST\(sign)\(minutes / 60):\(minutes % 60)"
      let options = ["--as", "x", "--to", server.url, "--since", "2d", "--until", "today"]
      let program = try ChildProcess(
        "env", [zone, ChildProcess.path(of: "mmlog-ship")] + options + [folder("logs")],
        output: folder("said"))
      #expect(program.wait() == .success, "\(program.complaints)")
      let texts = try server.requests.map(\.text)
      return ["old", "newer"].map { word in texts.contains { $0.contains("\"\(word)\"") } }
    }
    #expect(try sendUntilToday(20) == [true, false])
    let count = try server.requests.count
    #expect(try sendUntilToday(20) == [true, false] && server.requests.count == count)
    #expect(try sendUntilToday(2) == [true, true] && consumers.count == 2)
  }

  @Test("'--until boot' has one cursor until the machine is started again")
  func untilBoot() throws {
    for _ in 1...2 {
      let result = try send("--to", server.url, "--until", "boot", folder("logs"))
      #expect(result.status == .success, "\(result.complaints)")
    }
    #expect(try consumers.count == 1 && server.requests.isEmpty)
  }

  @Test("a selection whose times do not move has the cursor that it had in earlier versions")
  func oldSelections() throws {
    let times = ["--since", "2020-01-01", "--until", "2200-01-01"]
    for options in [["--since", "1h"], times] {
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"),
        ["--as", "x", "--to", server.url] + options + [folder("logs")], output: folder("said"))
      #expect(program.wait() == .success, "\(program.complaints)")
    }
    #expect(try Set(consumers) == ["x.5e382b88eaa0f6fe", "x.7058c5ac4aa5e871"])
  }

  @Test("two destinations whose long names begin alike do not share a selection's cursor")
  func longNames() throws {
    let name = "opentelemetry-collector-observability-eu"
    let configuration = folder.put(
      "long.conf",
      """
      [destination \(name)-central]
      url = \(server.url)
      [destination \(name)-west]
      url = \(server.url)
      [directory \(folder("logs"))]
      to = \(name)-central \(name)-west
      """)
    let result = try send("--since", "1h", "--config", configuration)
    #expect(result.status == .success, "\(result.complaints)")
    #expect(try server.requests.count == 4 && consumers.count == 2)
  }

  @Test("corruption that waits is shown, and is an error, until it is sent as a gap")
  func waitingCorruption() throws {
    let path = folder("logs")
    #expect(try send("--once", "--to", server.url, path).status == .success)
    let name = try #require(try consumers.first)
    let log = TestLog()
    log.writesRing = false
    for text in ["a", "b", "c"] {
      log.write(text, ticks: 1)
      log.archive()
    }
    log.close()
    let places = archivePlaces(in: log.archives[0])
    // The header of the second frame of records. Each frame of records is behind its call sites.
    log.corruptArchive(at: places[4] + 8)
    let file = folder("logs/third.mmlog")
    try Data(log.archives[0]).write(to: URL(filePath: file))
    func status(_ options: String...) throws -> (status: Ending, said: String) {
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"), ["status"] + options + [path], output: folder("said"))
      return (program.wait(), try String(contentsOfFile: folder("said"), encoding: .utf8))
    }
    let text = try status()
    #expect(text.status == .exited(1))
    let lines = text.said.split(separator: "\n")
    #expect(lines.count == 2, "\(text.said)")
    #expect(
      lines.first
        == "\(path) to \(name): 2 records sent, 2 wait, 1 corrupted place to be sent as a gap")
    #expect(lines.last?.hasPrefix("  \(file): ") == true)
    let json = try status("--json")
    #expect(json.status == .exited(1))
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.said.utf8)) as? [String: Any])
    #expect(object["destination"] as? String == name && object["sent"] as? Int == 2)
    #expect(object["waiting"] as? Int == 2)
    let corruption = try #require(object["corruption"] as? [String])
    #expect(corruption.count == 1 && corruption.first?.hasPrefix(file) == true)
    #expect(try send("--once", "--to", server.url, path).status == .exited(1))
    let after = try status()
    #expect(after.said == "\(path) to \(name): 4 records sent\n" && after.status == .success)
  }

  @Test("a session that is not there is said")
  func noSuchSession() throws {
    let result = try send("--to", server.url, "--session", "zz", folder("logs"))
    #expect(result.status == .exited(2) && result.complaints.contains("no such session"))
  }

  @Test(
    "an archive that cannot be read is said, and all was not sent",
    arguments: ["--once", "--check"])
  func unreadableArchive(option: String) throws {
    let archives = try Catalog(of: folder("logs"), store: nil).scan()
    let path = try #require(archives.first?.path)
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 8)
    try file.write(contentsOf: [9])
    let result = try send("--to", server.url, option, folder("logs"))
    #expect(result.status == .exited(1) && result.complaints.contains(path))
  }

  @Test("records that are encrypted for others wait and are said, and others are sent")
  func encryptedForOthers() throws {
    folder.put("logs/third.mmlog", TestLog.encrypted())
    let path = folder("logs")
    for option in ["--check", "--once", "--orphans"] {
      let result = try send(option, "--as", "x", "--to", server.url, path)
      #expect(result.status == .exited(1), "\(option): \(result.complaints)")
      #expect(result.complaints.contains("third.mmlog wait"), "\(option): \(result.complaints)")
      #expect(result.complaints.contains("--identity FILE"), "\(option): \(result.complaints)")
    }
    // A check sends a request without records.
    #expect(try server.requests.filter { !$0.body.isEmpty }.count == 2)
    let balance = try send("reconcile", "--as", "x", "--to", server.url, path)
    #expect(balance.status == .exited(1) && balance.complaints.contains("third.mmlog wait"))
    let status = try send("status", path)
    #expect(status.status == .exited(1) && status.complaints.contains("third.mmlog wait"))
  }

  @Test("a ring that cannot be recovered is said, and all was not sent")
  func unrecoverableRing() throws {
    let left = TemporaryDirectory()
    let store = try LogStore(directory: folder("logs"), name: "third")
    store.logger(label: "orders").info("in the ring")
    // These are the files that the process would leave if it were killed now, with a newer version.
    try Folder.copy(folder("logs"), to: left.path) { !$0.hasPrefix(".") }
    try store.close()
    let ring = left(try #require(try left.names(ending: ".ring").first))
    let file = try FileHandle(forUpdating: URL(filePath: ring))
    try file.seek(toOffset: 8)
    try file.write(contentsOf: [9])
    let result = try send("--orphans", "--to", server.url, left.path)
    #expect(result.status == .exited(1) && result.complaints.contains(ring))
    #expect(try server.requests.count == 2)
  }

  @Test("of two directories, one that is not there is said, and the other is sent")
  func missingDirectory() throws {
    let result = try send("--once", "--to", server.url, folder("none"), folder("logs"))
    #expect(result.status == .exited(1) && result.complaints.contains(folder("none")))
    #expect(try server.requests.count == 2)
    let none = try send("--once", "--to", server.url, folder("none"))
    #expect(none.status == .exited(3) && none.complaints.contains("No such file"))
    #expect(try send("status", folder("none"), folder("logs")).status == .exited(1))
    #expect(try send("status", folder("none")).status == .exited(3))
  }

  @Test("records that are refused one by one are said once, and then as a sum")
  func sumOfRefusals() throws {
    let store = try LogStore(directory: folder("many"), name: "many")
    let log = store.logger(label: "orders")
    for number in 1...30 { log.info("record \(number)") }
    try store.close()
    let refusing = try TestReceiver([PlannedAnswer(status: 400)])
    let result = try send("--once", "--to", refusing.url, folder("many"))
    let lines = result.complaints.split(separator: "\n")
    #expect(result.status == .exited(1) && lines.count == 2, "\(result.complaints)")
    #expect(lines.first?.contains(" 1 record was refused") == true)
    #expect(lines.last?.contains(" 29 records were refused") == true)
  }

  @Test("a ring with corrupted records is said when it is recovered, and all was not sent")
  func corruptedRing() throws {
    for option in ["--orphans", "--once"] {
      let log = TestLog.killed(records: 3, corrupted: 2)
      let result = try send(option, "--to", server.url, log.folder.path)
      #expect(result.status == .exited(1), "\(option): \(result.complaints)")
      #expect(result.complaints.contains("was corrupted in 1 place, the first: "), "\(option)")
    }
  }

  @Test(
    "that nothing can be noted in a directory is found out before anything is sent",
    .enabled(if: mountsCanBeMade, "no file system can be made read-only"))
  func readOnlyDirectory() throws {
    let line = """
      mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit
      exec "$2" --check --to "$3" "$1"
      """
    let arguments = [folder("logs"), ChildProcess.path(of: "mmlog-ship"), server.url]
    let program = try ChildProcess(
      "unshare", ["-m", "sh", "-c", line, "sh"] + arguments, output: folder("said"))
    #expect(program.wait() == .exited(1), "\(program.complaints)")
    #expect(try String(decoding: folder.bytes("said"), as: UTF8.self).contains("Read-only"))
    #expect(try send("--check", "--to", server.url, folder("logs")).status == .success)
  }

  @Test("sessions that crashed are chosen after they were recovered, also from rings elsewhere")
  func crashedElsewhere() throws {
    for options in [["--orphans", "--crashed"], ["--crashed"]] {
      let (folder, left, server) = (TemporaryDirectory(), TemporaryDirectory(), try TestReceiver())
      var configuration = LogStore.Configuration()
      configuration.ringDirectory = folder("rings")
      let store = try LogStore(
        directory: folder("logs"), name: "crashed", configuration: configuration)
      store.logger(label: "orders").info("in the ring")
      // These are the files that the process would leave if it were killed now.
      for name in ["rings", "logs"] {
        try Folder.copy(folder(name), to: left(name)) { !$0.hasPrefix(".") }
      }
      try store.close()
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"),
        options + ["--to", server.url, "--ring-directory", left("rings"), left("logs")],
        output: folder("said"))
      #expect(program.wait() == .success, "\(program.complaints)")
      #expect(try server.requests.count == 1, "\(options)")
    }
  }

  @Test("of directories that share one of rings, each ring is sent once, and nothing is said")
  func sharedRingDirectory() throws {
    let (folder, server) = (TemporaryDirectory(), try TestReceiver())
    var sections = "[destination x]\nurl = \(server.url)\n"
    for name in ["one", "two"] {
      var configuration = LogStore.Configuration()
      configuration.ringDirectory = folder("rings")
      let store = try LogStore(directory: folder(name), name: name, configuration: configuration)
      store.logger(label: "orders").info("of \(name)")
      let ring = try #require(try Folder.names(folder("rings")).first { $0.hasPrefix(name) })
      let bytes = try folder.bytes("rings/\(ring)")
      try store.close()
      for archive in try Folder.names(folder(name)) where archive.hasSuffix(".mmlog") {
        try FileManager.default.removeItem(atPath: folder("\(name)/\(archive)"))
      }
      // This is the file that the process would have left if it had been killed.
      folder.put("rings/\(ring)", bytes)
      sections += "[directory \(folder(name))]\nring-directory = \(folder("rings"))\nto = x\n"
    }
    let result = try send("--orphans", "--config", folder.put("ship.conf", sections))
    #expect(result.status == .success && result.complaints.isEmpty, "\(result.complaints)")
    #expect(try server.requests.count == 2)
    #expect(try Folder.names(folder("rings")).isEmpty)
  }

  @Test("a configuration file says where rings are; an option beside it is refused")
  func ringDirectoryBesideConfiguration() throws {
    let configuration = folder.put("ship.conf")
    let result = try send("--once", "--config", configuration, "--ring-directory", folder("rings"))
    #expect(result.status == .exited(2) && result.complaints.contains("--ring-directory"))
  }

  @Test("what keeps --once from working is said once, and what is refused is said before it ends")
  func saidOnce() throws {
    let refusing = try TestReceiver([PlannedAnswer(status: 400)])
    let refused = try send("--once", "--as", "one", "--to", refusing.url, folder("logs"))
    #expect(refused.status == .exited(1))
    #expect(refused.complaints.components(separatedBy: "1 record was refused").count == 3)
    let state = folder("logs/one.consumer")
    var bytes = try folder.bytes("logs/one.consumer")
    for index in bytes.indices where bytes[index] == UInt8(ascii: "m") { bytes[index] = 0 }
    try Data(bytes).write(to: URL(filePath: state))
    let failed = try send("--once", "--as", "one", "--to", refusing.url, folder("logs"))
    #expect(failed.status == .exited(1))
    #expect(failed.complaints.split(separator: "\n").count == 1, "\(failed.complaints)")
  }

  @Test("a destination of whole archives that takes nothing is said, whatever it said before")
  func blockedArchives() throws {
    let server = try TestReceiver([PlannedAnswer(status: 503), PlannedAnswer(status: 401)])
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), ["--to", "put+\(server.url)", folder("logs")],
      output: folder("said"))
    try program.wait { program.complaints.contains("nothing is sent until") }
    program.signal(SIGTERM)
    #expect(program.wait() == .success)
    #expect(program.complaints.components(separatedBy: "nothing is sent until").count == 2)
  }

  @Test("an archive that another had leased, and has not sent, is said, and all was not sent")
  func releasedLease() throws {
    let server = try TestReceiver([PlannedAnswer(status: 201, fault: "held")])
    let catalog = Catalog(of: folder("logs"), store: nil)
    let first = try #require(try catalog.scan().first)
    let lease = try #require(try catalog.acquireLease(on: first, by: "x", for: .seconds(3600)))
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"),
      ["--once", "--to", "put+\(server.url)", folder("logs")], output: folder("said"))
    // The second archive is on its way: the first one's turn was before.
    try program.wait { try server.requests.count == 1 }
    try catalog.release(lease, on: first)
    _ = try server.file("go", "")
    #expect(program.wait() == .exited(1))
    #expect(program.complaints.contains("1 archive is left"), "\(program.complaints)")
  }

  @Test(
    "of whole archives, one that cannot be read keeps no other waiting",
    .enabled(if: CurrentProcess.effectiveUserID == 0))
  func unreadableArchive() throws {
    let name = try #require(
      try Folder.names(folder("logs")).filter { $0.hasSuffix(".mmlog") }.min())
    chmod(folder("logs/\(name)"), 0)
    // Without these capabilities, no file without a permission can be read by the superuser either.
    let capabilities = "-dac_override,-dac_read_search"
    let program = try ChildProcess(
      "setpriv",
      [
        "--bounding-set", capabilities, "--inh-caps", capabilities,
        ChildProcess.path(of: "mmlog-ship"), "--once", "--to", "put+\(server.url)",
        folder("logs"),
      ], output: folder("said"))
    #expect(program.wait() == .exited(1))
    #expect(program.complaints.contains(name), "\(program.complaints)")
    #expect(try server.requests.filter { $0.method == "PUT" }.count == 1)
  }

  @Test("settings of records are refused of whole archives, which are sent as they are")
  func recordSettingsOfArchives() throws {
    for setting in ["drop-field=password", "level=info", "batch-age=5"] {
      let result = try send(
        "--once", "--to", "put+\(server.url)", "--set", setting, folder("logs"))
      #expect(result.status == .exited(2), "\(setting)")
      #expect(result.complaints.contains("is for destinations of records"))
    }
    #expect(try server.requests.isEmpty)
    let result = try send(
      "--once", "--to", "put+\(server.url)", "--set", "retry-limit=1", folder("logs"))
    #expect(result.status == .success, "\(result.complaints)")
  }

  @Test("what has no effect is refused")
  func withoutEffect() throws {
    for (url, setting) in [
      (server.url, "proxy-password-file=/none"), (server.url, "key-file=/none"),
      (server.url, "passphrase-file=/none"), (server.url, "password-file=/none"),
      ("put+\(server.url)", "compression=none"),
    ] {
      let result = try send("--once", "--to", url, "--set", setting, folder("logs"))
      #expect(result.status == .exited(2), "\(setting): \(result.complaints)")
    }
    for end in ["--once", "--orphans", "--check", "--crashed"] {
      for option in [["--metrics", folder("metrics")], ["--grace", "1s"]] {
        let program = try ChildProcess(
          ChildProcess.path(of: "mmlog-ship"), option + [end, "--to", server.url, folder("logs")],
          output: folder("said"))
        #expect(program.wait() == .exited(2))
        #expect(program.complaints.contains("has no effect with \(end)"))
      }
    }
    #expect(try server.requests.isEmpty)
  }

  @Test("a setting that is given twice is refused, unless the help says that it may be repeated")
  func givenTwice() throws {
    for (first, second) in [("level=info", "level=debug"), ("batch-age=5", "batch-age=5")] {
      let result = try send(
        "--check", "--to", server.url, "--set", first, "--set", second, folder("logs"))
      #expect(result.status == .exited(2), "\(first)")
      let name = first.prefix { $0 != "=" }
      #expect(result.complaints.contains("'\(name)' is given twice"), "\(result.complaints)")
    }
    let configuration = folder.put(
      "twice.conf",
      "[destination x]\nurl = \(server.url)\nlevel = info\nlevel = debug\n"
        + "[directory \(folder("logs"))]\nto = x\n")
    let configured = try send("--check", "--config", configuration)
    #expect(configured.status == .exited(2))
    #expect(configured.complaints.contains("twice.conf:4:"), "\(configured.complaints)")
    let repeated = try send(
      "--once", "--to", server.url, "--set", "drop-field=a", "--set", "drop-field=b",
      "--set", "header=a:1", "--set", "header=b:2", folder("logs"))
    #expect(repeated.status == .success, "\(repeated.complaints)")
    #expect(try send("--help").status == .success)
    let help = Folder.text(folder("said")).split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    for sentence in [
      "A field that is dropped, also where it is the session's. May be repeated. (Not of s3, put.)",
      "A header of each request, which is no secret. May be repeated. (Of otlp,",
      "Only records of that level or above. (Not of s3, put.)",
    ] {
      #expect(help.contains(sentence), "\(sentence)")
    }
  }

  @Test("a name that is made from a URL stands for one destination on that host")
  func otherDestinationOfHost() throws {
    let logs = folder("logs")
    #expect(try send("--once", "--to", "\(server.url)/a", logs).status == .success)
    #expect(try send("--once", "--to", "\(server.url)/a/", logs).status == .success)
    #expect(try server.requests.count == 2)
    let refused = try send("--once", "--to", "\(server.url)/b", logs)
    #expect(refused.status == .exited(1) && refused.complaints.contains("--as"))
    #expect(try server.requests.count == 2)
    let named = try send("--once", "--as", "b", "--to", "\(server.url)/b", logs)
    #expect(try named.status == .success && server.requests.count == 4)
  }

  @Test("two destinations of one name are refused, for they would share a cursor")
  func sameName() throws {
    let result = try send(
      "--once", "--to", "\(server.url)/a", "--to", "\(server.url)/b", folder("logs"))
    #expect(result.status == .exited(2) && result.complaints.contains("is sent twice"))
    #expect(try server.requests.isEmpty)
  }

  @Test("a signal before all archives are sent is no success")
  func signalAmongArchives() throws {
    let server = try TestReceiver([PlannedAnswer(fault: "never")])
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), ["--once", "--to", "put+\(server.url)", folder("logs")],
      output: folder("said"))
    try program.wait { try !server.requests.isEmpty }
    program.signal(SIGTERM)
    #expect(program.wait() == .exited(1))
    #expect(program.complaints.contains("archives are left"), "\(program.complaints)")
  }

  @Test("a signal has said what failed, also if it has failed a few times only")
  func signalAmongFirstTries() throws {
    for (url, words) in [
      ("", "not all was sent; what is left is sent next time"), ("put+", "left, and"),
    ] {
      let server = try TestReceiver(
        [PlannedAnswer](repeating: PlannedAnswer(status: 503), count: 100))
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"),
        ["--once", "--as", "signal\(url.count)", "--to", url + server.url, folder("logs")],
        output: folder("said"))
      // The first request has failed when the second one arrives.
      try program.wait { try server.requests.count == 2 }
      program.signal(SIGTERM)
      #expect(program.wait() == .exited(1))
      #expect(program.complaints.contains("answers 503"), "\(program.complaints)")
      #expect(program.complaints.contains(words), "\(program.complaints)")
    }
  }

  @Test("a pause of a minute that the destination asks for is said at once")
  func longPause() throws {
    let answer = PlannedAnswer(status: 507, headers: ["Retry-After": "60"])
    let server = try TestReceiver([answer])
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), ["--once", "--to", "put+\(server.url)", folder("logs")],
      output: folder("said"))
    try program.wait { program.complaints.contains("answers 507") }
    program.signal(SIGTERM)
    #expect(program.wait() == .exited(1))
  }

  @Test("metrics of several destinations have each name's help and samples together")
  func metrics() throws {
    let configuration = folder.put(
      "ship.conf",
      """
      [destination one]
      url = \(server.url)
      [destination two]
      url = \(server.url)
      [directory \(folder("logs"))]
      to = one, two
      """)
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"),
      ["--config", configuration, "--metrics", folder("metrics")], output: folder("said"))
    try program.wait { try server.requests.count == 4 }
    program.signal(SIGTERM)
    #expect(program.wait() == .success, "\(program.complaints)")
    let lines = Folder.text(folder("metrics")).split(separator: "\n")
    // Each name has HELP, TYPE and a sample for each destination.
    let names = stride(from: 0, to: lines.count, by: 4).map { first in
      lines[first..<min(first + 4, lines.count)].map { line in
        line.split(whereSeparator: { $0 == " " || $0 == "{" })
          .first { $0.hasPrefix("mmlog_ship_") }
      }
    }
    #expect(lines.count == 44 && names.allSatisfy { Set($0).count == 1 })
    #expect(Set(names.map(\.first)).count == 11)
  }

  @Test("metrics have whole archives, too")
  func metricsOfArchives() throws {
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"),
      ["--to", "put+\(server.url)", "--metrics", folder("metrics"), folder("logs")],
      output: folder("said"))
    let catalog = Catalog(of: folder("logs"), store: nil)
    try program.wait { try catalog.scan().allSatisfy(\.state.isUploaded) }
    program.signal(SIGTERM)
    #expect(program.wait() == .success, "\(program.complaints)")
    let text = Folder.text(folder("metrics"))
    let label = "{consumer=\"\(folder("logs")) to put-127.0.0.1-\(server.port)\"}"
    for (name, value) in [("sent_total", 2), ("refused_total", 0), ("waiting", 0), ("blocked", 0)] {
      #expect(text.contains("\nmmlog_ship_archives_\(name)\(label) \(value)\n"), "\(text)")
    }
  }

  @Test(
    "metrics go into a device or a pipe that is there, and never into its place",
    .enabled(if: devicesCanBeMade, "no device can be made"),
    arguments: ["device", "pipe"])
  func metricsInPlace(kind: String) throws {
    let path = folder("metrics")
    let mode = kind == "device" ? S_IFCHR | 0o600 : S_IFIFO | 0o600
    // The test makes a device of its own, with the numbers of /dev/null: 1, 3.
    try #require(mknod(path, mode, kind == "device" ? 0x103 : 0) == 0)
    let before = try File.status(ofPath: path).identity
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), ["--to", server.url, "--metrics", path, folder("logs")],
      output: folder("said"))
    try program.wait { try server.requests.count == 2 }
    program.signal(SIGTERM)
    #expect(program.wait() == .success, "\(program.complaints)")
    #expect(try File.status(ofPath: path).identity == before)
    #expect(!program.complaints.contains("metrics"), "\(program.complaints)")
  }

  @Test("what a server says, and names of files, do not move a terminal's cursor")
  func terminalEscapes() throws {
    let server = try TestReceiver([
      PlannedAnswer(status: 401, body: Data("\u{1B}[2J from the server".utf8))
    ])
    let logs = folder("logs\u{1B}[1m")
    try Folder.copy(folder("logs"), to: logs)
    let name = try #require(try Folder.names(logs).first { $0.hasSuffix(".mmlog") })
    try FileManager.default.moveItem(atPath: "\(logs)/\(name)", toPath: "\(logs)/\u{1B}.mmlog")
    for arguments in [
      ["--check", "--to", server.url], ["--check", "--to", "put+\(server.url)"], ["status"],
    ] {
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"), arguments + [logs], output: folder("said"))
      _ = program.wait()
      let said = Folder.text(folder("said"))
      #expect(!said.utf8.contains(0x1B) && said.contains("u{1b}"), "\(said.debugDescription)")
    }
  }

  @Test("metrics behind a symbolic link are refused before anything is sent")
  func metricsBehindLink() throws {
    let path = folder("metrics")
    try #require(symlink(folder.put("target", "keep"), path) == 0)
    let result = try send("--to", server.url, "--metrics", path, folder("logs"))
    #expect(result.status == .exited(2) && result.complaints.contains("symbolic link"))
    #expect(try server.requests.isEmpty && folder.bytes("target") == Array("keep".utf8))
  }

  @Test("what was put aside of an unknown destination is not sent again, and makes no consumer")
  func retryOfUnknown() throws {
    let result = try send("retry", "--as", "typo", "--to", server.url, folder("logs"))
    #expect(result.status == .exited(1) && result.complaints.contains("typo"))
    #expect(try consumers.isEmpty)
  }

  @Test("a long pause that the receiver asks for is bounded, and said at once")
  func longRetryAfter() throws {
    let busy = PlannedAnswer(status: 503, headers: ["Retry-After": "999999999"])
    let server = try TestReceiver([busy, PlannedAnswer()])
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"),
      ["--to", server.url, "--grace", "0s", folder("logs")], output: folder("said"))
    try program.wait { try !server.requests.isEmpty }
    try program.wait { program.complaints.contains("the next time in 3600 s") }
    program.signal(SIGTERM)
    #expect(program.wait() == .success)
  }

  @Test("no pause is longer than retry-limit, whatever the receiver asks for")
  func retryLimit() throws {
    let busy = PlannedAnswer(status: 503, headers: ["Retry-After": "999999999"])
    let server = try TestReceiver([busy, PlannedAnswer()])
    let result = try send(
      "--once", "--set", "retry-limit=1", "--to", server.url, folder("logs"))
    #expect(result.status == .success, "\(result.complaints)")
    #expect(try server.requests.count == 3)
  }

  @Test("of records that OTLP's receiver refuses without names, nobody says that they can go again")
  func unnamedRefusals() throws {
    // ExportLogsServiceResponse { partial_success { rejected_log_records: 1, error_message: "old" }
    // }
    let inner: [UInt8] = [0x08, 0x01, 0x12, 3] + Array("old".utf8)
    let refusing = try TestReceiver([PlannedAnswer(body: Data([0x0A, UInt8(inner.count)] + inner))])
    let result = try send(
      "--once", "--as", "one", "--to", "otlp+\(refusing.url)", folder("logs"))
    #expect(result.status == .exited(1))
    #expect(result.complaints.contains("old; the receiver does not name them"))
    #expect(!result.complaints.contains("put aside"), "\(result.complaints)")
  }

  @Test(
    "that a full disk has no room for what is to be noted is found out before anything is sent",
    .enabled(if: mountsCanBeMade, "no file system can be mounted"))
  func fullDisk() throws {
    let line = """
      mkdir "$1" && mount -t tmpfs -o size=400k none "$1" || exit
      cp -a "$2" "$1/logs" || exit
      dd if=/dev/zero of="$1/fill" bs=512 2>&1 | grep -q 'No space' || exit
      "$3" --check --as y --to "$4" "$1/logs"; echo "check $?"
      "$3" --once --as y --to "$4" "$1/logs"; echo "once $?"
      ls "$1/logs" | grep consumer
      rm "$1/fill"; "$3" --check --as y --to "$4" "$1/logs" >&2; echo "freed $?"
      """
    let arguments = [
      folder("disk"), folder("logs"), ChildProcess.path(of: "mmlog-ship"), server.url,
    ]
    let program = try ChildProcess(
      "unshare", ["-m", "sh", "-c", line, "sh"] + arguments, output: folder("said"))
    _ = program.wait()
    let said = try String(decoding: folder.bytes("said"), as: UTF8.self)
    let hasEnded = ["check 1", "once 1", "freed 0"].map(said.contains)
    #expect(hasEnded == [true, true, true], "\(said)")
    #expect(!said.contains("consumer\n"), "\(said)")
    #expect(try server.requests.allSatisfy(\.body.isEmpty))
  }

  @Test("an empty file of a consumer, as a crash can leave it, is no consumer")
  func emptyConsumer() throws {
    folder.put("logs/left.consumer", "")
    let result = try send("status", folder("logs"))
    #expect(result.status == .success, "\(result.complaints)")
  }

  @Test("a consumer's file without a state is said, and so is that all is sent again")
  func emptyState() throws {
    for zeros in [0, 3 * (16 << 10)] {
      folder.put("logs/x.consumer", [UInt8](repeating: 0, count: zeros))
      if zeros > 0 {
        _ = try send("status", folder("logs"))
        #expect(Folder.text(folder("said")).contains("what is there is sent again"))
      }
      let result = try send("--once", "--as", "x", "--to", server.url, folder("logs"))
      #expect(result.complaints.contains("x.consumer was empty"), "\(result.complaints)")
    }
    // A new consumer reports nothing.
    let other = try send("--once", "--as", "y", "--to", server.url, folder("logs"))
    #expect(!other.complaints.contains("was empty"), "\(other.complaints)")
  }

  @Test("of a state that cannot be read, status says what sending does: nothing")
  func unreadableState() throws {
    let path = folder("logs/x.consumer")
    let makers: [() throws -> Void] = [
      { folder.put("logs/x.consumer", String(repeating: "garbage\n", count: 1000)) },
      { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/none") },
      {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      },
    ]
    for make in makers {
      try make()
      let status = try send("status", folder("logs"))
      let said = Folder.text(folder("said"))
      #expect(status.status == .exited(1) && said.contains("nothing is sent: "), "\(said)")
      let sent = try send("--once", "--as", "x", "--to", server.url, folder("logs"))
      #expect(sent.status != .success)
      try FileManager.default.removeItem(atPath: path)
    }
    #expect(try server.requests.isEmpty)
  }

  @Test("lines of .refused that cannot be read are said by retry, which is no success then")
  func unreadableRefused() throws {
    _ = try send("--once", "--as", "x", "--to", server.url, folder("logs"))
    folder.put("logs/x.refused", "what is this\n")
    let result = try send("retry", "--as", "x", "--to", server.url, folder("logs"))
    let said = Folder.text(folder("said"))
    #expect(result.status == .exited(1) && said.contains("1 line of '.refused'"), "\(said)")
    #expect(Folder.text(folder("logs/x.refused")) == "what is this\n")
  }

  @Test("one directory with two spellings, or two URLs of one destination, are refused")
  func repeatedInConfiguration() throws {
    let logs = folder("logs")
    let twice = folder.put(
      "twice.conf",
      "[destination x]\nurl = \(server.url)\n[directory \(logs)]\nto = x\n"
        + "[directory \(logs)/]\nto = x\n")
    let directories = try send("--check", "--config", twice)
    #expect(directories.status == .exited(2) && directories.complaints.contains("is sent twice"))
    let urls = folder.put(
      "urls.conf",
      "[destination x]\nurl = \(server.url)\nurl = exec:true\n[directory \(logs)]\nto = x\n")
    let second = try send("--check", "--config", urls)
    #expect(second.status == .exited(2) && second.complaints.contains("urls.conf:3:"))
    #expect(try server.requests.isEmpty)
  }

  @Test("files whose lines end as on Windows are read like others")
  func otherLineEnds() throws {
    let token = folder.put("token", "secret\r\n")
    let configuration = folder.put(
      "ship.conf",
      [
        "[destination receiver]", "url = \(server.url)", "token-file = \(token)", "",
        "[directory \(folder("logs"))]", "to = receiver", "",
      ].joined(separator: "\r\n"))
    let result = try send("--once", "--config", configuration)
    #expect(result.status == .success, "\(result.complaints)")
    #expect(
      try server.requests.map { $0.headers["authorization"] } == ["Bearer secret", "Bearer secret"])
  }
}

/// Whether this process may make device files.
private let devicesCanBeMade: Bool = {
  let folder = TemporaryDirectory()
  // Makes a device like /dev/null.
  return mknod(folder("device"), S_IFCHR | 0o600, 0x103) == 0
}()
