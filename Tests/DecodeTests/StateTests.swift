import MMLog
import TestSupport
import Testing

/// State slots in the output of commands.
@Suite struct StateTests {
  private let folder = TemporaryDirectory()

  private static let json =
    #""state":{"queue.depth":-17,"bytes":"18446744073709551615","phase":"ready ✓","load":0.75,"#
    + #""ratio":1.5,"is.leader":true,"never stored":"","after a free place":2}"#

  private func putDeadRing() {
    let log = TestLog(session: 1)
    log.write("last", ticks: 1)
    log.putState()
    folder.put("orders.\(log.identity.session).ring", log.ring)
  }

  @Test("crash prints the last state") func crashPrintsTheLastState() throws {
    putDeadRing()
    let text = try decode(["crash", folder.path])
    let lines = text.output.split(separator: "\n").map(String.init)
    let title = try #require(lines.firstIndex(of: "Last state:"))
    #expect(
      Array(lines[title...].dropFirst().prefix(9)) == [
        "  queue.depth=-17", "  bytes=18446744073709551615", #"  phase="ready ✓""#, "  load=0.75",
        "  ratio=1.5", "  is.leader=true", #"  "never stored"="""#, #"  "after a free place"=2"#,
        "Last records of thread 1001 worker1:",
      ], "\(text)")
    #expect(try decode(["crash", "--json", folder.path]).output.contains(Self.json))
  }

  @Test("sessions has the state of dead and of living processes")
  func sessionsHasTheState() throws {
    putDeadRing()
    let text = try decode(["sessions", folder.path])
    #expect(text.output.contains("  state: queue.depth=-17 bytes=18446744073709551615"), "\(text)")
    #expect(try decode(["sessions", "--json", folder.path]).output.contains(Self.json))
    let other = TemporaryDirectory()
    let store = try LogStore(directory: other.path, name: "orders")
    store.slot("depth", of: Int.self).store(3)
    let running = try decode(["sessions", other.path])
    #expect(running.output.contains("running") && running.output.contains("state: depth=3"))
    // JSON has another name for the state of the process.
    for command in ["status", "in-flight"] {
      let json = try control([command, "--json", other.path]).output
      #expect(json.contains(#""process_state":"running""#), "\(json)")
      #expect(json.contains(#""state":{"depth":3}"#) == (command == "status"), "\(json)")
    }
    try store.close()
    store.slot("depth", of: Int.self).store(4)
    let closed = try decode(["sessions", other.path])
    #expect(!closed.output.contains("state:"), "\(closed)")
  }
}
