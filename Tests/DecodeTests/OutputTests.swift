import Foundation
import MMLogFormat
import TestSupport
import Testing

/// Every format and every option of the output, with whole texts.
@Suite struct OutputTests {
  /// Two sessions, each with a closed archive. One has an order with a field and metadata, and the
  /// other has a hostile message.
  private func log() -> TestLog {
    let log = TestLog()
    log.writesRing = false
    let order = log.site(.literal("order "), .argument(type: .int, name: "id"), .literal(" 100 %"))
    let label = log.label("orders.book")
    log.write(
      TestRecord(
        ticks: 5, site: order, label: label, level: .info, flags: .metadata,
        words: ValueWords.argument(.int(7))
          + ValueWords.metadata([("venue", .text("XETR")), ("note", .text("a \"b\""))])))
    log.write("two \u{1b}[31m\n,\"x\"", ticks: 1_000_000_000, level: .error)
    log.archive()
    log.close()
    log.save()
    return log
  }

  private func lines(_ arguments: String...) throws -> [String] {
    let log = log()
    let run = try decode(arguments + ["--utc", log.folder.path])
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    // Splits bytes: in Swift, CR and LF together are one character.
    return run.output.utf8.split(separator: 10, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("names of JSON are names of fields that are printed") func namesOfJSON() throws {
    let names = "severity_number,log_record_uid,cut,trace_flags,fields.venue"
    let lines = try lines("--json", "--fields", names)
    #expect(lines.count == 2 && lines[0].hasPrefix(#"{"severity_number":9,"log_record_uid":""#))
    #expect(lines[0].hasSuffix(#"","cut":null,"trace_flags":null,"fields.venue":"XETR"}"#))
  }

  @Test("a name that is given twice is printed once") func repeatedNames() throws {
    let lines = try lines("--json", "--fields", "venue,level, venue,fields.attributes")
    #expect(lines[0] == #"{"venue":"XETR","level":"info","fields.attributes":null}"#)
  }

  @Test("text") func text() throws {
    #expect(
      try lines() == [
        "2025-11-21T09:00:00.000000005Z INFO     orders.book: order 7 100 % venue=XETR "
          + #"note="a \"b\"" (App/Main.swift:7)"#,
        #"2025-11-21T09:00:01.000000000Z ERROR    two \u{1b}[31m\n,"x" (App/Main.swift:7)"#,
      ])
  }

  @Test("names of records") func namesOfRecords() throws {
    let ids = try lines("--template", "{id}").map { $0.split(separator: ".").map(String.init) }
    #expect(ids.map(\.count) == [5, 5])
    for (row, id) in ids.enumerated() {
      #expect(id[0] == "01000000000000000000000000000000" && id[1] == "1" && id[4] == "\(row)")
    }
  }

  @Test("json") func json() throws {
    let ids = try lines("--template", "{id}").map { #","log_record_uid":"\#($0)"}"# }
    let end =
      #""code_file_path":"App/Main.swift","code_line_number":7,"code_function_name":"run()","#
      + #""thread_ordinal":1,"thread_id":1001,"thread_name":"worker1","service_name":"test","#
      + #""process_name":"orders","process_pid":42,"host_name":"tokyo","#
      + #""session_id":"01000000000000000000000000000000""#
    #expect(
      try lines("--format", "json") == [
        #"{"timestamp":"2025-11-21T09:00:00.000000005Z","time_unix_nano":1763715600000000005,"severity_text":"info","severity_number":9,"#
          + #""scope_name":"orders.book","body":"order 7 100 %","#
          + #""attributes":{"id":7,"venue":"XETR","note":"a \"b\""},"# + end + ids[0],
        #"{"timestamp":"2025-11-21T09:00:01.000000000Z","time_unix_nano":1763715601000000000,"severity_text":"error","severity_number":17,"#
          + #""scope_name":"","body":"two \u001b[31m\n,\"x\"","attributes":{},"# + end + ids[1],
      ])
  }

  @Test("logfmt") func logfmt() throws {
    let end = " thread=worker1 service=test pid=42 session=01000000000000000000000000000000"
    #expect(
      try lines("--format", "logfmt") == [
        "time=2025-11-21T09:00:00.000000005Z time_ns=1763715600000000005 level=info label=orders.book msg=\"order 7 100 %\" id=7 "
          + #"venue=XETR note="a \"b\"" source=App/Main.swift:7"# + end,
        #"time=2025-11-21T09:00:01.000000000Z time_ns=1763715601000000000 level=error label="" msg="two \u001b[31m\n,\"x\"" "#
          + "source=App/Main.swift:7" + end,
      ])
  }

  @Test("a key is not twice in a line of logfmt, though two names become one key")
  func logfmtKeys() throws {
    let log = TestLog()
    log.sessionFields([("time", .text("s")), ("a_b", .text("s2")), ("free", .text("s3"))])
    for (ticks, names) in [["time", "a b", "a=b"], ["time#2", "time"], ["x"]].enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(ticks), site: log.textSite, level: .info, flags: .metadata,
          words: ValueWords.argument(.text("m"))
            + ValueWords.metadata(names.map { ($0, .int(1)) })))
    }
    log.save()
    let run = try decode(["--format", "logfmt", "--utc", "-q", log.folder.path])
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines[0].contains(" msg=m time#2=1 a_b=1 a_b#2=1 source="), "\(lines[0])")
    #expect(lines[0].hasSuffix(" time#3=s a_b#3=s2 free=s3"), "\(lines[0])")
    #expect(lines[1].contains(" msg=m time#2=1 time#3=1 source="), "\(lines[1])")
    #expect(lines[1].hasSuffix(" time#4=s a_b=s2 free=s3"), "\(lines[1])")
    #expect(lines[2].contains(" msg=m x=1 source="), "\(lines[2])")
    #expect(lines[2].hasSuffix(" time#2=s a_b=s2 free=s3"), "\(lines[2])")
  }

  @Test("a stop signal ends the wait for somebody who reads a pipe by name")
  func pipeWithoutReader() throws {
    let (log, folder) = (log(), TemporaryDirectory())
    log.folder.put("check.py", Array(checkStopped.utf8))
    let run = try shell(
      "python3 '\(log.folder("check.py"))' '\(tool)' '\(folder.path)' '\(log.folder.path)'",
      folder: log.folder)
    #expect(run == Run(output: "-15\n", errors: "", status: 0))
  }

  @Test("comma separated values") func commaSeparatedValues() throws {
    let end =
      #","App/Main.swift",7,"run()",1,1001,"worker1","test","orders",42,"tokyo","#
      + "\"01000000000000000000000000000000\",,,,,,,,,\r"
    #expect(
      try lines("--format=csv") == [
        "timestamp,time_unix_nano,severity_text,severity_number,scope_name,body,attributes,code_file_path,"
          + "code_line_number,code_function_name,thread_ordinal,thread_id,thread_name,service_name,"
          + "process_name,process_pid,host_name,session_id,flight,span_id,span_event,parent_span_id,"
          + "start_time_unix_nano,duration_nano,span_name,span_failed,trace_id\r",
        #"2025-11-21T09:00:00.000000005Z,1763715600000000005,info,9,"orders.book","order 7 100 %","#
          + #""{""id"":7,""venue"":""XETR"",""note"":""a \""b\""""}""# + end,
        #"2025-11-21T09:00:01.000000000Z,1763715601000000000,error,17,"","two \u{1b}[31m\n,""x""","{}""#
          + end,
      ])
  }

  @Test("tab separated values") func tabSeparatedValues() throws {
    let rows = try lines("--format", "tsv").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false)
    }
    #expect(rows.map(\.count) == [27, 27, 27])
    #expect(rows[2][5] == #"two \u{1b}[31m\n,"x""#)
  }

  @Test("open telemetry") func openTelemetry() throws {
    func text(_ key: String, _ value: String) -> String {
      #"{"key":"\#(key)","value":{"stringValue":"\#(value)"}}"#
    }
    func number(_ key: String, _ value: String) -> String {
      #"{"key":"\#(key)","value":{"intValue":"\#(value)"}}"#
    }
    let resource = [
      text("service.name", "test"),
      text("service.instance.id", "01000000000000000000000000000000"), number("process.pid", "42"),
      text("process.executable.name", "orders"), text("host.name", "tokyo"),
    ]
    let thread = [number("thread.id", "1001"), text("thread.name", "worker1")]
    let fields = [number("id", "7"), text("venue", "XETR"), text("note", #"a \"b\""#)]
    let place = [
      text("code.file.path", "App/Main.swift"), number("code.line.number", "7"),
      text("code.function.name", "run()"),
    ]
    func list(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }
    let ids = try lines("--template", "{id}").map { [text("log.record.uid", $0)] }
    #expect(
      try lines("--format", "otlp") == [
        #"{"resourceLogs":[{"resource":{"attributes":\#(list(resource))},"scopeLogs":["#
          + #"{"scope":{"name":"orders.book"},"logRecords":[{"timeUnixNano":"1763715600000000005","#
          + #""severityNumber":9,"severityText":"info","body":{"stringValue":"order 7 100 %"},"#
          + #""attributes":\#(list(thread + fields + place + ids[0]))}]},"#
          + #"{"scope":{"name":""},"logRecords":[{"timeUnixNano":"1763715601000000000","#
          + #""severityNumber":17,"severityText":"error","#
          + #""body":{"stringValue":"two \u001b[31m\n,\"x\""},"#
          + #""attributes":\#(list(thread + place + ids[1]))}]}]}]}"#
      ])
  }

  @Test("trace events") func traceEvents() throws {
    #expect(
      try lines("--format", "chrome") == [
        #"{"displayTimeUnit":"ns","traceEvents":["#,
        #"{"ph":"M","name":"process_name","pid":1,"args":{"name":"#
          + #""test, pid 42 on tokyo, session 01000000000000000000000000000000"}},"#,
        #"{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker1 (1001)"}},"#,
        #"{"ph":"i","s":"t","name":"order 7 100 %","cat":"orders.book","ts":0.000,"pid":1,"tid":1,"#
          + #""args":{"time":"2025-11-21T09:00:00.000000005Z","level":"info","#
          + #""fields":{"id":7,"venue":"XETR","note":"a \"b\""},"source":"App/Main.swift:7"}},"#,
        #"{"ph":"i","s":"t","name":"two \u001b[31m\n,\"x\"","cat":"","ts":999999.995,"pid":1,"#
          + #""tid":1,"args":{"time":"2025-11-21T09:00:01.000000000Z","level":"error","fields":{},"#
          + #""source":"App/Main.swift:7"}}"#,
        "]}",
      ])
  }

  /// A table or a trace without records is still complete.
  @Test("empty outputs are whole") func emptyOutputsAreWhole() throws {
    let log = log()
    let path = log.folder.path
    #expect(
      try decode(["--until", "2020-01-01", "--format", "csv", path]).output.hasPrefix("timestamp,"))
    let trace = try decode(["--until", "2020-01-01", "--format", "chrome", path]).output
    #expect(try JSONSerialization.jsonObject(with: Data(trace.utf8)) is [String: Any])
    #expect(try decode(["--until", "2020-01-01", "--format", "otlp", path]).output.isEmpty)
  }

  @Test("a template makes the line") func aTemplateMakesTheLine() throws {
    #expect(
      try lines(
        "--template", #"{date} {clock} {LEVEL:9}|{label:-12}|{message}{{}}\t{fields.venue}{fields}"#
      ) == [
        "2025-11-21 09:00:00.000000005      INFO|orders.book |order 7 100 %{}\tXETR id=7 venue=XETR "
          + #"note="a \"b\"""#,
        "2025-11-21 09:00:01.000000000     ERROR|            |two \\u{1b}[31m\\n,\"x\"{}\t",
      ])
    #expect(
      try lines(
        "--template", "{unix} {place} {thread} {thread_id} {pid} {service} {host} {process} {level}"
      )
      .first == "1763715600000000005 App/Main.swift:7 worker1 1001 42 test tokyo orders info")
  }

  @Test("colors are only where they are asked for")
  func colorsAreOnlyWhereTheyAreAskedFor() throws {
    #expect(try lines().allSatisfy { !$0.contains("\u{1b}") })
    let colored = try lines("--color", "always")
    #expect(colored[1].contains("\u{1b}[31mERROR\u{1b}[0m"))
    #expect(colored[1].contains(#"two \u{1b}[31m\n"#), "what was logged is escaped all the same")
    #expect(try lines("--color=never", "--template", "{level}") == ["info", "error"])
  }

  @Test("a file has its name once it is whole") func aFileHasItsNameOnceItIsWhole() throws {
    let log = log()
    let folder = TemporaryDirectory()
    folder.put("out", Array("old".utf8))
    let run = try decode(["--format", "message", "-o", folder("out"), log.folder.path])
    #expect(run == Run(output: "", errors: "", status: 0))
    #expect(
      try String(contentsOfFile: folder("out"), encoding: .utf8)
        == "order 7 100 %\ntwo \u{1b}[31m\n,\"x\"\n")
    #expect(try names(in: folder) == ["out"])
    // If nothing can be read, an existing output stays as it is.
    let failed = try decode(["-o", folder("out"), folder("none")])
    #expect(failed.status == 3)
    #expect(try names(in: folder) == ["out"])
    #expect(try String(contentsOfFile: folder("out"), encoding: .utf8).hasPrefix("order"))
  }

  @Test("files that cannot be written are reported")
  func filesThatCannotBeWrittenAreReported() throws {
    let log = log()
    let folder = TemporaryDirectory()
    let cases = [
      (folder.path, 2, "is a directory"), (folder("none/out"), 1, "No such file"),
      (folder("/"), 2, "is not the name"),
    ]
    for (path, status, text) in cases {
      let run = try decode(["-o", path, log.folder.path])
      #expect(run.status == status && run.errors.contains(text), "\(path): \(run.errors)")
    }
    try FileManager.default.createSymbolicLink(
      atPath: folder("link"), withDestinationPath: "/dev/stdout")
    #expect(try decode(["-o", folder("link"), log.folder.path]).errors.contains("symbolic link"))
    #expect(
      try decode(["-o", "/dev/null", log.folder.path]) == Run(output: "", errors: "", status: 0))
  }

  @Test("splits are files by what they are split by")
  func splitsAreFilesByWhatTheyAreSplitBy() throws {
    let log = log()
    let cases: [(String, String, [String])] = [
      ("label", "text", ["no-label.log", "orders.book.log"]),
      ("hour", "json", ["2025-11-21T09.jsonl"]),
      ("session", "csv", ["01000000000000000000000000000000.csv"]),
    ]
    for (key, format, expected) in cases {
      let folder = TemporaryDirectory()
      let run = try decode(
        [
          "--utc", "--format", format, "--split-by", key, "-o", folder("new/split"),
          log.folder.path,
        ])
      #expect(run == Run(output: "", errors: "", status: 0))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder("new/split")).sorted()
          == expected)
    }
  }

  /// For python3: runs a program with no signal blocked. The threads of the tests block signals,
  /// and a child inherits that.
  private static let unblocked =
    "import os, signal, sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); "
    + "os.execv(sys.argv[1], sys.argv[1:])"

  /// The program waits for its input until it gets the signal, so the test does not depend on its
  /// speed.
  @Test("an interruption leaves no file", arguments: [("TERM", "143\n"), ("KILL", "137\n")])
  func anInterruptionLeavesNoFile(signal: String, expected: String) throws {
    let log = log()
    let folder = TemporaryDirectory()
    let run = try shell(
      """
      cd '\(folder.path)' && mkfifo in && mkdir files
      python3 -c "\(Self.unblocked)" '\(tool)' -o files/out - < in & decoder=$!
      exec 3> in
      until ls -l /proc/$decoder/fd | grep -q '/files/'; do sleep 0.01; done
      kill -\(signal) $decoder
      cat '\(log.save()[0])' >&3; exec 3>&-
      wait $decoder; echo $?; ls files
      """, folder: folder)
    #expect(run.output == expected)
  }

  /// The program may be killed at any time: a file with its final name is complete, and nothing
  /// else is there.
  @Test("a process that is killed leaves whole files or none")
  func aProcessThatIsKilledLeavesWholeFilesOrNone() throws {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 65536, segmentCount: 4))
    log.writesRing = false
    let site = log.site(.argument(type: .int))
    let labels = ["a", "b", "c"].map { log.label($0) }
    for ticks in 0..<1500 as Range<UInt64> {
      log.write(
        TestRecord(
          ticks: ticks, site: site, label: labels[Int(ticks) % 3], level: .info,
          words: ValueWords.argument(.int(Int64(ticks)))))
    }
    log.archive()
    log.close()
    log.save()
    log.folder.put("check.py", Array(checkKilled.utf8))
    let run = try shell(
      "python3 '\(log.folder("check.py"))' '\(tool)' '\(log.folder.path)'", folder: log.folder)
    #expect(run == Run(output: "", errors: "", status: 0))
  }

  @Test("an output lets nobody read it who could not read the file that it replaces")
  func keepsPermissions() throws {
    let folder = TemporaryDirectory()
    let log = TestLog.closed("one")
    log.save()
    let path = folder.put("out.json", "before")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(try decode(["--json", "-o", path, log.folder.path]).status == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains("one"))
  }

  @Test("no file of --split-by takes the place of a pipe or of a symbolic link")
  func splitIntoOtherFiles() throws {
    let log = TestLog()
    log.write("one", ticks: 1)
    log.archive()
    log.save()
    let folder = TemporaryDirectory()
    let options = ["--split-by=label", "-o", folder("out"), log.folder.path]
    #expect(try decode(options).status == 0)
    let names = { try FileManager.default.contentsOfDirectory(atPath: folder("out")) }
    let name = folder("out/" + (try #require(try names().first)))
    try #require(unlink(name) == 0 && mkfifo(name, 0o600) == 0)
    #expect(try decode(options).status == 2)
    try #require(unlink(name) == 0 && symlink(folder("target"), name) == 0)
    #expect(try decode(options).status == 2)
    #expect(try names().count == 1)
  }

  @Test("hostile labels are harmless names of files")
  func hostileLabelsAreHarmlessNamesOfFiles() throws {
    let log = TestLog()
    log.writesRing = false
    let site = log.site(.literal("x"))
    for (ticks, name) in ["../../etc/passwd", ".", "a/b", "é\u{1b}[2J", "-rf"].enumerated() {
      let label = log.label(name)
      log.write(TestRecord(ticks: UInt64(ticks), site: site, label: label, level: .info))
    }
    log.archive()
    log.close()
    log.save()
    let folder = TemporaryDirectory()
    #expect(try decode(["--split-by=label", "-o", folder("out"), log.folder.path]).status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder("out")).sorted()
        == [
          "%2Drf.log", "%2E.%2F..%2Fetc%2Fpasswd.log", "%2E.log", "%C3%A9%1B%5B2J.log", "a%2Fb.log",
        ])
  }

  @Test("statistics") func statistics() throws {
    let lines = try lines("stats")
    #expect(lines[0].hasPrefix("2 records, "))
    for text in [
      "1  50.0", "error", "orders.book", "App/Main.swift:7  order {id} 100 %", "(none)", "MINUTE",
    ] {
      #expect(lines.contains { $0.contains(text) }, "\(text)")
    }
    let json = try self.lines("stats", "--json").joined()
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect((object["total"] as? [String: Int])?["records"] == 2)
    #expect((object["by_call_site"] as? [[String: Any]])?.count == 2)
  }

  @Test("a histogram") func aHistogram() throws {
    let lines = try lines("histogram")
    #expect(
      lines.first?.hasPrefix("2025-11-21T09:00:00.000Z         1 ━") == true, "\(lines)")
    #expect(lines.contains { $0.contains("▓") } && lines.allSatisfy { $0.count <= 80 })
    #expect(lines.last == "each line: 50 ms; ━ below warning, ▪ warning, ▓ error, █ critical")
  }

  @Test("a report is one page in which nothing that was logged is markup")
  func aReportIsOnePageInWhichNothingThatWasLoggedIsMarkup() throws {
    let log = TestLog()
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"
    let site = log.site(parts: [.literal(hostile), .argument(type: .string)], file: hostile)
    let label = log.label(hostile)
    log.write(
      TestRecord(
        ticks: 1, site: site, label: label, level: .critical, flags: .metadata,
        words: ValueWords.argument(.text(hostile))
          + ValueWords.metadata([(hostile, .text(hostile))])))
    log.save()
    let folder = TemporaryDirectory()
    let run = try decode(["report", "--output", folder("page.html"), log.folder.path])
    #expect(run.status == 0 && run.output.isEmpty)
    let page = try String(contentsOfFile: folder("page.html"), encoding: .utf8)
    #expect(page.hasPrefix("<!DOCTYPE html>") && page.hasSuffix("</html>\n"))
    #expect(!page.contains("alert(1)</script>") && !page.contains("<img"))
    #expect(
      page.contains(#"\u003c/script>\u003cscript>alert(1)"#), "the label is in the page's data")
    #expect(!page.contains("http://") && !page.contains("https://"), "no network")
    #expect(page.contains(#""ending":"powerLost""#))
    // The page also reports a file of which nothing can be read.
    let garbage = folder.put("garbage.mmlog", Array("no log".utf8))
    let other = try decode(["report", "--output", folder("page.html"), log.folder.path, garbage])
    #expect(other.status == 1)
    let reported = try String(contentsOfFile: folder("page.html"), encoding: .utf8)
    #expect(reported.contains("garbage.mmlog") && !page.contains("garbage.mmlog"))
  }

  @Test("contradictions are one line that says what would be right")
  func contradictionsAreOneLineThatSaysWhatWouldBeRight() throws {
    let cases: [([String], String)] = [
      (["stats", "--format", "csv"], "'mmlog-decode stats' has no option '--format'"),
      (["histogram", "--json"], "has no option '--json'; it is one of 'mmlog-decode print'"),
      (["report"], "option '--output' is missing"),
      (["--json", "--format", "csv"], "contradict"),
      (["--json", "--format", "text"], "contradict"),
      (["inspect", "--quiet"], "'mmlog-decode inspect' has no option '--quiet'"),
      (["--count", "--json"], "--json has no meaning"),
      (["--count", "-g", "x", "-C", "1"], "--context has no meaning"),
      (["--template", "x", "--format", "json"], "leave --format away"),
      (["--split-by", "hour"], "add --output"), (["--template", "{"], "in the template"),
      (["--split-by", "day", "-o", "x"], "'day'"), (["--format", "xml"], "'xml'"),
      (["--color", "red"], "'red'"), (["--fields", ""], "--fields has no name in it"),
      (["--fields", " , "], "--fields has no name in it"),
      (["--fields", "time,attributes"], "'attributes' is an object of JSON"),
      (["--fields", "resource", "--json"], "'resource' is an object of JSON"),
    ]
    for (arguments, text) in cases {
      let run = try decode(arguments + ["/nonexistent"])
      #expect(run.status == 2 && run.output.isEmpty, "\(arguments)")
      #expect(run.errors.contains(text), "\(arguments): \(run.errors)")
      #expect(run.errors.split(separator: "\n").count == 2, "one line and the usage")
    }
  }

  /// Python's parsers are stricter than those of this project, and independent of them.
  @Test("whatever the bytes other parsers read it")
  func whateverTheBytesOtherParsersReadIt() throws {
    let log = TestLog()
    let site = log.site(.argument(type: .bytes), .argument(type: .string, name: "s"))
    var generator = SeededGenerator(seed: 99)
    let special: [UInt8] = [
      0x22, 0x5C, 0x0A, 0x0D, 0x2C, 0x09, 0x3D, 0x20, 0xE2, 0x80, 0xA8, 0xED, 0xA0,
    ]
    for ticks in 0..<150 as Range<UInt64> {
      let bytes = (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
        Bool.random(using: &generator)
          ? UInt8.random(in: 0...255, using: &generator)
          : special.randomElement(using: &generator) ?? 0
      }
      let key = String(decoding: bytes, as: UTF8.self)
      log.write(
        TestRecord(
          ticks: ticks, site: site, level: .info, flags: .metadata,
          words: ValueWords.argument(.bytes(bytes)) + ValueWords.argument(.string(bytes))
            + ValueWords.metadata([(key, .string(bytes)), ("s", .double(.nan)), (key, .float(0.1))])
        ))
    }
    log.archive()
    log.close()
    log.save()
    log.folder.put("check.py", Array(checkOutputs.utf8))
    let run = try shell(
      "python3 '\(log.folder("check.py"))' '\(tool)' '\(log.folder.path)'", folder: log.folder)
    #expect(run == Run(output: "150\n", errors: "", status: 0))
  }

  private func names(in folder: TemporaryDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }
}

private let checkStopped = """
  import os, signal, subprocess, sys, time
  tool, folder, logs = sys.argv[1:]
  signal.pthread_sigmask(signal.SIG_SETMASK, [])
  os.mkfifo(f"{folder}/pipe")
  process = subprocess.Popen([tool, "-o", f"{folder}/pipe", logs])
  def is_waiting():
      # It opens the folder before it opens the pipe.
      own = f"/proc/{process.pid}"
      try: opened = [os.readlink(entry) for entry in os.scandir(f"{own}/fd")]
      except OSError: return False
      state = open(f"{own}/stat").read().rsplit(") ", 1)[1][0]
      return state == "S" and os.path.realpath(folder) in opened
  while process.poll() is None and not is_waiting(): time.sleep(0.01)
  process.terminate()
  print(process.wait(timeout=600))
  """

private let checkKilled = """
  import os, random, subprocess, sys, time
  tool, folder = sys.argv[1:]
  files = {name: "".join(f"{number}\\n" for number in range(start, 1500, step))
           for name, start, step in [("a.log", 0, 3), ("b.log", 1, 3), ("c.log", 2, 3), ("all", 0, 1)]}
  seed = random.randrange(1 << 32)
  random.seed(seed)
  for options in [["-o", "all"], ["--split-by", "label", "-o", "."]]:
      round = kills = begun = 0
      while round < 12 or round < 1000 and (kills < 3 or begun == 0):
          place = f"{folder}/{options[0]}-{round}"
          os.mkdir(place)
          if round % 2 and options[0] == "-o": open(f"{place}/all", "w").write(files["all"])
          started = time.monotonic()
          process = subprocess.Popen([tool, "--format", "message", *options, folder], cwd=place)
          # Some of the first to the last of its steps; the first ones say how long it takes.
          if round < 2: process.wait()
          else: time.sleep(random.random() * took)
          waited = time.monotonic() - started
          # What it writes has no name before it is whole, but is open.
          try: opened = [os.readlink(entry) for entry in os.scandir(f"/proc/{process.pid}/fd")]
          except OSError: opened = []
          process.kill()
          # What the machine has to do beside it may come and go.
          if process.wait() != -9: took = waited
          else:
              took *= 1.2
              kills += 1
              begun += any(path.startswith(f"{os.path.realpath(place)}/") for path in opened)
          for name in os.listdir(place):
              # Between two steps of replacing what had the name: whole, under another one.
              whole = files[name.split(".unfinished-")[0]]
              assert name in files or round % 2 and options[0] == "-o", f"seed {seed}: {name}"
              assert open(f"{place}/{name}").read() == whole, f"seed {seed}: {name} is not whole"
          round += 1
      said = f"seed {seed}: {kills} of {round} were killed, {begun} of them within a file"
      assert kills >= 3 and begun > 0, said
  """

private let checkOutputs = """
  import csv, io, json, subprocess, sys, base64
  tool, folder = sys.argv[1:]
  def decode(kind):
      return subprocess.run([tool, "--utc", "--format", kind, folder], stdout=subprocess.PIPE, check=True).stdout
  def strict(pairs):
      assert len({key for key, _ in pairs}) == len(pairs), pairs
      return dict(pairs)
  rows = [json.loads(line, object_pairs_hook=strict) for line in decode("json").decode().splitlines()]
  raw = decode("message")
  for row in rows:
      if "body_base64" in row: base64.b64decode(row["body_base64"], validate=True)
  table = list(csv.reader(io.StringIO(decode("csv").decode(), newline=""), strict=True))
  assert len(table) == len(rows) + 1 and {len(row) for row in table} == {27}
  for row, cells in zip(rows, table[1:]):
      assert json.loads(cells[6]) == row["attributes"]
  assert len(decode("tsv").decode().split("\\n")) == len(rows) + 2
  assert len(decode("logfmt").decode().split("\\n")) == len(rows) + 1
  records = 0
  for line in decode("otlp").decode().splitlines():
      for resource in json.loads(line, object_pairs_hook=strict)["resourceLogs"]:
          for scope in resource["scopeLogs"]: records += len(scope["logRecords"])
  assert records == len(rows)
  events = json.loads(decode("chrome"), object_pairs_hook=strict)["traceEvents"]
  assert sum(event["ph"] == "i" for event in events) == len(rows)
  for kind in ["text", "logfmt", "csv", "tsv", "json", "otlp", "chrome"]:
      for character in decode(kind).decode():
          assert character in "\\n\\r\\t" or character.isprintable() or ord(character) > 0x7f, (kind, character)
  print(len(rows))
  """
