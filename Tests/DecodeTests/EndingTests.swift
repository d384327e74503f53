import Foundation
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

/// How sessions ended, as `mmlog-decode` reports it.
@Suite struct EndingTests {
  private static let time = TestLog.epoch + 1_000_000_000

  /// A ring of a process that ended in this way.
  private func log(_ how: SessionEnd.How) -> TestLog {
    let another = [UInt8](repeating: 7, count: 16)
    let log = TestLog(bootID: how == .powerLost ? another : Host.bootID())
    log.write("last words", ticks: 5)
    let pair = ClockPair(ticks: 9, wall: Self.time, monotonic: 9, ordinal: 1)
    log.put(pair.encoded, at: RingLayout.clockPairSlots)
    switch how {
    case .exited: log.put(SessionEnd(how, time: Self.time).encoded, at: RingLayout.ending)
    case .terminated:
      let end = SessionEnd(how, time: Self.time, signal: 15, sender: 4711)
      log.put(end.encoded, at: RingLayout.ending)
    case .crashed:
      let report = CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders") {
        $0.store(Self.time, CrashLayout.wall)
      }
      log.put(report, at: RingLayout.crash)
    case .killed, .powerLost, .closed: break
    }
    return log
  }

  @Test(
    "an end is reported when a log is read, and in the list of sessions; also after its recovery",
    arguments: [
      (.exited, "exited without closing its store at "),
      (.terminated, "ended by SIGTERM from process 4711 at "),
      (.crashed, "crashed by SIGSEGV at "),
      (.killed, "killed, without a sign of why, last sign of life at "),
      (.powerLost, "killed, or the machine went down, last sign of life at "),
    ] as [(SessionEnd.How, String)])
  func ends(how: SessionEnd.How, words: String) throws {
    let log = log(how)
    log.save()
    let expected = words + "2025-11-21T09:00:01.000000000Z"
    for isRecovered in [false, true] {
      if isRecovered {
        #expect(try decode(["recover", log.folder.path]).status == 0)
      }
      // An intended end needs no attention.
      let read = try decode(["--utc", log.folder.path]).errors
      #expect(read.hasPrefix("mmlog-decode: 1 session ") == how.isCrash, "\(read)")
      #expect(read.split(separator: "\n").count == (how.isCrash ? 1 : 0))
      let list = try decode(["sessions", "--utc", log.folder.path]).output
      #expect(list.contains("  \(expected), \(isRecovered ? "recovered at 2" : "not recovered\n")"))
      let crash = try decode(["crash", "--utc", log.folder.path])
      #expect(crash.output.contains("last words") == how.isCrash)
      #expect(crash.output.contains(expected) == how.isCrash)
      #expect(crash.errors.contains("no session crashed") != how.isCrash)
      for command in ["crash", "sessions"] {
        let none = try decode([command, "--process", "ordres", "--exit-code", log.folder.path])
        #expect(none.status == 4 && none.output.isEmpty)
        #expect(
          none.errors == "mmlog-decode: nothing matched; there is 1 session; "
            + "processes are orders; did you mean 'orders'?\n", "\(none)")
      }
      let page = log.folder("page.html")
      #expect(try decode(["report", "--output", page, log.folder.path]).status == 0)
      #expect(try String(contentsOfFile: page, encoding: .utf8).contains("\"ending\":\"\(how)\""))
    }
  }

  @Test("a directory with the name of an archive is no log", arguments: ["sessions", "verify"])
  func directoryWithTheNameOfAnArchive(command: String) throws {
    let folder = TemporaryDirectory()
    let inside = folder("x.mmlog")
    try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: false)
    let run = try decode([command, folder.path])
    #expect(run.status == 3 && run.errors.contains("has no log in it"), "\(run)")
  }

  @Test("a killed process lived until its last record") func lastRecord() throws {
    let log = TestLog()
    let pair = ClockPair(ticks: 500, wall: TestLog.epoch + 500, monotonic: 500, ordinal: 1)
    log.put(pair.encoded, at: RingLayout.clockPairSlots)
    log.write("last words", ticks: 900)
    log.save()
    let list = try decode(["sessions", "--utc", log.folder.path])
    #expect(
      list.status == 0
        && list.output.contains("last sign of life at 2025-11-21T09:00:00.000000900Z"), "\(list)")
  }

  @Test("what is missing of a session or corrupted is listed below it, and the status is 1")
  func incomplete() throws {
    let missing = TestLog()
    missing.write("a", ticks: 1)
    missing.store(1, at: RingLayout.newestArchive)
    missing.save()
    var list = try decode(["sessions", missing.folder.path])
    #expect(list.status == 1)
    #expect(list.output.contains("\n  archive 1, which was being written, is not here\n"))
    let corrupted = TestLog()
    corrupted.write("a", ticks: 1)
    let place = corrupted.write(
      TestRecord(ticks: 2, site: corrupted.textSite, words: ValueWords.argument(.text("b"))))
    corrupted.write("c", ticks: 3)
    corrupted.ring[place.lowerBound + 9] ^= 0xFF
    corrupted.save()
    list = try decode(["sessions", corrupted.folder.path])
    #expect(list.status == 1 && list.output.contains(".ring: corrupted: "), "\(list)")
    list = try decode(["sessions", "--json", corrupted.folder.path])
    #expect(list.status == 1 && list.output.contains(#""corruption":[""#), "\(list)")
  }

  @Test("when missing records were logged is in the zone that is asked for")
  func missingRecordsInAZone() throws {
    let log = TestLog()
    log.write("a", ticks: 1)
    log.lose(3)
    log.write("b", ticks: 2)
    log.save()
    let repair = ["repair", "-o", TemporaryDirectory().path]
    for arguments in [["sessions"], ["sessions", "--json"], ["print"], ["verify"], repair] {
      let run = try decode(arguments + ["--tz", "Asia/Tokyo", log.folder.path])
      let text = run.output + run.errors
      #expect(
        text.contains(
          "logged between 2025-11-21T18:00:00.000000001+09:00 and "
            + "2025-11-21T18:00:00.000000002+09:00"), "\(run)")
    }
  }
}
