import Glibc
import MMLogFormat
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

@Suite("mmlog-pipe with rules for levels, fields and several lines")
struct PipeRuleTests {
  @Test("levels are found where each rule says", arguments: LevelCase.all)
  func levels(_ rule: LevelCase) throws {
    let records = try Self.records(
      of: Self.text(rule.lines.map(\.line)), ["--level-from", rule.option, "--level", "trace"])
    for (record, (line, level)) in zip(records, rule.lines) {
      #expect(record.level == level, "\(line)")
    }
    #expect(records.map(\.message) == rule.lines.map { rule.message($0.line) })
  }

  @Test("lines are joined as each rule says, and come out as they went in", arguments: JoinCase.all)
  func joins(_ rule: JoinCase) throws {
    let pipe = PipeRun()
    let text = Self.text(rule.records)
    try Folder.write(text, to: pipe.folder("in"))
    let ending = try pipe.start(input: pipe.folder("in"), ["--join", rule.option, "--tee"]).wait()
    #expect(ending == .exited(0))
    #expect(Self.records(in: pipe).map(\.message) == rule.records)
    let passedOn = isEqual(try Folder.read(pipe.folder("out")), text)
    #expect(passedOn)
    try pipe.expectDecoded(text)
  }

  @Test("whatever comes in, each byte is kept", arguments: Self.keeping)
  func keepsBytes(_ options: [String]) throws {
    var random = SeededGenerator(seed: 11)
    var inputs: [[UInt8]] = [Array("no end".utf8), Array("a\n b\n c".utf8), [10, 32, 10, 10, 9]]
    let pieces = [
      "\n", "\n ", "\n\t", "{", "}", "\"level\":", "\"", "\\", "level=", "ERROR", "[", "]", ": ",
      "\u{1b}[",
      "Traceback (most recent call last):\n", "panic: ", "<", "99999999999999999999", "\u{0}", "ä",
    ].map { Array($0.utf8) }
    inputs.append((0..<40_000).flatMap { _ in pieces[Int(random.next() % UInt64(pieces.count))] })
    inputs.append((0..<1 << 18).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    // A record that does not end.
    inputs.append(
      Array("first\n".utf8) + Array(repeating: Array(" more\n".utf8), count: 400_000).joined())
    // Brackets that do not end, and a line that is longer than a record.
    inputs.append(Array(repeating: 0x5B, count: 1 << 20) + [10])
    inputs.append(Array(repeating: 0x20, count: (16 << 20) + 5) + [10] + Array(" next\n".utf8))
    for (number, input) in inputs.enumerated() {
      let pipe = PipeRun()
      try Folder.write(input, to: pipe.folder("in"))
      let ending = try pipe.start(input: pipe.folder("in"), options + ["--tee"]).wait()
      #expect(ending == .exited(0), "input \(number)")
      let passedOn = isEqual(try Folder.read(pipe.folder("out")), input)
      #expect(passedOn, "input \(number)")
      try pipe.expectDecoded(input, "input \(number)")
    }
  }

  private static let keeping: [[String]] =
    [
      ["--level-from", "json", "--join", "indent"],
      ["--level-from", "logfmt", "--join", "traceback"],
    ]
    // Sanitizers read what regexec(3) searches up to a zero byte, which a part of a buffer has not.
    + (isSanitized ? [] : [["--level-from", "regex:(ERROR|\\w+)", "--join", "regex:^[{<]"]])

  @Test("two of the longest lines follow one another, and what comes after them is kept")
  func longestLines() throws {
    let longest = Array(repeating: UInt8(ascii: "a"), count: RecordLayout.longestValue) + [10]
    let input = longest + longest + Array("after\n indented\n".utf8)
    let pipe = PipeRun()
    try Folder.write(input, to: pipe.folder("in"))
    let ending = try pipe.start(input: pipe.folder("in"), ["--join", "indent", "--tee"]).wait()
    #expect(ending == .exited(0))
    let passedOn = isEqual(try Folder.read(pipe.folder("out")), input)
    #expect(passedOn)
    try pipe.expectDecoded(input)
    let sizes = Self.records(in: pipe).map(\.message.utf8.count)
    #expect(sizes == [RecordLayout.longestValue, RecordLayout.longestValue, 15])
  }

  @Test("fields of JSON keep their types and their order")
  func fields() throws {
    let line =
      #"{"ts":1.5,"level":"warn","msg":"hé \"llo\" \ud83d\ude00\n","n":-3,"u":18446744073709551615,"#
      + #""large":99999999999999999999,"huge":1e999,"yes":true,"no":null,"#
      + #""inner":{"a":[1,"b",{}]},"n":4,"":"","level":30,"minus":-0 }"#
    let records = try Self.records(
      of: Self.text([line]), ["--level-from", "json", "--fields", "json"])
    let record = try #require(records.first)
    #expect(records.count == 1)
    #expect(record.level == .warning)
    #expect(record.message == "hé \"llo\" 😀\n")
    let expected = [
      "ts", "n", "u", "large", "huge", "yes", "no", "inner", "n", "", "level", "minus",
    ]
    #expect(record.fields.map(\.name) == expected)
    let values = record.fields.map(\.value)
    #expect(values[0] == .double(1.5))
    #expect(values[1] == .int(-3))
    #expect(values[2] == .uint(.max))
    #expect(values[3] == .string(Array("99999999999999999999".utf8)))
    #expect(values[4] == .string(Array("1e999".utf8)))
    #expect(values[5] == .bool(true))
    #expect(values[6] == .null)
    #expect(
      values[7]
        == .dictionary([
          (key: "a", value: .array([.int(1), .string([0x62]), .dictionary([])]))
        ]))
    #expect(values[8] == .int(4))
    #expect(values[10] == .int(30))
    #expect(values[11] == .double(-0.0))
  }

  @Test(
    "what is no object of JSON, or more than a record can have, stays a line",
    arguments: [false, true])
  func noObjects(_ isJoined: Bool) throws {
    let deep = String(repeating: "[", count: 100_000)
    let texts: [String] = [
      "", "{", "{}", "[1]", "null", "text", #"{"a":1} b"#, #"{"a":1}}"#, #"{"a":01}"#,
      #"{"a":1.}"#,
      #"{"a":+1}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":tru}"#, #"{"a":"x}"#, #"{"a":"\x"}"#,
      #"{"a":"\ud800"}"#, #"{"a":"\udc00\ud800"}"#, #"{"a":"\u12"}"#, #"{"a" 1}"#, #"{"a":1,}"#,
      #"{'a':1}"#, "{\"a\":\"\t\"}", #"{"a":NaN}"#, #"{"a":"# + deep, #"{"a":"# + deep + "}",
      #"{"a":\#(String(repeating: "[", count: 17))\#(String(repeating: "]", count: 17))}"#,
    ]
    let lines: [[UInt8]] =
      texts.map { Array($0.utf8) } + [
        [0x7B, 0x22, 0x61, 0x22, 0x3A, 0x22, 0xFF, 0x22, 0x7D],
        Array(#"{"a":""#.utf8) + [UInt8](repeating: 0x61, count: 1 << 20) + Array(#""}"#.utf8),
      ]
    let pipe = PipeRun()
    let input = [UInt8](lines.map { $0 + [10] }.joined())
    try Folder.write(input, to: pipe.folder("in"))
    let options =
      ["--fields", "json"] + (isJoined ? ["--join", "indent"] : ["--level-from", "json"])
    let ending = try pipe.start(input: pipe.folder("in"), options).wait()
    #expect(ending == .exited(0))
    try pipe.expectDecoded(input)
    let records = Self.records(in: pipe)
    #expect(records.count == lines.count)
    #expect(records.allSatisfy { $0.fields.isEmpty })
  }

  @Test("whatever rule finds the level, lines of JSON are taken apart")
  func levelsBesideFields() throws {
    let cases: [(rule: String, line: String, level: Level)] = [
      ("prefix", #"{"msg":"m","n":1,"x":"ERROR"}"#, .error),
      ("prefix", #"<3>{"msg":"m","n":1}"#, .error),
      (#"regex:"x":"(\w+)""#, #"{"msg":"m","n":1,"x":"fatal"}"#, .critical),
      ("json", #"{"msg":"m","n":1,"level":"warn"}"#, .warning),
      ("prefix", #"{"msg":"m","n":1}"#, .notice),
    ]
    for (rule, line, level) in cases {
      let records = try Self.records(
        of: Self.text([line]), ["-l", "NOTICE", "--level-from", rule, "--fields", "json"])
      #expect(records.map(\.level) == [level], "\(line)")
      #expect(records.map(\.message) == ["m"] && records[0].fields[0].name == "n")
    }
  }

  @Test("an object without a line end at the end of the input is taken apart")
  func lastObject() throws {
    let records = try Self.records(
      of: Array(#"{"level":"fatal","msg":"out of memory","x":1}"#.utf8),
      ["--level-from", "json", "--fields", "json"])
    #expect(records.map(\.message) == ["out of memory"])
    #expect(records.map(\.level) == [.critical] && records.first?.fields.count == 1)
  }

  @Test(
    "rules see no beginning of a line in the middle of one that is too long for a record",
    arguments: [
      ("prefix", "<3>the rest"), ("json", #"{"level":"fatal","x":1}"#),
    ])
  func longLines(_ rule: String, _ rest: String) throws {
    let pipe = PipeRun()
    let input =
      [UInt8](repeating: 0x61, count: RecordLayout.longestValue) + Array(rest.utf8)
      + Array("\nanother\n".utf8)
    try Folder.write(input, to: pipe.folder("in"))
    let options = ["--level-from", rule, "--fields", "json"]
    let ending = try pipe.start(input: pipe.folder("in"), options).wait()
    #expect(ending == .exited(0))
    try pipe.expectDecoded(input)
    let records = Self.records(in: pipe)
    #expect(records.count == 3)
    #expect(records.allSatisfy { $0.level == .info && $0.fields.isEmpty })
  }

  @Test("an object as deep as a record can have it is taken apart")
  func deepObject() throws {
    let value = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
    let records = try Self.records(
      of: Self.text([#"{"a":\#(value),"msg":"m"}"#]), ["--fields", "json"])
    #expect(records.map(\.message) == ["m"])
    #expect(records.first?.fields.count == 1)
  }

  @Test("killed while its input stands still, it has kept joined lines that it has passed on")
  func killed() throws {
    let pipe = PipeRun()
    let options = ["--join", "traceback", "--level-from", "prefix", "--tee"]
    let child = try pipe.start(options)
    // Passed on when it is recorded: as no more lines come.
    let first = Array("Traceback (most recent call last):\n  File\n".utf8)
    try pipe.feed(first, child)
    let rest = Array("ValueError: x\nnext\n and more\n".utf8)
    try pipe.feedAll(rest, child)
    try child.wait { try pipe.passedOn() == first.count + rest.count }
    child.signal(SIGKILL)
    let ending = child.wait()
    #expect(ending == .killed(SIGKILL))
    try pipe.expectDecoded(first + rest)
  }

  @Test("a line that it has passed on is kept, whenever it is killed")
  func killedAtAnyInstant() throws {
    var (random, rounds, kills) = (SeededGenerator(seed: 12), 0, 0)
    let input = Self.text((0..<40_000).map { "ERROR \($0)\n\tat frame\n\tat other" })
    // On a busy machine, it has often ended before this test can kill it.
    while rounds < 10 || (kills <= 2 && rounds < 1000) {
      let isKilled = try PipeRun.killAnywhere(
        in: input, ["--join", "indent", "--level-from", "prefix"], &random)
      if isKilled { kills += 1 }
      rounds += 1
    }
    #expect(kills > 2)
  }

  @Test(
    "what is wrong with a rule is said",
    arguments: [
      (["--level-from", "xml"], "prefix, json, logfmt or regex:PATTERN"),
      (["--level-from", "regex:x"], "has no group"),
      (["--level-from", "regex:("], "this ( has no )"),
      (["--join", "lines"], "indent, traceback or regex:PATTERN"),
      (["--join", "regex:["], "--join"), (["--fields", "xml"], "--fields"),
    ])
  func complaints(_ options: [String], _ text: String) throws {
    let pipe = PipeRun()
    let child = try pipe.start(input: "/dev/null", options)
    let ending = child.wait()
    #expect(ending == .exited(2), "\(child.complaints)")
    #expect(child.complaints.contains(text), "\(child.complaints)")
  }

  // MARK: - Runs

  private static func text(_ lines: [String]) -> [UInt8] { lines.flatMap { Array($0.utf8) + [10] } }

  private static func records(of input: [UInt8], _ options: [String]) throws -> [LogReader.Record] {
    let pipe = PipeRun()
    try Folder.write(input, to: pipe.folder("in"))
    let child = try pipe.start(input: pipe.folder("in"), options)
    let ending = child.wait()
    #expect(ending == .exited(0), "\(child.complaints)")
    return records(in: pipe)
  }

  private static func records(in pipe: PipeRun) -> [LogReader.Record] {
    LogReader(paths: [pipe.store]).compactMap {
      if case .record(let record) = $0 { record } else { nil }
    }
  }
}

/// Lines, and the level of each; trace where none is found.
struct LevelCase: Sendable, CustomStringConvertible {
  let option: String
  let lines: [(line: String, level: Level)]
  var description: String { option }

  /// Of prefixes of sd-daemon(3) nothing is kept.
  func message(_ line: String) -> String {
    let isPrefix = option == "prefix" && line.hasPrefix("<") && line.dropFirst(2).hasPrefix(">")
    return isPrefix && ("0"..."7").contains(line.dropFirst().first ?? "x")
      ? String(line.dropFirst(3)) : line
  }

  static let all = [
    LevelCase(
      option: "prefix",
      lines: [
        ("<0>a", .critical), ("<2>a", .critical), ("<3>a", .error), ("<4>a", .warning),
        ("<5>a", .notice), ("<6>a", .info), ("<7>a", .debug), ("<7>", .debug), ("<8>a", .trace),
        ("<3", .trace), ("<33>a", .trace), ("ERROR: a", .error),
        ("2025-01-01 09:00:00,1 WARN a", .warning),
        ("[notice] a", .notice), ("[Warn] a", .warning), ("info: a", .info),
        ("[core:error] a", .error),
        ("|fatal| a", .critical), ("\u{1b}[1;31mERR\u{1b}[0m a", .error), ("DEBUG:root:a", .debug),
        ("panic: a", .critical), ("Traceback (most recent call last):", .error),
        ("Exception in thread \"main\" a", .error), ("no error in sight", .trace),
        ("ALL IS WELL", .trace),
        ("ERRORS", .trace), ("MY_ERROR", .trace), ("error", .trace), ("", .trace),
        ("\u{1b}", .trace),
        ("\u{1b}[", .trace), ("INFORMATION a", .info), ("info ERROR: a", .error),
        (String(repeating: ".", count: 120) + " INFO", .info),
        (String(repeating: ".", count: 128) + "INFO", .trace),
        (String(repeating: ".", count: 127) + "INFO", .info),
        (String(repeating: ".", count: 122) + " ERRORS", .trace),
        (String(repeating: ".", count: 127) + "[information]", .trace),
        (String(repeating: ".", count: 126) + "[information]", .info),
        (String(repeating: ".", count: 127) + String(repeating: "ERROR", count: 40), .trace),
      ]),
    LevelCase(
      option: "json",
      lines: [
        (#"{"level":"warn"}"#, .warning), (#"{"a":{"level":"error"},"severity":"INFO"}"#, .info),
        (#"{"lvl":50}"#, .error), (#"{"level":10}"#, .trace), (#"{"level":20}"#, .debug),
        (#"{"level":30}"#, .info), (#"{"level":40}"#, .warning), (#"{"level":60}"#, .critical),
        (#"{"level":3}"#, .error), (#"{"level":-1,"lvl":"err"}"#, .error),
        (#"{"level":"x","lvl":"err"}"#, .error),
        (#"{"log.level":"note"}"#, .notice), (#"{"levelname":"CRITICAL"}"#, .critical),
        (#" { "x" : "\"level\":1", "level" : "debug" , broken"#, .debug),
        (#"["level","error"]"#, .trace),
        (#"{"level":61,"severity":1000000}"#, .trace),
        (#"{"level":null,"severity":["error"]}"#, .trace), (#"{"level":1.5}"#, .trace),
        (#"{"level":""#, .trace),
        (#"{"level":"\u0077arn"}"#, .warning), ("level=error", .trace), ("{", .trace), ("", .trace),
        (#"{"a":[{}],"b":"]}","level":"error""#, .error),
      ]),
    LevelCase(
      option: "logfmt",
      lines: [
        ("level=error", .error), (#"ts=1 msg="level=error" level="warn" x"#, .warning),
        ("a lvl=dbg", .debug),
        (#"msg="a \" level=error" severity=info"#, .info), ("level= level=info", .info),
        ("mylevel=error", .trace),
        ("level", .trace), ("level=", .trace), ("=", .trace), (#"level="error"#, .error),
        ("a==b level=fatal", .critical),
        ("level=x lvl=err", .error), ("", .trace), ("level=emergencyemergency", .trace),
        (String(repeating: ".", count: 4084) + " level=error", .error),
        (String(repeating: ".", count: 4084) + " level=error x", .error),
        (String(repeating: ".", count: 4084) + " level=errors", .trace),
      ]),
    LevelCase(
      option: #"regex:^\S+ (?:x )?\|(\w+)"#,
      lines: [
        ("a |WARN", .warning), ("a x |err rest", .error), ("|err", .trace), ("a |what", .trace),
        ("", .trace),
      ]),
  ]
}

/// Records, each with its lines.
struct JoinCase: Sendable, CustomStringConvertible {
  let option: String
  let records: [String]
  var description: String { option }

  static let all = [
    JoinCase(option: "indent", records: ["a\n b\n\tc", "d", "", "e\n  \n f", "{\n  1", "}"]),
    JoinCase(option: "indent", records: [" begins with a space\n and goes on", "x"]),
    JoinCase(
      option: "traceback",
      records: [
        "INFO before", pythonTraceback, "INFO between", javaTraceback, "", "INFO after", goPanic,
      ]),
    JoinCase(option: "traceback", records: [pythonTraceback, pythonTraceback, goPanic]),
    JoinCase(
      option: "traceback",
      records: ["2025/11/21 09:00:00 ok", goHandlerPanic, "2025/11/21 09:00:01 ok"]),
    JoinCase(
      option: "traceback",
      records: ["fatal error: stdio.h: No such file", "ERROR: request 7 failed (timeout)"]),
    JoinCase(
      option: #"regex:^\d{4}-"#, records: ["2025-01 a\nb\n\nc", "2025-02 d", "2025-03 e\n2025"]),
    JoinCase(
      option: "regex:^begin", records: ["not the beginning\nof anything", "begin\n 1", "begin"]),
  ]

  private static let pythonTraceback = """
    Traceback (most recent call last):
      File "a.py", line 1, in <module>
        {}["a"]
    KeyError: 'a'

    During handling of the above exception, another exception occurred:

    Traceback (most recent call last):
      File "a.py", line 3, in <module>
    ValueError: b
    """
  private static let javaTraceback = """
    Exception in thread "main" java.lang.RuntimeException: a
    \tat Main.run(Main.java:3)
    Caused by: java.io.IOException: b
    \tat Main.read(Main.java:7)
    \t... 1 more
    """
  private static let goHandlerPanic = """
    2025/11/21 09:00:00 http: panic serving 127.0.0.1:40512: no such order
    goroutine 18 [running]:
    net/http.(*conn).serve.func1()
    \t/usr/lib/go/src/net/http/server.go:1801 +0xb9
    created by net/http.(*Server).Serve
    \t/usr/lib/go/src/net/http/server.go:3089 +0x4ed
    """
  private static let goPanic = """
    panic: runtime error: index out of range [3] with length 3

    goroutine 1 [running]:
    main.read(...)
    \t/src/main.go:7 +0x1b
    main.main()
    \t/src/main.go:3
    exit status 2
    """
}
