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
