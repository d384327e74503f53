import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Corruption of archives before they are shipped.
@Suite struct CorruptionTests {
  /// Corrupts a frame of records in the only archive: its header or its payload.
  private func corrupt(
    frame index: Int, isInPayload: Bool = false, in folder: TemporaryDirectory
  ) throws {
    let path = folder(try #require(try folder.names(ending: ".mmlog").first))
    let archive = try #require(try ArchiveFile.all(in: File.open(path, .read)).first)
    let frames = archive.frames.filter { $0.header.type == .records }
    let file = try FileHandle(forUpdating: URL(filePath: path))
    let offset = isInPayload ? frames[index].header.headerSize : 8
    try file.seek(toOffset: UInt64(frames[index].offset + offset))
    try file.write(contentsOf: [0xA5, 0xA5, 0xA5, 0xA5])
  }

  @Test(
    "records that are corrupted at the end of a session are a gap, once",
    arguments: [0, 1], [false, true])
  func corruptedEnd(readableFrames: Int, isShippedBefore: Bool) async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    if readableFrames > 0 { try test.log(1...10) }
    if isShippedBefore { try await test.ship(to: receiver) }
    try test.log(11...20)
    try await test.store.close()
    try corrupt(frame: readableFrames, in: test.folder)
    let waiting = try test.shipper(to: receiver).waiting()
    #expect(waiting.map(\.corruption.count) == [1])
    for _ in 1...2 {
      try await test.ship(to: receiver)
      #expect(receiver.messages == (readableFrames > 0 ? records(1...10) : []))
      #expect(receiver.gaps.count == 1)
    }
    #expect(try test.shipper(to: receiver).waiting().isEmpty)
    let path = test.folder(try #require(try test.folder.names(ending: ".mmlog").first))
    #expect(receiver.gaps.first?.description.hasPrefix("\(path): ") == true)
  }

  @Test("a service ships the corrupted end of a session, and what is flushed waits for it")
  func corruptedEndOfService() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    try await test.store.close()
    try corrupt(frame: 0, in: test.folder)
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try await wait { receiver.gaps.count == 1 }
    #expect(await shipper.flush(within: .seconds(60)))
    await shipper.stop()
    #expect(receiver.gaps.count == 1 && receiver.messages.isEmpty)
  }

  @Test("corruption before records that were shipped is not shipped again")
  func corruptionBeforeTheCursor() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    for first in [1, 11, 21] { try test.log(first...first + 9) }
    try corrupt(frame: 1, in: test.folder)
    try await test.ship(to: receiver)
    try test.log(31...40)
    try await test.ship(to: receiver)
    try await test.store.close()
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...10) + records(21...40))
    #expect(receiver.gaps.count == 1)
  }

  @Test(
    "corruption between two batches is a gap, once, whichever shipper sends them",
    arguments: [0, 1, 2], [false, true])
  func corruptionBetweenBatches(answers: Int, isInPayload: Bool) async throws {
    let test = try ShippedStore()
    for first in [1, 11, 21] { try test.log(first...first + 9) }
    try corrupt(frame: 1, isInPayload: isInPayload, in: test.folder)
    let receiver = Receiver { _, number in
      if number > answers { try await Task.sleep(nanoseconds: 3_600_000_000_000) }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) {
      ($0.maximumRecords, $0.age) = (10, .zero)
    }
    try shipper.start()
    try await wait { receiver.tryCount > answers || receiver.messages.count == 20 }
    await shipper.stop()
    receiver.change { _, _ in .accepted }
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...10) + records(21...30))
    #expect(receiver.gaps.count == 1)
  }

  @Test("a gap goes with the half of a batch that it is in, and is said once")
  func gapInSecondHalf() async throws {
    let test = try ShippedStore()
    for first in [1, 11, 21] { try test.log(first...first + 9) }
    try corrupt(frame: 1, in: test.folder)
    let receiver = Receiver { delivery, number in
      if delivery.messages.count > 10 { throw DeliveryError.refused("too many") }
      if number > 2 { try await Task.sleep(nanoseconds: 3_600_000_000_000) }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) { $0.age = .zero }
    let events = shipper.events
    try shipper.start()
    try await wait { receiver.tryCount == 3 }
    await shipper.stop()
    #expect(receiver.messages == records(1...10) && receiver.gaps.isEmpty)
    receiver.change { _, _ in .accepted }
    let next = try test.shipper(to: receiver)
    let nextEvents = next.events
    #expect(try await next.shipAll())
    await next.stop()
    #expect(receiver.messages == records(1...10) + records(21...30))
    #expect(receiver.gaps.count == 1 && receiver.deliveries.last?.gaps.count == 1)
    var said = 0
    for events in [events, nextEvents] {
      for await event in events { if case .gap = event { said += 1 } }
    }
    #expect(said == 1)
  }

  /// The ends of archives whose process has died, or that have lost a part.
  enum End: CaseIterable {
    case corrupted, torn, missing
  }

  @Test(
    "what is corrupted at the end of an archive that was not closed is a gap, once",
    arguments: End.allCases, [0, 1, 2])
  func corruptedEndOfOpenArchive(end: End, laterFrames: Int) async throws {
    for isShippedBefore in [false, true] {
      let log = TestLog()
      log.writesRing = false
      log.write("a", ticks: 1)
      log.archive()
      switch end {
      case .corrupted: log.archives[0] += [UInt8](repeating: 0xA5, count: 64)
      case .torn:
        log.addLong(64, site: log.textSite)
        log.archives[0].removeLast(16)
      case .missing: break
      }
      let receiver = Receiver()
      func ship() async throws -> Shipper {
        log.save()
        let shipper = try Shipper(
          of: log.folder.path, as: "test", to: receiver, configuration: .quick())
        #expect(try await shipper.shipAll())
        return shipper
      }
      if isShippedBefore {
        _ = try await ship()
        #expect(receiver.messages == ["a"] && receiver.gaps.isEmpty)
      }
      log.beginArchive()
      for number in 0..<laterFrames {
        log.write("later \(number)", ticks: 10 + UInt64(number))
        log.archive()
      }
      log.close()
      #expect(try await ship().statistics.gaps == 1)
      #expect(try await ship().statistics.gaps == 0)
      #expect(receiver.messages == ["a"] + (0..<laterFrames).map { "later \($0)" })
      #expect(receiver.gaps.count == 1)
      let first = log.folder(try #require(try log.folder.names(ending: "-000001.mmlog").first))
      #expect(receiver.gaps.first?.description.hasPrefix("\(first): ") == true)
    }
  }

  @Test("what of a ring is corrupted that a shipper recovers is said and counted")
  func corruptedRing() async throws {
    let folder = TestLog.killed(records: 30, corrupted: 15).folder
    let receiver = Receiver()
    let shipper = try Shipper(
      of: folder.path, as: "test", to: receiver, configuration: .quick { $0.recoversRings = true })
    let events = shipper.events
    #expect(try await shipper.shipAll())
    await shipper.stop()
    #expect(receiver.messages.count == 29 && shipper.statistics.gaps == 1)
    var corruption: [LogError] = []
    for await event in events {
      if case .failed(let error) = event { corruption.append(error) }
    }
    #expect(corruption.map(\.code) == [.corruptedFile])
  }
}
