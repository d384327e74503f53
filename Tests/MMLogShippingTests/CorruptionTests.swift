import Foundation
import MMLog
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// What is corrupted before it is shipped.
@Suite struct CorruptionTests {
  /// Corrupts the header of a frame of records in the only archive that is there.
  private func corrupt(frame index: Int, in folder: TemporaryDirectory) throws {
    let path = folder(try #require(try folder.names(ending: ".mmlog").first))
    let archive = try #require(try ArchiveFile.all(in: File.open(path, .read)).first)
    let frames = archive.frames.filter { $0.header.type == .records }
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64(frames[index].offset + 8))
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
