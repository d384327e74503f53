import Foundation
import MMLog
import MMLogFormat
import TestSupport
import Testing

@Suite struct FilterTests {
  /// Six records, one second apart, with an argument `n`, in two threads.
  private let log: TestLog

  init() {
    log = TestLog()
    log.writesRing = false
    let site = log.site(.literal("record "), .argument(type: .int, name: "n"))
    let label = log.label("app.main")
    for index in 0..<6 as Range<Int64> {
      log.write(
        TestRecord(
          ticks: UInt64(index) * 1_000_000_000, site: site, label: index < 3 ? label : 0,
          words: ValueWords.argument(.int(index))), thread: UInt32(1 + index / 4))
      if index % 2 == 1 { log.archive() }
    }
    log.close()
    log.save()
  }

  private func numbers(_ arguments: [String]) throws -> String {
    let run = try decode(["-q", "--format", "message"] + arguments + [log.folder.path])
    #expect(run.errors.isEmpty && run.status == 0, "\(arguments): \(run.errors)")
    return run.output.split(separator: "\n").map { String($0.dropFirst(7)) }.joined(separator: " ")
  }

  @Test(
    "an option selects",
    arguments: [
      ("--label app.*", "0 1 2"), ("-L nothing --label app.main", "0 1 2"),
      ("--thread 1002", "4 5"),
      ("--thread worker1", "0 1 2 3"), ("--process orders", "0 1 2 3 4 5"), ("--process 7", ""),
      ("--session 01", "0 1 2 3 4 5"), ("--session 01000000-0000", "0 1 2 3 4 5"),
      ("--session 1", ""),
      ("--site Main.swift:7", "0 1 2 3 4 5"), ("--site Main.swift:8-9", ""),
      ("--grep d.[135]", "1 3 5"),
      ("--fixed-strings -g d.[135]", ""),
      ("-g RECORD.2", ""), ("-i -g RECORD.2", "2"), ("-v -g [0-4]", "5"),
      ("-g 2 -g 4", "2 4"), ("--where n>3", "4 5"), ("-w n>1 -w n<4", "2 3"), ("--since today", ""),
      ("--until boot", "0 1 2 3 4 5"), ("-g 2 -C 1", "1 2 3"),
      ("-w n==0||n==4 --context 1", "0 1 3 4 5"),
      ("-g 3 --context 0", "3"), ("-g 1 -g 2 -C 9", "0 1 2 3 4 5"), ("-m 2", "0 1"),
      ("--max-count 0", ""),
      ("-n 2", "4 5"), ("--tail 99", "0 1 2 3 4 5"), ("--tail 0", ""), ("--tail 2 -w n<3", "1 2"),
      ("-m 1 -g [345]", "3"), ("--tail 1 -g [012]", "2"), ("-g [24] -C 1 -m 1", "1 2 3"),
      ("-g 2 -A 2", "2 3 4"), ("-g 2 -B 2", "0 1 2"),
      ("-g 2 -C 2 -B 0", "2 3 4"), ("-r", "5 4 3 2 1 0"), ("-r -n 2", "5 4"),
      ("-r -m 2 -w n<4", "3 2"),
      ("-p err", ""), ("-l Warn", ""), ("--level=INFORMATION -n 1", "5"),
    ])
  func anOptionSelects(line: String, expected: String) throws {
    #expect(try numbers(line.split(separator: " ").map(String.init)) == expected)
  }

  @Test(
    "a contradiction ends with status 2",
    arguments: [
      ("--session xyz", "'xyz' is not a session"), ("--site a:b", "FILE:LINE"),
      ("--grep (", "'(' is not understood at character 1"),
      ("-w @lable==x", "did you mean '@label'?"), ("-w @level>eror", "did you mean 'error'?"),
      ("--where n=", "equality is =="),
      ("--ignore-case", "give --grep too"), ("-v", "give --grep too"),
      ("--fixed-strings", "give --grep too"),

      ("--context 1", "give --grep or --where too"), ("-g a -C -1", "0 to 100000"),
      ("--max-count x", "'x' is not a value of '--max-count'"),
      ("-g a -C 1 --tail 2", "go with neither --tail nor --reverse"), ("--tail -1", "--tail"),
      ("--max-count", "is not a value of '--max-count'; it takes a number"),
      ("-A 1", "--after-context needs something to be around"),
    ])
  func aContradictionEndsWithStatus2(line: String, expected: String) throws {
    let run = try decode(line.split(separator: " ").map(String.init) + [log.folder.path])
    #expect(run.status == 2 && run.output.isEmpty)
    #expect(run.errors.contains(expected), "\(run.errors)")
    #expect(run.errors.split(separator: "\n").count == 2)
  }

  @Test(
    "where nothing matches, a line says what there is",
    arguments: [
      ("-g nowhere", ""), ("--since today", ""), ("-c -g nowhere", ""),
      ("--label app.mian", "; labels are app.main; did you mean 'app.main'?"),
      ("--label other", "; labels are app.main"),
      ("-w m>3", "; no record has m; fields are n"),
      ("-w level=='info'", "; no record has level; the record's own is @level"),
      ("-l fatal", "; none is above info"), ("stats -g nowhere", ""),
      ("--thread wroker1", "; threads are worker1, worker2; did you mean 'worker1'?"),
      ("--site Mian.swift:7", "; log statements are Main.swift:7; did you mean 'Main.swift:7'?"),
      ("--process ordres", "; processes are orders; did you mean 'orders'?"),
      ("--process 43", "; process ids are 42; did you mean '42'?"),
      ("--session ff", "; sessions are SESSION"),
      ("spans", "; there are no spans"),
      (
        "top n.z",
        "; no record has n.z as a field of its own (--where alone looks into fields); fields are n"
      ),
    ])
  func whereNothingMatchesALineSaysWhatThereIs(line: String, end: String) throws {
    let arguments = line.split(separator: " ").map(String.init)
    let run = try decode(arguments + ["--utc", log.folder.path])
    let end = end.replacingOccurrences(of: "SESSION", with: "\(log.identity.session)".prefix(8))
    #expect(run.status == 0)
    #expect(
      run.errors == "mmlog-decode: nothing matched; there are 6 records from "
        + "2025-11-21T09:00:00.000000000Z to 2025-11-21T09:00:05.000000000Z\(end)\n")
    #expect(try decode(arguments + ["--quiet", log.folder.path]).errors.isEmpty)
  }

  @Test("that no record has something is said only if all were inspected")
  func manyRecords() throws {
    let log = TestLog()
    log.writesRing = false
    let site = log.site(.literal("early"))
    let late = log.site(.literal("late "), .argument(type: .int, name: "k"))
    log.addFrame(.dictionary, log.dictionaryPayload)
    // A frame without threads, with as many records as the decoder inspects.
    let row = [RecordLayout.recordKind | 3, 1, UInt64(site)]
    let rows = repeatElement(row.withUnsafeBytes { Array($0) }, count: 300_000)
    var summary = RecordSummary()
    summary.add(ticks: 1, level: .trace)
    summary.count = 300_000
    log.addFrame(.records, [UInt8](repeating: 0, count: 8) + Array(rows.joined()), summary)
    log.save()
    let all = try decode(["--where", "k == 2", log.folder.path])
    #expect(all.errors.hasSuffix("; no record has k; there are no fields\n"))
    log.write(
      TestRecord(ticks: 2, site: late, level: .error, words: ValueWords.argument(.int(1))))
    log.archive()
    log.save()
    let own = try decode(["--where", "level == 'x'", log.folder.path])
    #expect(own.errors.contains("nothing matched; there are 300001 records "))
    #expect(own.errors.hasSuffix("; the record's own is @level\n"))
    #expect(!own.errors.contains("no record has"))
    let fields = try decode(["--level", "critical", "--where", "k == 2", log.folder.path])
    #expect(fields.errors.hasSuffix("; there are no fields (of the first records)\n"))
    #expect(!fields.errors.contains("none is above"))
  }

  @Test("of very many names, the first ones are listed, and nothing is said about the others")
  func manyNames() throws {
    let folder = TemporaryDirectory()
    let store = try LogStore(directory: folder.path, name: "names")
    var fields = Logger.Metadata()
    let rest = String(repeating: "x", count: 200)
    for number in 0..<8000 { fields.append(.int(1), for: "\(number) \(rest)") }
    store.logger(label: "l").info("many", metadata: fields)
    try store.close()
    let run = try decode(["--where", "nosuch == 1", folder.path])
    #expect(run.status == 0 && run.errors.contains("; fields are 0 x"), "\(run.errors)")
    #expect(run.errors.hasSuffix(" more (of the first records)\n"), "\(run.errors)")
    #expect(!run.errors.contains("no record has"), "\(run.errors)")
  }

  @Test("records that are large together are printed in order with --reverse if a clock went back")
  func largeWithClockSetBack() throws {
    let log = TestLog()
    log.writesRing = false
    log.write("small", ticks: 1)
    log.archive()
    // One slice of time has all of them: the first one is the newest.
    for ticks in [9, 2, 3, 4, 5] as [UInt64] {
      log.addLong(30 << 20, site: log.textSite, ticks: ticks)
    }
    log.save()
    let run = try decode(["--reverse", "--utc", "--fields", "time", log.folder.path])
    let times = run.output.split(separator: "\n").map { String($0.suffix(2)) }
    #expect(times == ["9Z", "5Z", "4Z", "3Z", "2Z", "1Z"])
  }

  @Test("records of one time that are large together are all printed with --reverse")
  func manyLargeOfOneTime() throws {
    let log = TestLog()
    log.writesRing = false
    log.write("small", ticks: 1)
    log.archive()
    for _ in 0..<3 { log.addLong(30 << 20, site: log.textSite) }
    log.write("late", ticks: 3)
    log.archive()
    log.save()
    func times(_ options: [String]) throws -> [String] {
      let arguments = ["--reverse", "--utc", "--fields", "time"] + options
      let run = try decode(arguments + [log.folder.path])
      return run.output.split(separator: "\n").map { String($0.suffix(2)) }
    }
    #expect(try times([]) == ["3Z", "2Z", "2Z", "2Z", "1Z"])
    #expect(try times(["--tail", "3"]) == ["3Z", "2Z", "2Z"])
  }

  @Test("what there is most of is grouped and measured") func whatThereIsMostOf() throws {
    func lines(_ arguments: String...) throws -> [String] {
      let run = try decode(["top"] + arguments + [log.folder.path])
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
      return run.output.split(separator: "\n").map(String.init)
    }
    #expect(
      try lines() == ["     COUNT      %     /S", "         6    100    1.2  record {n}"])
    #expect(
      try lines("n", "--by", "label", "--sort", "max") == [
        "     COUNT      %     /S       P50       P90       P99       MAX",
        "         3     50    0.6         4         5         5         5  (none)",
        "         3     50    0.6         1         2         2         2  app.main",
      ])
    #expect(try lines("--by", "n", "-n", "1").last == "and 5 more groups")
    #expect(try lines("--by", "site").last?.hasSuffix("App/Main.swift:7  record {n}") == true)
    #expect(
      try lines("n", "--json", "--where", "n > 2") == [
        #"{"name":"record {n}","count":3,"per_second":1.5,"minimum":3.0,"p50":4.0,"p90":5.0,"#
          + #""p99":5.0,"maximum":5.0,"sum":12.0}"#
      ])
    let part = try decode(["top", "--by", "n", "--json", "-n", "1", log.folder.path])
    #expect(part.errors == "mmlog-decode: not in the output: 5 more groups\n", "\(part)")
    let none = try decode(["top", "m", log.folder.path])
    #expect(none.errors.contains("no record has m; fields are n"), "\(none.errors)")
    let wrong = try decode(["top", "--sort", "p99", log.folder.path])
    #expect(wrong.status == 2 && wrong.errors.contains("name it"))
  }
}
