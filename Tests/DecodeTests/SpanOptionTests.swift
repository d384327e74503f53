import Foundation
import MMLogFormat
import TestSupport
import Testing

@Suite struct SpanOptionTests {
  /// A process that died in the middle of a query, which is a part of an order that was done.
  private func log() -> TestLog {
    let log = TestLog()
    let end: UInt64 = 1 << 63
    let spans: [(String, [UInt64], UInt32)] = [
      ("order 7", [0x10, 0], 1), ("query\u{1b}", [0x20, 0x10], 2),
      ("done", [0x10 | end, 1000, 0], 1),
    ]
    for (index, (text, words, thread)) in spans.enumerated() {
      log.write(
        TestRecord(
          ticks: UInt64(index + 1) * 1000, site: log.textSite, flags: .span,
          words: ValueWords.argument(.text(text)) + words), thread: thread)
    }
    log.write("other", ticks: 5000)
    log.save()
    return log
  }

  private let line =
    #"query\u{1b} (thread worker2, since 2025-11-21T09:00:00.000002000Z, "#
    + "span 0000000000000020, part of 0000000000000010)"

  @Test("what was in flight at the last crash is reported")
  func whatWasInFlightAtTheLastCrashIsReported() throws {
    let log = log()
    let run = try decode(["crash", "-n", "1", "--utc", log.folder.path])
    #expect(run.output.contains("\nIn flight when it died:\n  \(line)\n"), "\(run.output)")
    #expect(!run.output.contains("order 7"))
  }

  @Test("what was in flight is listed with its session")
  func whatWasInFlightIsListedWithItsSession() throws {
    let log = log()
    let lines = try decode(["sessions", "--utc", log.folder.path]).output.split(separator: "\n")
    #expect(lines.count == 2 && lines.last == "  in flight when it died: \(line)")
    log.close()
    log.save()
    #expect(try decode(["sessions", log.folder.path]).output.split(separator: "\n").count == 1)
  }

  @Test("spans are found") func spansAreFound() throws {
    let log = log()
    #expect(
      try decode(["--spans-only", "--format", "message", log.folder.path]).output
        == "order 7\nquery\u{1b}\ndone\n")
    let condition = #"@span == "0000000000000010""#
    #expect(
      try decode(["-w", condition, "--format", "message", log.folder.path]).output
        == "order 7\ndone\n")
  }
}
