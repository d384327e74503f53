import Foundation
import MMLogFormat
import TestSupport
import Testing

@Suite struct ManyFilesTests {
  private static let files = 200
  private static let records: UInt64 = 980

  /// Many processes that logged at the same time, each with one frame as large as writers make
  /// them: 200 MiB in all.
  @Test(
    "memory for files of one time is bounded",
    .disabled(if: isSanitized, "Sanitizers take memory of their own for each byte."))
  func memoryForFilesOfOneTimeIsBounded() throws {
    let folder = TemporaryDirectory()
    try write(to: folder)
    let check = folder.put("check.py", Array(checkOrder.utf8))
    let run = try shell(
      "python3 '\(check)' '\(tool)' '\(folder("logs"))' \(Self.files) \(Self.records)",
      folder: folder)
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    let peak = try #require(Int(run.output.dropLast()))
    #expect(peak < 64 << 10, "KiB")
  }

  private func write(to folder: TemporaryDirectory) throws {
    try FileManager.default.createDirectory(
      atPath: folder("logs"), withIntermediateDirectories: true)
    var frame: [UInt8] = []
    for session in 1...Self.files {
      let log = TestLog(session: UInt64(session))
      log.writesRing = false
      log.write("begin", ticks: 0)
      log.archive()
      if frame.isEmpty {
        frame = largeFrame(of: log)
      } else {
        log.archives[0] += Self.frame(frame, of: log.identity.session)
      }
      folder.put("logs/\(session).mmlog", log.archives[0])
    }
  }

  /// The same frame, as if another session had written it.
  private static func frame(_ frame: [UInt8], of session: SessionID) -> [UInt8] {
    guard var header = frame.withUnsafeBytes({ FrameHeader($0.slice(0, FrameLayout.size)) }) else {
      return []
    }
    header.archive = ArchiveID(session: session, number: 1)
    var bytes: [UInt8] = []
    header.encode(into: &bytes)
    return bytes + frame.dropFirst(bytes.count)
  }

  private func largeFrame(of log: TestLog) -> [UInt8] {
    var summary = RecordSummary()
    // One thread, without a name.
    var words: [UInt64] = [1, 1, 0, 0]
    for ticks in 1...Self.records {
      let text = "\(ticks) \(String(repeating: "x", count: 1040))"
      let record = TestRecord(
        ticks: ticks, site: log.textSite, words: ValueWords.argument(.text(text)))
      var row = record.encoded(seed: 0)
      // The thread's ordinal replaces the checksum.
      row[0] = row[0] & 0xFFFF_FFFF | 1 << 32
      words += row
      summary.add(ticks: ticks, level: record.level)
    }
    (summary.firstWall, summary.lastWall) = (TestLog.epoch + 1, TestLog.epoch + Int64(Self.records))
    let payload = words.withUnsafeBytes { Array($0) }
    let size = RowBuilder.targetSize
    precondition((size..<size + size / 64).contains(payload.count))
    return Array(log.archives[0][log.addFrame(.records, payload, summary)])
  }
}

/// Checks that all sessions take turns at each time. Prints the maximum memory in KiB.
private let checkOrder = """
  import resource, subprocess, sys
  tool, logs, files, records = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
  process = subprocess.Popen([tool, "--template", "{session} {message}", logs],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
  for number in range(records + 1):
      lines = [process.stdout.readline().split() for _ in range(files)]
      assert len({line[0] for line in lines}) == files, number
      assert {line[1].decode() for line in lines} == {str(number) if number else "begin"}, number
  assert process.stdout.read() == b"" and process.wait() == 0
  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
  """
