import MMLog
import MMLogReader
import MMLogShipping
import MMLogSystem
import TestSupport
import Testing

/// Changes of records before they are shipped.
@Suite struct EditTests {
  private func text(_ value: LogReader.Value?) -> String? {
    if case .string(let bytes)? = value { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  @Test("fields are added, dropped, renamed and hashed, and the message with them")
  func edits() async throws {
    let test = try ShippedStore()
    let user = "ann"
    test.log.info(
      "by \(user, name: "user") at \(7, name: "at")", metadata: ["secret": "x", "k": 1])
    test.log.info("again by \("ann", name: "user")")
    try await test.store.flush(.archive)
    let receiver = Receiver()
    try await test.ship(to: receiver) {
      $0.edits = [
        .add("site", .string(Array("berlin".utf8))), .drop("secret"), .rename("k", to: "key"),
        .rename("at", to: "time"), .hash("user"), .add("key", .int(9)),
      ]
    }
    let fields = receiver.deliveries.flatMap(\.fields)
    #expect(text(fields[0]["site"]) == "berlin")
    #expect(fields[0]["secret"] == nil && fields[0]["k"] == nil && fields[0]["at"] == nil)
    #expect(fields[0]["key"] != nil && fields[0]["time"] != nil)
    guard case .hash(let first)? = fields[0]["user"], case .hash(let second)? = fields[1]["user"]
    else {
      Issue.record("\(fields)")
      return
    }
    #expect(first == second)
    #expect(receiver.messages[0].hasPrefix("by <hash") && receiver.messages[0].hasSuffix(" at 7"))
  }

  @Test("a field of the message that is dropped is redacted there")
  func droppedArgument() async throws {
    let test = try ShippedStore()
    test.log.info("by \("ann", name: "user") at \(7)")
    try await test.store.flush(.archive)
    let receiver = Receiver()
    try await test.ship(to: receiver) { $0.edits = [.drop("user")] }
    #expect(receiver.messages == ["by <private> at 7"])
    #expect(receiver.deliveries[0].fields[0].isEmpty)
  }

  @Test("a value that cannot be written after a change is redacted, and nothing else comes back")
  func tooDeep() async throws {
    let test = try ShippedStore()
    test.log.info("by \("ann", name: "user")", metadata: ["secret": "x", "deep": "y", "k": 1])
    try await test.store.flush(.archive)
    let receiver = Receiver()
    let shipper = try await test.ship(to: receiver) {
      $0.edits = [.drop("secret")]
      $0.transform = { record in
        var record = record
        record["user"] = nil
        record["deep"] = (1...17).reduce(.int(1)) { value, _ in .array([value]) }
        return [record]
      }
    }
    let fields = try #require(receiver.deliveries.first?.fields.first)
    #expect(Set(fields.keys) == ["deep", "k"] && fields["deep"] == .redacted)
    #expect(receiver.messages == ["by <private>"])
    #expect(shipper.statistics.lastError?.contains("nested too deep") == true)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("fields of the session are dropped, renamed and hashed as those of records are")
  func sessionFields() async throws {
    let test = try ShippedStore { $0.fields = ["secret": "x", "k": 1, "user": "ann", "site": 2] }
    test.log.info("record")
    try await test.store.flush(.archive)
    let sessions = LockedValue<[LogReader.Session]>([])
    let receiver = Sessions(sessions)
    try await test.ship(to: receiver) {
      $0.edits = [.drop("secret"), .rename("k", to: "key"), .hash("user")]
    }
    let all = sessions.withLock { $0 }
    #expect(all.count == 2)
    for session in all {
      let fields = Dictionary(session.fields.map { ($0.name, $0.value) }) { first, _ in first }
      #expect(fields["secret"] == nil && fields["k"] == nil)
      #expect(fields["key"] != nil && fields["site"] != nil)
      guard case .hash? = fields["user"] else {
        Issue.record("\(fields)")
        continue
      }
    }
  }

  /// A destination that keeps the sessions of batches and of their records.
  private struct Sessions: LogDestination {
    let all: LockedValue<[LogReader.Session]>

    init(_ all: LockedValue<[LogReader.Session]>) { self.all = all }

    func send(_ batch: LogBatch) async throws -> LogBatch.Answer {
      all.withLock { all in
        all.append(batch.session)
        batch.forEach { all.append($0.session) }
      }
      return .accepted
    }
  }

  @Test("a record is split, dropped, or given another message and level")
  func transformed() async throws {
    let test = try ShippedStore()
    try test.log(1...30)
    let receiver = Receiver()
    let shipper = try await test.ship(to: receiver) {
      $0.transform = { record in
        let number = Int(record.original.message.split(separator: " ")[1]) ?? 0
        if number.isMultiple(of: 10) { return [] }
        guard number.isMultiple(of: 7) else { return [record] }
        var other = record
        other.message = "copy of \(number)"
        other.level = .critical
        return [record, other]
      }
    }
    #expect(receiver.messages.count == 30 - 3 + 4)
    #expect(receiver.messages.contains("copy of 28"))
    #expect(shipper.statistics.dropped == 3)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
    let ids = receiver.deliveries.flatMap(\.ids)
    #expect(Set(ids).count == 27)
  }

  @Test("records that came of one are refused together, and nothing is lost beside them")
  func splitAndRefused() async throws {
    let test = try ShippedStore()
    try test.log(1...64)
    let receiver = Receiver { delivery, _ in
      if delivery.messages.contains("record 33") { throw DeliveryError.refused("no") }
      return .accepted
    }
    try await test.ship(to: receiver) { $0.transform = { [$0, $0] } }
    #expect(receiver.messages.count == 126)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("of records that came of one, none is forgotten because another one is taken when retried")
  func splitAndRetried() async throws {
    let test = try ShippedStore()
    try test.log(1...3)
    let receiver = Receiver { delivery, _ in
      let isRefused = delivery.messages.contains { $0 == "record 1" || $0 == "record 2" }
      if isRefused { throw DeliveryError.refused("no") }
      return .accepted
    }
    let change: @Sendable (inout Shipper.Configuration) -> Void = {
      $0.transform = { record in
        var other = record
        other.message = "copy of \(record.original.message)"
        return [record, other]
      }
    }
    func aside() throws -> Int {
      try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path)).entries.count
    }
    try await test.ship(to: receiver, change)
    #expect(try aside() == 4)
    receiver.change { delivery, _ in
      if delivery.messages.contains("record 1") { throw DeliveryError.refused("no") }
      return .accepted
    }
    let again = try await test.shipper(to: receiver, change).retryRefused()
    #expect(again.acknowledged == 2 && again.refused == 2 && again.missing == 0)
    #expect(try aside() == 2)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
    // One of two is refused by its number.
    receiver.change { _, _ in LogBatch.Answer(refused: [.init(index: 1, reason: "no")]) }
    let numbered = try await test.shipper(to: receiver, change).retryRefused()
    #expect(numbered.acknowledged == 0 && numbered.refused == 2 && numbered.missing == 0)
    receiver.change { _, _ in .accepted }
    let last = try await test.shipper(to: receiver, change).retryRefused()
    #expect(last.acknowledged == 2 && last.refused == 0 && last.missing == 0)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("what edits drop and add is counted once, also if half of a batch is interrupted")
  func interruptedHalf() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let receiver = Receiver { _, number in
      if number == 1 { throw DeliveryError.refused("too much") }
      if number == 3 { try await Task.sleep(for: .seconds(3600)) }
      return .accepted
    }
    let change: @Sendable (inout Shipper.Configuration) -> Void = {
      $0.transform = { record in
        let number = Int(record.original.message.split(separator: " ")[1]) ?? 0
        return number == 1 ? [record, record] : number % 2 == 0 ? [] : [record]
      }
    }
    let first = try test.shipper(to: receiver, change)
    try first.start()
    try await wait { receiver.tryCount == 3 }
    await first.stop()
    receiver.change { _, _ in .accepted }
    let second = try await test.ship(to: receiver, change)
    #expect(receiver.messages == [1, 1, 3, 5, 7, 9].map { "record \($0)" })
    #expect(first.statistics.dropped + second.statistics.dropped == 5)
    let balance = try Reconciliation(of: test.folder.path, consumer: "test")
    #expect(balance.sessions.map(\.dropped) == [5] && balance.sessions.map(\.added) == [1])
    #expect(balance.problems == [])
  }

  @Test("spans, traces and values of every kind stay as they were")
  func everythingStays() async throws {
    let test = try ShippedStore()
    let span = test.log.begin("request \(7, name: "number")")
    test.log.with(["bound": "yes"]).info(
      "all \(1.5) \(true) \(UInt8(3)) \("text")",
      metadata: ["list": ["a", "b"], "map": ["k": ["n": 1]]])
    span.end("done")
    try await test.store.flush(.archive)
    let (plain, edited) = (Receiver(), Receiver())
    try await test.ship(as: "plain", to: plain)
    try await test.ship(as: "edited", to: edited) { $0.transform = { [$0] } }
    #expect(plain.messages == edited.messages)
    #expect(plain.deliveries.flatMap(\.fields) == edited.deliveries.flatMap(\.fields))
    #expect(plain.deliveries.flatMap(\.ids) == edited.deliveries.flatMap(\.ids))
  }
}
