import Foundation
import MMLog
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@Suite struct FileJobTests {
  /// Two closed archives with four records, and no ring.
  private func log() -> TestLog {
    let log = TestLog()
    log.writesRing = false
    for index in 0..<4 as Range<UInt64> {
      log.write("record \(index)", ticks: index * 1_000_000_000)
      log.archive()
      if index == 1 {
        log.close(nil)
        log.beginArchive()
      }
    }
    log.close()
    log.save()
    return log
  }

  @Test("a good log is verified") func aGoodLogIsVerified() throws {
    let log = log()
    let run = try decode(["verify", log.folder.path])
    let lines = run.output.split(separator: "\n")
    #expect(run.status == 0 && run.errors.isEmpty && lines.count == 2)
    #expect(
      lines[0].hasSuffix(
        "-000001.mmlog: good: archive 1 of session \(log.identity.session), closed, 2 records in 6 frames"
      ))
    #expect(lines[1].hasSuffix("closed, 2 records in 7 frames"))
  }

  @Test("each file is reported before the next is read, and none once nobody reads")
  func verifyingEndsWhereNobodyReads() throws {
    let log = log()
    log.corruptArchive(1, at: log.archives[1].count / 2)
    log.save()
    let folder = TemporaryDirectory()
    // Another process has opened the pipe to read, and closed it again.
    let run = try shell(
      "cd '\(folder.path)' && mkfifo pipe && exec 3<>pipe 4>pipe 3>&-\n"
        + "'\(tool)' verify '\(log.folder.path)' >&4; echo $?", folder: folder)
    #expect(run.output == "0\n" && run.errors.isEmpty, "\(run)")
    #expect(try decode(["verify", log.folder.path]).status == 1)
  }

  @Test("files are verified, described and repaired without a key")
  func filesAreVerifiedDescribedAndRepairedWithoutAKey() throws {
    let folder = TemporaryDirectory()
    let path = folder.put(TestLog.sealedName(), TestLog.encrypted())
    for command in [["verify"], ["inspect"], ["repair", "--output", folder("out")]] {
      let run = try decode(command + [path])
      #expect(run.status == 0 && run.errors.isEmpty, "\(command): \(run)")
    }
    let run = try decode([path])
    #expect(run.status == 1 && run.errors.contains("4 records in \(path) are not read"), "\(run)")
  }

  /// Nothing is known about the content of records that cannot be decrypted.
  @Test(
    "of records that nobody decrypts, only that is said",
    arguments: ["", "spans", "--label svc", "--where x==1", "histogram", "top x"])
  func nothingIsKnownOfWhatIsEncrypted(line: String) throws {
    let folder = TemporaryDirectory()
    let path = folder.put(TestLog.sealedName(), TestLog.encrypted())
    let arguments = line.split(separator: " ").map(String.init)
    let run = try decode(arguments + [path], environment: ["TZ": "UTC", "MMLOG_IDENTITY": ""])
    #expect(run.status == 1 && run.errors.contains("4 records in \(path) are not read"), "\(run)")
    #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    #expect(!run.output.contains("no records"), "\(run.output)")
  }

  @Test("corruption and what is missing are found")
  func corruptionAndWhatIsMissingAreFound() throws {
    let log = log()
    let whole = log.archives
    for offset in stride(from: FileHeaderLayout.size + 4, to: whole[1].count, by: 37) {
      log.archives = whole
      log.corruptArchive(1, at: offset)
      log.save()
      let run = try decode(["verify", log.folder.path])
      // No check covers padding.
      let isSeen = run.status == 1 && run.output.contains(": CORRUPTED in ")
      let records = try decode(["--format", "message", log.folder.path])
      #expect(
        isSeen || records.output == "record 0\nrecord 1\nrecord 2\nrecord 3\n", "byte \(offset)")
    }
    log.archives = whole
    let paths = log.save()
    try FileManager.default.removeItem(atPath: paths[0])
    let run = try decode(["verify", log.folder.path])
    #expect(run.status == 0 && run.errors.contains("archive 1 is not here"))
  }

  @Test("a file of anchors without a whole head is refused, and no file is taken for intact")
  func aFileOfAnchorsIsRefused() throws {
    let log = log()
    for (text, what) in [
      ("no head\n", "has no head"), ("\nmmlog-head 12\n", "line 2"), ("", "has no head"),
    ] {
      let anchors = "\(log.folder.path)/heads.txt"
      try text.write(toFile: anchors, atomically: false, encoding: .utf8)
      let run = try decode(["verify", "--anchor", anchors, log.folder.path])
      #expect(run.status == 2 && run.errors.contains(what), "\(text): \(run.errors)")
    }
    let anchors = "\(log.folder.path)/heads.txt"
    let hash = String(repeating: "0", count: 64)
    let head = "mmlog-head \(log.identity.session) 1 2 \(hash) 1 test"
    try "Nov 24 collector head: \(head)\n".write(
      toFile: anchors, atomically: false, encoding: .utf8)
    let run = try decode(["verify", "-q", "--anchor", anchors, log.folder.path])
    #expect(run.status == 1 && run.output.contains("heads.txt:1: NOT INTACT"))
    #expect(run.output.contains("are not chained any more"))
  }

  @Test("a record that is larger than a segment counts once in each output, whatever has it")
  func aLargeRecordCountsOnce() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "l")
    for _ in 0..<3 { log.info("\(String(repeating: "x", count: 1 << 20))") }
    log.info("small")
    func check(_ place: String) throws {
      let sessions = try decode(["sessions", "--json", folder.path])
      #expect(sessions.output.contains(#""records":4,"#), "\(place): \(sessions)")
      let table = try decode(["sessions", "--utc", folder.path]).output.split(separator: "\n")
      #expect(try #require(table.dropFirst().first).contains("  4  "), "\(place): \(table)")
      for command in ["verify", "inspect"] {
        let run = try decode([command, folder.path])
        let heads = run.output.split(separator: "\n").filter {
          $0.contains(".mmlog: ") && $0.contains("4 records")
        }
        #expect(run.status == 0 && heads.count == 1, "\(place): \(run)")
      }
    }
    let waiting = try decode(["sessions", "--json", folder.path])
    #expect(waiting.output.contains(#""records":4,"#), "\(waiting)")
    _ = try control(["flush", folder.path])
    try check("being written")
    try store.close()
    try check("closed")
    let (copy, archive) = (folder("copy"), try #require(try folder.names(ending: ".mmlog").first))
    let repaired = try decode(["repair", "-o", copy, folder(archive)])
    #expect(repaired.output == "\(copy): 4 records of 1 session\n", "\(repaired)")
  }

  @Test("sessions are listed") func sessionsAreListed() throws {
    let log = log()
    let crashed = TestLog(session: 2)
    crashed.write("x", ticks: 5_000_000_000)
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 3
    crashed.put(ledger.encoded, at: RingLayout.ledger)
    log.folder.put("test.\(crashed.identity.session).ring", crashed.ring)
    let run = try decode(["sessions", "--utc", log.folder.path])
    let day = "2025-11-21T09:00:0"
    #expect(
      run.output == """
        SESSION   PROCESS               STARTED                    LAST RECORD                RECORDS  ENDED
        01000000  orders[42]            \(day)0Z       \(day)3Z       4        closed at \(day)0.000000999Z
          \(log.identity.session)  store test  host tokyo  2 archives
        02000000  orders[42]            \(day)0Z       \(day)5Z       1        killed, or the machine went \
        down, last sign of life at \(day)5.000000000Z, not recovered
          \(crashed.identity.session)  store test  host tokyo  0 archives and a ring
          lost 3 records: ring full (info 3)

        """)
    #expect(run.status == 1 && run.errors.isEmpty)
    let one = try decode(["sessions", "--session", "01", log.folder.path])
    #expect(one.output.split(separator: "\n").count == 3 && one.status == 0)
    let lines = try decode(["sessions", "--json", "--utc", log.folder.path]).output
    let objects = try lines.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
    #expect(objects.map { $0?["ending"] as? String } == ["closed", "powerLost"])
    #expect(objects.map { $0?["records"] as? Int } == [4, 1])
    #expect(objects.map { $0?["is_crash"] as? Bool } == [false, true])
    #expect((objects[1]?["lost"] as? [String: [String: Int]]) == ["ring full": ["info": 3]])
    #expect(objects[0]?["last_record_time_unix_nano"] as? Int == 1_763_715_603_000_000_000)
  }

  @Test("frames and segments are described") func framesAndSegmentsAreDescribed() throws {
    let log = log()
    log.writesRing = true
    log.save()
    let run = try decode(["inspect", "--utc", log.folder.path])
    #expect(run.status == 0 && run.errors.isEmpty)
    #expect(run.output.contains("a frame of records, "))
    #expect(
      run.output.contains(", 1 record, 2025-11-21T09:00:02.000000000Z to 2025-11-21T09:00:02"))
    #expect(
      run.output.contains(
        "segment 0, open, generation 1, of thread 1001 worker1, 4 archived, 4 records"))
  }

  @Test("what is corrupted between frames is described with them")
  func corruptionIsDescribed() throws {
    let log = log()
    let bytes = log.archives[1]
    log.archives[1] = bytes + [UInt8](repeating: 0xA5, count: 64)
    log.save()
    let run = try decode(["inspect", "--utc", log.folder.path])
    #expect(run.status == 1)
    let line = "  corrupted: 64 bytes at \(bytes.count): behind the end of the archive\n"
    #expect(run.output.hasSuffix(line), "\(run)")
  }

  @Test("what is noted about an archive is listed with it")
  func whatIsNotedIsListed() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "l").info("first")
    let archive = try #require(try store.rotate(within: .seconds(30)))
    func notes() throws -> [Substring] {
      let run = try decode(["inspect", "--utc", folder.path])
      #expect(run.status == 0)
      return run.output.split(separator: "\n").filter { $0.hasPrefix("  noted: ") }
    }
    #expect(try notes().isEmpty)
    let lease = try #require(
      try store.acquireLease(on: archive, by: "uploader", for: .seconds(3600)))
    #expect(try notes().allSatisfy { $0.hasPrefix("  noted: leased by uploader until 20") })
    #expect(try notes().count == 1)
    try store.release(lease, on: archive)
    try store.markUploaded(archive, receipt: "r-17")
    try store.pin(archive, because: "its incident\u{1b}[2J is open")
    try store.setAttribute("OPS-17", for: "ticket", on: archive)
    let all = try notes()
    #expect(all.count == 3)
    #expect(all[0].hasPrefix("  noted: uploaded at 20") && all[0].hasSuffix(", receipt r-17"))
    #expect(all[1].hasPrefix("  noted: pinned: its incident") && !all[1].contains("\u{1b}"))
    #expect(all[2] == "  noted: attribute ticket: OPS-17")
    try store.close()
  }

  @Test("a repair has everything readable and the corruption")
  func aRepairHasEverythingReadableAndTheCorruption() throws {
    let log = log()
    // Corrupts the payload of the first archive's first frame of records.
    let frames = try ArchiveFrames.offsets(log.archives[0])
    log.corruptArchive(0, at: frames[1] + FrameLayout.size + FrameLayout.rangeSize + 3)
    log.save()
    let before = try decode(["--utc", log.folder.path])
    #expect(before.status == 1)
    let out = log.folder("out")
    let repair = try decode(["repair", "--output", out, log.folder.path])
    #expect(repair.status == 1 && repair.output == "\(out): 3 records of 1 session\n")
    #expect(repair.errors == before.errors)
    let after = try decode(["--utc", out])
    #expect(after.status == 0 && after.errors.isEmpty)
    let lines = after.output.split(separator: "\n")
    #expect(lines.count == 4 && lines[0].contains("ERROR    mmlog.repair: corrupted: "))
    #expect(lines.dropFirst().joined(separator: "\n") + "\n" == before.output)
    #expect(try decode(["verify", out]).status == 0)
    // Nothing else is in the folder, and a second repair does not write to it.
    #expect(try FileManager.default.contentsOfDirectory(atPath: out).count == 2)
    let again = try decode(["repair", "--output", out, log.folder.path])
    #expect(again.status == 1 && again.errors.contains("has logs in it already"))
  }

  @Test("a repair says what a session lost, and its status does") func aRepairSaysWhatWasLost()
    throws
  {
    let log = TestLog()
    log.write("x", ticks: 1)
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 3
    log.put(ledger.encoded, at: RingLayout.ledger)
    log.save()
    let run = try decode(["repair", "--output", log.folder("out"), log.folder.path])
    #expect(run.status == 1)
    #expect(run.errors.hasSuffix(": lost 3 records: ring full (info 3)\n"), "\(run)")
  }

  @Test("what a killed repair left is removed by the next")
  func whatAKilledRepairLeftIsRemovedByTheNext() throws {
    let log = log()
    log.save()
    let out = log.folder("out")
    let left = out + "/.mmlog-repair-1"
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
    try Data("half".utf8).write(to: URL(fileURLWithPath: left + "/half.mmlog"))
    do {
      let other = try Directory.open(out)
      #expect(try other.tryLock())
      let refused = try decode(["repair", "--output", out, log.folder.path])
      #expect(refused.status == 1 && refused.errors.contains("Another repair writes into"))
      #expect(FileManager.default.fileExists(atPath: left + "/half.mmlog"))
    }
    #expect(try decode(["repair", "--output", out, log.folder.path]).status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: out).allSatisfy { $0.hasSuffix(".mmlog") }
    )
  }

  @Test("a dead ring is recovered") func aDeadRingIsRecovered() throws {
    let log = TestLog()
    log.write("one", ticks: 1)
    log.save()
    let run = try decode(["recover", log.folder.path])
    #expect(run.status == 0 && run.errors.isEmpty)
    #expect(
      run.output
        == "session \(log.identity.session) (orders, pid 42): 1 record moved from its ring to an archive\n"
    )
    let after = try decode(["--format", "message", log.folder.path])
    #expect(after.output == "one\n")
    #expect(after.errors.contains("1 session was killed"))
    let names = try FileManager.default.contentsOfDirectory(atPath: log.folder.path)
    #expect(names.count == 1 && names[0].hasSuffix(".mmlog"))
    #expect(
      try decode(["recover", log.folder.path]).errors.contains("has no ring of a dead process"))
  }

  @Test(
    "a ring is recovered whose sealed archive may not be written",
    .enabled(if: CurrentProcess.effectiveUserID == 0))
  func readOnlyArchive() throws {
    let log = TestLog(bootID: Host.bootID())
    log.write("one", ticks: 1)
    log.archive()
    log.close(nil)
    log.write("two", ticks: 2)
    log.save()
    let folder = TemporaryDirectory()
    // Without these capabilities, the superuser needs a file's permission, too.
    let capabilities = "-dac_override,-dac_read_search"
    let run = try shell(
      """
      chmod 400 '\(log.folder.path)'/*.mmlog
      setpriv --bounding-set \(capabilities) --inh-caps \(capabilities) \
        '\(tool)' recover '\(log.folder.path)'
      """, folder: folder)
    #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
    #expect(try decode(["--format", "message", log.folder.path]).output == "one\ntwo\n")
    #expect(try log.folder.names(ending: ".ring").isEmpty)
  }

  @Test("a time of today that is still to come is said to be") func timeToCome() throws {
    let log = log()
    // In this zone, it is morning.
    let hour = Int(Date().timeIntervalSince1970) / 3600 % 24
    let zone = ["--tz", hour < 12 ? "UTC" : "Etc/GMT+12"]
    let run = try decode(zone + ["--since", "23:59", log.folder.path])
    #expect(run.errors.contains("'yesterday 23:59'") && run.output.isEmpty, "\(run)")
    let none = try decode(zone + ["--since", "23:59", "--until", "12:00", log.folder.path])
    #expect(none.status == 2 && none.errors.contains("'yesterday 23:59'"), "\(none)")
  }

  @Test("heads are read from a pipe") func anchorsThroughAPipe() throws {
    let log = log()
    let folder = TemporaryDirectory()
    let run = try shell(
      "'\(tool)' verify --anchor <(echo 'nothing of that kind') '\(log.folder.path)'",
      folder: folder)
    #expect(run.status == 2 && run.errors.contains("has no head"), "\(run)")
  }

  @Test("what cannot be read is all that is said of it") func unreadableForHeads() throws {
    let run = try control(["head", "/nonexistent"])
    #expect(run.status == 3 && run.errors.split(separator: "\n").count == 1, "\(run)")
  }

  @Test(
    "a contradiction ends with status 2",
    arguments: [
      ("verify", "PATH is missing; name one, or set MMLOG_DIR"),
      ("--verify x", "did you mean the command 'mmlog-decode verify'?"),
      ("verify --grep a x", "it is one of 'mmlog-decode print'"),
      ("recover a b", "one DIR too many"), ("repair x", "add '--output DIR'"),
      ("repair -o - x", "name a directory in place of '-'"),
      ("verfy", "neither a command nor a file 'verfy'; did you mean 'verify'?"),
      ("--utc sessions x", "'sessions' is a command; it stands before its options"),
      ("--follow -", "standard input cannot be followed"),
      ("--follow --output y x", "--follow has no end"),
      ("-f --split-by hour -o y x", "--follow has no end"),
      ("-f --count x", "--count is complete only then"),
      ("follow --output y x", "'mmlog-decode follow' has no option '--output'"),
      ("stats --follow x", "did you mean the command 'mmlog-decode follow'?"),
    ])
  func aContradictionEndsWithStatus2(line: String, expected: String) throws {
    let run = try decode(line.split(separator: " ").map(String.init))
    #expect(run.status == 2 && run.output.isEmpty)
    #expect(run.errors.contains(expected), "\(run.errors)")
  }

  @Test("the last records before a crash are shown")
  func theLastRecordsBeforeACrashAreShown() throws {
    let log = TestLog()
    for index in 0..<9 as Range<UInt64> {
      log.write("\(index)", ticks: index, thread: 1 + UInt32(index % 2))
    }
    log.save()
    let run = try decode(["crash", "-n", "2", "--utc", log.folder.path])
    let time = "2025-11-21T09:00:00.00000000"
    #expect(
      run.output == """
        session \(log.identity.session) (orders, pid 42), started at \(time)0Z
        killed, or the machine went down, last sign of life at \(time)8Z, not recovered

        Last records of thread 1001 worker1:
        \(time)6Z INFO     6 (App/Main.swift:7)
        \(time)8Z INFO     8 (App/Main.swift:7)

        Last records of thread 1002 worker2:
        \(time)5Z INFO     5 (App/Main.swift:7)
        \(time)7Z INFO     7 (App/Main.swift:7)

        """)
    #expect(run.status == 0 && run.errors.isEmpty)
    let colored = try decode(["crash", "--color", "always", log.folder.path]).output
    #expect(colored.contains("\u{1b}["))
    let all = try decode(["crash", log.folder.path]).output
    #expect(all.split(separator: "\n").count == 2 + 2 + 9)
    log.close()
    log.save()
    #expect(try decode(["crash", log.folder.path]).errors.contains("no session crashed"))
  }

  @Test("of threads that the system has given one id, the last one has crashed")
  func ofThreadsWithOneID() throws {
    let log = TestLog()
    log.idOfThread = { $0 == 2 ? 78 : 77 }
    for thread in 1...3 as ClosedRange<UInt32> {
      log.write("last", ticks: UInt64(thread), thread: thread)
    }
    log.put(
      CrashReport.bytes(frames: [], registers: 0, module: "/opt/orders") {
        $0.store(77 as UInt32, CrashLayout.thread)
      }, at: RingLayout.crash)
    log.save()
    let run = try decode(["crash", log.folder.path])
    let titles = run.output.split(separator: "\n").filter { $0.hasPrefix("Last records of ") }
    #expect(
      titles == [
        "Last records of thread 77 worker3, which crashed:", "Last records of thread 77 worker1:",
        "Last records of thread 78 worker2:",
      ], "\(run)")
  }

  @Test("what a process died of is shown") func whatAProcessDiedOfIsShown() throws {
    let log = TestLog()
    log.write("last", ticks: 5)
    log.put(
      CrashReport.bytes(frames: [0x1234], registers: 1, module: "/opt/orders") { report in
        report.store(77 as UInt32, CrashLayout.thread)
        report.store(text: "wor\u{1B}ker", CrashLayout.threadName, CrashLayout.threadNameSize)
        report.store(TestLog.epoch, CrashLayout.wall)
      }, at: RingLayout.crash)
    log.save()
    let summary = #"SIGSEGV (no memory at this address) at 0x10 in thread 77 (wor\u{1b}ker)"#

    let run = try decode(["crash", "--utc", log.folder.path])

    #expect(run.errors.isEmpty && run.output.contains("\n\(summary):\n"), "\(run)")
    #expect(run.output.contains("   0  0x0000000000001234  /opt/orders + 0x234\n"))
    #expect(run.output.contains("rax 0x0000000000000000"))
    #expect(run.output.hasSuffix("INFO     last (App/Main.swift:7)\n"))
    // The command that prints records says one line about the crash.
    let records = try decode(["--format", "message", log.folder.path])
    #expect(records.output == "last\n")
    #expect(
      records.errors == "mmlog-decode: 1 session crashed; mmlog-decode crash \(log.folder.path)\n")
    #expect(try decode(["-q", log.folder.path]).errors.isEmpty)
    let other = TestLog(session: 9)
    other.write("other", ticks: 1)
    log.folder.put("test.\(other.identity.session).ring", other.ring)
    let named = try decode(["crash", "--session", "09", log.folder.path])
    #expect(named.output.contains("other (App") && named.errors.isEmpty, "\(named)")
    let two = try decode(["crash", log.folder.path]).errors
    #expect(
      two.contains("1 other session ended in a crash: 0") && two.hasSuffix("--session shows one\n"))
    #expect(try decode(["sessions", log.folder.path]).output.contains(summary))
  }

  @Test("trees are read") func treesAreRead() throws {
    let log = log()
    let folder = TemporaryDirectory()
    let deep = folder("a/b")
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    for (index, archive) in log.archives.enumerated() {
      let name = index == 0 ? "a/one.mmlog" : "a/b/two.mmlog"
      folder.put(name, archive)
    }
    #expect(
      try decode(["--format", "message", "-R", folder.path]).output
        == "record 0\nrecord 1\nrecord 2\nrecord 3\n")
    let flat = try decode(["--format", "message", folder("a")])
    #expect(flat.output == "record 0\nrecord 1\n")
    #expect(
      try decode(["-R", deep + "/..", "--format", "message"]).output
        == "record 0\nrecord 1\nrecord 2\nrecord 3\n")
    #expect(try decode([folder.path]).status == 3)
  }

  @Test("following ends at the end of the time that is asked for") func followingEnds() throws {
    let log = TestLog()
    log.write("one", ticks: 1)
    log.write("two", ticks: 1_000_000_000)
    log.save()
    let line = "follow --format message --until 2025-11-21T09:00:00.5Z"
    let run = try shell(
      "timeout -s KILL 600 '\(tool)' \(line) '\(log.folder.path)'", folder: TemporaryDirectory())
    #expect(run.status == 0 && run.output == "one\n", "\(run)")
  }

  @Test("following ends when nobody reads, though nothing is logged")
  func followingEndsWithItsReader() throws {
    let log = TestLog()
    log.write("one", ticks: 1)
    log.save()
    let run = try shell(
      "timeout -s KILL 600 '\(tool)' follow --format message '\(log.folder.path)' | head -n 1",
      folder: TemporaryDirectory())
    #expect(run.status == 0 && run.output == "one\n", "\(run)")
  }

  /// Runs the program in a process of its own, as users do.
  @Test("a followed log is printed as it grows") func aFollowedLogIsPrintedAsItGrows() throws {
    let log = TestLog()
    log.writesRing = false
    log.write("one", ticks: 1)
    log.archive()
    log.save()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: tool)
    process.arguments = ["--follow", "--format", "message", log.folder.path]
    let ends = try makeFilePipe()
    process.standardOutput = ends.writing
    process.standardError = FileHandle.nullDevice
    try process.run()
    try ends.writing.close()
    // SIGTERM may be blocked, if it was blocked where the tests were started.
    defer { kill(process.processIdentifier, SIGKILL) }
    func read(_ text: String) -> String {
      var found = Data()
      while found.count < text.utf8.count {
        let more = ends.reading.readData(ofLength: text.utf8.count - found.count)
        if more.isEmpty { break }
        found += more
      }
      return String(decoding: found, as: UTF8.self)
    }
    #expect(read("one\n") == "one\n")
    log.write("two", ticks: 2)
    log.archive()
    log.save()
    #expect(read("two\n") == "two\n")
  }

  @Test("that an archive is deleted before it is followed is said")
  func followedGap() throws {
    let (log, folder) = (TestLog(), TemporaryDirectory())
    log.writesRing = false
    for number in 1...3 as ClosedRange<UInt64> {
      if number > 1 { log.close(nil) }
      log.beginArchive()
      log.write("\(number)", ticks: number)
      log.archive()
    }
    log.folder.put("1.mmlog", log.archives[0])
    let child = try ChildProcess(
      tool, ["--follow", log.folder.path], output: folder("out"), errors: folder("errors"))
    try child.wait { !Folder.text(folder("out")).isEmpty }
    log.folder.put("3.mmlog", log.archives[2])
    try child.wait { child.complaints.contains("archive 2 is not here") }
    child.kill()
    #expect(child.wait() == .killed(SIGKILL))
  }

  @Test("following with what is around records begins with none of those that are there")
  func followingWithSurroundings() throws {
    let log = TestLog()
    for number in 0..<3 as Range<UInt64> { log.write("\(number)", ticks: number) }
    log.save()
    for (option, expected) in [("", ""), ("--since 2025-11-21", "0\n1\n2\n")] {
      let line = "follow --format message -g 1 -C 1 --until 2025-11-22 \(option)"
      let run = try shell(
        "timeout -s KILL 600 '\(tool)' \(line) '\(log.folder.path)'", folder: TemporaryDirectory())
      #expect(run.status == 0 && run.output == expected, "\(run)")
    }
  }

  @Test("each file that appears while a log is followed and cannot be read is reported")
  func unreadableFilesWhileFollowing() throws {
    let (log, folder) = (TestLog(), TemporaryDirectory())
    log.writesRing = false
    log.write("one", ticks: 1)
    log.archive()
    log.save()
    let child = try ChildProcess(
      tool, ["--follow", log.folder.path], output: folder("out"), errors: folder("errors"))
    try child.wait { !Folder.text(folder("out")).isEmpty }
    let paths = (0..<60).map { log.folder.put("\($0).mmlog", "no log") }
    for path in paths {
      var longAgo = utimbuf(actime: 1, modtime: 1)
      #expect(utime(path, &longAgo) == 0)
    }
    try child.wait { paths.allSatisfy(child.complaints.contains) }
    child.kill()
    #expect(child.wait() == .killed(SIGKILL))
  }

  @Test("what is no file is not followed, and nothing is waited for then")
  func followingNothing() throws {
    for line in ["-f /dev/null", "follow /dev/stdin"] {
      let run = try shell(
        "true | timeout -s KILL 600 '\(tool)' \(line)", folder: TemporaryDirectory())
      #expect(run.status == 3 && run.errors.contains("cannot be followed"), "\(run)")
    }
  }

  @Test("of many lines about what is missing, each command prints 50, and how many there are")
  func boundedComplaints() throws {
    let log = TestLog()
    for number in 0..<60 as Range<UInt64> {
      log.write("\(number)", ticks: number)
      log.archive()
      let records = try #require(ArchiveFrames.offsets(log.archives.last ?? []).last)
      log.corruptArchive(log.archives.count - 1, at: records + FrameLayout.size)
      log.close(nil)
      log.beginArchive()
    }
    log.save()
    func lines(_ run: Run) -> [Substring] { run.errors.split(separator: "\n") }
    let crash = try decode(["crash", "-n", "1000", log.folder.path])
    #expect(crash.status == 1 && lines(crash).count == 51, "\(crash)")
    #expect(lines(crash).last?.contains("more such lines, ") == true, "\(crash)")
    let folder = TemporaryDirectory()
    for number in 0..<60 { folder.put("\(number).mmlog", "no log") }
    folder.put("test.\(log.identity.session).ring", log.ring)
    let runs = try [
      decode(["sessions", folder.path]), decode(["inspect", folder.path]),
      control(["head", folder.path]),
      control(["collect", "-q", "-o", folder("out.tar"), folder.path]),
    ]
    for run in runs {
      #expect(lines(run).count == 51, "\(run)")
      #expect(lines(run).last?.contains("10 more such lines, 60 in all") == true, "\(run)")
    }
  }
}
