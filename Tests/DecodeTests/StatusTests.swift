import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// `mmlogctl status`.
@Suite struct StatusTests {
  private let folder = TemporaryDirectory()

  /// The patterns of sizes, times and names that differ from run to run.
  private static let changing = [
    (#"^[^\[\n]+\[\d+\]"#, "PROCESS"), ("session [0-9a-f]{32}", "session ID"),
    (#"since \S+"#, "since TIME"), (#"\d+(\.\d)? (ms|s)( |:|,)"#, "AGE$3"),
    (#"writing: \d+ [^,\n]+"#, "writing: THREAD"), (#", \d+ bytes,"#, ", N bytes,"),
    (#"[\d.]+ KiB"#, "SIZE"),
  ]

  @Test("a running store is described, with its archives")
  func runningStore() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "orders.match")
    log.info("one")
    try store.rotate()
    log.info("two")
    log.error("three")
    _ = try control(["set-level", "debug", folder.path])
    let run = try control(["status", "--utc", folder.path])
    #expect(run.status == 0 && run.errors == "", "\(run)")
    #expect(
      run.output.replacing(Self.changing).replacingOccurrences(of: "last pass AGE ago", with: "X")
        == """
        PROCESS  running  store orders, session ID, since TIME
          ring      1 of 56 segments of SIZE in use; writing: THREAD
          waiting   2 records, N bytes, the oldest for AGE: error 1, info 1
          lost      nothing
          drainer   X, last sign of life AGE ago
          levels    debug orders.match
          rules     from outside: *=debug
          archives  1, SIZE: 1 sealed and not uploaded (SIZE)

        """, "\(run.output)")
    let json = try control(["status", "--json", folder.path])
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect(object["process_state"] as? String == "running" && object["waiting"] as? Int == 2)
    #expect((object["archives"] as? [String: Any])?["pending"] as? Int == 1)
    #expect((object["waiting_by_level"] as? [String: Any])?["error"] as? Int == 1)
    #expect(object["failed_syncs"] as? Int == 0 && object["rules"] as? [String] == ["*=debug"])
    let quiet = try control(["status", "-q", folder.path])
    #expect(quiet == Run(output: "", errors: "", status: 0))
    try store.close()
    let gone = try control(["status", folder("nowhere")])
    #expect(gone.status == 3 && gone.errors.split(separator: "\n").count == 1, "\(gone)")
    let closed = try control(["status", folder.path])
    #expect(closed.status == 3 && closed.output == "", "\(closed)")
    #expect(closed.errors == "mmlogctl: no process logs into \(folder.path)\n")
  }

  @Test("a process that is stopped is described without its help, and a dead one in a line")
  func stoppedAndDead() throws {
    let child = try LoggingChild(in: folder.path)
    try child.log("first", "last")
    try child.stop()
    let stopped = try control(["status", folder.path])
    #expect(stopped.status == 0 && stopped.errors == "", "\(stopped)")
    #expect(stopped.output.hasPrefix("mmlog-pipe[\(child.id)]  stopped  store piped"))
    #expect(stopped.output.contains("\n  waiting   2 records, "), "\(stopped)")
    child.die()
    let dead = try control(["status", folder.path])
    #expect(dead.status == 3 && dead.errors.contains("no process logs into"), "\(dead)")
    #expect(dead.output.contains("killed, without a sign of why, last sign of life"), "\(dead)")
    #expect(dead.output.contains("; 2 records wait for recovery in \(folder.path)/piped."))
    #expect(dead.output.split(separator: "\n").count == 1)
    _ = try decode(["recover", folder.path])
    #expect(try control(["status", folder.path]).output == "")
  }

  @Test("one record of a dead process waits") func oneRecordWaits() throws {
    let child = try LoggingChild(in: folder.path)
    try child.log("only")
    try child.stop()
    child.die()
    let dead = try control(["status", folder.path])
    #expect(dead.output.contains("; 1 record waits for recovery in "), "\(dead)")
  }

  @Test("where a ring cannot be read, it is not said that no process runs")
  func unreadableRing() throws {
    let log = TestLog(session: 1)
    folder.put("orders.\(log.identity.session).ring", [UInt8](repeating: 1, count: 8192))
    for command in [["status"], ["in-flight"], ["collect", "-o", folder("out.tar")]] {
      let run = try control(command + [folder.path])
      // The ring is collected nevertheless.
      let isSilent = run.output.isEmpty == (command[0] != "collect")
      #expect(run.status == 1 && isSilent, "\(command): \(run)")
      #expect(run.errors.contains(".ring cannot be read"), "\(command): \(run)")
      #expect(try control(command + [folder("nowhere")]).status == 3)
    }
  }

  @Test("a store has the archives of its own directory, whatever others are called")
  func storesOfOneName() throws {
    let folders = [folder("a"), folder("b")]
    let stores = try folders.map { try LogStore(directory: $0, name: "orders") }
    stores[0].logger(label: "l").info("one")
    try stores[0].rotate()
    let run = try control(["status", "--json"] + folders.map { "\($0)/" })
    let counts = try run.output.split(separator: "\n").map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return (object?["archives"] as? [String: Any])?["all"] as? Int
    }
    #expect(run.status == 0 && counts == [1, 0], "\(run)")
    for store in stores { try store.close() }
  }

  @Test("a killed process ended when its last record was logged, in status and in sessions")
  func endOfKilled() throws {
    let log = TestLog()
    for number in 1...3 as ClosedRange<UInt64> { log.write("x", ticks: number * 1_000_000) }
    folder.put("test.\(log.identity.session).ring", log.ring)
    let runs = try [
      control(["status", "--utc", "--json", folder.path]),
      decode(["sessions", "--utc", "--json", folder.path]),
    ]
    let times = try runs.map { run in
      let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8))
      return (object as? [String: Any])?["ending_time"] as? String
    }
    #expect(times == ["2025-11-21T09:00:00.003000000Z", "2025-11-21T09:00:00.003000000Z"])
  }

  @Test("whatever stands in a control page, it is only read")
  func hostileControlPage() throws {
    let child = try LoggingChild(in: folder.path)
    try child.log("a line")
    try child.stop()
    let name = try #require(try folder.names(ending: ".ring").first)
    let ring = try File.open(folder(name), [.read, .write])
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    for round in 0..<6 {
      let bytes = (0..<ControlLayout.size).map { _ in
        round == 0 ? UInt8.max : UInt8.random(in: 0...255, using: &generator)
      }
      try ring.write(all: bytes, at: RingLayout.control)
      for command in [
        ["status"], ["status", "--json"], ["levels"], ["in-flight"], ["in-flight", "--json"],
        ["flush", "--timeout", "0s"], ["rotate", "--timeout", "0s"],
        ["set-level", "debug", "--timeout", "0s"], ["capture", "--timeout", "0s"],
      ] {
        let run = try control(command + [folder.path])
        #expect([0, 1].contains(run.status), "\(command), seed \(seed): \(run)")
      }
    }
    // The process takes the bytes for requests, and goes on.
    child.goOn()
    try child.log("another line")
    child.end()
    let read = try decode(["--format", "message", folder.path])
    #expect(read.output == "a line\nanother line\n", "seed \(seed): \(read)")
  }

  @Test("lost records make it status 1") func losses() throws {
    var configuration = LogStore.Configuration()
    configuration.ringSize = 256 << 10
    configuration.fullRing = .dropNewest
    configuration.retention = .unlimited
    let store = try LogStore(directory: folder.path, name: "n", configuration: configuration)
    #if DEBUG
      ForcedFault.force(.pwrite, errno: 28, times: .max, under: folder.path)
      defer { ForcedFault.clear(under: folder.path) }
      let log = store.logger(label: "l")
      let filler = String(repeating: "f", count: 1000)
      while store.losses.isEmpty { log.info("\(filler)") }
      let run = try control(["status", folder.path])
      #expect(run.status == 1 && run.output.contains("\n  lost      lost "), "\(run)")
      let flush = try control(["flush", folder.path])
      #expect(flush.status == 1 && flush.output == "", "\(flush)")
      #expect(flush.errors.contains("could not write its archive: No space left on device"))
      let after = try control(["status", folder.path])
      #expect(after.output.contains("passes failed"), "\(after)")
      ForcedFault.clear(under: folder.path)
    #endif
    try store.close()
  }
}
