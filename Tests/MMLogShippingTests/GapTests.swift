import Foundation
import Glibc
import MMLog
import MMLogFormat
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Archives that are deleted before they are shipped.
@Suite struct GapTests {
  private func delete(_ count: Int, from first: UInt32 = 1, in folder: TemporaryDirectory) throws {
    let catalog = Catalog(of: folder.path, store: nil)
    let archives = try catalog.scan().filter { $0.isSealed && $0.number >= first }
    try catalog.delete(archives.prefix(count).map(\.fileName), if: { _ in true }) { _, outcome in
      if case .deleted = outcome { return }
      Issue.record("\(outcome)")
    }
  }

  /// Removes the archives from a number on, as a user does who does not know about consumers.
  private func remove(from first: UInt32 = 1, in path: String) throws {
    for archive in try Catalog(of: path, store: nil).scan()
    where archive.isSealed && archive.number >= first {
      try FileManager.default.removeItem(atPath: archive.path)
    }
  }

  /// Logs records, ten in each archive.
  private func logArchives(_ numbers: ClosedRange<Int>, _ test: ShippedStore) async throws {
    for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 10) {
      for number in first..<first + 10 {
        if number.isMultiple(of: 5) {
          test.log.error("record \(number)")
        } else {
          test.log.info("record \(number)")
        }
      }
      _ = try await test.store.rotate()
    }
  }

  @Test("what retention deletes unsent is counted by level and sent as a gap")
  func deletedUnsent() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await logArchives(1...20, test)
    try await test.ship(to: receiver)
    try await logArchives(21...60, test)
    // Two of these archives are shipped, and two are not.
    try delete(4, in: test.folder)
    let shipper = try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...20) + records(41...60))
    #expect(receiver.gaps.count == 1)
    let gap = try #require(receiver.gaps.first)
    #expect(gap.count == 20 && gap.archives == 3...4 && !gap.mayBeSent)
    #expect(gap.levels == [.info: 16, .error: 4])
    #expect(shipper.statistics.missed == 20 && shipper.statistics.missedByLevel[.error] == 4)
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
    try await test.ship(to: receiver)
    #expect(receiver.gaps.count == 1)
  }

  /// A session of which nothing is left, and a receiver that has none of its records.
  private func goneSession(
    _ numbers: ClosedRange<Int>
  ) async throws -> (test: ShippedStore, receiver: Receiver) {
    let (test, receiver) = (try ShippedStore(), Receiver())
    try await test.ship(to: receiver)
    try await logArchives(numbers, test)
    try await test.store.close()
    try delete(.max, in: test.folder)
    return (test, receiver)
  }

  @Test("a session of which nothing is left is a gap, too")
  func wholeSession() async throws {
    let (test, receiver) = try await goneSession(1...30)
    try await test.ship(to: receiver)
    #expect(receiver.messages.isEmpty && receiver.gaps.map(\.count) == [30])
    try await test.ship(to: receiver)
    #expect(receiver.gaps.count == 1)
  }

  /// Changes the lines of the notes about deleted archives.
  private func changeNotes(in folder: TemporaryDirectory, _ change: (String) -> String) throws {
    let url = URL(filePath: folder(".mmlog-deleted"))
    let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
    try (lines.map { change(String($0)) }.joined(separator: "\n") + "\n")
      .write(to: url, atomically: false, encoding: .utf8)
  }

  @Test("notes with numbers that no archive can have are passed over")
  func impossibleNotes() async throws {
    let (test, receiver) = try await goneSession(1...30)
    // A line has a key, a time, consumers, counts, rows, and further words.
    try changeNotes(in: test.folder) { line in
      var words = line.split(separator: " ").map(String.init)
      words[4] = "\(Int.max)"
      return words.joined(separator: " ")
    }
    try await test.ship(to: receiver)
    #expect(receiver.messages.isEmpty && receiver.gaps.isEmpty)
  }

  @Test("a gap of nearly all numbers that there are takes no longer than another")
  func wideGap() async throws {
    let (test, receiver) = try await goneSession(1...20)
    let last = UInt32.max - 1
    try changeNotes(in: test.folder) { $0.replacing(".2 ", with: ".\(last) ") }
    for _ in 1...2 {
      try await test.ship(to: receiver)
      #expect(receiver.gaps.map(\.archives) == [1...Int(last)] && receiver.gaps[0].count == nil)
    }
  }

  @Test("a batch that was on its way up to an archive that cannot be takes no longer than another")
  func wideBatch() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await logArchives(1...20, test)
    try await test.shipWithoutAnswer(to: receiver)
    try changeState(in: test.folder) {
      for session in $0.batches.keys {
        $0.batches[session]?.to = .init(next: .init(archive: .max - 1, frame: 1, row: 1))
      }
    }
    receiver.change { _, _ in .accepted }
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...20))
  }

  @Test("a file that somebody else removes is a gap of unknown size")
  func removedByHand() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await logArchives(1...10, test)
    try await test.ship(to: receiver)
    try await logArchives(11...30, test)
    let name = try #require(try test.folder.names(ending: "-000002.mmlog").first)
    try FileManager.default.removeItem(atPath: test.folder(name))
    let shipper = try await test.ship(to: receiver)
    #expect(shipper.statistics.gaps == 1 && shipper.statistics.missed == 0)
    #expect(receiver.messages == records(1...10) + records(21...30))
    #expect(receiver.gaps.map(\.archives) == [2...2] && receiver.gaps[0].count == nil)
  }

  @Test("last archives that somebody removes unsent are a gap, and other sessions go on")
  func lastRemoved() async throws {
    let test = try ShippedStore()
    try await logArchives(1...30, test)
    try await test.store.close()
    try await test.logAnotherSession()
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver)
    shipper.suspend()
    try shipper.start()
    try await wait { shipper.statistics.waiting == 31 }
    for archive in try Catalog(of: test.folder.path, store: nil).scan()
    where archive.storeName == "test" && archive.number > 1 {
      try FileManager.default.removeItem(atPath: archive.path)
    }
    shipper.resume()
    try await wait { receiver.gaps.count == 1 && receiver.messages.count == 11 }
    await shipper.stop()
    #expect(Set(receiver.messages) == Set(records(1...10) + ["another session"]))
    #expect(receiver.gaps.map(\.archives) == [2...3] && receiver.gaps[0].count == nil)
  }

  @Test("archives that somebody removes while the one before is on its way are a gap")
  func removedMeanwhile() async throws {
    let test = try ShippedStore()
    try await logArchives(1...30, test)
    try await test.store.close()
    let path = test.folder.path
    let receiver = Receiver { delivery, _ in
      if delivery.messages.first == "record 1" { try remove(from: 2, in: path) }
      return .accepted
    }
    try await test.ship(to: receiver) { $0.maximumRecords = 10 }
    #expect(receiver.messages == records(1...10))
    #expect(receiver.gaps.map(\.archives) == [2...3])
  }

  @Test("last archives that retention deletes meanwhile are counted")
  func deletedMeanwhile() async throws {
    let test = try ShippedStore()
    let (folder, receiver) = (test.folder, Receiver())
    try await test.ship(to: receiver)
    try await logArchives(1...30, test)
    try await test.store.close()
    receiver.change { delivery, _ in
      if delivery.messages.first == "record 1" { try delete(.max, from: 2, in: folder) }
      return .accepted
    }
    try await test.ship(to: receiver) { $0.maximumRecords = 10 }
    #expect(receiver.messages == records(1...10))
    #expect(receiver.gaps.map(\.count) == [20] && receiver.gaps[0].levels[.error] == 4)
  }

  @Test("what is left before last archives that were deleted is shipped, and then their gap")
  func unreadBeforeDeleted() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await test.ship(to: receiver)
    try await logArchives(1...30, test)
    try await test.store.close()
    try delete(.max, from: 3, in: test.folder)
    for _ in 1...2 {
      try await test.ship(to: receiver)
      #expect(receiver.messages == records(1...20) && receiver.gaps.map(\.count) == [10])
      #expect(receiver.gaps.first?.archives?.lowerBound == 3)
    }
  }

  @Test("a gap that is on its way when a shipper ends is sent again")
  func gapWithoutAnswer() async throws {
    let test = try ShippedStore()
    try await logArchives(1...30, test)
    try await test.store.close()
    let path = test.folder.path
    let receiver = Receiver { _, number in
      if number == 1 {
        try remove(from: 2, in: path)
      } else {
        try await Task.sleep(nanoseconds: 3_600_000_000_000)
      }
      return .accepted
    }
    let shipper = try test.shipper(to: receiver) { $0.maximumRecords = 10 }
    try shipper.start()
    try await wait { receiver.tryCount == 2 }
    await shipper.stop()
    #expect(receiver.messages == records(1...10) && receiver.gaps.isEmpty)
    receiver.change { _, _ in .accepted }
    for _ in 1...2 {
      try await test.ship(to: receiver)
      #expect(receiver.messages == records(1...10))
      #expect(receiver.gaps.map(\.archives) == [2...3])
    }
    #expect(receiver.deliveries.last?.mayBeRepeat == true)
  }

  @Test("a gap of a session of which nothing was sent is whole when it is sent again")
  func wholeGapWithoutAnswer() async throws {
    let (test, receiver) = try await goneSession(1...30)
    receiver.change { _, _ in
      try await Task.sleep(nanoseconds: 3_600_000_000_000)
      return .accepted
    }
    let shipper = try test.shipper(to: receiver)
    try shipper.start()
    try await wait { receiver.tryCount == 1 }
    await shipper.stop()
    receiver.change { _, _ in .accepted }
    for _ in 1...2 {
      try await test.ship(to: receiver)
      let (archives, counts) = (receiver.gaps.map(\.archives), receiver.gaps.map(\.count))
      #expect(archives == [1...4])
      #expect(counts == [30])
    }
  }

  @Test("a gap waits while a shipper is suspended")
  func suspended() async throws {
    let (test, receiver) = try await goneSession(1...30)
    let shipper = try test.shipper(to: receiver)
    shipper.suspend()
    try shipper.start()
    try await wait { shipper.statistics.isSuspended }
    #expect(receiver.tryCount == 0)
    shipper.resume()
    try await wait { receiver.gaps.count == 1 }
    await shipper.stop()
    #expect(receiver.gaps.map(\.count) == [30])
  }

  @Test("shipped archives that are gone of a session that goes on are no gap")
  func shippedAndGone() async throws {
    for isRingKnown in [true, false] {
      let rings = TemporaryDirectory()
      let test = try ShippedStore { $0.ringDirectory = rings.path }
      let receiver = Receiver()
      let ship = {
        try await test.ship(to: receiver) { $0.ringDirectory = isRingKnown ? rings.path : nil }
      }
      try await logArchives(1...20, test)
      _ = try await ship()
      try remove(in: test.folder.path)
      _ = try await ship()
      try await logArchives(21...30, test)
      _ = try await ship()
      #expect(receiver.messages == records(1...30) && receiver.gaps.isEmpty, "\(isRingKnown)")
    }
  }

  @Test("a session goes on without a gap of what was removed while it was shipped")
  func removedWhileShipped() async throws {
    let test = try ShippedStore()
    let path = test.folder.path
    let receiver = Receiver { delivery, _ in
      if delivery.messages.first == "record 1" {
        try remove(in: path)
        // Waits until the directory is scanned again.
        try await Task.sleep(nanoseconds: 100_000_000)
      }
      return .accepted
    }
    try await logArchives(1...10, test)
    let shipper = try test.shipper(to: receiver) { $0.maximumRecords = 6 }
    try shipper.start()
    try await wait { receiver.messages.count == 10 }
    // When both records of another session have arrived, the pass before has ended.
    let other = try LogStore(directory: path, name: "other")
    for count in 11...12 {
      other.logger(label: "other").info("another session")
      try await other.flush(.archive)
      try await wait { receiver.messages.count == count }
    }
    try await logArchives(11...20, test)
    try await wait { receiver.messages.count == 22 }
    await shipper.stop()
    #expect(receiver.gaps.isEmpty, "\(receiver.gaps)")
  }

  @Test("of a session that has a ring elsewhere, removed archives are no gap yet")
  func ringElsewhere() async throws {
    let rings = TemporaryDirectory()
    let test = try ShippedStore { $0.ringDirectory = rings.path }
    let receiver = Receiver()
    let ship = {
      try await test.ship(to: receiver) { $0.ringDirectory = rings.path }
    }
    try test.log(1...10)
    _ = try await ship()
    _ = try await test.store.rotate()
    try remove(in: test.folder.path)
    _ = try await ship()
    #expect(receiver.messages == records(1...10) && receiver.gaps.isEmpty)
    try await test.store.close()
    try remove(in: test.folder.path)
    for _ in 1...2 {
      _ = try await ship()
      #expect(receiver.gaps.map(\.archives) == [1...1])
    }
  }

  @Test("a session that had not ended, and of which no file is left, is a gap")
  func allRemoved() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...10)
    try await test.ship(to: receiver)
    try test.log(11...20)
    try await test.store.close()
    for name in try test.folder.names(ending: ".mmlog") {
      try FileManager.default.removeItem(atPath: test.folder(name))
    }
    for _ in 1...2 {
      try await test.ship(to: receiver)
      #expect(receiver.messages == records(1...10))
      #expect(receiver.gaps.map(\.archives) == [1...1] && receiver.gaps.first?.count == nil)
    }
  }

  @Test("what was deleted before the consumer began is none of its gaps")
  func beforeTheConsumer() async throws {
    let test = try ShippedStore()
    try await logArchives(1...30, test)
    try delete(2, in: test.folder)
    let receiver = Receiver()
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(21...30) && receiver.gaps.isEmpty)
  }

  @Test("an archive that cannot be read now is no gap: its session waits, and others go on")
  func unreadableForNow() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await logArchives(1...30, test)
    try await test.store.close()
    let second = test.folder(try #require(try test.folder.names(ending: "-000002.mmlog").first))
    // The archive is of a newer version.
    try overwrite(second, at: FileHeaderLayout.version, with: 9)
    try await test.logAnotherSession()
    let shipper = try test.shipper(to: receiver)
    let events = shipper.events
    #expect(try await shipper.shipAll() == false)
    #expect(receiver.messages == ["another session"] && receiver.gaps.isEmpty)
    #expect(throws: LogError.self) { try shipper.waiting() }
    for await event in events {
      guard case .failed(let error) = event else { continue }
      #expect(error.code == .newerFormat && error.path == second)
      break
    }
    try overwrite(second, at: FileHeaderLayout.version, with: 2)
    try await test.ship(to: receiver)
    #expect(receiver.messages == ["another session"] + records(1...30) && receiver.gaps.isEmpty)
  }

  @Test("what a session has acknowledged is known also after its archive could not be read")
  func forgottenMeanwhile() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try await logArchives(1...10, test)
    try await test.store.close()
    try await test.ship(to: receiver)
    let first = test.folder(try #require(try test.folder.names(ending: "-000001.mmlog").first))
    try overwrite(first, at: FileHeaderLayout.version, with: 9)
    try await test.logAnotherSession()
    #expect(try await test.shipper(to: receiver).shipAll() == false)
    try overwrite(first, at: FileHeaderLayout.version, with: 2)
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...10) + ["another session"])
  }

  private func overwrite(_ path: String, at offset: Int, with byte: UInt8) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: [byte])
  }

  @Test("of a session that has ended, nothing counts as unsent when all is acknowledged")
  func nothingUnsent() async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    try test.log(1...20)
    try await test.ship(to: receiver)
    func isUnsent() throws -> Bool {
      let archives = try Catalog(of: test.folder.path, store: nil).scan()
      let last = try #require(archives.last)
      return try UnsentArchives(in: Directory.open(test.folder.path))
        .contains(last.id)
    }
    #expect(try isUnsent(), "more may come in the open archive")
    try await test.store.close()
    try await test.ship(to: receiver)
    #expect(try !isUnsent())
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(1...20))
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("an archive that is deleted while its batch is on its way may have been sent")
  func mayBeSent() async throws {
    let test = try ShippedStore()
    try await logArchives(1...10, test)
    let receiver = Receiver()
    try await test.shipWithoutAnswer(to: receiver)
    try await logArchives(11...20, test)
    try delete(1, in: test.folder)
    receiver.change { _, _ in .accepted }
    try await test.ship(to: receiver)
    #expect(receiver.messages == records(11...20))
    #expect(receiver.gaps.map(\.mayBeSent) == [true] && receiver.gaps[0].count == 10)
  }

  @Test("what a transform drops of an earlier archive makes no gap smaller")
  func droppedEarlier() async throws {
    let test = try ShippedStore()
    try await logArchives(1...40, test)
    let receiver = Receiver { _, number in
      if number > 1 { try await Task.sleep(nanoseconds: 3_600_000_000_000) }
      return .accepted
    }
    let change: @Sendable (inout Shipper.Configuration) -> Void = {
      $0.maximumRecords = 15
      $0.transform = { record in
        let number = Int(record.original.message.split(separator: " ")[1]) ?? 0
        return number <= 10 ? [] : [record]
      }
    }
    let shipper = try test.shipper(to: receiver, change)
    try shipper.start()
    try await wait { receiver.tryCount == 2 }
    await shipper.stop()
    #expect(receiver.messages == records(11...15))
    try delete(1, from: 2, in: test.folder)
    receiver.change { _, _ in .accepted }
    try await test.ship(to: receiver, change)
    #expect(receiver.messages == records(11...15) + records(21...40))
    #expect(receiver.gaps.map(\.count) == [5])
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  /// Damage that cannot be undone.
  enum Damage: CaseIterable {
    case removed, emptied, overwritten

    func strike(_ path: String) throws {
      switch self {
      case .removed: try FileManager.default.removeItem(atPath: path)
      case .emptied: try File.open(path, .write).truncate(to: 0)
      case .overwritten:
        let size = try Data(contentsOf: URL(filePath: path)).count
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.write(contentsOf: [UInt8](repeating: 0xA5, count: size))
      }
    }
  }

  @Test(
    "an archive of which nothing can be read any more is a gap, once, and the consumer goes on",
    arguments: Damage.allCases, [(false, true), (true, true), (true, false)])
  func unreadable(damage: Damage, shipped: (isBegun: Bool, isOnItsWay: Bool)) async throws {
    let test = try ShippedStore()
    let receiver = Receiver()
    if shipped.isBegun {
      try test.log(1...10)
      try await test.ship(to: receiver)
    }
    try test.log(11...20)
    if shipped.isOnItsWay { try await test.shipWithoutAnswer(to: receiver) }
    receiver.change { _, _ in .accepted }
    try await test.store.close()
    try damage.strike(test.folder(try #require(try test.folder.names(ending: ".mmlog").first)))
    try await test.logAnotherSession()
    for count in [1, 0] {
      let shipper = try test.shipper(to: receiver)
      // Unless the archive was removed, a file that cannot be read is still there.
      #expect(try await shipper.shipAll() == (damage == .removed))
      #expect(shipper.statistics.gaps == count)
    }
    #expect(receiver.messages == (shipped.isBegun ? records(1...10) : []) + ["another session"])
    #expect(receiver.gaps.map(\.archives) == [1...1])
    #expect(receiver.gaps.map(\.mayBeSent) == [shipped.isOnItsWay])
  }

  @Test("an archive that is overwritten before it is read is a gap, and other sessions go on")
  func overwritten() async throws {
    let test = try ShippedStore()
    try await logArchives(1...20, test)
    try await test.store.close()
    try await test.logAnotherSession()
    let receiver = Receiver()
    let shipper = try test.shipper(to: receiver)
    shipper.suspend()
    try shipper.start()
    try await wait { shipper.statistics.waiting == 21 }
    let name = try test.folder.names(ending: "-000002.mmlog").first { $0.hasPrefix("test") }
    try Damage.overwritten.strike(test.folder(try #require(name)))
    shipper.resume()
    try await wait { receiver.gaps.count == 1 && receiver.messages.count == 11 }
    await shipper.stop()
    #expect(Set(receiver.messages) == Set(records(1...10) + ["another session"]))
    #expect(receiver.gaps.map(\.archives) == [2...2])
  }

  #if DEBUG
    @Test("what keeps an archive from being opened for a moment changes no batch")
    func notOpened() async throws {
      for call in 1...12 {
        let test = try ShippedStore()
        let receiver = Receiver()
        try await logArchives(1...10, test)
        try await test.store.close()
        let ids = LockedValue<[String]>([])
        try await test.shipWithoutAnswer(to: receiver) { delivery in
          ids.withLock { $0.append(delivery.id) }
        }
        receiver.change { _, _ in .accepted }
        let path = test.folder(try #require(try test.folder.names(ending: "1.mmlog").first))
        ForcedFault.force(.openat, errno: EMFILE, onCall: call, under: path)
        defer { ForcedFault.clear(under: path) }
        let shipper = try test.shipper(to: receiver)
        let events = shipper.events
        _ = try? await shipper.shipAll()
        ForcedFault.clear(under: path)
        try await test.ship(to: receiver)
        #expect(receiver.messages == records(1...10) && receiver.gaps.isEmpty, "call \(call)")
        #expect(receiver.deliveries.map(\.id) == ids.withLock { $0 }, "call \(call)")
        await shipper.stop()
        for await event in events {
          if case .changedBatch = event { Issue.record("call \(call): the batch was changed") }
        }
      }
    }
  #endif

  @Test("a batch that begins with a gap is the same after a crash, unless more was deleted")
  func repeatedWithGap() async throws {
    for isMoreDeleted in [false, true] {
      let test = try ShippedStore()
      let sent = LockedValue<[Receiver.Delivery]>([])
      let receiver = Receiver()
      try test.log(1...4)
      try await test.ship(to: receiver)
      try test.log(5...10)
      _ = try await test.store.rotate()
      try await logArchives(11...30, test)
      try delete(1, in: test.folder)
      try await test.shipWithoutAnswer(to: receiver) { delivery in
        sent.withLock { $0.append(delivery) }
      }
      if isMoreDeleted { try delete(1, in: test.folder) }
      receiver.change { _, _ in .accepted }
      try await test.ship(to: receiver)
      let first = try #require(sent.withLock { $0.first })
      let again = try #require(receiver.deliveries.dropFirst().first)
      #expect(first.messages == records(11...30) && first.gaps.map(\.count) == [6])
      #expect((first.id == again.id) == !isMoreDeleted)
      #expect(again.gaps.map(\.mayBeSent) == [isMoreDeleted])
      #expect(again.messages == records(isMoreDeleted ? 21...30 : 11...30))
      #expect(again.gaps.map(\.count) == [isMoreDeleted ? 16 : 6])
    }
  }

  @Test("a gap before a record that is refused arrives all the same")
  func gapBeforePoison() async throws {
    let test = try ShippedStore()
    let receiver = Receiver { delivery, _ in
      if delivery.messages.contains("record 11") { throw DeliveryError.refused("no") }
      return .accepted
    }
    try await test.ship(to: receiver)
    try await logArchives(1...20, test)
    try delete(1, in: test.folder)
    try await test.ship(to: receiver) { $0.maximumRecords = 1 }
    #expect(receiver.messages == records(12...20) && receiver.gaps.map(\.count) == [10])
    #expect(try Reconciliation(of: test.folder.path, consumer: "test").problems == [])
  }

  @Test("a gap that the receiver refuses is reported, and has a time that receivers take")
  func refusedGap() async throws {
    let test = try ShippedStore()
    let (start, times) = (Timestamp.now, LockedValue<[Timestamp]>([]))
    let receiver = Receiver { delivery, _ in
      if delivery.gaps.isEmpty { return .accepted }
      times.withLock { $0.append(delivery.began) }
      throw DeliveryError.refused("no gaps")
    }
    try test.log(1...10)
    try await test.ship(to: receiver)
    try test.log(11...20)
    try await test.store.close()
    for name in try test.folder.names(ending: ".mmlog") {
      try FileManager.default.removeItem(atPath: test.folder(name))
    }
    let shipper = try test.shipper(to: receiver)
    let events = shipper.events
    #expect(try await shipper.shipAll())
    #expect(receiver.messages == records(1...10))
    #expect(times.withLock { $0.count == 1 && $0[0] >= start })
    await shipper.stop()
    var reasons: [String] = []
    for await event in events {
      if case .refused(_, 0, let reason) = event { reasons.append(reason) }
    }
    #expect(reasons == ["no gaps"])
  }

  @Test("a gap that is refused beside records that are taken is reported")
  func refusedGapBesideRecords() async throws {
    let test = try ShippedStore { $0.retention = .unlimited }
    let receiver = Receiver { delivery, _ in
      var answer = LogBatch.Answer.accepted
      if !delivery.gaps.isEmpty { answer.gapRefusal = "no gaps" }
      return answer
    }
    try await logArchives(1...20, test)
    try await test.ship(to: receiver)
    try await logArchives(21...40, test)
    // Two of these archives are shipped, and one is not.
    try delete(3, in: test.folder)
    let shipper = try test.shipper(to: receiver)
    let events = shipper.events
    #expect(try await shipper.shipAll())
    await shipper.stop()
    var reasons: [String] = []
    for await event in events {
      if case .refused(_, 0, let reason) = event { reasons.append(reason) }
    }
    #expect(reasons == ["no gaps"])
    #expect(receiver.gaps.count == 1 && receiver.messages == records(1...20) + records(31...40))
  }

  @Test("retention spares so much that is not shipped, and no more")
  func spared() async throws {
    let test = try ShippedStore { $0.retention = .unlimited }
    let receiver = Receiver()
    try await test.ship(to: receiver)
    try await logArchives(1...50, test)
    let archives = try Catalog(of: test.folder.path, store: nil).scan().filter(\.isSealed)
    var retention = Retention.unlimited
    retention.count = 1
    func deleted(_ change: (inout Retention) -> Void = { _ in }) throws -> Int {
      change(&retention)
      return try RetentionPlan(
        retention, archives, ringDirectories: [test.folder.path], space: nil
      ).deletions.count
    }
    #expect(try deleted() == 4)
    #expect(try deleted { $0.unsentSize = 1 << 30 } == 0)
    #expect(try deleted { $0.unsentSize = archives[0].allocatedSize * 2 } == 3)
    #expect(
      try deleted {
        $0.unsentSize = 1 << 30
        $0.unsentAge = .nanoseconds(1)
      } == 4)
    try await test.ship(to: receiver)
    #expect(try deleted { $0.unsentAge = nil } == 4)
  }

  #if DEBUG
    @Test("where a consumer's state cannot be read, nothing counts as shipped to it")
    func unreadableState() async throws {
      let test = try ShippedStore { $0.retention = .unlimited }
      try await logArchives(1...50, test)
      try await test.ship(to: Receiver())
      let archives = try Catalog(of: test.folder.path, store: nil).scan().filter(\.isSealed)
      let state = test.folder("test.consumer")
      var retention = Retention.unlimited
      (retention.count, retention.unsentSize) = (1, 1 << 30)
      func deleted() throws -> Int {
        try RetentionPlan(
          retention, archives, ringDirectories: [test.folder.path], space: nil
        ).deletions.count
      }
      #expect(try deleted() == 4, "all is shipped")
      for (call, error) in [
        (SystemCall.openat, EACCES), (.openat, EMFILE), (.fstatat, EIO), (.pread, EIO),
      ] {
        // The first call of fstatat only finds out whether the file is empty.
        ForcedFault.force(call, errno: error, onCall: call == .fstatat ? 2 : 1, under: state)
        #expect(try deleted() == 0, "\(call) \(error)")
        ForcedFault.clear(under: state)
      }
      try overwrite(state, with: 7)
      #expect(try deleted() == 0)
      // If an archive is deleted anyway, that is noted.
      try delete(1, in: test.folder)
      let notes = try DeletedArchives(in: Directory.open(test.folder.path)).notes
      #expect(notes.values.map(\.consumers) == [["test"]])
    }
  #endif

  @Test("what no consumer has written keeps no archive")
  func plantedState() throws {
    let folder = TemporaryDirectory()
    try Folder.make(folder("folder.consumer"))
    folder.put("planted.consumer", [1])
    try #require(chmod(folder("planted.consumer"), 0o666) == 0 && chmod(folder.path, 0o1777) == 0)
    #expect(try UnsentArchives(in: Directory.open(folder.path)).isEmpty)
  }

  private func overwrite(_ path: String, with byte: UInt8) throws {
    let size = try Data(contentsOf: URL(filePath: path)).count
    try Data(repeating: byte, count: size).write(to: URL(filePath: path))
  }
}
