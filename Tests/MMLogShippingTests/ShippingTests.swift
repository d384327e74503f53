import Foundation
import MMLog
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// The records that arrive at a receiver, also if deliveries fail.
@Suite struct ShippingTests {
  @Test("each record is shipped once, in order, whatever shippers come and go")
  func onceInOrder() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    var next = 1
    for count in [10, 1, 25_000, 3, 0, 500] {
      if count > 0 { try test.log(next...next + count - 1) }
      next += count
      try await test.ship(to: receiver)
    }
    #expect(receiver.messages == records(1...next - 1))
    let ids = receiver.deliveries.flatMap(\.ids)
    #expect(Set(ids).count == ids.count)
    #expect(Set(receiver.deliveries.map(\.id)).count == receiver.deliveries.count)
    #expect(receiver.gaps.isEmpty)
  }

  @Test("a record between whose fragments flight records were captured is shipped")
  func captureBetweenFragments() async throws {
    let (log, receiver) = (TestLog.capturedBetweenFragments(), Receiver())
    log.close()
    log.save()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: receiver, configuration: .quick())
    #expect(try await shipper.shipAll())
    #expect(receiver.messages.map(\.utf8.count) == [40, 400] && receiver.gaps.isEmpty)
  }

  @Test("what an archive has beyond a copy of it is shipped")
  func copyBesideTheArchive() async throws {
    let (log, receiver) = (TestLog.archived(["a"]), Receiver())
    log.folder.put("copy.mmlog", log.archives[0])
    log.write("b", ticks: 200)
    log.archive()
    log.close()
    log.save()
    let shipper = try Shipper(
      of: log.folder.path, as: "test", to: receiver, configuration: .quick())
    #expect(try await shipper.shipAll())
    #expect(receiver.messages == ["a", "b"] && receiver.gaps.isEmpty)
  }

  @Test("a consumer's name ends neither its label in the metrics nor the line")
  func metricsLabel() throws {
    let statistics = try ShippedStore().shipper(to: Receiver()).statistics
    let text = statistics.prometheusText(consumer: "a\"\u{301}b\r\nc\\\u{301}d")
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.first != 0x23 {
      #expect(Substring(line).hasPrefix("mmlog_ship_"))
      #expect(line.count { $0 == UInt8(ascii: "\"") } == 2 && !line.contains(0x5C))
    }
  }

  @Test("a batch keeps to its limits")
  func limits() async throws {
    let test = try ShippedStore()
    try test.log(1...1000)
    let receiver = Receiver()
    try await test.ship(to: receiver) { $0.maximumRecords = 64 }
    #expect(receiver.messages == records(1...1000))
    #expect(receiver.deliveries.allSatisfy { $0.messages.count <= 64 })
    let other = Receiver()
    try await test.ship(as: "other", to: other) { $0.maximumBytes = 1024 }
    #expect(other.messages == records(1...1000))
    #expect(other.deliveries.count >= 7)
  }

  @Test("what failed is sent again as it was")
  func retried() async throws {
    let test = try ShippedStore()
    try test.log(1...100)
    let sent = LockedValue<[String]>([])
    let receiver = Receiver { delivery, number in
      sent.withLock { $0.append(delivery.id) }
      if number < 5 {
        throw DeliveryError.unavailable("try again", retryAfter: .milliseconds(1))
      }
      return .accepted
    }
    let shipper = try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...100))
    #expect(Set(sent.withLock { $0 }).count == 1)
    #expect(receiver.deliveries.first?.attempt == 5)
    #expect(receiver.deliveries.first?.mayBeRepeat == true)
    #expect(shipper.statistics.retried == 4 && shipper.statistics.records == 100)
  }

  @Test("a batch that is given up is put aside whole, and stays there if it is given up again")
  func givenUp() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let receiver = Receiver { _, _ in throw DeliveryError.unavailable("gone") }
    let isPatient: @Sendable (inout Shipper.Configuration) -> Void = {
      $0.retry = .times(3, first: .milliseconds(1), longest: .milliseconds(1))
    }
    let shipper = try await test.ship(to: receiver, isPatient)
    #expect(receiver.tryCount == 3 && shipper.statistics.refused == 10)
    #expect(shipper.statistics.records == 0 && shipper.statistics.bytes == 0)
    let entries = try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path)).entries
    #expect(entries.map(\.reason) == Array(repeating: "given up after 3 tries: gone", count: 10))
    let results = try await test.shipper(to: receiver, isPatient).retryRefused()
    #expect(receiver.tryCount == 6 && results.refused == 10 && results.missing == 0)
    receiver.change { _, _ in .accepted }
    #expect(try await test.shipper(to: receiver).retryRefused().acknowledged == 10)
    #expect(receiver.messages == records(1...10))
  }

  @Test("a pause that a receiver asks for is not ended by an earlier resume")
  func earlierResume() async throws {
    let test = try ShippedStore()
    let times = LockedValue<[UInt64]>([])
    let receiver = Receiver { _, number in
      times.withLock { $0.append(Clock.monotonic()) }
      if number == 1 { throw DeliveryError.unavailable("busy", retryAfter: .milliseconds(300)) }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver)
    shipper.suspend()
    shipper.resume()
    try test.log(1...1)
    try shipper.start()
    try await wait { receiver.messages.count == 1 }
    await shipper.stop()
    let sent = times.withLock { $0 }
    #expect(sent[1] - sent[0] >= 300_000_000)
  }

  @Test("a pause is ended by a resume of whoever hears of it")
  func resumeInPause() async throws {
    let test = try ShippedStore()
    try test.log(1...1)
    let receiver = Receiver { _, number in
      if number == 1 { throw DeliveryError.unavailable("busy") }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) { $0.retry = RetryRule { _ in .seconds(86_400) } }
    let events = shipper.events
    try shipper.start()
    for await event in events {
      guard case .retrying = event else { continue }
      shipper.resume()
      break
    }
    try await wait { receiver.messages.count == 1 }
    await shipper.stop()
  }

  @Test("an error of any kind counts as unavailable")
  func otherError() async throws {
    struct Other: Error {}
    let test = try ShippedStore()
    try test.log(1...3)
    let receiver = Receiver { _, number in
      if number == 1 { throw Other() }
      return .accepted
    }
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...3))
  }

  @Test("a record that the receiver refuses is put aside alone, and all others arrive once")
  func poison() async throws {
    let test = try ShippedStore()
    try test.log(1...200)
    let poison: Set = ["record 1", "record 77", "record 78", "record 200"]
    let receiver = Receiver { delivery, _ in
      if !poison.isDisjoint(with: delivery.messages) { throw DeliveryError.refused("poison") }
      return .accepted
    }
    let shipper = try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...200).filter { !poison.contains($0) })
    #expect(shipper.statistics.refused == 4)
    let refused = try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path))
    #expect(refused.corrupted.isEmpty && refused.entries.count == 4)
    #expect(refused.entries.allSatisfy { $0.reason == "poison" })
    #expect(refused.entries.first?.content.contains("\"body\":\"record 1\"") == true)
    // Nothing is left to ship.
    try await test.ship(to: receiver)
    #expect(receiver.messages.count == 196)
  }

  @Test("a batch that is too large is halved, and later ones are smaller")
  func tooLarge() async throws {
    let test = try ShippedStore()
    try test.log(1...1000)
    let receiver = Receiver { delivery, _ in
      if delivery.messages.count > 10 { throw DeliveryError.tooLarge("too large") }
      return .accepted
    }
    try await test.ship(to: receiver) { $0.maximumRecords = 500 }
    #expect(receiver.messages == records(1...1000))
    // 63 pieces of the first batch, and larger batches that were tried after a while.
    #expect(receiver.tryCount - receiver.deliveries.count < 63 + 10)
    #expect(receiver.deliveries.count < 170)
  }

  @Test("a single record that is too large leaves batches as they were")
  func oneTooLarge() async throws {
    let test = try ShippedStore()
    let long = String(repeating: "x", count: 20_000)
    try test.log(1...500)
    test.log.info("\(long)")
    try test.log(501...2000)
    let receiver = Receiver { delivery, _ in
      if delivery.messages.contains(long) { throw DeliveryError.tooLarge("too large") }
      return .accepted
    }
    let shipper = try await test.ship(to: receiver) { $0.maximumRecords = 100 }
    #expect(receiver.messages == records(1...2000) && shipper.statistics.refused == 1)
    #expect(receiver.deliveries.suffix(10).dropLast().allSatisfy { $0.messages.count == 100 })
  }

  @Test("what somebody has to act on is reported once, and goes on then")
  func blocked() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let receiver = Receiver { _, _ in throw DeliveryError.blocked("wrong password") }
    let shipper = try test.shipper(to: receiver)
    let events = shipper.events
    try shipper.start()
    try await wait { shipper.statistics.isBlocked && receiver.tryCount > 2 }
    #expect(shipper.statistics.lastError == "wrong password")
    receiver.change { _, _ in .accepted }
    try await wait { receiver.messages.count == 10 }
    await shipper.stop()
    var (blocked, resumed) = (0, 0)
    for await event in events {
      if case .blocked = event { blocked += 1 }
      if case .resumed = event {
        resumed += 1
        break
      }
    }
    #expect(blocked == 1 && resumed == 1 && !shipper.statistics.isBlocked)
  }

  @Test("records that an answer refuses are put aside with their reasons")
  func partialSuccess() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let receiver = Receiver { _, _ in
      LogBatch.Answer(
        refused: [.init(index: 3, reason: "too old")], refusedUnnamed: 2, reason: "full")
    }
    let shipper = try await test.ship(to: receiver)
    #expect(shipper.statistics.refused == 3 && shipper.statistics.records == 7)
    let refused = try RefusedRecords.read(of: "test", in: Directory.open(test.folder.path))
    #expect(refused.entries.map(\.reason) == ["too old", "full"])
    #expect(refused.entries.map(\.count) == [1, 2])
    #expect(refused.entries.first?.content.contains("record 4") == true)
  }

  @Test("what cannot be true of an answer is reported, and not counted")
  func lies() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let receiver = Receiver { _, _ in
      LogBatch.Answer(
        refused: [-1, 2, 2, 10].map { .init(index: $0, reason: "no") }, refusedUnnamed: 1_000_000)
    }
    let shipper = try test.shipper(to: receiver)
    let events = shipper.events
    #expect(try await shipper.shipAll())
    #expect(shipper.statistics.refused == 10 && shipper.statistics.records == 0)
    for await event in events { if case .contradiction = event { break } }
  }

  @Test("a filter's records are shipped, and the cursor passes the others")
  func filtered() async throws {
    let test = try ShippedStore()
    for number in 1...20_000 {
      if number.isMultiple(of: 1000) {
        test.log.error("record \(number)")
      } else {
        test.log.debug("record \(number)")
      }
    }
    try await test.store.flush(.archive)
    let receiver = Receiver()
    try await test.ship(to: receiver) { $0.filter.minimumLevel = .error }
    #expect(receiver.messages == (1...20).map { "record \($0 * 1000)" })
    let all = Receiver()
    try await test.ship(to: all)
    #expect(all.messages.isEmpty)
  }

  @Test("several destinations do not wait for each other")
  func routes() async throws {
    let test = try ShippedStore()
    let stuck = Receiver { _, _ in throw DeliveryError.unavailable("gone") }
    let works = Receiver()
    let first = try test.shipper(as: "stuck", to: stuck)
    let second = try test.shipper(as: "works", to: works)
    try first.start()
    try second.start()
    try test.log(1...5000)
    try await wait { works.messages.count == 5000 && stuck.tryCount > 0 }
    await first.stop()
    await second.stop()
    #expect(works.messages == records(1...5000) && stuck.messages.isEmpty)
  }

  @Test("a session with much to ship does not keep the others waiting")
  func turns() async throws {
    let test = try ShippedStore()
    let other = try LogStore(directory: test.folder.path, name: "other")
    let log = other.logger(label: "other")
    try test.log(1...1000)
    let receiver = Receiver { _, number in
      if number == 1 {
        log.info("another session")
        try await other.flush(.archive)
      }
      // The pause is so long that the directory is scanned before each batch.
      try await Task.sleep(for: .milliseconds(60))
      return .accepted
    }
    try await test.ship(to: receiver) { $0.maximumRecords = 100 }
    let place = receiver.deliveries.firstIndex { $0.messages == ["another session"] }
    // The other session has its turn at the second or third scan.
    #expect(place.map { $0 <= 2 } == true, "\(String(describing: place))")
    #expect(receiver.messages.filter { $0.hasPrefix("record") } == records(1...1000))
  }

  #if DEBUG
    @Test("whether sessions that wait have crashed is searched for once, however long they wait")
    func searchedOnce() async throws {
      let folder = TemporaryDirectory()
      for number in 1...10 {
        let store = try LogStore(directory: folder.path, name: "store\(number)")
        store.logger(label: "test").info("record \(number)")
        try await store.close()
      }
      let archives = try Catalog(of: folder.path, store: nil).scan()
      let path = try #require(archives.max { $0.path < $1.path }?.path)
      // The pause is longer than the time for which a scan counts: each session is shipped by a
      // pass of its own.
      let receiver = Receiver { _, _ in
        try await Task.sleep(for: .milliseconds(60))
        return .accepted
      }
      ForcedFault.force(.openat, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(try await Shipper(of: folder.path, as: "test", to: receiver).shipAll())
      #expect(receiver.deliveries.count == 10)
      #expect(ForcedFault.passed(.openat, under: path) < 6)
    }
  #endif

  #if DEBUG
    @Test("notes of deleted archives are read again only after the directory has changed")
    func unchangedNotes() async throws {
      let test = try ShippedStore()
      try test.log(1...10)
      let notes = test.folder(".mmlog-deleted")
      test.folder.put(
        ".mmlog-deleted",
        "0123456789abcdef0123456789abcdef.1 1700000000000000000 gone 0,0,1,0,0,0,0,0 1 - - test\n")
      let receiver = Receiver()
      let shipper = try test.shipper(to: receiver)
      // These faults never come: they only count the calls.
      for path in [notes, test.folder.path] {
        ForcedFault.force(.openat, errno: EIO, onCall: .max, under: path)
      }
      defer { for path in [notes, test.folder.path] { ForcedFault.clear(under: path) } }
      try shipper.start()
      try await wait { receiver.messages.count == 10 }
      func areRead(during count: Int) async throws -> Bool {
        let before = ForcedFault.passed(.openat, under: notes)
        let start = ForcedFault.passed(.openat, under: test.folder.path)
        try await wait { ForcedFault.passed(.openat, under: test.folder.path) > start + count }
        return ForcedFault.passed(.openat, under: notes) > before
      }
      // In a directory that was just changed, they are read again for some seconds.
      var (reads, isRead) = (0, true)
      while isRead, reads < 100 {
        isRead = try await areRead(during: 100)
        reads += 1
      }
      #expect(!isRead)
      await shipper.stop()
    }
  #endif

  @Test("what is archived does not wait; while a batch is on its way, the next one gathers")
  func gathering() async throws {
    let test = try ShippedStore()
    let isHeld = LockedValue(true)
    let receiver = Receiver { _, _ in
      while isHeld.withLock({ $0 }) { try await Task.sleep(nanoseconds: 1_000_000) }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try test.log(1...10)
    try await wait { receiver.tryCount == 1 }
    for number in 11...15 { try test.log(number...number) }
    isHeld.withLock { $0 = false }
    try await wait { receiver.messages.count == 15 }
    await shipper.stop()
    #expect(receiver.deliveries.map(\.messages) == [records(1...10), records(11...15)])
  }

  @Test("what is archived while a batch is on its way waits as long as that batch did")
  func ageWhileSending() async throws {
    let test = try ShippedStore()
    let (store, log) = (test.store, test.log)
    let times = LockedValue<[UInt64]>([])
    let receiver = Receiver { _, number in
      if number == 1 {
        log.info("record 2")
        try await store.flush(.archive)
      }
      times.withLock { $0.append(Clock.monotonic()) }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) { $0.age = .milliseconds(500) }
    try shipper.start()
    try test.log(1...1)
    try await wait { receiver.messages.count == 2 }
    await shipper.stop()
    #expect(receiver.messages == records(1...2))
    let sent = times.withLock { $0 }
    #expect(sent[1] - sent[0] >= 500_000_000)
  }

  @Test("a flush ships what is only in the ring")
  func flush() async throws {
    let test = try ShippedStore { $0.drainInterval = .seconds(3600) }
    let receiver = Receiver()
    let store = test.store
    let shipper = try test.shipper(to: receiver) {
      $0.age = .seconds(3600)
      $0.archive = { try? store.flush(.archive) }
    }
    try shipper.start()
    for number in 1...100 { test.log.info("record \(number)") }
    #expect(await shipper.flush(within: .seconds(3600)))
    #expect(receiver.messages == records(1...100))
    await shipper.stop()
    #expect(await shipper.flush(within: .milliseconds(1)) == false)
  }

  @Test("a process beside the service is asked by way of its ring")
  func ringAsked() async throws {
    let test = try ShippedStore { $0.drainInterval = .seconds(3600) }
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver) { $0.archiveInterval = .milliseconds(50) }
    try shipper.start()
    for number in 1...100 { test.log.info("record \(number)") }
    try await wait { receiver.messages.count == 100 }
    await shipper.stop()
  }

  @Test("nothing is sent while the shipper is suspended, or its policy says so")
  func suspended() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    let mayShip = LockedValue(false)
    let shipper = try test.shipper(to: receiver) {
      $0.policy = { _ in mayShip.withLock { $0 } ? .ship : .wait(.milliseconds(1)) }
    }
    shipper.suspend()
    try shipper.start()
    try test.log(1...10)
    try await wait { shipper.statistics.waiting == 10 && shipper.statistics.isSuspended }
    shipper.resume()
    try await wait { !shipper.statistics.isSuspended }
    #expect(receiver.tryCount == 0)
    mayShip.withLock { $0 = true }
    try await wait { receiver.messages.count == 10 }
    await shipper.stop()
  }

  @Test("a rate limit holds on average")
  func rateLimit() async throws {
    let test = try ShippedStore()
    try test.log(1...300)
    let receiver = Receiver()
    let start = Clock.monotonic()
    try await test.ship(to: receiver) {
      $0.maximumRecords = 50
      $0.recordsPerSecond = 200
    }
    // The first 200 records go at once. The others take half a second.
    #expect(Clock.monotonic() - start >= 400_000_000)
    #expect(receiver.messages == records(1...300))
  }

  @Test("a rate limit makes batches of a second, one after the other, and no bursts")
  func rateWithoutBursts() async throws {
    let test = try ShippedStore()
    try test.log(1...300)
    let times = LockedValue<[UInt64]>([])
    let receiver = Receiver { _, _ in
      times.withLock { $0.append(Clock.monotonic()) }
      return .accepted
    }
    try await test.ship(to: receiver) { $0.recordsPerSecond = 100 }
    #expect(receiver.deliveries.map(\.messages.count) == [100, 100, 100])
    let sent = times.withLock { $0 }
    try #require(sent.count == 3)
    #expect(sent[2] - sent[0] >= 900_000_000)
    let other = Receiver()
    try await test.ship(as: "other", to: other) { $0.bytesPerSecond = 1 << 12 }
    #expect(other.messages == records(1...300))
    #expect(other.deliveries.count > 2)
  }

  @Test("a batch that is sent again does not wait for the rate again")
  func rateOfRepeats() async throws {
    let test = try ShippedStore()
    test.log.info("\(String(repeating: "x", count: 100_000))")
    try await test.store.flush(.archive)
    let receiver = Receiver { _, number in
      if number < 3 { throw DeliveryError.unavailable("busy") }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) { $0.bytesPerSecond = 1 }
    try shipper.start()
    // The first try would wait for more than a day.
    try await wait {
      if receiver.tryCount == 0 { shipper.resume() }
      return receiver.tryCount > 0
    }
    try await wait { receiver.messages.count == 1 }
    #expect(receiver.tryCount == 3)
    await shipper.stop()
  }

  @Test("a rate limit holds also after an earlier resume")
  func rateAfterResume() async throws {
    let test = try ShippedStore()
    try test.log(1...300)
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver) {
      $0.maximumRecords = 150
      $0.recordsPerSecond = 200
    }
    shipper.suspend()
    shipper.resume()
    let start = Clock.monotonic()
    #expect(try await shipper.shipAll())
    // The first batch goes at once, and leaves 50 records of the first second for the other one.
    #expect(Clock.monotonic() - start >= 400_000_000)
    #expect(receiver.messages == records(1...300))
  }

  @Test("a stopped shipper's batch is sent again by the next one, under the same id")
  func stoppedMeanwhile() async throws {
    let test = try ShippedStore()
    try test.log(1...10)
    let sent = LockedValue<[String]>([])
    let receiver = Receiver()
    try await test.shipWithoutAnswer(to: receiver) { delivery in
      sent.withLock { $0.append(delivery.id) }
    }
    try test.log(11...20)
    receiver.change { delivery, _ in
      sent.withLock { $0.append(delivery.id) }
      return .accepted
    }
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...20))
    #expect(receiver.deliveries.first?.messages == records(1...10))
    #expect(receiver.deliveries.first?.mayBeRepeat == true)
    #expect(sent.withLock { $0[0] == $0[1] })
  }
}
