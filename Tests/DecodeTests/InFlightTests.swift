import Foundation
import MMLog
import TestSupport
import Testing

/// `mmlogctl in-flight`.
@Suite struct InFlightTests {
  private let folder = TemporaryDirectory()

  private static let changing = [
    (#"^[^\[\n]+\[\d+\]"#, "PROCESS"), ("session [0-9a-f]{32}", "session ID"),
    ("span [0-9a-f]{16}", "span ID"), ("part of [0-9a-f]{16}", "part of ID"),
    (#"\d+(\.\d)? (ms|s) +"#, "AGE "), (#"thread [^,)\n]+, span"#, "thread T, span"),
    (#"thread  AGE \d+ .* info"#, "thread  AGE T info"),
  ]

  @Test("open spans and the last record of each thread are shown, archived or not")
  func spansAndThreads() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "orders")
    let order = log.begin("order \(7)")
    let payment = log.begin("payment", in: order)
    log.begin("done before", in: order).end()
    try store.flush(.archive)
    log.info("waiting for the bank")
    let run = try control(["in-flight", folder.path])
    #expect(run.status == 0 && run.errors == "", "\(run)")
    #expect(
      run.output.replacing(Self.changing) == """
        PROCESS  running  session ID, last sign of life AGE ago
          span    AGE order 7  (orders, thread T, span ID)
          span    AGE payment  (orders, thread T, span ID, part of ID)
          thread  AGE T info orders: waiting for the bank

        """, "\(run.output)")
    let json = try control(["in-flight", "--json", folder.path])
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let spans = try #require(object["spans"] as? [[String: Any]])
    #expect(spans.map { $0["body"] as? String } == ["order 7", "payment"], "\(json)")
    #expect(((object["threads"] as? [[String: Any]])?.first?["age_ns"] as? Int ?? 0) > 0)
    payment.end()
    order.end()
    let ended = try control(["in-flight", "--spans-only", folder.path])
    #expect(ended.status == 0 && ended.output.split(separator: "\n").count == 1, "\(ended)")
    try store.close()
    let closed = try control(["in-flight", folder.path])
    #expect(closed.status == 3 && closed.errors.contains("no process logs into"), "\(closed)")
  }

  @Test("what is older than a time is found, and a command runs once for its process")
  func watchdog() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    let log = store.logger(label: "orders")
    let span = log.begin("order \(7)")
    let arguments = ["in-flight", "--exit-code", "--spans-only", folder.path]
    let young = try control(arguments + ["--older-than", "1h", "--exec", "echo ran"])
    #expect(young == Run(output: "", errors: "", status: 4))
    let line = "echo $MMLOG_STORE $MMLOG_SPANS $MMLOG_THREADS $MMLOG_SPAN_NAME $MMLOG_PID"
    let old = try control(arguments + ["-q", "--older-than", "0s", "--exec", line])
    #expect(old.status == 0 && old.errors == "", "\(old)")
    #expect(old.output == "orders 1 0 order 7 \(ProcessInfo.processInfo.processIdentifier)\n")
    let failed = try control(arguments + ["-q", "--older-than", "0s", "--exec", "exit 3"])
    #expect(failed.status == 1 && failed.errors.contains("the command failed for"), "\(failed)")
    let program = ChildProcess.path(of: "mmlogctl")
    let ignoring = try shell(
      "trap '' CHLD; exec '\(program)' in-flight -q --older-than 0s --exec true '\(folder.path)'",
      folder: TemporaryDirectory())
    #expect(ignoring.status == 0 && ignoring.errors == "", "\(ignoring)")
    let alone = try control(["in-flight", "--exec", "echo ran", folder.path])
    #expect(alone.status == 2 && alone.errors.contains("--older-than"), "\(alone)")
    span.end()
    try store.close()
  }

  @Test("a process that is stopped is shown without its help") func stopped() throws {
    let child = try LoggingChild(in: folder.path)
    try child.log("first", "last line")
    try child.stop()
    let run = try control(["in-flight", folder.path])
    #expect(run.status == 0 && run.errors == "", "\(run)")
    #expect(run.output.hasPrefix("mmlog-pipe[\(child.id)]  stopped  session "), "\(run)")
    #expect(run.output.hasSuffix("info lines: last line\n"), "\(run)")
    child.goOn()
    child.end()
  }
}
