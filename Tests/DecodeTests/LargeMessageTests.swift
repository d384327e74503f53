import MMLogFormat
import TestSupport
import Testing

/// Records of a few bytes whose messages have megabytes.
@Suite(.disabled(if: isSanitized, "Sanitizers take memory of their own for each byte."))
struct LargeMessageTests {
  private static let folder = folder(of: .closed)
  private static let killed = folder(of: .killed)

  /// 64 records without a value. Each has 1024 wide arguments, and so a message of 2 MiB.
  private static func folder(of ending: SessionEnd.How) -> TemporaryDirectory {
    let log = TestLog()
    log.writesRing = false
    log.write("small", ticks: 1)
    log.archive()
    let wide = CallSite.Part.argument(type: .redacted, alignment: 1 | 2048 << 8)
    let site = CallSite(
      file: "", function: "", line: 0, column: 0,
      parts: [CallSite.Part](repeating: wide, count: CallSite.maximumParts))
    let words = DictionaryEntry.callSite(id: 100, site).encoded(seed: log.seed(0))
    log.addFrame(.dictionary, words.withUnsafeBytes { Array($0) })
    for ticks in 2..<66 as Range<UInt64> { log.write(TestRecord(ticks: ticks, site: 100)) }
    log.archive()
    log.close(ending)
    log.save()
    return log.folder
  }

  /// All messages together have 128 MiB.
  @Test(
    "few of many large messages are in memory at once",
    arguments: [
      "--format text", "--json", "--format logfmt", "--format csv", "--format otlp",
      "--format chrome", "--format message", "--template {message}", "--jobs 3",
    ])
  func memory(options: String) throws {
    let run = try shell(
      "ulimit -d 110000; '\(tool)' \(options) '\(Self.folder.path)' | wc -c",
      folder: TemporaryDirectory())
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    #expect(Int(run.output.filter(\.isNumber)) ?? 0 > 64 << 21, "\(run.output)")
  }

  @Test(
    "of what a session died of, few of many large messages are in memory at once",
    arguments: ["", "--json"])
  func crash(options: String) throws {
    let run = try shell(
      "ulimit -d 110000; '\(tool)' crash -n 64 \(options) '\(Self.killed.path)' | wc -c",
      folder: TemporaryDirectory())
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    #expect(Int(run.output.filter(\.isNumber)) ?? 0 > 64 << 21, "\(run.output)")
  }

  @Test("of what a session died of, few of many large frames are in memory at once")
  func largeFrames() throws {
    let log = TestLog()
    log.writesRing = false
    log.write("first", ticks: 1)
    log.archive()
    // The last record of each frame is of a thread of its own. The other records are of one thread.
    for ticks in 2..<18 as Range<UInt64> {
      let small = TestRecord(
        ticks: ticks, site: log.textSite, words: ValueWords.argument(.text("\(ticks)")))
      var rows = small.encoded(seed: 0)
      rows[0] &= 0xFFFF_FFFF
      rows += rows
      rows[rows.count / 2] |= (100 + ticks) << 32
      log.addLong(20 << 20, site: log.textSite, ticks: ticks, behind: rows)
    }
    log.write("last", ticks: 20)
    log.archive()
    log.close(.killed)
    log.save()
    let run = try shell(
      "ulimit -d 300000; '\(tool)' crash -n 1 '\(log.folder.path)'", folder: TemporaryDirectory())
    #expect(run.output.contains("   last (App"), "\(run.output)")
    #expect(run.errors.contains("left out: they are too large"), "\(run.errors)")
  }

  @Test("of the records before a found one, few of many large frames are in memory at once")
  func largeFramesAroundRecords() throws {
    let log = TestLog()
    log.writesRing = false
    let large = log.textSite
    let site = log.site(.argument(type: .string), file: "App/Other.swift")
    func record(_ text: String, _ ticks: UInt64) -> TestRecord {
      TestRecord(ticks: ticks, site: site, words: ValueWords.argument(.text(text)))
    }
    log.write(record("first", 1))
    log.archive()
    // Of each, only the last record passes.
    for ticks in 2..<302 as Range<UInt64> {
      var row = record("\(ticks)", ticks).encoded(seed: 0)
      row[0] &= 0xFFFF_FFFF
      log.addLong(1 << 20, site: large, ticks: ticks, behind: row)
    }
    log.write(record("found", 1000))
    log.archive()
    log.close()
    log.save()
    let run = try shell(
      """
      ulimit -d 200000
      '\(tool)' --site Other.swift:7 -g found -C 200 --format message '\(log.folder.path)'
      """, folder: TemporaryDirectory())
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    let messages = run.output.split(separator: "\n")
    #expect(messages == (102..<302).map { "\($0)" } + ["found"], "\(messages)")
  }

  @Test("of the records before a found one, those that are too large together are counted")
  func largeRecordsAroundRecords() throws {
    let log = TestLog()
    log.writesRing = false
    log.write("first", ticks: 1)
    log.archive()
    for ticks in 2..<152 as Range<UInt64> { log.addLong(2 << 20, site: log.textSite, ticks: ticks) }
    log.write("found", ticks: 1000)
    log.archive()
    log.close()
    log.save()
    let run = try shell(
      """
      ulimit -d 250000
      '\(tool)' --utc --fields time,level -g found -B 150 '\(log.folder.path)'
      """, folder: TemporaryDirectory())
    #expect(run.status == 1, "\(run.errors)")
    let times = run.output.split(separator: "\n").map { String($0.split(separator: "\t")[0]) }
    try #require(times.last == "2025-11-21T09:00:00.000001000Z" && times.count > 10, "\(times)")
    let before = (152 - (times.count - 1)..<152).map { "2025-11-21T09:00:00.000000\($0)Z" }
    #expect(Array(times.dropLast()) == before, "\(times)")
    #expect(
      run.errors == "mmlog-decode: \(151 - times.count) of the records before the one of "
        + "2025-11-21T09:00:00.000001000Z are left out: they are too large\n")
  }

  /// 2.7 million records of 24 bytes, of one time and 30 threads.
  private static let small: TemporaryDirectory = {
    let log = TestLog()
    log.writesRing = false
    let site = log.site(.literal("small"))
    log.addFrame(.dictionary, log.dictionaryPayload)
    var (payload, summary) = ([UInt64(0)], RecordSummary())
    for number in 0..<300_000 as Range<UInt64> {
      payload += [RecordLayout.recordKind | 3 | (100 + number % 30) << 32, 1, UInt64(site)]
    }
    summary.add(ticks: 1, level: .trace)
    summary.count = 300_000
    (summary.firstWall, summary.lastWall) = (TestLog.epoch + 1, TestLog.epoch + 1)
    let bytes = payload.withUnsafeBytes { Array($0) }
    for _ in 0..<9 { log.addFrame(.records, bytes, summary) }
    log.close(.killed)
    log.save()
    return log.folder
  }()

  @Test(
    "few of many small records are in memory at once",
    arguments: [
      ("--reverse -m 3 --format message", 200_000), ("crash -n 100000", 300_000),
    ])
  func smallRecords(options: String, kilobytes: Int) throws {
    let run = try shell(
      "ulimit -d \(kilobytes); '\(tool)' \(options) '\(Self.small.path)' | tail -n 3",
      folder: TemporaryDirectory())
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 3 && lines.allSatisfy { $0.contains("small") }, "\(run)")
  }

  @Test("what is collected has the beginning of a text of large messages")
  func collected() throws {
    let folder = TemporaryDirectory()
    let control = ChildProcess.path(of: "mmlogctl")
    let run = try shell(
      """
      ulimit -d 110000; '\(control)' collect -o '\(folder("all.tar"))' '\(Self.killed.path)'
      ulimit -d unlimited; tar -xOf '\(folder("all.tar"))' --wildcards '*/crashes/*' | tail -n 1
      """, folder: folder)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasSuffix("The rest is left out: all of it is too long\n"))
  }

  @Test("what a batch of several threads has no room for stands in its place")
  func order() throws {
    let run = try shell(
      """
      one=$('\(tool)' '\(Self.folder.path)' | cksum)
      three=$('\(tool)' --jobs 3 '\(Self.folder.path)' | cksum)
      [[ $one == "$three" ]]
      """, folder: TemporaryDirectory())
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
  }
}
