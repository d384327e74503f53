import Foundation
import MMLogFormat
import TestSupport
import Testing

/// Outputs that accept nothing, or nothing more. The decoder reports an error, and leaves nothing
/// that looks complete.
@Suite struct BrokenOutputTests {

  /// A log of some hundred kilobytes of text.
  private func log() -> TestLog {
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 8192, segmentSize: 1 << 19, segmentCount: 2))
    log.writesRing = false
    for ticks in 0..<3000 as Range<UInt64> {
      log.write("record \(ticks) \(String(repeating: "x", count: 100))", ticks: ticks)
    }
    log.archive()
    log.close()
    log.save()
    return log
  }

  @Test("a full device is an error") func aFullDeviceIsAnError() throws {
    let log = log()
    let run = try decode(["-o", "/dev/full", log.folder.path])
    #expect(run.status == 1 && run.errors.contains("ENOSPC"), "\(run.errors)")
    let line = "'\(tool)' '\(log.folder.path)' > /dev/full; echo $? >&2"
    let other = try shell(line, folder: TemporaryDirectory())
    #expect(other.errors.contains("ENOSPC") && other.errors.hasSuffix("1\n"), "\(other.errors)")
  }

  @Test("a closed standard output is an error") func aClosedStandardOutputIsAnError() throws {
    let log = log()
    let line = "'\(tool)' '\(log.folder.path)' >&-; echo $? >&2"
    let run = try shell(line, folder: TemporaryDirectory())
    #expect(run.errors.hasSuffix("1\n") && run.errors.contains("standard output"), "\(run.errors)")
  }

  @Test("a reader that goes away is none") func aReaderThatGoesAwayIsNone() throws {
    let log = log()
    let line = "'\(tool)' '\(log.folder.path)' | head -n 1 > /dev/null; echo ${PIPESTATUS[0]}"
    #expect(
      try shell(line, folder: TemporaryDirectory()) == Run(output: "0\n", errors: "", status: 0))
  }

  @Test(
    "a full disk leaves what was there and nothing else",
    .enabled(if: mountsCanBeMade, "no file system can be mounted"))
  func aFullDiskLeavesWhatWasThereAndNothingElse() throws {
    let log = log()
    let folder = TemporaryDirectory()
    let disk = folder("disk")
    let run = try shell(
      """
      mkdir '\(disk)' && mount -t tmpfs -o size=64k none '\(disk)' || exit
      echo old > '\(disk)/out'
      for options in '-o \(disk)/out' '--split-by session -o \(disk)' 'report -o \(disk)/out'; do
        '\(tool)' $options '\(log.folder.path)'; echo $? "$(ls -A '\(disk)')" "$(cat '\(disk)/out')"
      done
      umount '\(disk)'
      """, folder: TemporaryDirectory())
    #expect(run.output == "1 out old\n1 out old\n1 out old\n", "\(run.output) \(run.errors)")
    #expect(run.errors.components(separatedBy: "ENOSPC").count == 4, "\(run.errors)")
  }
}
