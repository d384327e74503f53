import Foundation
import MMLog
import MMLogDestinations
import MMLogReader
import MMLogShipping
import TestSupport
import Testing

/// Neither server can be had here: a stand-in with their rules takes their places.
@Suite("Elasticsearch and Loki, as a stub has their rules") struct StubTests {
  private struct Stored: Decodable {
    let body: String
    let log_record_uid: String
  }

  @Test("a batch that comes again is stored once, and refused documents are named")
  func elasticsearch() async throws {
    let stub = try TestServer("stub.py", ["elasticsearch"])
    let made = try TestBatch { log, _ in
      for index in 0..<50 {
        if index == 7 {
          log.info("line \(index)", metadata: ["poison": "1"])
        } else {
          log.info("line \(index)")
        }
      }
    }
    let destination = ElasticsearchDestination(url: stub.url)
    try await destination.check()
    for _ in 0..<4 {
      let answer = try await destination.send(made.batch)
      #expect(answer.refused.map(\.index) == [7])
      #expect(answer.refused.first?.reason.contains("failed to parse field") == true)
    }
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(made.batch)
    }
    #expect(error?.remedy == .tryAgain(after: nil))
    #expect(try await destination.send(made.batch).refused.count == 1)
    #expect(
      try stub.notes("stored", as: Stored.self).map(\.log_record_uid)
        == made.ids.enumerated().filter { $0.offset != 7 }.map(\.element))
  }

  @Test("Loki drops an entry that it has, and a line that is too long is found by halving")
  func loki() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let made = try TestBatch { log, _ in for i in 0..<50 { log.info("line \"\(i)\"\n") } }
    let destination = LokiDestination(url: stub.url)
    for _ in 0..<2 { _ = try await destination.send(made.batch) }
    let stored = try stub.notes("stored", as: Stored.self)
    #expect(stored.map(\.log_record_uid) == made.ids)
    #expect(stored.first?.body == "line \"0\"\n")
    let long = try TestBatch { log, _ in
      log.info("\(String(repeating: "x", count: 300_000))")
    }
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await destination.send(long.batch)
    }
    #expect(error?.remedy == .halve)
  }
}
