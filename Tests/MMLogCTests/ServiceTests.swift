import Foundation
import TestSupport
import Testing

/// `Examples/CService`, as those see it who run it and read its log.
@Suite("The example of a service in C")
struct ServiceTests {
  /// A program that stands beside the tests, run to its end.
  private func run(_ program: String, _ arguments: [String]) throws -> (
    output: String, status: Int32
  ) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: ChildProcess.path(of: program))
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no", "TZ": "UTC"]) { $1 }
    process.standardError = FileHandle.nullDevice
    let output = try process.output()
    return (String(decoding: output, as: UTF8.self), process.terminationStatus)
  }

  /// Lets the service run, and gives what the decoder shows of its log, a dictionary for each
  /// record.
  private func records(_ orders: Int, _ end: String, status: Int32) throws -> [[String: Any]] {
    let folder = TemporaryDirectory()
    #expect(try run("mmlog-c-service", [folder.path, "\(orders)", end]).status == status)
    let decoded = try run("mmlog-decode", ["--format", "json", folder.path])
    return try decoded.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  private func text(_ record: [String: Any], _ key: String) -> String {
    record[key] as? String ?? ""
  }

  /// The line of the example's source that has a text.
  private func line(of text: String) throws -> Int {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/CService/main.c")
    let lines = try String(contentsOf: source, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    return try #require(lines.firstIndex { $0.contains(text) }) + 1
  }

  @Test(
    "all that it logs is there, however it ends",
    arguments: [("end", 0), ("kill", SIGKILL), ("crash", SIGSEGV)])
  func allRecords(end: String, status: Int32) throws {
    let orders = 2000
    let records = try records(orders, end, status: status)
    // For each of three threads its beginning, and one for each order; and the service's own.
    #expect(records.count == 3 * (orders + 1) + (end == "kill" ? 1 : 2))
    let bodies = Set(records.map { text($0, "body") })
    for worker in 0..<3 {
      for order in 1...orders where order % 20 != 0 {
        let price = 100 + Double(order) * 0.25
        let side = order % 2 == 0 ? "sell" : "buy"
        let body = String(
          format: "order %d of worker %d accepted at %.2f, \(side), flags %#06x", order, worker,
          price, order)
        #expect(bodies.contains(body), "\(body)")
      }
    }
    let last = try #require(records.last)
    switch end {
    case "end": #expect(text(last, "body") == "service ends: end")
    case "crash": #expect(text(last, "body") == "service is dying: signal 11 at 0x10")
    default: #expect(text(last, "scope_name") == "service.matching")
    }
  }

  @Test("records have their places, labels and levels, and fields their types")
  func placesAndTypes() throws {
    let records = try records(40, "crash", status: SIGSEGV)
    let refused = records.filter { text($0, "severity_text") == "warning" }
    #expect(refused.count == 6)
    for record in refused {
      let fields = try #require(record["attributes"] as? [String: Any])
      // A number as a number: a string would not be one.
      #expect([20, 40].contains(fields["order"] as? Int))
      #expect(fields["venue"] as? String == "XETR" && fields["account"] as? String == "<private>")
      #expect(text(record, "code_file_path").hasSuffix("Examples/CService/main.c"))
      #expect(text(record, "code_function_name") == "work")
      #expect(record["code_line_number"] as? Int == (try line(of: "order refused by worker")))
    }
    let dying = try #require(records.last)
    #expect(text(dying, "severity_text") == "critical" && text(dying, "scope_name") == "service")
    #expect(text(dying, "code_function_name") == "crashed")
    #expect(dying["code_line_number"] as? Int == (try line(of: "service is dying")))
  }

  @Test("its own handler goes on to the one that records the crash")
  func crashRecord() throws {
    let folder = TemporaryDirectory()
    #expect(try run("mmlog-c-service", [folder.path, "10", "crash"]).status == SIGSEGV)
    let shown = try run("mmlog-decode", ["crash", folder.path])
    #expect(shown.output.contains("service is dying: signal 11 at 0x10"))
    // With a tool that knows about lines, the report has them.
    if FileManager.default.isExecutableFile(atPath: "/usr/bin/addr2line") {
      #expect(shown.output.contains("CService/main.c:"), "\(shown.output)")
    }
  }
}
