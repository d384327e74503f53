import Foundation
import MMLog
import MMLogDestinations
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Neither server can be installed here, so a stand-in with the same rules replaces them.
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

  @Test("what is older than Loki takes is put aside with one request, and the rest is stored")
  func tooOld() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let log = TestLog()
    log.writesRing = false
    let now = UInt64((Timestamp.now - TestLog.epoch).nanoseconds)
    for number in 1...1000 as ClosedRange<UInt64> { log.write("old \(number)", ticks: number) }
    for number in 1...50 as ClosedRange<UInt64> { log.write("new \(number)", ticks: now + number) }
    log.archive()
    log.close()
    log.save()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: LokiDestination(url: stub.url))
    #expect(try await shipper.shipAll())
    let stored = try stub.notes("stored", as: Stored.self)
    #expect(stored.map(\.body) == (1...50).map { "new \($0)" })
    #expect(shipper.statistics.refused == 1000 && shipper.statistics.records == 50)
    let aside = try RefusedRecords.read(of: "test", in: Directory.open(log.folder.path)).entries
    #expect(aside.count == 1000 && aside.allSatisfy { $0.reason.contains("too old") })
    #expect(stub.lines("requests").count == 2)
    // Nothing of this is sent a second time.
    #expect(try await shipper.retryRefused().refused == 1000)
    #expect(stub.lines("requests").count == 3)
  }

  @Test("beside what is too old for Loki, a line that is too long is found by halving")
  func tooOldAndTooLong() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let log = TestLog(
      geometry: RingGeometry(dictionarySize: 1 << 20, segmentSize: 1 << 20, segmentCount: 4))
    log.writesRing = false
    let now = UInt64((Timestamp.now - TestLog.epoch).nanoseconds)
    for number in 1...8 as ClosedRange<UInt64> { log.write("old \(number)", ticks: number) }
    log.write(String(repeating: "x", count: 300_000), ticks: now)
    for number in 1...8 as ClosedRange<UInt64> { log.write("new \(number)", ticks: now + number) }
    log.archive()
    log.close()
    log.save()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: LokiDestination(url: stub.url))
    #expect(try await shipper.shipAll())
    #expect(
      try stub.notes("stored", as: Stored.self).map(\.body) == (1...8).map { "new \($0)" })
    #expect(shipper.statistics.refused == 9 && shipper.statistics.records == 8)
  }

  @Test("a gap that is older than Loki takes is refused, and the records beside it are stored")
  func oldGap() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let time = Timestamp.now - .seconds(30 * 86_400)
    let made = try TestBatch { log, _ in log.info("line") }
    let gap = LogBatch.Gap("gone", session: made.batch.session.id, times: time...time)
    let batch = LogBatch(
      id: made.batch.id, session: made.batch.session, records: made.batch.records, gaps: [gap])
    let answer = try await LokiDestination(url: stub.url).send(batch)
    #expect(answer.refused.isEmpty && answer.gapRefusal?.contains("too old") == true)
    #expect(try stub.notes("stored", as: Stored.self).map(\.body) == ["line"])
  }

  @Test("Loki takes a session that ended long before another one that it has")
  func sessionsOutOfOrder() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let destination = LokiDestination(url: stub.url)
    for age in [Duration.zero, .seconds(2 * 3600)] {
      let time = Timestamp.now - age
      let session = try TestBatch().batch.session
      // The test uses a gap, because a record would have the current time.
      let gap = LogBatch.Gap("gone", session: session.id, times: time...time)
      _ = try await destination.send(
        LogBatch(id: "\(session.id)", session: session, records: [], gaps: [gap]))
    }
    #expect(try stub.notes("stored", as: Stored.self).count == 2)
  }

  @Test("what is larger than Loki takes at once goes in several pushes")
  func largeBatch() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let made = try TestBatch { log, _ in
      for index in 0..<50 { log.info("\(index) \(String(repeating: "x", count: 100_000))") }
    }
    _ = try await LokiDestination(url: stub.url).send(made.batch)
    #expect(try stub.notes("stored", as: Stored.self).map(\.log_record_uid) == made.ids)
  }

  @Test("a batch that comes again goes on with the push that Loki has not taken")
  func pushesAlone() async throws {
    let limit = PlannedAnswer(status: 429)
    let server = try TestReceiver([
      PlannedAnswer(status: 204), limit, PlannedAnswer(status: 204), limit,
      PlannedAnswer(status: 204),
    ])
    let made = try TestBatch { log, _ in
      for index in 0..<3 { log.info("\(index) \(String(repeating: "x", count: 1 << 20))") }
    }
    let destination = LokiDestination(url: server.url)
    for _ in 0..<2 {
      let error = await #expect(throws: DeliveryError.self) {
        _ = try await destination.send(made.batch)
      }
      #expect(error?.remedy == .tryAgain(after: nil))
    }
    _ = try await destination.send(made.batch)
    let bodies = try server.requests.map(\.text)
    let pushes = bodies.map { body in
      (0..<3).filter { body.contains("\"body\\\":\\\"\($0) xxx") }
    }
    #expect(pushes == [[0], [1], [1], [2], [2]])
    // The batch is over: another program may send it again.
    _ = try await destination.send(made.batch)
    #expect(try server.requests.count == 8)
  }

  @Test("labels that Loki refuses wait for somebody, and a push that it cannot hand on is halved")
  func refusedByLoki() async throws {
    let stub = try TestServer("stub.py", ["loki"])
    let labeled = LokiDestination(url: stub.url, labels: [("my-env", "prod")])
    let labels = await #expect(throws: DeliveryError.self) {
      _ = try await labeled.send(TestBatch().batch)
    }
    #expect(labels?.remedy == .waitForAction, "\(labels as Any)")
    let large = try TestBatch { log, _ in
      // Each of these characters takes six bytes in JSON.
      log.info("\(String(repeating: "\u{1}", count: 1 << 20))")
    }
    let error = await #expect(throws: DeliveryError.self) {
      _ = try await LokiDestination(url: stub.url).send(large.batch)
    }
    #expect(error?.remedy == .makeSmaller, "\(error as Any)")
  }
}
