import CommandLineTool
import Foundation
import MMLogFormat
import TestSupport
import Testing

@Suite struct DecodeTests {
  /// A closed archive with an info, an error, and a debug record, a second apart.
  private func archive() -> TestLog {
    let log = TestLog()
    log.writesRing = false
    log.write("one", ticks: 0)
    log.write("two \u{1b}[31m", ticks: 1_000_000_000, level: .error)
    log.archive()
    log.write("three", ticks: 2_000_000_000, level: .debug)
    log.archive()
    log.close()
    log.save()
    return log
  }

  private let lines = [
    "2025-11-21T09:00:00.000000000Z INFO     one (App/Main.swift:7)\n",
    "2025-11-21T09:00:01.000000000Z ERROR    two \\u{1b}[31m (App/Main.swift:7)\n",
    "2025-11-21T09:00:02.000000000Z DEBUG    three (App/Main.swift:7)\n",
  ]

  @Test("a clean log is printed and ends with status 0")
  func aCleanLogIsPrintedAndEndsWithStatus0() throws {
    let log = archive()
    #expect(
      try decode(["--utc", log.folder.path])
        == Run(output: lines.joined(), errors: "", status: 0))
  }

  @Test("a level and times select") func aLevelAndTimesSelect() throws {
    let log = archive()
    let path = log.folder.path
    let cases: [([String], [Int])] = [
      (["--level", "info"], [0, 1]), (["-l", "error"], [1]),
      (["--since", "2025-11-21T09:00:01Z"], [1, 2]),
      (["--since", "2025-11-21T10:00:00.5+01:00", "--until", "2025-11-21 09:00:02"], [1]),
      (["--until", "2025-11-21"], []), (["--since", "2025-11-21"], [0, 1, 2]),
      (["--since", "@1763715601.0", "--until", "@1763715602"], [1]),
      (["--since", "-1s"], []), (["--until", "10 min ago"], [0, 1, 2]), (["--since", "15m"], []),
      (["--since", "yesterday 0:00"], []), (["--until", "today 00:00"], [0, 1, 2]),
      (["--until", "00:00:00.5"], [0, 1, 2]), (["--until", "1h 30min"], [0, 1, 2]),
      (["--until", "now"], [0, 1, 2]),
    ]
    for (arguments, indices) in cases {
      #expect(
        try decode(["-q", "--utc"] + arguments + [path])
          == Run(output: indices.map { lines[$0] }.joined(), errors: "", status: 0),
        "\(arguments)")
    }
  }

  @Test("times are shown and read in the zone") func timesAreShownAndReadInTheZone() throws {
    let log = archive()
    let path = log.folder.path
    let run = try decode(["--tz", "Asia/Kolkata", "--since", "2025-11-21T14:30:02", path])
    #expect(run.output == "2025-11-21T14:30:02.000000000+05:30 DEBUG    three (App/Main.swift:7)\n")
    let local = try decode(["-l", "error", path], environment: ["TZ": "America/New_York"])
    #expect(local.output.hasPrefix("2025-11-21T04:00:01.000000000-05:00 ERROR "))
  }

  @Test("of a time that clocks show twice, the first is meant")
  func ofATimeThatClocksShowTwice() throws {
    let log = TestLog()
    log.writesRing = false
    // In Berlin, clocks show 2:30 for the first time on that night.
    log.frameClock = TickClock(ticks: 0, wall: 1_761_438_600_000_000_000, rate: 1 << 32)
    for hour in 0..<3 { log.write("\(hour)", ticks: UInt64(hour) * 3_600_000_000_000) }
    log.archive()
    log.save()
    func messages(since time: String) throws -> String {
      try decode([
        "-q", "--tz", "Europe/Berlin", "--since", "2025-10-26 \(time)", "--format", "message",
        log.folder.path,
      ]).output
    }
    #expect(try messages(since: "02:30") == "0\n1\n2\n")
    #expect(try messages(since: "02:31") == "1\n2\n")
    #expect(try messages(since: "03:30") == "2\n")
  }

  @Test(
    "of a time that clocks show twice, the first is meant, whichever of the two is summer's",
    arguments: [
      // In these nights, clocks were set back, from 2:00, 3:00 and 1:00.
      ("Europe/Dublin", "2025-10-26 01:30", 1_761_438_600),
      ("Africa/Casablanca", "2025-02-23 02:30", 1_740_274_200),
      ("Atlantic/Azores", "2025-10-26 00:00", 1_761_436_800),
      ("Europe/Simferopol", "2014-10-26 01:30", 1_414_272_600),
      // Clocks were set from 1:00 to 2:00: this is half an hour later.
      ("Europe/Dublin", "2025-03-30 01:30", 1_743_298_200),
    ])
  func firstOfTwoTimes(zone: String, time: String, second: Int64) throws {
    let log = TestLog()
    log.writesRing = false
    let moment = Timestamp(nanosecondsSince1970: second * 1_000_000_000)
    log.frameClock = TickClock(ticks: 1000, wall: moment, rate: 1 << 32)
    for (text, ticks) in [("before", 999), ("at", 1000), ("behind", 1001)] as [(String, UInt64)] {
      log.write(text, ticks: ticks)
    }
    log.archive()
    log.save()
    let run = try decode([
      "-q", "--tz", zone, "--since", time, "--format", "message", log.folder.path,
    ])
    #expect(run.output == "at\nbehind\n")
  }

  @Test("json and messages") func jsonAndMessages() throws {
    let log = archive()
    let path = log.folder.path
    #expect(try decode(["--format", "message", path]).output == "one\ntwo \u{1b}[31m\nthree\n")
    let json = try decode(["--format", "json", "--utc", "--level", "error", path])
    #expect(
      json.output.hasPrefix(
        #"{"timestamp":"2025-11-21T09:00:01.000000000Z","time_unix_nano":1763715601000000000,"severity_text":"error","#
          + #""severity_number":17,"scope_name":"","body":"two \u001b[31m","attributes":{}"#))
  }

  @Test("standard input is read as a file") func standardInputIsReadAsAFile() throws {
    let log = archive()
    for name in ["-", "/dev/stdin"] {
      #expect(
        try decode(["--utc", name], input: log.archives[0])
          == Run(output: lines.joined(), errors: "", status: 0))
    }
    let line = "cat '\(log.save()[0])' | '\(tool)' --utc - /dev/null"
    let piped = try shell(line, folder: log.folder)
    #expect(piped.output == lines.joined())
    #expect(piped.errors.hasPrefix("mmlog-decode: /dev/null is a device"))
    #expect(piped.status == 1)
  }

  @Test("a symbolic link is followed") func aSymbolicLinkIsFollowed() throws {
    let log = archive()
    let link = log.folder("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: log.save()[0])
    #expect(try decode(["--utc", link]).output == lines.joined())
  }

  @Test("corruption is reported in its place") func corruptionIsReportedInItsPlace() throws {
    let log = archive()
    log.corruptArchive(at: FileHeaderLayout.size + 1)
    let path = log.save()[0]
    let run = try decode(["--utc", log.folder.path])
    #expect(run.output == lines.joined())
    #expect(run.status == 1)
    #expect(run.errors.hasPrefix("mmlog-decode: \(path): corrupted: "))
    #expect(run.errors.hasSuffix(" bytes at 512: frame 0 is missing\n"))
    #expect(run.errors.split(separator: "\n").count == 1)
  }

  @Test("a command that says more names a path so that a shell reads it as one word")
  func pathsForAShell() throws {
    let (log, folder) = (TestLog(), TemporaryDirectory())
    log.write("one", ticks: 0)
    let name = "'\u{301};id;'"
    try FileManager.default.createDirectory(
      atPath: folder(name), withIntermediateDirectories: false)
    folder.put("\(name)/test.\(log.identity.session).ring", log.ring)
    let run = try decode([folder(name)])
    let word = "'\(folder.path)/'\\''\u{301};id;'\\'''"
    #expect(run.errors.hasSuffix("; mmlog-decode crash \(word)\n"), "\(run)")
  }

  @Test("losses and an unclean end are reported") func lossesAndAnUncleanEndAreReported() throws {
    let log = TestLog()
    log.identity.processName = "evil"
    log.write("one", ticks: 0)
    log.save()
    let title = "mmlog-decode: session \(log.identity.session) (orders, pid 42): "
    let died =
      "mmlog-decode: 1 session was killed, or went down with its machine; "
      + "mmlog-decode crash \(log.folder.path)\n"
    #expect(
      try decode(["--utc", log.folder.path]) == Run(output: lines[0], errors: died, status: 0))
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 9
    ledger[.ringFull, .error] = 3
    ledger[.noRing, .debug] = 1
    log.put(ledger.encoded, at: RingLayout.ledger)
    log.save()
    let lost = title + "lost 13 records: ring full (info 9, error 3), no ring (debug 1)\n"
    #expect(
      try decode(["--utc", log.folder.path])
        == Run(output: lines[0], errors: lost + died, status: 1))
    // The session ended long before the time that `--since` asks for.
    #expect(try decode(["-q", "--since", "-1h", log.folder.path]).errors == lost)
  }

  @Test("the directory of the environment is read where none is named")
  func theDirectoryOfTheEnvironmentIsReadWhereNoneIsNamed() throws {
    let log = archive()
    let environment = ["TZ": "UTC", "MMLOG_DIR": log.folder.path]
    for arguments in [["--utc"], ["print", "--utc"]] {
      #expect(try decode(arguments, environment: environment).output == lines.joined())
    }
    #expect(try decode(["verify"], environment: environment).output.contains(": good: "))
    let other = try decode(["/nonexistent"], environment: environment)
    #expect(other.status == 3 && other.errors.contains("/nonexistent"))
  }

  @Test("nothing that matches is a failure on request")
  func nothingThatMatchesIsAFailureOnRequest() throws {
    let log = archive()
    let path = log.folder.path
    #expect(try decode(["-g", "four", path]).status == 0)
    #expect(try decode(["--exit-code", "-g", "four", path]).status == 4)
    #expect(try decode(["stats", "--exit-code", "-g", "four", path]).status == 4)
    #expect(try decode(["--exit-code", "-g", "one", path]).status == 0)
    #expect(try decode(["-f", "--until", "now", "--exit-code", "-g", "four", path]).status == 4)
    let fields = ["--format", "csv", "--fields", "level , message ", path]
    #expect(try decode(fields).output.contains("one"))
    #expect(try decode(["--count", "-g", "four|one", path]).output == "1\n")
  }

  @Test("what is missing is reported line by line, and not without end")
  func whatIsMissingIsReportedLineByLine() throws {
    let folder = TemporaryDirectory()
    for number in 0..<80 { folder.put("\(number).mmlog", Array("garbage".utf8)) }
    let log = archive()
    let run = try decode(["--utc", log.folder.path, folder.path])
    #expect(run.status == 1 && run.output == lines.joined())
    let reports = run.errors.split(separator: "\n")
    #expect(reports.count == 51)
    let end = "30 more such lines, 80 in all; mmlog-decode verify \(log.folder.path) \(folder.path)"
    #expect(reports.last == "mmlog-decode: \(end) has each corrupted place and each loss")
  }

  @Test("what is missing is counted once, though files are read more than once to read backwards")
  func whatIsMissingIsCountedOnce() throws {
    let folder = TemporaryDirectory()
    for number in 0..<60 { folder.put("\(number).mmlog", Array("garbage".utf8)) }
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 1 << 16, segmentCount: 16))
    log.writesRing = false
    var secondFrame = 0
    for number in 0..<1200 as Range<UInt64> {
      log.write("\(number)", ticks: number)
      if number % 300 == 299 { log.archive() }
      if number == 299 { secondFrame = log.archives[0].count }
    }
    log.corruptArchive(at: secondFrame)
    log.save()
    let paths = ["-q", "--format", "message", log.folder.path, folder.path]
    let (forward, backward) = (try decode(paths), try decode(["-r"] + paths))
    #expect(forward.errors.contains("more such lines") && forward.errors == backward.errors)
  }

  @Test("what cannot be read has a reason") func whatCannotBeReadHasAReason() throws {
    let folder = TemporaryDirectory()
    folder.put("a\u{1b}.mmlog", Array("garbage".utf8))
    let run = try decode([folder.path, folder("none")])
    #expect(run.status == 3 && run.output.isEmpty)
    let reasons = run.errors.split(separator: "\n")
    #expect(reasons.count == 2)
    #expect(run.errors.contains("a\\u{1b}.mmlog cannot be read: it is not an mmlog file"))
    #expect(run.errors.contains("No such file or directory"))
    let empty = TemporaryDirectory()
    #expect(try decode([empty.path]).status == 3)
  }

  @Test("a wrong command line ends with status 2") func aWrongCommandLineEndsWithStatus2() throws {
    let cases: [([String], String)] = [
      ([], "PATH is missing"), (["-f"], "PATH is missing"), (["--level", "loud", "x"], "'loud'"),
      (["--since", "2025-11-21T090001", "x"], "090001"),
      (["--since", "15", "x"], "15"), (["--since", "25:00", "x"], "25:00"),
      (["--since", "@", "x"], "@"), (["--since", "3 parsecs ago", "x"], "parsecs"),
      (["--since", "lately", "x"], "'lately' is not a value of '--since'"),
      (["--since", "2300-01-01", "x"], "is no time of a record"),
      (["--since", "@99999999999", "x"], "is no time of a record"),
      (["--until", "9999-12-31T00:00Z", "x"], "is no time of a record"),
      (["--since", "2300-02-30", "x"], "is not a value of '--since'"),
      (["--since", "2025-02-29", "x"], "is not a value of '--since'"),
      (["--since", "2304-02-29", "x"], "is no time of a record"),
      (["--since", "2025-02-30", "x"], "2025-02-30"), (["--until", "-15x", "x"], "-15x"),
      (["--since", "2025-11-21T25:00", "x"], "25:00"), (["--tz", "Mars/Base", "x"], "'Mars/Base'"),
      (["--tz", "../../etc/passwd", "x"], "passwd"),
      (["--utc", "--tz", "Asia/Tokyo", "x"], "--utc"),
      (["--since", "now", "--until", "-1h", "x"], "--since is not before --until"),
    ]
    for (arguments, text) in cases {
      let run = try decode(arguments)
      #expect(run.status == 2 && run.output.isEmpty, "\(arguments)")
      #expect(run.errors.contains(text) && run.errors.contains("Usage: "), "\(run.errors)")
    }
  }

  @Test("help and version") func helpAndVersion() throws {
    let help = try decode(["--help"])
    #expect(help.status == 0 && help.errors.isEmpty)
    for text in ["Commands (without one, print):", "TIME is", "Exit status:", "3  No file"] {
      #expect(help.output.contains(text), "\(text)")
    }
    let print = try decode(["print", "--help"])
    for text in ["--format", "--since", "-l, -p, --level", "--tz"] {
      #expect(print.output.contains(text), "\(text)")
    }
    let version = Run(output: "mmlog-decode \(mmlogVersion)\n", errors: "", status: 0)
    #expect(try decode(["--version"]) == version)
  }

  @Test("the manual page and completions are printed")
  func theManualPageAndCompletionsArePrinted() throws {
    let page = try decode(["--man"])
    #expect(page.status == 0 && page.output.contains(".TH MMLOG\\-DECODE 1"))
    #expect(page.output.contains(".SS crash [options] [PATH ...]\n"))
    #expect(page.output.contains("\\fB\\-l\\fR, \\fB\\-p\\fR, \\fB\\-\\-level\\fR"))
    for shell in ["bash", "zsh", "fish"] {
      let script = try decode(["--completions", shell])
      #expect(script.status == 0 && script.output.contains("split-by"))
    }
    let run = try shell("'\(tool)' --completions bash | bash -n", folder: TemporaryDirectory())
    #expect(run == Run(output: "", errors: "", status: 0))
  }

  @Test("a broken pipe ends it quietly") func aBrokenPipeEndsItQuietly() throws {
    let log = TestLog()
    // The output is larger than the buffer of a pipe.
    let wide = log.site(.argument(type: .int, alignment: 2 | 60_000 << 8))
    for ticks in 0..<100 as Range<UInt64> {
      log.write(TestRecord(ticks: ticks, site: wide, words: [7]))
    }
    log.close()
    log.save()
    let run = try shell("'\(tool)' '\(log.folder.path)' | head -c 10", folder: log.folder)
    #expect(run.errors.isEmpty && run.output.utf8.count == 10)
  }

  /// A shell closes the descriptor before the program starts. If a process with several threads
  /// closed it, another thread could get its number.
  @Test("closed standard output is an error") func closedStandardOutputIsAnError() throws {
    let run = try shell("'\(tool)' --version >&-", folder: TemporaryDirectory())
    #expect(run.status == 1)
    #expect(
      run.errors == "mmlog-decode: write standard output: Bad file descriptor (EBADF)\n")
  }

  @Test("an argument that is not UTF-8 is refused: as a text it would name another file")
  func anArgumentThatIsNotUTF8IsRefused() throws {
    let folder = TemporaryDirectory()
    let pipe = ChildProcess.path(of: "mmlog-pipe")
    let run = try shell(
      "cd '\(folder.path)'; echo line | '\(pipe)' -n log -d $'caf\\xe9'", folder: folder)
    #expect(run.status == 2)
    #expect(run.errors.hasPrefix("mmlog-pipe: 'caf\u{FFFD}' is not UTF-8"), "\(run)")
    #expect(try folder.names() == ["err", "out"])
  }

}
