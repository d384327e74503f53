import MMLogFormat
import TestSupport
import Testing

/// Records of a few bytes, whose messages have megabytes.
@Suite(.disabled(if: isSanitized, "Sanitizers take memory of their own for each byte."))
struct LargeMessageTests {
  /// 64 records without a value. Each has 1024 arguments that are wide, and so a message of 2 MiB.
  private static let folder: TemporaryDirectory = {
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
    log.close()
    log.save()
    return log.folder
  }()

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
