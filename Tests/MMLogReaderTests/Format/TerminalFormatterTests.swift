import MMLogFormat
import MMLogReader
import TestSupport
import Testing

/// What people see at a terminal.
@Suite struct TerminalFormatterTests {
  private let log = TestLog()

  private func write(
    _ text: String, _ second: UInt64, _ level: Level = .info, label: String = "",
    fields: [(String, Value)] = []
  ) {
    log.write(
      TestRecord(
        ticks: second * 1_000_000_000, site: log.textSite,
        label: label.isEmpty ? 0 : log.label(label), level: level,
        flags: fields.isEmpty ? [] : .metadata,
        words: ValueWords.argument(.text(text))
          + (fields.isEmpty ? [] : ValueWords.metadata(fields))))
  }

  private func lines(
    columns: Int = 60, colors: Bool = false, _ patterns: [TextPattern] = []
  ) -> [String] {
    log.format(
      TerminalFormatter(zone: .utc, colors: colors, columns: columns, highlighting: patterns)
    ).split(separator: "\n").map(String.init)
  }

  @Test("the message comes first, labels are aligned, and each day has a line of its own")
  func days() {
    write("one", 0, label: "orders.book")
    write("two", 1, .critical, fields: [("venue", .text("XETR"))])
    write("three", 15 * 3600, .warning, label: "a label longer than all others")
    #expect(
      lines() == [
        "── Friday 2025-11-21 ──", "09:00:00.000 INFO  orders.book  one",
        "09:00:01.000 CRIT               two venue=XETR", "── Saturday 2025-11-22 ──",
        "00:00:00.000 WARN  a label longer than all others  three",
      ])
  }

  @Test("the space behind a line that is full begins no other line") func fullLine() {
    write(String(repeating: "x", count: 31) + "  " + String(repeating: "y", count: 31) + " ", 0)
    #expect(
      lines(columns: 50).dropFirst() == [
        "09:00:00.000 INFO  " + String(repeating: "x", count: 31),
        String(repeating: " ", count: 19) + String(repeating: "y", count: 31),
      ])
  }

  @Test("no line is wider than the terminal, whatever the characters")
  func width() {
    write("words that are put on another line, and averylongwordthatisonelinebyitselfforsure", 0)
    write("日本語日本語日本語日本語日本語", 1)
    #expect(
      lines(columns: 50) == [
        "── Friday 2025-11-21 ──", "09:00:00.000 INFO  words that are put on another ",
        "                   line, and ",
        "                   averylongwordthatisonelinebyits",
        "                   elfforsure",
        "09:00:01.000 INFO  日本語日本語日本語日本語日本語",
      ])
    // If little room is left, the wrapped lines begin further left. If there is no room, lines are
    // not wrapped.
    #expect(lines(columns: 45).last == "    日本語日本語日本語日本語日本語")
    #expect(lines(columns: 20).count == 3)
  }

  @Test("what was searched for is shown") func whatWasSearchedForIsShown() throws {
    write("took 125 ms", 0, fields: [("wait", .text("9 ms"))])
    let line = try #require(lines(colors: true, [try TextPattern(#"\d+ ms"#)]).last)
    let (on, off) = ("\u{1b}[1;31m", "\u{1b}[0m")
    #expect(line.contains("took \(on)125 ms\(off)") && line.contains("\(on)9 ms\(off)"), "\(line)")
    let other = try #require(
      lines(colors: true, [TextPattern(literal: "TOOK", ignoresCase: true)]).last)
    #expect(other.contains("\(on)took\(off) 125"))
    #expect(!lines(colors: false, [TextPattern(literal: "took")]).joined().contains("\u{1b}"))
  }

  @Test("what was searched for is not found in colors") func colorsAreNoText() throws {
    write("took 2 ms", 0, fields: [("wait", .text("9"))])
    let (on, off, faint) = ("\u{1b}[1;31m", "\u{1b}[0m", "\u{1b}[2m")
    for (pattern, expected) in [
      ("2", "took \(on)2\(off) ms \(faint)wait=\(off)9"),
      ("[0m]", "took 2 \(on)m\(off)s \(faint)wait=\(off)9"),
      ("wait=9", "took 2 ms \(faint)\(on)wait=\(off)\(off)\(on)9\(off)"),
    ] {
      let line = try #require(lines(colors: true, [try TextPattern(pattern)]).last)
      #expect(line.hasSuffix(expected), "\(line)")
    }
  }

  @Test(
    "a pattern is found where it stands",
    arguments: [
      ("a+", "xaaay a", ["aaa", "a"]), ("b|aa", "aab", ["aa", "b"]), ("^a", "aba", ["a"]),
      ("x*", "abc", []), (#"(a)\1"#, "aaab", ["aa"]), ("e.e", "eee e e", ["eee", "e e"]),
      ("", "ab", []),
    ])
  func places(pattern: String, text: String, expected: [String]) throws {
    let pattern = try TextPattern(pattern)
    let found = Array(text.utf8).withUnsafeBytes { bytes in
      pattern.ranges(in: bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
    #expect(found == expected)
  }

  @Test("fields are printed in the order in which they are asked for")
  func fields() {
    write("a \"b\"\t", 1, .error, fields: [("venue", .text("X,Y"))])
    let names = ["unix", "level", "body", "venue", "none", "trace"]
    func text(_ kind: FieldsFormatter.Kind) -> String {
      log.format(FieldsFormatter(names, kind, zone: .utc))
    }
    let time = TestLog.epoch.nanosecondsSince1970 + 1_000_000_000
    #expect(text(.text) == "\(time)\terror\ta \"b\"\\t\tX,Y\t\t\n")
    #expect(
      text(.json)
        == #"{"unix":\#(time),"level":"error","body":"a \"b\"\t","venue":"X,Y","none":null,"trace":null}"#
        + "\n")
    #expect(
      text(.logfmt)
        == #"unix=\#(time) level=error body="a \"b\"\t" venue=X,Y none="" trace="""# + "\n")
    #expect(
      text(.csv) == """
        "unix","level","body","venue","none","trace"\r
        "\(time)","error","a ""b""\\t","X,Y","",""\r

        """)
    #expect(
      log.format(FieldsFormatter(["fields", "message"], .json))
        == #"{"fields":" venue=X,Y","message":"a \"b\"\t"}"# + "\n")
  }

  @Test("a thread without a name has none, and its id in place of it where that is asked for")
  func unnamedThread() {
    log.namesThreads = false
    log.write("m", ticks: 1, thread: 3)
    #expect(
      log.format(FieldsFormatter(["thread_name", "thread"], .json))
        == #"{"thread_name":null,"thread":"1003"}"# + "\n")
  }

  @Test("what is so or not is true or null in JSON, and keys of logfmt are clean")
  func flagsAndKeys() {
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .cut, words: ValueWords.argument(.text("m"))))
    let names = ["flight", "cut", "my key=1"]
    #expect(
      log.format(FieldsFormatter(names, .json))
        == #"{"flight":null,"cut":true,"my key=1":null}"# + "\n")
    #expect(
      log.format(FieldsFormatter(names, .logfmt)) == #"flight="" cut=cut my_key_1="""# + "\n")
  }
}
