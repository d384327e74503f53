import Foundation
import Glibc
import MMLogReader
import MMLogStorage
import Synchronization
import TestSupport
import Testing

/// The sample service whose ring and archives have the bodies of failed exchanges, and no others.
@Suite("A service that keeps the bodies of failed requests")
struct FailedRequestsTests {
  /// Whether a text stands in a file of the folder whose name ends so.
  private func contains(_ folder: TemporaryDirectory, _ suffix: String, _ text: String) throws
    -> Bool
  {
    try Folder.names(folder.path).filter { $0.hasSuffix(suffix) }.contains {
      try Data(contentsOf: URL(filePath: "\(folder.path)/\($0)")).range(of: Data(text.utf8)) != nil
    }
  }

  /// The bodies of a kind, by the number of their order.
  private func bodies(
    _ records: [LogReader.Record], of kind: String
  ) -> [Int: LogReader.Record] {
    var found: [Int: LogReader.Record] = [:]
    for record in records {
      guard record.message.hasPrefix(kind), let text = record.text(Self.name(kind)),
        let number = text.split(separator: "order-").dropFirst().first.flatMap({
          Int($0.prefix { ("0"..."9").contains($0) })
        })
      else { continue }
      #expect(found.updateValue(record, forKey: number) == nil, "order \(number) is there twice")
      #expect(!text.contains("5ecre7"))
    }
    return found
  }

  /// The numbers of the orders that took as long as is slow for the service, or nearly so.
  private func slow(_ records: [LogReader.Record]) -> Set<Int> {
    let spans = records.compactMap { record -> UInt64? in
      guard case .end(_, let duration, _) = record.span?.event else { return nil }
      return duration > .milliseconds(900) ? record.spanNumber : nil
    }
    let begun = records.filter { $0.spanNumber.map(spans.contains) == true }
    return Set(
      begun.compactMap { $0.text("url.full")?.split(separator: "/").last }.compactMap { Int($0) })
  }

  private static func name(_ kind: String) -> String { "http.\(kind).body.content" }

  @Test(
    "a killed one leaves the exchange in flight and the bodies of the failed and the slow, no other, and no secret"
  )
  func killed() throws {
    let folder = TemporaryDirectory()
    let inFlight = Atomic(false)
    let isOver = Atomic(false)
    // Of the orders 5, 10, 15 and 20, the server is out of order; for 7, it takes its time; 21 gets
    // no answer.
    let server = try LocalServer { path, body in
      let number = Int(path.split(separator: "/").last ?? "") ?? 0
      if number == 21 {
        inFlight.store(true, ordering: .releasing)
        while !isOver.load(ordering: .acquiring) { usleep(1000) }
        return nil
      }
      if number == 7 { usleep(1_500_000) }
      let status = number % 5 == 0 ? "503 Service Unavailable" : "201 Created"
      let answer = #"{"answer":"order-\#(number)","token":"5ecre7","echo":\#(body)}"#
      return "HTTP/1.1 \(status)\r\ncontent-type: application/json\r\n"
        + "content-length: \(answer.utf8.count)\r\nconnection: close\r\n\r\n\(answer)"
    }
    defer {
      isOver.store(true, ordering: .releasing)
      server.stop()
    }
    let child = try ChildProcess(
      ChildProcess.path(of: "mmlog-failed-requests"),
      [folder.path, "http://127.0.0.1:\(server.port)"], output: "\(folder.path)/output")
    try child.wait { inFlight.load(ordering: .acquiring) }
    child.kill()
    #expect(child.wait() == .killed(SIGKILL))

    // The ring's file, as it is.
    #expect(try contains(folder, ".ring", "order-21"))
    for number in 1...20 {
      #expect(try !contains(folder, ".ring", "order-\(number)\""), "order \(number)")
    }
    for suffix in [".ring", ".mmlog"] { #expect(try !contains(folder, suffix, "5ecre7")) }

    let failed: Set = [5, 7, 10, 15, 20]
    for isRecovered in [false, true] {
      if isRecovered { _ = try LogRecovery.recover(folder.path) { Issue.record("\($0)") } }
      let records = LogReader.records(in: folder)
      let kept = Set(bodies(records, of: "response").keys)
      #expect(kept.isSuperset(of: failed), "\(isRecovered)")
      // Where the machine stands still, others are slow, too.
      #expect(kept.isSubset(of: failed.union(slow(records))), "\(isRecovered)")
      #expect(Set(bodies(records, of: "request").keys) == kept.union([21]), "\(isRecovered)")
      // All exchanges are there, and one of them has no end.
      let begun = records.filter { $0.text("http.request.method") == "POST" }
      let ends = records.filter { if case .end = $0.span?.event { true } else { false } }
      let ended = Set(ends.map(\.spanNumber))
      #expect(begun.count == 21)
      #expect(begun.filter { !ended.contains($0.spanNumber) }.count == 1)
    }
    #expect(try Folder.names(folder.path).allSatisfy { !$0.hasSuffix(".ring") })
    #expect(try !contains(folder, ".mmlog", "5ecre7"))
  }
}
